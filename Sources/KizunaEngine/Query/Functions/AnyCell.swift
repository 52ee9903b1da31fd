/// A cell of a column without a declared type: numbers, text and null as SQLite keeps them; booleans, arrays,
/// objects and numbers that SQLite cannot hold as blobs of JSON text.
struct AnyCell {
  let raw: RawValue

  init(_ raw: RawValue) { self.raw = raw }

  var isNull: Bool {
    switch raw {
    case .null: true
    case .blob(let bytes): bytes.elementsEqual("null".utf8)
    default: false
    }
  }

  /// The cell as a floating-point number, when it is a number.
  var number: Double? {
    switch raw {
    case .integer(let value): return Double(value)
    case .real(let value): return value
    case .blob(let bytes):
      guard Self.isNumber(bytes) else { return nil }
      return Double(String(decoding: bytes, as: UTF8.self))
    case .null, .text: return nil
    }
  }

  private static func isNumber(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    bytes.first.map { $0 &- 0x30 < 10 || $0 == UInt8(ascii: "-") } ?? false
  }

  private static func isStructure(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    bytes.first.map { $0 == UInt8(ascii: "{") || $0 == UInt8(ascii: "[") } ?? false
  }

  /// Lends the text of a string, number or boolean; nil for null, arrays and objects.
  func withText<Result>(_ body: (UnsafeBufferPointer<UInt8>?) -> Result) -> Result {
    switch raw {
    case .null: return body(nil)
    case .text(let bytes): return body(bytes)
    case .integer(let value): return Self.lend(String(value), body)
    case .real(let value): return Self.lend(DecimalText.text(value), body)
    case .blob(let bytes):
      if isNull || Self.isStructure(bytes) { return body(nil) }
      if bytes.first == UInt8(ascii: "\"") { return Self.lend(JSONScanner.unescaped(bytes) ?? "", body) }
      if Self.isNumber(bytes) {
        return Self.lend(DecimalText.text(jsonNumber: String(decoding: bytes, as: UTF8.self)), body)
      }
      return body(bytes)
    }
  }

  private static func lend<Result>(_ text: String, _ body: (UnsafeBufferPointer<UInt8>?) -> Result) -> Result
  {
    var text = text
    return text.withUTF8 { body($0) }
  }

  /// The cell as a JSON value; a blob that is no JSON reads as its text.
  var value: JSONValue {
    switch raw {
    case .null: .null
    case .integer(let value): .integer(value)
    case .real(let value): value.isFinite ? .number(DecimalText.text(value)) : .null
    case .text(let bytes): .string(String(decoding: bytes, as: UTF8.self))
    case .blob(let bytes): (try? JSONParser.parse(bytes)) ?? .string(String(decoding: bytes, as: UTF8.self))
    }
  }

  /// The cell for containment: text in braces or brackets that parses is the JSON it spells.
  private var decoded: JSONValue {
    guard case .text(let bytes) = raw else { return value }
    let text = UTF8Text.trimmed(bytes)
    let isWrapped =
      text.count >= 2
      && ((text[0] == UInt8(ascii: "{") && text[text.count - 1] == UInt8(ascii: "}"))
        || (text[0] == UInt8(ascii: "[") && text[text.count - 1] == UInt8(ascii: "]")))
    if isWrapped, let structure = try? JSONParser.parse(text) { return structure }
    return value
  }

  /// Equality without coercion: numbers as floating-point numbers, all else by structure. nil: unknown.
  func equals(_ operand: AnyOperand) -> Bool? {
    if isNull || operand.value.isNull { return nil }
    switch raw {
    case .null: return nil
    case .integer, .real: return operand.number != nil && number == operand.number
    case .text(let bytes):
      return operand.string.map { text in text.withUnsafeBufferPointer { UTF8Text.equal(bytes, $0) } }
        ?? false
    case .blob: return JSONEquality.equal(value, operand.value, .doubles)
    }
  }

  /// Two numbers by value, anything else as text by code points. nil: unknown.
  func compare(_ operand: AnyOperand) -> Int? {
    if isNull || operand.value.isNull { return nil }
    if let number, let other = operand.number { return number == other ? 0 : number < other ? -1 : 1 }
    return operand.orderText.withUnsafeBufferPointer { other in
      withText { text in
        text.map { UTF8Text.compare($0, other) } ?? (other.isEmpty ? 0 : -1)
      }
    }
  }

  func contains(_ operand: AnyOperand) -> Bool? {
    if isNull || operand.value.isNull { return nil }
    return JSONEquality.cellContains(decoded, operand.value)
  }

  func isContained(in operand: AnyOperand) -> Bool? {
    if isNull || operand.value.isNull { return nil }
    return JSONEquality.cellContains(operand.value, decoded)
  }

  func overlaps(_ operand: AnyOperand) throws(KizunaError) -> Bool? {
    if isNull || operand.value.isNull { return nil }
    guard let members = operand.members else {
      throw KizunaError("LOCAL_UNSUPPORTED", "overlaps needs an array")
    }
    guard case .array(let own) = decoded else { return false }
    return members.contains { member in own.contains { JSONEquality.equal($0, member.value, .doubles) } }
  }

  /// Membership: false for an empty list whatever the cell, unknown for null and where only a null might match.
  func isMember(of operand: AnyOperand) throws(KizunaError) -> Bool? {
    guard let members = operand.members else { throw KizunaError("JSON", "in needs an array") }
    if members.isEmpty { return false }
    if isNull { return nil }
    var sawNull = false
    for member in members {
      guard let isEqual = equals(member) else {
        sawNull = true
        continue
      }
      if isEqual { return true }
    }
    return sawNull ? nil : false
  }
}
