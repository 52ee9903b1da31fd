/// A strict JSON parser (RFC 8259) over borrowed bytes. Depth is bounded; numbers keep their text; strings must be
/// valid UTF-8; a lone surrogate escape is refused.
package struct JSONParser {
  package struct Failure: Error, Sendable, Equatable {
    package var offset: Int
    package var reason: String
  }

  package static let maximumDepth = 256

  private let bytes: UnsafeBufferPointer<UInt8>
  package private(set) var offset = 0

  package init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  /// The one value of a text; anything but white space behind it is refused.
  package static func parse(_ bytes: UnsafeBufferPointer<UInt8>) throws(Failure) -> JSONValue {
    var parser = JSONParser(bytes)
    let value = try parser.value(depth: 0)
    try parser.end()
    return value
  }

  package static func parse(_ text: String) throws(Failure) -> JSONValue {
    let bytes = Array(text.utf8)
    let result: Result<JSONValue, Failure> = bytes.withUnsafeBufferPointer { pointer in
      do throws(Failure) { return .success(try parse(pointer)) } catch { return .failure(error) }
    }
    return try result.get()
  }

  private func failure(_ reason: String) -> Failure { Failure(offset: offset, reason: reason) }

  package mutating func skipSpace() {
    while offset < bytes.count {
      switch bytes[offset] {
      case 0x20, 0x09, 0x0A, 0x0D: offset += 1
      default: return
      }
    }
  }

  /// The next byte that is not white space; nil at the end.
  package mutating func peek() -> UInt8? {
    skipSpace()
    return offset < bytes.count ? bytes[offset] : nil
  }

  /// Takes `byte` if it comes next.
  package mutating func take(_ byte: UInt8) -> Bool {
    if peek() == byte {
      offset += 1
      return true
    }
    return false
  }

  package mutating func expect(_ byte: UInt8) throws(Failure) {
    if !take(byte) { throw failure("expected '\(Character(Unicode.Scalar(byte)))'") }
  }

  package mutating func end() throws(Failure) {
    if peek() != nil { throw failure("text after the value") }
  }

  package mutating func value(depth: Int = 0) throws(Failure) -> JSONValue {
    guard depth < Self.maximumDepth else { throw failure("nested too deeply") }
    guard let byte = peek() else { throw failure("unexpected end") }
    switch byte {
    case UInt8(ascii: "{"):
      offset += 1
      var members: [JSONMember] = []
      if take(UInt8(ascii: "}")) { return .object(members) }
      repeat {
        let key = try string()
        try expect(UInt8(ascii: ":"))
        members.append(JSONMember(key, try value(depth: depth + 1)))
      } while take(UInt8(ascii: ","))
      try expect(UInt8(ascii: "}"))
      return .object(members)
    case UInt8(ascii: "["):
      offset += 1
      var elements: [JSONValue] = []
      if take(UInt8(ascii: "]")) { return .array(elements) }
      repeat { elements.append(try value(depth: depth + 1)) } while take(UInt8(ascii: ","))
      try expect(UInt8(ascii: "]"))
      return .array(elements)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"):
      try word("true")
      return .bool(true)
    case UInt8(ascii: "f"):
      try word("false")
      return .bool(false)
    case UInt8(ascii: "n"):
      try word("null")
      return .null
    default: return .number(try number())
    }
  }

  private mutating func word(_ text: StaticString) throws(Failure) {
    let length = text.utf8CodeUnitCount
    guard bytes.count - offset >= length else { throw failure("unexpected end") }
    for index in 0..<length where bytes[offset + index] != text.utf8Start[index] {
      throw failure("unknown word")
    }
    offset += length
  }

  private mutating func digits() -> Int {
    let start = offset
    while offset < bytes.count, bytes[offset] &- 0x30 < 10 { offset += 1 }
    return offset - start
  }

  private mutating func number() throws(Failure) -> String {
    let start = offset
    try skipNumber()
    return String(decoding: bytes[start..<offset], as: UTF8.self)
  }

  private mutating func skipNumber() throws(Failure) {
    if offset < bytes.count, bytes[offset] == UInt8(ascii: "-") { offset += 1 }
    let first = offset
    let whole = digits()
    if whole == 0 || (whole > 1 && bytes[first] == UInt8(ascii: "0")) { throw failure("malformed number") }
    if offset < bytes.count, bytes[offset] == UInt8(ascii: ".") {
      offset += 1
      if digits() == 0 { throw failure("malformed number") }
    }
    if offset < bytes.count, bytes[offset] | 0x20 == UInt8(ascii: "e") {
      offset += 1
      if offset < bytes.count, bytes[offset] == UInt8(ascii: "+") || bytes[offset] == UInt8(ascii: "-") {
        offset += 1
      }
      if digits() == 0 { throw failure("malformed number") }
    }
  }

  /// A string, quotes and escapes resolved.
  package mutating func string() throws(Failure) -> String {
    try expect(UInt8(ascii: "\""))
    let start = offset
    var isASCII = true
    while offset < bytes.count {
      let byte = bytes[offset]
      if byte == UInt8(ascii: "\"") {
        let slice = bytes[start..<offset]
        offset += 1
        if isASCII { return String(decoding: slice, as: UTF8.self) }
        guard let text = String(validating: slice, as: UTF8.self) else { throw failure("invalid UTF-8") }
        return text
      }
      if byte == UInt8(ascii: "\\") { return try escapedString(from: start) }
      if byte < 0x20 { throw failure("control character in a string") }
      if byte >= 0x80 { isASCII = false }
      offset += 1
    }
    throw failure("unterminated string")
  }

  // MARK: Passing over

  /// Passes over a value, held to the same rules as one that is read. Answers where it stands.
  package mutating func skip(depth: Int = 0) throws(Failure) -> Range<Int> {
    guard depth < Self.maximumDepth else { throw failure("nested too deeply") }
    guard let byte = peek() else { throw failure("unexpected end") }
    let start = offset
    switch byte {
    case UInt8(ascii: "{"):
      offset += 1
      if take(UInt8(ascii: "}")) { break }
      repeat {
        _ = try skipString()
        try expect(UInt8(ascii: ":"))
        _ = try skip(depth: depth + 1)
      } while take(UInt8(ascii: ","))
      try expect(UInt8(ascii: "}"))
    case UInt8(ascii: "["):
      offset += 1
      if take(UInt8(ascii: "]")) { break }
      repeat { _ = try skip(depth: depth + 1) } while take(UInt8(ascii: ","))
      try expect(UInt8(ascii: "]"))
    case UInt8(ascii: "\""): _ = try skipString()
    case UInt8(ascii: "t"): try word("true")
    case UInt8(ascii: "f"): try word("false")
    case UInt8(ascii: "n"): try word("null")
    default: try skipNumber()
    }
    return start..<offset
  }

  /// Passes over a string. Answers where its text stands between the quotes, escapes unresolved; nil where only
  /// `string` can tell it.
  package mutating func skipString() throws(Failure) -> Range<Int>? {
    guard peek() == UInt8(ascii: "\"") else { throw failure("expected '\"'") }
    let quote = offset
    var index = quote + 1
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\"") {
        offset = index + 1
        return quote + 1..<index
      }
      if byte < 0x20 || byte >= 0x80 || byte == UInt8(ascii: "\\") { break }
      index += 1
    }
    _ = try string()
    return nil
  }

  private mutating func escapedString(from start: Int) throws(Failure) -> String {
    var text = Array(bytes[start..<offset])
    while offset < bytes.count {
      let byte = bytes[offset]
      offset += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let result = String(validating: text, as: UTF8.self) else { throw failure("invalid UTF-8") }
        return result
      case UInt8(ascii: "\\"): try escape(into: &text)
      case 0..<0x20: throw failure("control character in a string")
      default: text.append(byte)
      }
    }
    throw failure("unterminated string")
  }

  private mutating func escape(into text: inout [UInt8]) throws(Failure) {
    guard offset < bytes.count else { throw failure("unterminated string") }
    let byte = bytes[offset]
    offset += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"):
      var code = try hexadecimal()
      if code & 0xFC00 == 0xD800 {
        guard bytes.count - offset >= 2, bytes[offset] == UInt8(ascii: "\\"),
          bytes[offset + 1] == UInt8(ascii: "u")
        else { throw failure("lone surrogate") }
        offset += 2
        let low = try hexadecimal()
        guard low & 0xFC00 == 0xDC00 else { throw failure("lone surrogate") }
        code = 0x10000 + ((code & 0x3FF) << 10) + (low & 0x3FF)
      }
      guard let scalar = Unicode.Scalar(code) else { throw failure("lone surrogate") }
      text.append(contentsOf: UTF8.encode(scalar)!)  // every scalar has a UTF-8 form
    default: throw failure("unknown escape")
    }
  }

  private mutating func hexadecimal() throws(Failure) -> UInt32 {
    guard bytes.count - offset >= 4 else { throw failure("unterminated string") }
    var code: UInt32 = 0
    for _ in 0..<4 {
      let byte = bytes[offset]
      offset += 1
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): code = code << 4 | UInt32(byte - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): code = code << 4 | UInt32(byte - UInt8(ascii: "a") + 10)
      case UInt8(ascii: "A")...UInt8(ascii: "F"): code = code << 4 | UInt32(byte - UInt8(ascii: "A") + 10)
      default: throw failure("malformed escape")
      }
    }
    return code
  }
}
