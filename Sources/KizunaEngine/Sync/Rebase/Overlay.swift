/// A mutation that waits in the outbox, as it is laid over a row.
struct PendingMutation {
  var seq: Int64
  var op: Mutation.Op
  /// As they travel.
  var columns: [JSONMember]
  var transforms: JSONValue?

  /// Of the columns `seq, op, columns, transforms` from `first` on. `UNKNOWN_OP` for an op outside the three.
  init(_ statement: Statement, first: Int32) throws(KizunaError) {
    seq = statement.integer(first)
    let name = statement.text(first + 1) ?? ""
    guard let op = Mutation.Op(rawValue: name) else {
      throw KizunaError("UNKNOWN_OP", "the outbox holds an operation \"\(name)\" at \(seq)")
    }
    self.op = op
    columns = try Self.parsed(statement.text(first + 2) ?? "{}", seq).members ?? []
    transforms = try statement.text(first + 3).map { text throws(KizunaError) in try Self.parsed(text, seq) }
  }

  private static func parsed(_ text: String, _ seq: Int64) throws(KizunaError) -> JSONValue {
    do { return try JSONParser.parse(text) } catch {
      throw KizunaError("JSON", "the queued mutation at \(seq) does not parse: \(error.reason)")
    }
  }

  /// Every column it names, the transformed ones last.
  var columnNames: [String] { columns.map(\.key) + (transforms?.members?.map(\.key) ?? []) }
}

/// A row as the mutations laid over it leave it.
struct Overlay {
  let table: TableSchema
  /// The stored values of the key columns.
  let key: [SQLValue]
  /// nil: there is no row.
  var values: [SQLValue]?
  /// The upstream has removed the row: nothing but its own row brings it back.
  var isShadowed = false

  mutating func lay(_ mutation: PendingMutation) {
    switch mutation.op {
    case .delete: values = nil
    case .insert, .update:
      guard var row = values ?? (isShadowed ? nil : emptyRow) else { return }
      for member in mutation.columns { assign(member, to: &row) }
      if mutation.op == .update, let transforms = mutation.transforms {
        (try? Transforms(transforms, table))?.replay(on: &row, table)
      }
      values = row
    }
  }

  private var emptyRow: [SQLValue] {
    var row = [SQLValue](repeating: .null, count: table.columns.count)
    for (index, value) in zip(table.key, key) { row[index] = value }
    return row
  }

  /// A value that the column's type refuses today (the configuration has changed) leaves the cell: the upstream
  /// decides, and its row comes back.
  private func assign(_ member: JSONMember, to row: inout [SQLValue]) {
    guard let index = table.index(of: member.key), !table.isKey(index) else { return }
    let column = table.columns[index]
    if let value = try? column.type.stored(json: column.type.fromWire(member.value), zone: .utc) {
      row[index] = value
    }
  }
}

extension ColumnType {
  /// A queued value as it was before it was put into its travelling form. Wide numbers travel as texts: a declared
  /// type reads them back, a learnt one that has met nothing but numbers cannot mean a text.
  func fromWire(_ value: JSONValue) -> JSONValue {
    guard case .learnt(let type?) = self, type == .integer || type == .number, let text = value.text,
      (try? NumericText.canonical(text)) != nil
    else { return value }
    return .number(text)
  }
}
