import Glibc

extension ColumnType {
  /// Reads an untyped literal the way Postgres' input function of the type does.
  package func stored(literal: String, zone: Zone) throws(KizunaError) -> SQLValue {
    switch self {
    case .text, .varchar, .char, .citext, .opaque: return .text(try storedString(literal))
    case .uuid: return .text(try Self.uuid(literal))
    case .smallint: return .integer(try integer(literal, Int64(Int16.min)...Int64(Int16.max)))
    case .integer: return .integer(try integer(literal, Int64(Int32.min)...Int64(Int32.max)))
    case .bigint: return .integer(try integer(literal, Int64.min...Int64.max))
    case .real: return Self.float(try FloatText.parse(literal, isSingle: true))
    case .double: return Self.float(try FloatText.parse(literal))
    case .numeric(let precision, let scale):
      return .text(try NumericText.canonical(literal, precision: precision, scale: scale))
    case .boolean: return .integer(try Self.boolean(literal) ? 1 : 0)
    case .json:
      _ = try Self.document(literal)
      return .text(literal)
    case .jsonb: return .text(try JSONBText.text(try Self.document(literal)))
    case .date, .time, .timetz, .timestamp, .timestamptz:
      return .text(try storedDateTime(literal, zone: zone))
    case .interval: return .text(try Interval(parsing: literal).text)
    case .bytea: return .blob(try Self.bytes(literal))
    case .inet: return .text(try NetworkAddress.canonical(literal, isNetwork: false))
    case .cidr: return .text(try NetworkAddress.canonical(literal, isNetwork: true))
    case .enumeration(let labels):
      guard labels.contains(where: { $0.sameBytes(as: literal) }) else {
        throw .refused("22P02", "invalid input value for enum: \"\(literal)\"")
      }
      return .text(literal)
    case .array(let element): return .text(try Self.array(literal, of: element, zone))
    case .learnt(let learnt): return try Self.learnt(learnt, literal)
    }
  }

  /// NaN has no place among SQLite's numbers: as text it stays in the column and sorts after them, as in Postgres.
  static func float(_ value: Double) -> SQLValue { value.isNaN ? .text("NaN") : .real(value) }

  private func storedString(_ literal: String) throws(KizunaError) -> String {
    var literal = literal
    let hasNUL = literal.withUTF8 { bytes in
      bytes.baseAddress.map { memchr($0, 0, bytes.count) != nil } ?? false
    }
    if hasNUL { throw .nulCharacter }
    switch self {
    case .varchar(let limit?): return try Self.fitted(literal, limit, baseName)
    case .char(let length):
      let text = try Self.fitted(literal, length, baseName)
      return text + String(repeating: " ", count: length - text.unicodeScalars.count)
    default: return literal
    }
  }

  /// The text within `limit` characters; only spaces may be cut off.
  private static func fitted(_ text: String, _ limit: Int, _ name: String) throws(KizunaError) -> String {
    let scalars = text.unicodeScalars
    guard text.utf8.count > limit,
      let cut = scalars.index(scalars.startIndex, offsetBy: limit, limitedBy: scalars.endIndex)
    else { return text }
    if scalars[cut...].contains(where: { $0 != " " }) {
      throw .refused("22001", "value too long for type \(name)(\(limit))")
    }
    return String(scalars[..<cut])
  }

  private func integer(_ literal: String, _ range: ClosedRange<Int64>) throws(KizunaError) -> Int64 {
    if let value = Int64(literal), range.contains(value) { return value }
    var scanner = LiteralScanner(literal)
    scanner.skipSpace()
    let isNegative = scanner.take(UInt8(ascii: "-"))
    if !isNegative { _ = scanner.take(UInt8(ascii: "+")) }
    let digits = scanner.digits()
    if digits.isEmpty { throw .invalidSyntax(baseName, literal) }
    let text = (isNegative ? "-" : "") + LiteralScanner.string(digits)
    guard let value = Int64(text), range.contains(value) else {
      throw .refused("22003", "value \"\(literal)\" is out of range for type \(baseName)")
    }
    scanner.skipSpace()
    if !scanner.isAtEnd { throw .invalidSyntax(baseName, literal) }
    return value
  }

  /// Hexadecimal digits of either case, hyphens after any four of them, perhaps in braces.
  private static func uuid(_ literal: String) throws(KizunaError) -> String {
    if RowKey.isUUIDShaped(literal) { return LiteralScanner.lowered(literal) }
    var scanner = LiteralScanner(literal)
    let isBraced = scanner.take(UInt8(ascii: "{"))
    var text: [UInt8] = []
    for index in 0..<32 {
      guard LiteralScanner.hexValue(scanner.current) != nil else { throw .invalidSyntax("uuid", literal) }
      if index == 8 || index == 12 || index == 16 || index == 20 { text.append(UInt8(ascii: "-")) }
      text.append(scanner.current)
      scanner.index += 1
      if index % 4 == 3 && index < 31 { _ = scanner.take(UInt8(ascii: "-")) }
    }
    if isBraced && !scanner.take(UInt8(ascii: "}")) || !scanner.isAtEnd {
      throw .invalidSyntax("uuid", literal)
    }
    return LiteralScanner.string(LiteralScanner.lowered(text))
  }

