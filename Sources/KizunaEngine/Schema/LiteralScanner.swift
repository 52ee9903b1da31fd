/// A cursor over the bytes of a literal or a declaration.
struct LiteralScanner {
  let bytes: [UInt8]
  var index = 0

  init(_ text: String) { bytes = Array(text.utf8) }
  init(_ bytes: [UInt8]) { self.bytes = bytes }

  var isAtEnd: Bool { index >= bytes.count }
  /// The byte at the cursor; 0 at the end.
  var current: UInt8 { index < bytes.count ? bytes[index] : 0 }
  func peek(_ ahead: Int) -> UInt8 { index + ahead < bytes.count ? bytes[index + ahead] : 0 }

  mutating func take(_ byte: UInt8) -> Bool {
    guard current == byte, !isAtEnd else { return false }
    index += 1
    return true
  }

  mutating func skipSpace() {
    while !isAtEnd, Self.isSpace(bytes[index]) { index += 1 }
  }

  mutating func digits() -> ArraySlice<UInt8> { run(Self.isDigit) }
  mutating func letters() -> ArraySlice<UInt8> { run(Self.isLetter) }

  mutating func run(_ matches: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    let start = index
    while !isAtEnd, matches(bytes[index]) { index += 1 }
    return bytes[start..<index]
  }

  /// The literal without the white space around it.
  static func trimmed(_ text: String) -> ArraySlice<UInt8> {
    var slice = ArraySlice(Array(text.utf8))
    while let first = slice.first, isSpace(first) { slice.removeFirst() }
    while let last = slice.last, isSpace(last) { slice.removeLast() }
    return slice
  }

  static func string(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: Array(bytes), as: UTF8.self)
  }

  static func lowered(_ bytes: some Sequence<UInt8>) -> [UInt8] { bytes.map { isUpper($0) ? $0 | 0x20 : $0 } }
  /// Most texts have nothing to lower and come back as they are.
  static func lowered(_ text: String) -> String {
    var text = text
    let hasUpper = text.withUTF8 { bytes in bytes.contains(where: isUpper) }
    return hasUpper ? string(lowered(text.utf8)) : text
  }

  static func isUpper(_ byte: UInt8) -> Bool { byte &- 0x41 < 26 }
  static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }
  static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }
  static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte &- 9 < 5 }

  /// The value of a run of digits, clamped far below overflow: callers compare it with their own limits.
  static func number(_ digits: some Sequence<UInt8>) -> Int {
    var value = 0
    for digit in digits where value < 1_000_000_000_000 { value = value * 10 + Int(digit &- 0x30) }
    return value
  }

  /// The digits behind a decimal point as microseconds, rounded half to even; digits past the 15th say nothing.
  static func micros(_ digits: ArraySlice<UInt8>) -> Int {
    let used = digits.prefix(15)
    var divisor = 1.0
    for _ in used { divisor *= 10 }
    var value = 0
    for digit in used { value = value * 10 + Int(digit &- 0x30) }
    return Int((Double(value) / divisor * 1e6).rounded(.toNearestOrEven))
  }

  static func hexValue(_ byte: UInt8) -> UInt8? {
    if isDigit(byte) { return byte - 0x30 }
    let letter = (byte | 0x20) &- 0x61
    return letter < 6 ? letter + 10 : nil
  }
}
