import KizunaEngine
import RESTDialect

/// The one row that a PUT names: an `eq` filter on each key column, and on nothing else.
struct PutKey {
  private struct Part {
    var column: ColumnSchema
    var literal: String
  }
  private let parts: [Part]

  init(_ request: Request, table: TableSchema) throws(Failure) {
    let refusal = Failure(
      "PGRST105", "Filters must include all and only primary key columns with 'eq' operators")
    var parts: [Part] = []
    for node in request.filters {
      guard case .condition(let field, false, .compare(.eq, let literal, nil)) = node, field.path.isEmpty,
        let position = table.index(of: field.name), table.isKey(position)
      else { throw refusal }
      parts.append(Part(column: table.columns[position], literal: literal))
    }
    let named = Set(parts.map(\.column.name))
    guard !table.key.isEmpty, named.count == table.key.count else { throw refusal }
    self.parts = parts
  }

  /// The rows of a body that carry the key: those that do not are left out.
  func select(_ payload: Payload) throws(Failure) -> Payload {
    var kept = Payload(columns: payload.columns)
    for row in payload.rows where try matches(row, payload.columns) { kept.rows.append(row) }
    if kept.rows.isEmpty {
      throw Failure("PGRST115", "Payload values do not match URL in primary key column(s)")
    }
    if kept.rows.count > 1 {
      throw Failure(
        "21000", "ON CONFLICT DO UPDATE command cannot affect row a second time",
        hint:
          "Ensure that no rows proposed for insertion within the same command have duplicate constrained values."
      )
    }
    return kept
  }

  private func matches(_ row: [JSONValue?], _ columns: [String]) throws(Failure) -> Bool {
    for part in parts {
      guard let position = columns.firstIndex(where: { $0.sameBytes(as: part.column.name) }),
        let value = row[position], try Self.same(value, part)
      else { return false }
    }
    return true
  }

  /// Equality as the column's type has it: of numbers, of uuids without regard to case, of texts by their bytes.
  private static func same(_ value: JSONValue, _ part: Part) throws(Failure) -> Bool {
    let text: String
    switch value {
    case .null: return false
    case .string(let string): text = string
    default: text = value.jsonText
    }
    switch part.column.type {
    case .smallint, .integer, .bigint:
      guard let wanted = integer(part.literal) else {
        throw Failure("22P02", "invalid input syntax for type \(name(part.column.type)): \"\(part.literal)\"")
      }
      return integer(text) == wanted
    case .uuid:
      return bareUUID(text).elementsEqual(bareUUID(part.literal))
    default: return text.sameBytes(as: part.literal)
    }
  }

  private static func integer(_ text: String) -> Int64? {
    let bytes = text.utf8
    guard let first = bytes.firstIndex(where: { $0 != 0x20 && $0 != 0x09 }),
      let last = bytes.lastIndex(where: { $0 != 0x20 && $0 != 0x09 })
    else { return nil }
    return Int64(text[first...last])
  }

  private static func bareUUID(_ text: String) -> some Sequence<UInt8> {
    text.utf8.lazy
      .filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "{") && $0 != UInt8(ascii: "}") }
      .map { $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "F") ? $0 | 0x20 : $0 }
  }

  private static func name(_ type: ColumnType) -> String {
    switch type {
    case .smallint: "smallint"
    case .integer: "integer"
    default: "bigint"
    }
  }
}
