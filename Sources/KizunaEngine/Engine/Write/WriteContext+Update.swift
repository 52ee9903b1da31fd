extension WriteContext {
  /// The rows that a filter-targeted write works on: what a default read sees, in key order.
  func matching(
    _ filter: Filter?, _ table: TableSchema, zone: Zone, matchesAnyText: Bool
  ) throws(KizunaError) -> [StoredRow] {
    var compiler = FilterCompiler(table, zone: zone, matchesAnyText: matchesAnyText)
    let reader = ReadCompiler(relation: table, zone: zone)
    try reader.compileWhere(filter, includeHidden: false, &compiler)
    let columns = shape(of: table).columnList
    let statement = try connection.cached(
      "SELECT rowid\(columns.isEmpty ? "" : "," + columns) FROM \(SQLName.quoted(table.sqlName))"
        + compiler.text.sql + " ORDER BY " + (try reader.defaultOrder()))
    statement.bind(compiler.text.parameters.map(\.value))
    defer { statement.reset() }
    var rows: [StoredRow] = []
    while try statement.step() { rows.append(StoredRow(statement, columns: table.columns.count)) }
    return rows
  }

  /// Sets the same columns on every row; transforms work on each row's own values. Answers the rows as they are then.
  func update(
    _ rows: [StoredRow], _ table: TableSchema, assignments: Assignments, _ call: Call
  ) throws(KizunaError) -> [StoredRow] {
    guard !assignments.isEmpty else { return rows }
    var updated: [StoredRow] = []
    updated.reserveCapacity(rows.count)
    for row in rows {
      var values = row.values
      for (index, value) in assignments.values { values[index] = value }
      try assignments.transforms?.apply(to: &values, table)
      updated.append(
        try write(
          assignments.columns + (assignments.transforms?.columns ?? []), values, to: row, table, call,
          transforms: assignments.transforms?.text, mask: assignments.columns))
    }
    return updated
  }

  /// Checks and converts what an update sets. The key of a row that travels cannot change.
  func assignments(
    _ pairs: [(column: String, value: JSONValue?)], transforms: JSONValue?, _ table: TableSchema, zone: Zone,
    at: String
  ) throws(KizunaError) -> Assignments {
    var values: [(Int, SQLValue)] = []
    for pair in pairs {
      guard let index = table.index(of: pair.column) else { throw Self.unknownColumn(pair.column, table) }
      let column = table.columns[index]
      let value: SQLValue
      if let given = pair.value {
        value = try RowBuilder.stored(given, column, isKey: table.isKey(index), zone: zone)
      } else {
        value = try RowBuilder.defaultValue(column, at: at) ?? .null
      }
      if table.isKey(index), table.syncMode != .localOnly { throw Self.keyChange(column.name) }
      values.removeAll { $0.0 == index }
      values.append((index, value))
    }
    let parsed = try Transforms(transforms, table)
    if let parsed, let both = parsed.columns.first(where: { index in values.contains { $0.0 == index } }) {
      throw KizunaError(
        "LOCAL_CONSTRAINT", "column \(table.columns[both].name) is both assigned and transformed")
    }
    return Assignments(values: values, transforms: parsed)
  }
}

/// What an update sets, converted.
struct Assignments {
  var values: [(Int, SQLValue)]
  var transforms: Transforms?

  var columns: [Int] { values.map(\.0) }
  var isEmpty: Bool { values.isEmpty && transforms == nil }
}

/// The deltas of an update: `{"column": {"op": …}}`, applied after its assignments and replayed upstream.
struct Transforms {
  private enum Operation {
    case increment(String)
    case union([JSONValue])
    case remove([JSONValue])
  }

  private var operations: [(column: Int, Operation)] = []
  /// As they travel.
  private(set) var text = ""

  var columns: [Int] { operations.map(\.column) }

  /// nil when there are none.
  init?(_ value: JSONValue?, _ table: TableSchema) throws(KizunaError) {
    guard let value, !value.isNull else { return nil }
    guard let members = value.members else {
      throw Self.malformed("transforms are an object of column and operation")
    }
    if members.isEmpty { return nil }
    for member in members {
      guard let index = table.index(of: member.key) else {
        throw WriteContext.unknownColumn(member.key, table)
      }
      if table.isKey(index) { throw WriteContext.keyChange(member.key) }
      operations.append((index, try Self.operation(member)))
    }
    text = JSONValue.object(members.map { JSONMember($0.key, Self.wire($0.value)) }).jsonText
  }

