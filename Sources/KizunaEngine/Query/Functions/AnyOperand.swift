/// What an untyped cell is compared with: a JSON value, prepared once for many rows.
final class AnyOperand {
  let value: JSONValue
  let number: Double?
  let string: [UInt8]?
  /// The text that an order other than of two numbers goes by: empty for arrays and objects.
  let orderText: [UInt8]

  init(_ value: JSONValue) {
    self.value = value
    switch value {
    case .number(let text):
      number = Double(text)
      string = nil
      orderText = Array(DecimalText.text(jsonNumber: text).utf8)
    case .string(let text):
      number = nil
      string = Array(text.utf8)
      orderText = Array(text.utf8)
    case .bool(let flag):
      (number, string) = (nil, nil)
      orderText = Array((flag ? "true" : "false").utf8)
    case .null, .array, .object: (number, string, orderText) = (nil, nil, [])
    }
  }

  convenience init(json text: UnsafeBufferPointer<UInt8>) throws(KizunaError) {
    do throws(JSONParser.Failure) {
      self.init(try JSONParser.parse(text))
    } catch {
      throw KizunaError("JSON", "malformed operand: \(error.reason)")
    }
  }

  /// The operand as a list: an array's members, or those of a text that reads as an array.
  lazy var members: [AnyOperand]? = {
    if let elements = value.elements { return elements.map(AnyOperand.init) }
    guard let text = value.text, let elements = (try? JSONParser.parse(text))?.elements else { return nil }
    return elements.map(AnyOperand.init)
  }()
}
