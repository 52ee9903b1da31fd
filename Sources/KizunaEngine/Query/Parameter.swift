/// How a literal of a request becomes the value of a statement's parameter.
enum LiteralReader: Sendable {
  /// Read as the type; on a text-like key column a uuid-shaped literal is lowercased.
  case typed(ColumnType, lowercasesUUID: Bool)
  /// The position of an enum's label.
  case rank(ColumnType, labels: [String])
  case pattern
  case regularExpression(caseInsensitive: Bool)
  /// A literal beside a column without a declaration, read as the type learnt.
  case learnt(LearntType?, lowercasesUUID: Bool)
  /// As `learnt`, as JSON text for the functions that compare such cells.
  case learntJSON(LearntType?)

  func value(of literal: String, zone: Zone) throws(KizunaError) -> SQLValue {
    switch self {
    case .typed(let type, let lowercases):
      return try type.stored(literal: lowercases ? Self.key(literal) : literal, zone: zone)
    case .rank(let type, let labels): return try Self.rank(of: literal, in: labels, type)
    case .pattern: return .text(Self.likePattern(literal))
    case .regularExpression(let insensitive):
      _ = try RegularExpression(literal, caseInsensitive: insensitive)
      return .text(literal)
    case .learnt(let type, let lowercases):
      return Self.stored(try Self.json(literal, type), lowercases: lowercases)
    case .learntJSON(let type): return .text(try Self.json(literal, type).jsonText)
    }
  }

  static func key(_ literal: String) -> String {
    RowKey.isUUIDShaped(literal) ? LiteralScanner.lowered(literal) : literal
  }

  static func rank(of label: String, in labels: [String], _ type: ColumnType) throws(KizunaError) -> SQLValue
  {
    guard let index = labels.firstIndex(where: { $0.sameBytes(as: label) }) else {
      // The type's own refusal has the right words.
      _ = try type.stored(literal: label, zone: .utc)
      return .null
    }
    return .integer(Int64(index))
  }

  /// `*` means any run; what a backslash protects stays.
  static func likePattern(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "*")) else { return text }
    var result: [UInt8] = []
    var isEscaped = false
    for byte in text.utf8 {
      result.append(byte == UInt8(ascii: "*") && !isEscaped ? UInt8(ascii: "%") : byte)
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
    }
    return String(decoding: result, as: UTF8.self)
  }

  /// An HTTP literal as the value that a column of this learnt type holds.
  static func json(_ literal: String, _ type: LearntType?) throws(KizunaError) -> JSONValue {
    switch type {
    case .integer, .number:
      guard let value = try? JSONParser.parse(literal), case .number = value else {
        throw .refused("22P02", "invalid input syntax for type numeric: \"\(literal)\"")
      }
      return value
    case .boolean:
      return .bool(try ColumnType.boolean.stored(literal: literal, zone: .utc) == .integer(1))
    // Values of several kinds were met: what is no JSON can only be one of the texts.
    case .json: return (try? JSONParser.parse(literal)) ?? .string(literal)
    case .text, nil: return .string(literal)
    }
  }

  static func stored(_ value: JSONValue, lowercases: Bool) -> SQLValue {
    if lowercases, case .string(let text) = value { return .text(key(text)) }
    // A learnt column takes every JSON value.
    return (try? ColumnType.learnt(nil).stored(json: value, zone: .utc)) ?? .null
  }
}

/// One `?` of a compiled statement.
struct Parameter: Sendable {
  var value: SQLValue
  /// nil: the value belongs to the statement's shape.
  var reader: LiteralReader?
}

/// SQL under construction, with its parameters in order.
struct SQLText {
  var sql = ""
  var parameters: [Parameter] = []

  mutating func append(_ text: String) { sql += text }
  mutating func bind(_ value: SQLValue, reader: LiteralReader? = nil) {
    sql += "?"
    parameters.append(Parameter(value: value, reader: reader))
  }
}