  private static func operation(_ member: JSONMember) throws(KizunaError) -> Operation {
    guard member.value.members != nil else { throw malformed("the transform of \(member.key) is no object") }
    switch member.value["op"]?.text {
    case "increment": return .increment(try amount(member.value["by"], member.key))
    case "arrayUnion", "array_union": return .union(try values(member))
    case "arrayRemove", "array_remove": return .remove(try values(member))
    default:
      throw malformed("the transform of \(member.key) needs an op of increment, arrayUnion or arrayRemove")
    }
  }

  private static func values(_ member: JSONMember) throws(KizunaError) -> [JSONValue] {
    guard let values = member.value["values"]?.elements, !values.isEmpty else {
      throw malformed("the transform of \(member.key) needs values, a non-empty array")
    }
    return values
  }

  private static func amount(_ value: JSONValue?, _ column: String) throws(KizunaError) -> String {
    switch value {
    case .null: return "0"
    case .number(let text)?, .string(let text)?:
      if isDecimal(text) { return text }
    default: break
    }
    throw malformed("the increment of \(column) needs by, an integer")
  }

  /// `-?` and digits without leading zeros; not `-0`.
  private static func isDecimal(_ text: String) -> Bool {
    let digits = text.utf8.first == UInt8(ascii: "-") ? text.utf8.dropFirst() : text.utf8[...]
    guard let first = digits.first, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return false }
    if first == 0x30 { return text.utf8.count == 1 }
    return true
  }

  private static func wire(_ value: JSONValue) -> JSONValue {
    guard let by = value["by"], let members = value.members else { return value }
    let amount: JSONValue
    if by.isNull {
      amount = .number("0")
    } else if let small = by.int64 ?? by.text.flatMap(Int64.init), small.magnitude < 1 << 31 {
      amount = .integer(small)
    } else if case .number(let text) = by {
      amount = .string(text)
    } else {
      amount = by
    }
    return .object(members.map { $0.key.sameBytes(as: "by") ? JSONMember("by", amount) : $0 })
  }

  private static func malformed(_ message: String) -> KizunaError { KizunaError("LOCAL_CONSTRAINT", message) }

  func apply(to values: inout [SQLValue], _ table: TableSchema) throws(KizunaError) {
    for (index, operation) in operations {
      let column = table.columns[index]
      let cell = try Self.cell(values[index], column)
      switch operation {
      case .increment(let amount):
        guard let sum = Self.sum(cell, amount) else { continue }
        values[index] = try column.type.stored(json: sum, zone: .utc)
      case .union(let members):
        let array = try Self.array(cell, column)
        values[index] = try column.type.stored(
          json: .array(ArrayTransform.union(cell: array, values: members)), zone: .utc)
      case .remove(let members):
        let array = try Self.array(cell, column)
        values[index] = try column.type.stored(
          json: .array(ArrayTransform.remove(cell: array, values: members)), zone: .utc)
      }
    }
  }

  /// The same over a row that has changed since: what a cell cannot take leaves it, and what is no array counts as
  /// an empty one.
  func replay(on values: inout [SQLValue], _ table: TableSchema) {
    for (index, operation) in operations {
      let column = table.columns[index]
      guard let cell = try? Self.cell(values[index], column) else { continue }
      let outcome: JSONValue?
      switch operation {
      case .increment(let amount): outcome = Self.sum(cell, amount)
      case .union(let members):
        outcome = .array(ArrayTransform.union(cell: cell.elements == nil ? nil : cell, values: members))
      case .remove(let members):
        outcome = .array(ArrayTransform.remove(cell: cell.elements == nil ? nil : cell, values: members))
      }
      if let outcome, let value = try? column.type.stored(json: outcome, zone: .utc) { values[index] = value }
    }
  }

  private static func cell(_ value: SQLValue, _ column: ColumnSchema) throws(KizunaError) -> JSONValue {
    var buffer = ByteBuffer(capacity: 64)
    RowText.appendJSON(value, column.type, to: &buffer)
    guard let cell = try? JSONParser.parse(buffer.bytes) else {
      throw KizunaError("JSON", "the cell of \(column.name) does not parse")
    }
    return cell
  }

  private static func array(_ cell: JSONValue, _ column: ColumnSchema) throws(KizunaError) -> JSONValue? {
    if cell.isNull { return nil }
    guard cell.elements != nil else { throw malformed("column \(column.name) holds no array") }
    return cell
  }

  /// nil: the cell is no integer and stays as it is.
  private static func sum(_ cell: JSONValue, _ amount: String) -> JSONValue? {
    let current: String
    switch cell {
    case .null: current = "0"
    case .number(let text) where isDecimal(text): current = text
    case .string(let text) where isDecimal(text): current = text
    default: return nil
    }
    let sum = NumericText.add(current, amount)
    if let small = Int64(sum), small.magnitude < 1 << 31 { return .integer(small) }
    return .string(sum)
  }
}
