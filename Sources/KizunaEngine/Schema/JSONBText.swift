/// The text form of `jsonb`: keys by length, then bytes, the last of equal keys wins; numbers as `numeric` prints
/// them; one space behind `:` and `,`. Two equal documents have equal texts.
package enum JSONBText {
  package static func text(_ value: JSONValue) throws(KizunaError) -> String {
    var buffer = ByteBuffer()
    try append(value, to: &buffer)
    return buffer.string
  }

  package static func append(_ value: JSONValue, to buffer: inout ByteBuffer) throws(KizunaError) {
    switch value {
    case .null: buffer.append("null")
    case .bool(let flag): buffer.append(flag ? "true" : "false")
    case .number(let text): buffer.append(try NumericText.canonical(text))
    case .string(let text): try append(string: text, to: &buffer)
    case .array(let elements):
      buffer.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { buffer.append(", ") }
        try append(element, to: &buffer)
      }
      buffer.append(UInt8(ascii: "]"))
    case .object(let members):
      buffer.append(UInt8(ascii: "{"))
      for (index, member) in ordered(members).enumerated() {
        if index > 0 { buffer.append(", ") }
        try append(string: member.key, to: &buffer)
        buffer.append(": ")
        try append(member.value, to: &buffer)
      }
      buffer.append(UInt8(ascii: "}"))
    }
  }

  private static func append(string: String, to buffer: inout ByteBuffer) throws(KizunaError) {
    if string.utf8.contains(0) { throw .nulCharacter }
    buffer.appendJSON(string: string)
  }

  /// The members in `jsonb` order, each key once.
  package static func ordered(_ members: [JSONMember]) -> [JSONMember] {
    var result: [JSONMember] = []
    result.reserveCapacity(members.count)
    let sorted = members.enumerated().sorted { left, right in
      let order = compareKeys(left.element.key, right.element.key)
      return order == 0 ? left.offset < right.offset : order < 0
    }
    for (_, member) in sorted {
      if let last = result.last, last.key.sameBytes(as: member.key) {
        result[result.count - 1] = member
      } else {
        result.append(member)
      }
    }
    return result
  }

  private static func compareKeys(_ left: String, _ right: String) -> Int {
    let a = left.utf8
    let b = right.utf8
    if a.count != b.count { return a.count - b.count }
    if a.lexicographicallyPrecedes(b) { return -1 }
    return a.elementsEqual(b) ? 0 : 1
  }
}

extension KizunaError {
  /// Text in Postgres cannot hold U+0000.
  static var nulCharacter: KizunaError {
    .refused("22P05", "unsupported Unicode escape sequence", details: "\\u0000 cannot be converted to text.")
  }

  static func invalidSyntax(_ type: String, _ literal: String, sqlstate: String = "22P02") -> KizunaError {
    .refused(sqlstate, "invalid input syntax for type \(type): \"\(literal)\"")
  }
}
