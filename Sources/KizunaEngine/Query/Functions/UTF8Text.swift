import Glibc

/// Unicode scalars out of borrowed UTF-8, one at a time.
enum UTF8Text {
  /// The scalar at `index`, which moves behind it. A malformed byte reads as U+FFFD and is skipped alone.
  @inline(__always)
  static func next(_ bytes: UnsafeBufferPointer<UInt8>, _ index: inout Int) -> UInt32 {
    let first = bytes[index]
    index += 1
    return first < 0x80 ? UInt32(first) : rest(bytes, &index, first)
  }

  private static func rest(_ bytes: UnsafeBufferPointer<UInt8>, _ index: inout Int, _ first: UInt8) -> UInt32
  {
    let length: Int
    var code: UInt32
    switch first {
    case 0xC2...0xDF: (length, code) = (1, UInt32(first & 0x1F))
    case 0xE0...0xEF: (length, code) = (2, UInt32(first & 0x0F))
    case 0xF0...0xF4: (length, code) = (3, UInt32(first & 0x07))
    default: return 0xFFFD
    }
    guard bytes.count - index >= length else { return 0xFFFD }
    for step in 0..<length {
      let byte = bytes[index + step]
      guard byte & 0xC0 == 0x80 else { return 0xFFFD }
      code = code << 6 | UInt32(byte & 0x3F)
    }
    index += length
    return code
  }

  @inline(__always)
  static func isContinuation(_ byte: UInt8) -> Bool { byte & 0xC0 == 0x80 }

  /// Byte order, which is code-point order.
  static func compare(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int {
    let shared = min(left.count, right.count)
    if shared > 0, let one = left.baseAddress, let other = right.baseAddress {
      let order = memcmp(one, other, shared)
      if order != 0 { return order < 0 ? -1 : 1 }
    }
    return left.count == right.count ? 0 : left.count < right.count ? -1 : 1
  }

  static func equal(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Bool {
    left.count == right.count && compare(left, right) == 0
  }

  static func contains(_ text: UnsafeBufferPointer<UInt8>, _ needle: UnsafeBufferPointer<UInt8>) -> Bool {
    guard needle.count > 0, let pattern = needle.baseAddress else { return true }
    guard let start = text.baseAddress else { return false }
    var at = 0
    while at + needle.count <= text.count {
      let window = text.count - needle.count + 1 - at
      guard let found = memchr(start + at, Int32(pattern[0]), window) else { return false }
      at = UnsafeRawPointer(found) - UnsafeRawPointer(start)
      if memcmp(start + at, pattern, needle.count) == 0 { return true }
      at += 1
    }
    return false
  }

  static func isSpace(_ scalar: UInt32) -> Bool {
    if scalar < 0x80 { return scalar == 0x20 || (scalar >= 0x09 && scalar <= 0x0D) }
    return Unicode.Scalar(scalar)?.properties.isWhitespace ?? false
  }

  /// The text without white space at its ends.
  static func trimmed(_ text: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    var start: Int?
    var end = 0
    var index = 0
    while index < text.count {
      let at = index
      if !isSpace(next(text, &index)) {
        start = start ?? at
        end = index
      }
    }
    return UnsafeBufferPointer(rebasing: text[(start ?? 0)..<end])
  }
}
