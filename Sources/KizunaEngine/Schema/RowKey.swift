/// Row keys as text: one key column gives its own text, several give JSON strings in a JSON array.
package enum RowKey {
  /// The key text of stored key values, in key order.
  package static func text(_ values: [SQLValue]) -> String {
    text(components: values.map { component($0) })
  }

  package static func text(components: [String]) -> String {
    if components.count == 1 { return components[0] }
    var buffer = ByteBuffer()
    buffer.append(UInt8(ascii: "["))
    for (index, component) in components.enumerated() {
      if index > 0 { buffer.append(", ") }
      buffer.appendJSON(string: component)
    }
    buffer.append(UInt8(ascii: "]"))
    return buffer.string
  }

  /// Appends the key text of borrowed values, without quotes around it: the same text as `text(_:)`, except that
  /// a single text is taken as stored.
  package static func append(_ values: [RawValue], to buffer: inout ByteBuffer) {
    if values.count == 1 {
      append(component: values[0], to: &buffer)
      return
    }
    buffer.append(UInt8(ascii: "["))
    for (index, value) in values.enumerated() {
      if index > 0 { buffer.append(", ") }
      if case .text(let bytes) = value {
        buffer.appendJSON(string: bytes)
      } else {
        buffer.append(UInt8(ascii: "\""))
        append(component: value, to: &buffer)
        buffer.append(UInt8(ascii: "\""))
      }
    }
    buffer.append(UInt8(ascii: "]"))
  }

  private static func append(component value: RawValue, to buffer: inout ByteBuffer) {
    switch value {
    case .null: break
    case .integer(let number): buffer.append(integer: number)
    case .real(let number): buffer.append(FloatText.text(number))
    case .text(let bytes), .blob(let bytes): buffer.append(bytes)
    }
  }

  private static func component(_ value: SQLValue) -> String {
    switch value {
    case .null: ""
    case .integer(let number): String(number)
    case .real(let number): FloatText.text(number)
    case .text(let text): canonical(text)
    case .blob(let bytes): LiteralScanner.string(bytes)
    }
  }

  /// A uuid-shaped component in lowercase, any other as it is.
  package static func canonical(_ component: String) -> String {
    isUUIDShaped(component) ? LiteralScanner.lowered(component) : component
  }

  /// The components of a key text for `count` key columns, uuid-shaped ones in lowercase. A composite may be spelt
  /// as any JSON array of strings and integers; nil when it is none of `count` elements.
  package static func components(_ pk: String, count: Int) -> [String]? {
    if count == 1 { return [canonical(pk)] }
    guard let elements = (try? JSONParser.parse(pk))?.elements, elements.count == count else { return nil }
    var result: [String] = []
    for element in elements {
      switch element {
      case .string(let text): result.append(canonical(text))
      case .number(let text):
        guard let number = Int64(text) else { return nil }
        result.append(String(number))
      default: return nil
      }
    }
    return result
  }

  /// 8-4-4-4-12 hexadecimal digits.
  package static func isUUIDShaped(_ text: String) -> Bool {
    guard text.utf8.count == 36 else { return false }
    var text = text
    return text.withUTF8 { bytes in
      for index in 0..<36 {
        switch index {
        case 8, 13, 18, 23: if bytes[index] != UInt8(ascii: "-") { return false }
        default: if LiteralScanner.hexValue(bytes[index]) == nil { return false }
        }
      }
      return true
    }
  }
}
