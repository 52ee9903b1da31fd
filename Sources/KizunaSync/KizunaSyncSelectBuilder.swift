import KizunaEngine

/// A read of one table. Evaluated in this order: filters, count, order, offset, limit, columns, number of rows.
public final class KizunaSyncSelectBuilder: KizunaSyncFilterBuilder {
  private let projection: String?
  private let isHead: Bool
  private let counts: Bool
  private var orders: [JSONValue] = []
  private var rowLimit: Int?
  private var offset: Int?
  private var showsDeleted = false
  private var stripsNulls = false

  init(_ table: KizunaSyncTable, projection: String?, isHead: Bool, counts: Bool) {
    self.projection = projection
    self.isHead = isHead
    self.counts = counts
    super.init(table)
  }

  /// A substring, in these columns, or in every text and number. A blank query matches every row.
  @discardableResult
  public func search(_ query: String, columns: [String]? = nil) -> Self {
    add(search: KizunaSyncQuery.search(query, columns: columns))
    return self
  }

  /// Words in one column, as substrings.
  @discardableResult
  public func textSearch(
    _ column: String, _ query: String, type: KizunaSyncTextSearchType = .plain
  ) -> Self {
    add(search: KizunaSyncQuery.textSearch(column, query, type: type))
    return self
  }

  /// Nulls come last ascending and first descending, unless `nullsFirst` says where. Later calls break ties.
  @discardableResult
  public func order(_ column: String, ascending: Bool = true, nullsFirst: Bool? = nil) -> Self {
    let node = KizunaSyncQuery.order(column, ascending: ascending, nullsFirst: nullsFirst)
    orders.append(converted(node, "order"))
    return self
  }

  @discardableResult
  public func limit(_ count: Int) -> Self {
    rowLimit = count
    return self
  }

  /// Rows `from` to `to`, counted from zero, both included. A later `limit` replaces only the number of rows.
  @discardableResult
  public func range(from: Int, to: Int) -> Self {
    guard from >= 0, to >= 0, to >= from - 1 else {
      fail(KizunaSyncError.unsupported("the range \(from)...\(to) has no rows to name"))
      return self
    }
    offset = from
    let (span, isTooWide) = (to - from).addingReportingOverflow(1)
    rowLimit = isTooWide ? Int.max : span
    return self
  }

  /// Shows soft-deleted rows too.
  @discardableResult
  public func includeDeleted() -> Self {
    showsDeleted = true
    return self
  }

  /// Leaves null values out of each row.
  @discardableResult
  public func stripNulls() -> Self {
    stripsNulls = true
    return self
  }

  // MARK: Terminals

  /// An array of rows; with a count, a dictionary of `rows` and `count`.
  nonisolated(nonsending) public func execute() async throws -> sending Any { try await run("many") }

  /// The one row; `LOCAL_CONSTRAINT` if there is none or another.
  nonisolated(nonsending) public func single() async throws -> sending Any { try await run("single") }

  /// The row, or `NSNull`; `LOCAL_CONSTRAINT` if there is another.
  nonisolated(nonsending) public func maybeSingle() async throws -> sending Any {
    try await run("maybeSingle")
  }

  /// A header and a line for each row, without a newline at the end.
  nonisolated(nonsending) public func csv() async throws -> String {
    try checkChain()
    let plan = plan(cardinality: "many", counts: false)
    let (name, projection, stripsNulls) = (table.name, projection, stripsNulls)
    return try await table.client.call { engine throws(KizunaError) in
      let answer = try engine.query(table: name, plan: plan)
      let rows = stripsNulls ? answer.withoutNulls : answer
      let columns = try projection.flatMap { text throws(KizunaError) in try SelectList.parse(text) }
      return CSVText(rows.elements ?? [], columns: columns?.map(\.name)).text
    }
  }

  nonisolated(nonsending) private func run(_ cardinality: String) async throws -> sending Any {
    try checkChain()
    let plan = plan(cardinality: isHead ? "many" : cardinality, counts: counts)
    let (name, isHead, stripsNulls) = (table.name, isHead, stripsNulls)
    return try await table.client.call { engine throws(KizunaError) in
      let answer = try engine.query(table: name, plan: plan)
      guard let count = answer["count"], let rows = answer["rows"], plan["count"] != nil else {
        return JSONBridge.any(stripsNulls ? answer.withoutNulls : answer)
      }
      let shown = isHead ? .null : stripsNulls ? rows.withoutNulls : rows
      return JSONBridge.any(.object([JSONMember("rows", shown), JSONMember("count", count)]))
    }
  }

  private func plan(cardinality: String, counts: Bool) -> JSONValue {
    var members = [
      JSONMember("filters", .array(filters)), JSONMember("orders", .array(orders)),
      JSONMember("cardinality", .string(cardinality)), JSONMember("includeDeleted", .bool(showsDeleted)),
    ]
    if let projection { members.append(JSONMember("projection", .string(projection))) }
    if let limit = isHead ? min(rowLimit ?? 0, 0) : rowLimit {
      members.append(JSONMember("limit", .integer(Int64(limit))))
    }
    if let offset { members.append(JSONMember("offset", .integer(Int64(offset)))) }
    if counts { members.append(JSONMember("count", .string("exact"))) }
    return .object(members)
  }
}

extension JSONValue {
  /// A row, or each row of an array, without its null values.
  var withoutNulls: JSONValue {
    switch self {
    case .object(let members): .object(members.filter { !$0.value.isNull })
    case .array(let rows): .array(rows.map(\.withoutNulls))
    default: self
    }
  }
}
