/// The bytes the grammars name.
enum ASCII {
  static let tab: UInt8 = 0x09
  static let newline: UInt8 = 0x0A
  static let carriageReturn: UInt8 = 0x0D
  static let space: UInt8 = 0x20
  static let bang: UInt8 = 0x21
  static let quote: UInt8 = 0x22
  static let dollar: UInt8 = 0x24
  static let percent: UInt8 = 0x25
  static let ampersand: UInt8 = 0x26
  static let open: UInt8 = 0x28
  static let close: UInt8 = 0x29
  static let star: UInt8 = 0x2A
  static let plus: UInt8 = 0x2B
  static let comma: UInt8 = 0x2C
  static let dash: UInt8 = 0x2D
  static let dot: UInt8 = 0x2E
  static let slash: UInt8 = 0x2F
  static let zero: UInt8 = 0x30
  static let colon: UInt8 = 0x3A
  static let semicolon: UInt8 = 0x3B
  static let equals: UInt8 = 0x3D
  static let greater: UInt8 = 0x3E
  static let question: UInt8 = 0x3F
  static let backslash: UInt8 = 0x5C
  static let underscore: UInt8 = 0x5F
  static let openBrace: UInt8 = 0x7B
  static let closeBrace: UInt8 = 0x7D
  static let tilde: UInt8 = 0x7E

  static func isDigit(_ byte: UInt8) -> Bool { byte &- zero < 10 }
  static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }
  static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

  static func lowercased(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }

  static func hexValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte - zero }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? letter + 10 : nil
  }
}

extension String {
  /// Identity by bytes: `==` would also equate canonically equivalent names, which are different columns.
  func sameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  init(bytes: ArraySlice<UInt8>) { self.init(decoding: bytes, as: UTF8.self) }
}

extension ArraySlice where Element == UInt8 {
  /// Without the blanks at both ends.
  var trimmed: ArraySlice<UInt8> {
    var slice = self
    while let first = slice.first, ASCII.isBlank(first) { slice.removeFirst() }
    while let last = slice.last, ASCII.isBlank(last) { slice.removeLast() }
    return slice
  }
}

/// Whether the bytes are UTF-8 without overlong forms, surrogates or values past U+10FFFF. Allocates nothing.
func isValidUTF8(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
  var at = 0
  let end = bytes.count
  while at < end {
    let lead = bytes[at]
    if lead < 0x80 {
      at += 1
      continue
    }
    let length: Int
    var low: UInt8 = 0x80
    var high: UInt8 = 0xBF
    switch lead {
    case 0xC2...0xDF: length = 2
    case 0xE0...0xEF:
      length = 3
      if lead == 0xE0 { low = 0xA0 }
      if lead == 0xED { high = 0x9F }
    case 0xF0...0xF4:
      length = 4
      if lead == 0xF0 { low = 0x90 }
      if lead == 0xF4 { high = 0x8F }
    default: return false
    }
    guard at + length <= end, low...high ~= bytes[at + 1] else { return false }
    for next in at + 2..<max(at + 2, at + length) where bytes[next] & 0xC0 != 0x80 { return false }
    at += length
  }
  return true
}