  /// Any unambiguous beginning of true, false, yes, no, on, off; 1 and 0.
  private static func boolean(_ literal: String) throws(KizunaError) -> Bool {
    let word = LiteralScanner.string(LiteralScanner.lowered(LiteralScanner.trimmed(literal)))
    if word == "1" || word == "on" { return true }
    if word == "0" || word == "of" || word == "off" { return false }
    if !word.isEmpty {
      if "true".hasPrefix(word) || "yes".hasPrefix(word) { return true }
      if "false".hasPrefix(word) || "no".hasPrefix(word) { return false }
    }
    throw .invalidSyntax("boolean", literal)
  }

  /// `\x` and hexadecimal digits, or bytes with `\\` and `\ooo` escapes.
  private static func bytes(_ literal: String) throws(KizunaError) -> [UInt8] {
    var scanner = LiteralScanner(literal)
    var result: [UInt8] = []
    if literal.hasPrefix("\\x") {
      scanner.index = 2
      while !scanner.isAtEnd {
        let first = scanner.current
        scanner.index += 1
        if LiteralScanner.isSpace(first) { continue }
        guard let high = LiteralScanner.hexValue(first) else { throw hexadecimal(first) }
        guard !scanner.isAtEnd else {
          throw .refused("22023", "invalid hexadecimal data: odd number of digits")
        }
        guard let low = LiteralScanner.hexValue(scanner.current) else { throw hexadecimal(scanner.current) }
        scanner.index += 1
        result.append(high << 4 | low)
      }
      return result
    }
    while !scanner.isAtEnd {
      guard scanner.take(UInt8(ascii: "\\")) else {
        result.append(scanner.current)
        scanner.index += 1
        continue
      }
      if scanner.take(UInt8(ascii: "\\")) {
        result.append(UInt8(ascii: "\\"))
        continue
      }
      let octal = [scanner.peek(0), scanner.peek(1), scanner.peek(2)].map { $0 &- 0x30 }
      guard octal[0] < 4, octal[1] < 8, octal[2] < 8 else {
        throw .refused("22P02", "invalid input syntax for type bytea")
      }
      result.append(octal[0] << 6 | octal[1] << 3 | octal[2])
      scanner.index += 3
    }
    return result
  }

  private static func hexadecimal(_ byte: UInt8) -> KizunaError {
    .refused("22023", "invalid hexadecimal digit: \"\(LiteralScanner.string([byte]))\"")
  }

  private static func document(_ literal: String) throws(KizunaError) -> JSONValue {
    do { return try JSONParser.parse(literal) } catch {
      let tail = Array(literal.utf8).dropFirst(error.offset).drop(while: LiteralScanner.isSpace)
      let word = tail.prefix {
        LiteralScanner.isLetter($0) || LiteralScanner.isDigit($0) || $0 >= 0x80 || $0 == 0x5F
      }
      let token = LiteralScanner.string(word.isEmpty ? tail.prefix(1) : word)
      let details: String
      if tail.isEmpty {
        details = "The input string ended unexpectedly."
      } else if error.isTrailing {
        details = "Expected end of input, but found \"\(token)\"."
      } else {
        details =
          word.isEmpty ? "Expected JSON value, but found \"\(token)\"." : "Token \"\(token)\" is invalid."
      }
      throw .refused("22P02", "invalid input syntax for type json", details: details)
    }
  }

  private static func array(_ literal: String, of element: ColumnType, _ zone: Zone) throws(KizunaError)
    -> String
  {
    var buffer = ByteBuffer()
    try append(try PostgresArray.parse(literal), of: element, zone, to: &buffer)
    return buffer.string
  }

  private static func append(
    _ elements: [PostgresArray.Element], of type: ColumnType, _ zone: Zone, to buffer: inout ByteBuffer
  ) throws(KizunaError) {
    buffer.append(UInt8(ascii: "["))
    for (index, element) in elements.enumerated() {
      if index > 0 { buffer.append(UInt8(ascii: ",")) }
      switch element {
      case .null: buffer.append("null")
      case .scalar(let text): type.appendJSON(try type.stored(literal: text, zone: zone), to: &buffer)
      case .array(let nested): try append(nested, of: type, zone, to: &buffer)
      }
    }
    buffer.append(UInt8(ascii: "]"))
  }

  /// The shown form of a value that is not in a statement's row, with times in UTC.
  func appendJSON(_ value: SQLValue, to buffer: inout ByteBuffer) {
    if case .text(var text) = value {
      text.withUTF8 { appendJSON(.text($0), to: &buffer, zone: .utc) }
      return
    }
    var scratch = ByteBuffer()
    value.withRaw { appendJSON($0, to: &scratch, zone: .utc) }
    buffer.append(scratch.bytes)
  }

  private static func learnt(_ type: LearntType?, _ literal: String) throws(KizunaError) -> SQLValue {
    switch type {
    case .integer:
      if case .number(let text)? = try? JSONParser.parse(literal) { return try learnt(number: text) }
      return .integer(try ColumnType.bigint.integer(literal, Int64.min...Int64.max))
    case .number:
      if case .number(let text)? = try? JSONParser.parse(literal) { return try learnt(number: text) }
      return float(try FloatText.parse(literal))
    case .boolean: return .blob(Array((try boolean(literal) ? "true" : "false").utf8))
    case .json: return try ColumnType.learnt(nil).stored(json: try document(literal), zone: .utc)
    case .text, nil: return .text(try ColumnType.text.storedString(literal))
    }
  }
}

extension JSONParser.Failure {
  /// The value itself was complete.
  fileprivate var isTrailing: Bool { reason == "text after the value" }
}
