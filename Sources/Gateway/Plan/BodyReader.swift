import KizunaEngine
import RESTDialect

/// Reads the body of a write by its content type.
struct BodyReader {
  /// The value of `columns=`, where it counts (POST and PATCH).
  var columns: [String]?
  /// Absent keys take the column's default rather than null (`missing=default`).
  var defaultsMissing: Bool

  private static let invalid = Failure("PGRST102", "Empty or invalid json")
  private static let mismatch = Failure("PGRST102", "All object keys must match")

  func read(_ bytes: UnsafeBufferPointer<UInt8>, contentType: UnsafeBufferPointer<UInt8>?) throws(Failure)
    -> Body
  {
    switch MediaName(contentType) {
    case .json:
      if let columns { return .judged(columns: columns, judge(bytes, columns: columns)) }
      return .rows(try Self.uniform(bytes))
    case .csv: return .rows(try Self.csv(bytes))
    case .form: return .rows(try Self.form(bytes))
    case .other(let name): throw Failure("PGRST102", "Content-Type not acceptable: \(name)")
    }
  }

  // MARK: JSON with one key set

  /// An object, or an array of objects with one and the same key set; any other value is an empty batch. Malformed
  /// text comes before any other fault, so the reader goes on to the end.
  static func uniform(_ bytes: UnsafeBufferPointer<UInt8>) throws(Failure) -> Payload {
    var parser = JSONParser(bytes)
    var payload = Payload()
    var matches = true
    do throws(JSONParser.Failure) {
      switch parser.peek() {
      case UInt8(ascii: "{"): try Self.object(&parser, depth: 0, isFirst: true, into: &payload)
      case UInt8(ascii: "["):
        try parser.expect(UInt8(ascii: "["))
        if !parser.take(UInt8(ascii: "]")) {
          var isFirst = true
          repeat {
            if matches, parser.peek() == UInt8(ascii: "{") {
              matches = try Self.object(&parser, depth: 1, isFirst: isFirst, into: &payload)
            } else {
              matches = false
              _ = try parser.value(depth: 1)
            }
            isFirst = false
          } while parser.take(UInt8(ascii: ","))
          try parser.expect(UInt8(ascii: "]"))
        }
      default: _ = try parser.value()
      }
      try parser.end()
    } catch {
      throw invalid
    }
    if !matches { throw mismatch }
    return payload
  }

  /// One object as a row. The first one names the columns; answers whether a later one has just those. Objects
  /// usually repeat the order of the first, which needs no look-up.
  @discardableResult
  private static func object(
    _ parser: inout JSONParser, depth: Int, isFirst: Bool, into payload: inout Payload
  ) throws(JSONParser.Failure) -> Bool {
    try parser.expect(UInt8(ascii: "{"))
    var row: [JSONValue?] = []
    row.reserveCapacity(payload.columns.count)
    var strays: [JSONMember] = []
    if !parser.take(UInt8(ascii: "}")) {
      repeat {
        let key = try parser.string()
        try parser.expect(UInt8(ascii: ":"))
        let value = try parser.value(depth: depth + 1)
        if isFirst {
          if let known = payload.columns.firstIndex(where: { $0.sameBytes(as: key) }) {
            row[known] = value
          } else {
            payload.columns.append(key)
            row.append(value)
          }
        } else if strays.isEmpty, row.count < payload.columns.count,
          payload.columns[row.count].sameBytes(as: key)
        {
          row.append(value)
        } else {
          strays.append(JSONMember(key, value))
        }
      } while parser.take(UInt8(ascii: ","))
      try parser.expect(UInt8(ascii: "}"))
    }
    guard place(strays, into: &row, columns: payload.columns) else { return false }
    payload.rows.append(row)
    return true
  }

  /// Puts members that came out of order into their places. False if a column is left without a value, or a member
  /// without a column.
  private static func place(_ strays: [JSONMember], into row: inout [JSONValue?], columns: [String]) -> Bool {
    if strays.isEmpty { return row.count == columns.count }
    row += Array(repeating: nil, count: columns.count - row.count)
    for stray in strays {
      guard let column = columns.firstIndex(where: { $0.sameBytes(as: stray.key) }) else { return false }
      row[column] = stray.value
    }
    return row.allSatisfy { $0 != nil }
  }

  // MARK: JSON under columns=

  /// Exactly the named columns of every element, as a record set of the database reads them.
  private func judge(_ bytes: UnsafeBufferPointer<UInt8>, columns: [String]) -> Result<Payload, Failure> {
    let document: JSONValue
    do throws(JSONParser.Failure) {
      document = try JSONParser.parse(bytes)
    } catch {
      return .failure(JSONFault.refusal(bytes, error))
    }
    let elements: [JSONValue]
    switch document {
    case .object: elements = [document]
    case .array(let items): elements = items
    default: return .failure(Failure("22023", "cannot call json_to_recordset on a scalar"))
    }
    var names: [String] = []
    for column in columns where !names.contains(where: { $0.sameBytes(as: column) }) { names.append(column) }
    var payload = Payload(columns: names)
    payload.rows.reserveCapacity(elements.count)
    for element in elements {
      guard let members = element.members else {
        return .failure(Failure("22023", "argument of json_to_recordset must be an array of objects"))
      }
      payload.rows.append(row(members, columns: names))
    }
    return .success(payload)
  }

  private func row(_ members: [JSONMember], columns: [String]) -> [JSONValue?] {
    var row: [JSONValue?] = []
    row.reserveCapacity(columns.count)
    for (position, column) in columns.enumerated() {
      if position < members.count, members.count == columns.count, members[position].key.sameBytes(as: column)
      {
        row.append(members[position].value)
      } else if let member = members.last(where: { $0.key.sameBytes(as: column) }) {
        row.append(member.value)
      } else {
        row.append(defaultsMissing ? nil : .some(.null))
      }
    }
    return row
  }

  // MARK: CSV and forms

  private static func csv(_ bytes: UnsafeBufferPointer<UInt8>) throws(Failure) -> Payload {
    do throws(DialectError) {
      let table = try CSVBody.parse(bytes)
      let rows = table.rows.map { fields in
        fields.map { field -> JSONValue? in field.map { .string($0) } ?? .some(.null) }
      }
      return Payload(columns: table.header, rows: rows)
    } catch {
      throw Failure(error)
    }
  }

  /// One row whose values are all texts; of a repeated key the last value counts.
  private static func form(_ bytes: UnsafeBufferPointer<UInt8>) throws(Failure) -> Payload {
    let pairs: [QueryPair]
    do throws(DialectError) { pairs = try FormBody.parse(bytes) } catch { throw Failure(error) }
    // What curl's -d sends of a JSON text, which by itself names no type but a form's.
    if let first = pairs.first?.key.utf8.first, first == UInt8(ascii: "{") || first == UInt8(ascii: "[") {
      throw Failure(
        "PGRST102", "The body looks like JSON but was sent as a form",
        hint: "Send the header 'Content-Type: application/json'; curl's --json does.")
    }
    var payload = Payload()
    var row: [JSONValue?] = []
    for pair in pairs {
      if let known = payload.columns.firstIndex(where: { $0.sameBytes(as: pair.key) }) {
        row[known] = .string(pair.value)
      } else {
        payload.columns.append(pair.key)
        row.append(.string(pair.value))
      }
    }
    payload.rows = [row]
    return payload
  }
}
