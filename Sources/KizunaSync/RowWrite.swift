import KizunaEngine

/// A write as a builder has gathered it, ready to cross to the engine's threads.
struct RowWrite: Sendable {
  enum Conflict: Sendable {
    case refuse
    /// The columns' names, comma-separated; nil is the key.
    case merge(target: String?)
    case ignore(target: String?)
  }

  enum Action: Sendable {
    case insert(rows: [[JSONMember]], Conflict)
    case update(columns: [JSONMember], transforms: JSONValue?)
    case delete
  }

  enum Cardinality: Sendable { case many, single, maybeSingle }

  var table: String
  var action: Action
  var filters: [JSONValue] = []
  var precondition: JSONValue?
  var maxAffected: Int?

  /// Answers the keys touched.
  func keys(_ engine: Engine) throws(KizunaError) -> [String] {
    guard !isEmptyInsert else { return [] }
    return try engine.write(try plan(engine)).keys
  }

  /// Answers the rows touched: after a delete as they were before it.
  func rows(
    _ engine: Engine, projection: String, cardinality: Cardinality, stripsNulls: Bool
  ) throws(KizunaError) -> JSONValue {
    let names = try SelectList.parse(projection)
    var rows: [JSONValue] = []
    if !isEmptyInsert {
      var plan = try plan(engine)
      plan.returnsRows = true
      plan.returning = names.map { known($0, plan.table) }
      plan.singular = cardinality == .single
      plan.atMostOne = cardinality == .maybeSingle
      rows = try Self.parsed(try engine.write(plan).body)
    }
    if let names {
      rows = rows.map { row in .object(names.map { JSONMember($0.name, row[$0.name] ?? .null) }) }
    }
    if stripsNulls { rows = rows.map(\.withoutNulls) }
    return cardinality == .many ? .array(rows) : rows.first ?? .null
  }

  private var isEmptyInsert: Bool {
    if case .insert(let rows, _) = action { return rows.isEmpty }
    return false
  }

  /// The items whose column the table has, or will have once this write has landed; the others answer null.
  private func known(_ items: [Output], _ table: TableSchema) -> [Output] {
    let written: [String] =
      switch action {
      case .insert(let rows, _): rows.flatMap { $0.map(\.key) }
      case .update(let columns, let transforms): (columns + (transforms?.members ?? [])).map(\.key)
      case .delete: []
      }
    return items.filter { item in
      table.index(of: item.source.column) != nil
        || table.learnsColumns && written.contains { $0.sameBytes(as: item.source.column) }
    }
  }

  private static func parsed(_ body: [UInt8]) throws(KizunaError) -> [JSONValue] {
    do throws(JSONParser.Failure) {
      return try JSONParser.parse(String(decoding: body, as: UTF8.self)).elements ?? []
    } catch {
      throw KizunaError("JSON", "a written row does not parse: \(error.reason)")
    }
  }

  private func plan(_ engine: Engine) throws(KizunaError) -> WritePlan {
    guard let schema = engine.catalog.table(table) else {
      throw KizunaError("UNKNOWN_TABLE", "table \(table) is not configured")
    }
    var plan = WritePlan(schema, try action(schema), writeId: UUIDText.v7())
    plan.precondition = precondition
    plan.maxAffected = maxAffected
    plan.matchesAnyText = true
    return plan
  }

  private func action(_ schema: TableSchema) throws(KizunaError) -> WritePlan.Action {
    switch action {
    case .insert(let rows, let conflict): return Self.insert(rows, conflict, schema)
    case .update(let columns, let transforms):
      return .update(
        try filter(schema), assignments: columns.map { (column: $0.key, value: $0.value) },
        transforms: transforms)
    case .delete: return .delete(try filter(schema))
    }
  }

  private func filter(_ schema: TableSchema) throws(KizunaError) -> Filter {
    try Filter.checkNamesRows(.array(filters))
    return try Filter(nodes: .array(filters), table: schema)
  }

  /// Rows may carry different columns: one that a row leaves out takes its default there.
  private static func insert(
    _ rows: [[JSONMember]], _ conflict: Conflict, _ schema: TableSchema
  ) -> WritePlan.Action {
    var names: [String] = []
    for row in rows {
      for member in row where !names.contains(where: { $0.sameBytes(as: member.key) }) {
        names.append(member.key)
      }
    }
    let values = rows.map { row in
      names.map { name in row.last { $0.key.sameBytes(as: name) }?.value }
    }
    let target: WritePlan.Conflict =
      switch conflict {
      case .refuse: .refuse
      case .merge(let target): .merge(target: Self.columns(target, schema))
      case .ignore(let target): .ignore(target: Self.columns(target, schema))
      }
    return .insert(columns: names, rows: values, target)
  }

  private static func columns(_ target: String?, _ schema: TableSchema) -> [String] {
    guard let target else { return schema.key.map { schema.columns[$0].name } }
    return target.split(separator: ",").map { name in
      String(name.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
  }
}
