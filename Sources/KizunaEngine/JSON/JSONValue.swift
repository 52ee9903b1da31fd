/// A JSON value. Numbers keep their source text, so that no digit is lost; objects keep their order and a
/// repeated key's last value wins on look-up.
package indirect enum JSONValue: Sendable, Hashable {
  case null
  case bool(Bool)
  /// The number's text as JSON writes it.
  case number(String)
  case string(String)
  case array([JSONValue])
  case object([JSONMember])
}

package struct JSONMember: Sendable, Hashable {
  package var key: String
  package var value: JSONValue
  package init(_ key: String, _ value: JSONValue) {
    self.key = key
    self.value = value
  }
}

extension JSONValue {
  package static func integer(_ value: Int64) -> JSONValue { .number(String(value)) }

  /// The members of an object; nil for any other value.
  package var members: [JSONMember]? {
    if case .object(let members) = self { return members }
    return nil
  }
  package var elements: [JSONValue]? {
    if case .array(let elements) = self { return elements }
    return nil
  }
  package var text: String? {
    if case .string(let text) = self { return text }
    return nil
  }
  package var isNull: Bool { self == .null }
  package var boolean: Bool? {
    if case .bool(let value) = self { return value }
    return nil
  }
  /// The value as a 64-bit integer, when it is a number without fraction that fits.
  package var int64: Int64? {
    guard case .number(let text) = self else { return nil }
    return Int64(text)
  }
  package subscript(key: String) -> JSONValue? {
    members?.last { $0.key.sameBytes(as: key) }?.value
  }
}

extension String {
  /// Equality of UTF-8 bytes: Swift's `==` would also equate canonically equivalent strings.
  package func sameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
