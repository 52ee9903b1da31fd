import Glibc

/// Finds its way through JSON text without building anything. It trusts that stored JSON is well-formed: on
/// malformed text it answers nil or a stretch of bytes, and never reads outside.
struct JSONScanner {
  let bytes: UnsafeBufferPointer<UInt8>
  var offset: Int

  init(_ bytes: UnsafeBufferPointer<UInt8>, at offset: Int = 0) {
    self.bytes = bytes
    self.offset = offset
  }

  /// The next byte that is not white space; nil at the end.
  mutating func peek() -> UInt8? {
    while offset < bytes.count {
      switch bytes[offset] {
      case 0x20, 0x09, 0x0A, 0x0D: offset += 1
      default: return bytes[offset]
      }
    }
    return nil
  }

  mutating func take(_ byte: UInt8) -> Bool {
    guard peek() == byte else { return false }
    offset += 1
    return true
  }

  /// Skips one value and answers where it stood.
  mutating func value() -> Range<Int>? {
    guard let first = peek() else { return nil }
    let start = offset
    switch first {
    case UInt8(ascii: "{"), UInt8(ascii: "["): if !container() { return nil }
    case UInt8(ascii: "\""): if string() == nil { return nil }
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
      while offset < bytes.count, Self.isNumberByte(bytes[offset]) { offset += 1 }
    case UInt8(ascii: "t"): if !word("true") { return nil }
    case UInt8(ascii: "f"): if !word("false") { return nil }
    case UInt8(ascii: "n"): if !word("null") { return nil }
    default: return nil
    }
    return start..<offset
  }

  private static func isNumberByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"), UInt8(ascii: "."),
      UInt8(ascii: "e"), UInt8(ascii: "E"):
      true
    default: false
    }
  }

  private mutating func word(_ text: StaticString) -> Bool {
    let length = text.utf8CodeUnitCount
    guard bytes.count - offset >= length, let base = bytes.baseAddress,
      memcmp(base + offset, text.utf8Start, length) == 0
    else { return false }
    offset += length
    return true
  }

  private mutating func container() -> Bool {
    var depth = 0
    while offset < bytes.count {
      switch bytes[offset] {
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        offset += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        offset += 1
        if depth == 0 { return true }
      case UInt8(ascii: "\""): if string() == nil { return false }
      default: offset += 1
      }
    }
    return false
  }

  /// Skips a string; its raw bytes between the quotes, and whether they hold escapes.
  mutating func string() -> (raw: UnsafeBufferPointer<UInt8>, isEscaped: Bool)? {
    guard take(UInt8(ascii: "\"")) else { return nil }
    let start = offset
    var isEscaped = false
    while offset < bytes.count {
      switch bytes[offset] {
      case UInt8(ascii: "\""):
        offset += 1
        return (UnsafeBufferPointer(rebasing: bytes[start..<(offset - 1)]), isEscaped)
      case UInt8(ascii: "\\"):
        isEscaped = true
        offset += 2
      default: offset += 1
      }
    }
    return nil
  }

  /// The text of a whole JSON string, quotes included; nil when it is malformed.
  static func unescaped(_ text: UnsafeBufferPointer<UInt8>) -> String? {
    var parser = JSONParser(text)
    return try? parser.string()
  }

  /// The one value that the text is, nothing but white space around it; nil otherwise.
  static func whole(_ text: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
    var scanner = JSONScanner(text)
    guard let range = scanner.value(), scanner.peek() == nil else { return nil }
    return range
  }
}
