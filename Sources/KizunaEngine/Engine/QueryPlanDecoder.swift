/// A read as the Swift API writes it: a dictionary of `filters`, `orders`, `limit`, `offset`, `projection`,
/// `cardinality`, `includeDeleted` and `count`.
struct DecodedPlan {
  enum Cardinality: String { case many, single, maybeSingle }

  var read: ReadPlan
  var cardinality = Cardinality.many
  /// The answer's keys in order; nil for every column. Those that no column has are null.
  var projection: [String]?

  private static let keys: Set<String> = [
    "filters", "orders", "limit", "offset", "projection", "cardinality", "includeDeleted", "count",
  ]

  init(_ plan: JSONValue, table: TableSchema) throws(KizunaError) {
    read = ReadPlan(table)
    guard let members = plan.members else { throw FilterNodes.malformed("a plan is an object") }
    for member in members where !Self.keys.contains(member.key) {
      throw FilterNodes.malformed("a plan has no key \(member.key)")
    }
    read.filter = try Filter(nodes: plan["filters"] ?? .array([]), table: table)
    read.order = try Self.orders(plan["orders"], table)
    read.limit = try Self.window(plan["limit"], "limit")
    read.offset = try Self.window(plan["offset"], "offset")
    read.includeHidden = try Self.flag(plan["includeDeleted"], "includeDeleted") ?? false
    switch plan["count"] {
    case nil, .null?, .bool(false)?: break
    default: read.wantsCount = true
    }
    if let name = plan["cardinality"], !name.isNull {
      guard let cardinality = Cardinality(rawValue: name.text ?? "") else {
        throw FilterNodes.unsupported("cardinality is many, single or maybeSingle")
      }
      self.cardinality = cardinality
    }
    try decodeProjection(plan["projection"], table)
  }

  private static func flag(_ value: JSONValue?, _ name: String) throws(KizunaError) -> Bool? {
    guard let value, !value.isNull else { return nil }
    guard let flag = value.boolean else { throw FilterNodes.malformed("\(name) is true or false") }
    return flag
  }

  private static func window(_ value: JSONValue?, _ name: String) throws(KizunaError) -> Int? {
    guard let value, !value.isNull else { return nil }
    guard let number = value.int64 else { throw FilterNodes.malformed("\(name) is a whole number") }
    guard number >= 0 else { throw FilterNodes.unsupported("\(name) must not be negative") }
    return Int(number)
  }

  private static func orders(_ value: JSONValue?, _ table: TableSchema) throws(KizunaError) -> [OrderBy] {
    guard let value, !value.isNull else { return [] }
    guard let list = value.elements else { throw FilterNodes.malformed("orders are an array") }
    var result: [OrderBy] = []
    for item in list {
      guard let members = item.members, let column = item["column"]?.text else {
        throw FilterNodes.malformed("an order needs a column")
      }
      for member in members
      where !["column", "ascending", "nullsFirst", "nulls_first"].contains(member.key) {
        throw FilterNodes.malformed("an order has no key \(member.key)")
      }
      guard table.index(of: column) != nil else {
        // Where columns are learnt, one that no row has yet puts nothing in order.
        if table.learnsColumns { continue }
        throw KizunaError(
          "LOCAL_UNSUPPORTED", sqlstate: "42703", "column \(table.name).\(column) does not exist")
      }
      result.append(
        OrderBy(
          ColumnPath(column), descending: try flag(item["ascending"], "ascending") == false,
          nullsFirst: try flag(item["nullsFirst"] ?? item["nulls_first"], "nullsFirst")))
    }
    return result
  }

  private mutating func decodeProjection(
    _ value: JSONValue?, _ table: TableSchema
  ) throws(KizunaError) {
    guard let value, !value.isNull else { return }
    let text: String
    switch value {
    case .string(let list): text = list
    case .array(let items): text = items.compactMap(\.text).joined(separator: ",")
    default: throw FilterNodes.malformed("a projection is a text")
    }
    guard let items = try SelectList.parse(text) else { return }
    projection = items.map(\.name)
    read.outputs = items.filter { table.index(of: $0.source.column) != nil }
  }
}

/// A select list of the Swift API: names with `alias:` before and `::type` behind.
package enum SelectList {
  /// nil for every column: a blank list, or one with `*`.
  package static func parse(_ text: String) throws(KizunaError) -> [Output]? {
    if text.utf8.contains(UInt8(ascii: "(")) {
      throw FilterNodes.unsupported("embedded resources have no meaning in a projection")
    }
    var items: [Output] = []
    for part in text.split(separator: ",") {
      let item = trimmed(part)
      if item.isEmpty { continue }
      if item == "*" { return nil }
      items.append(output(item))
    }
    return items.isEmpty ? nil : items
  }

  private static func output(_ item: String) -> Output {
    var rest = Substring(item)
    var cast: String?
    if let range = rest.utf8.indices.first(where: { rest[$0...].hasPrefix("::") }) {
      cast = trimmed(rest[range...].dropFirst(2))
      rest = rest[..<range]
    }
    guard let colon = rest.firstIndex(of: ":") else {
      let name = trimmed(rest)
      return Output(name, ColumnPath(name), cast: cast)
    }
    return Output(trimmed(rest[..<colon]), ColumnPath(trimmed(rest[colon...].dropFirst())), cast: cast)
  }

  private static func trimmed(_ text: Substring) -> String {
    var text = text
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}
