/// Where a grammar stopped, in bytes of the text it was given, and what it wanted there.
struct ParseFailure: Error {
  var at: Int
  var expecting: String
  /// `'x'` instead of `"x"`: how the dialect quotes a character that stands where the end should be.
  var single = false
  /// Takes the place of the unexpected/expecting sentence.
  var note: String?
}

/// A cursor over decoded, valid UTF-8. The grammars are extensions of it; all of them run in linear time.
struct Scanner {
  let bytes: [UInt8]
  var at: Int

  /// How deep logic trees and embeds may nest: recursion must not follow the length of the input.
  static let maxDepth = 64
  static let fieldName = "field name (* or [a..z0..9_$])"

  init(_ bytes: [UInt8], at: Int = 0) {
    self.bytes = bytes
    self.at = at
  }

  var atEnd: Bool { at >= bytes.count }

  func byte(_ offset: Int = 0) -> UInt8? {
    let index = at + offset
    return index < bytes.count ? bytes[index] : nil
  }

  func next(is byte: UInt8) -> Bool { at < bytes.count && bytes[at] == byte }

  func follows(_ word: StaticString, at position: Int? = nil) -> Bool {
    let start = position ?? at
    let length = word.utf8CodeUnitCount
    guard start + length <= bytes.count else { return false }
    for index in 0..<length where bytes[start + index] != word.utf8Start[index] { return false }
    return true
  }

  mutating func take(_ byte: UInt8) -> Bool {
    guard next(is: byte) else { return false }
    at += 1
    return true
  }

  mutating func take(_ word: StaticString) -> Bool {
    guard follows(word) else { return false }
    at += word.utf8CodeUnitCount
    return true
  }

  mutating func expect(_ byte: UInt8, _ expecting: String) throws(ParseFailure) {
    if !take(byte) { throw failure(expecting) }
  }

  mutating func skipBlanks() {
    while at < bytes.count, ASCII.isBlank(bytes[at]) { at += 1 }
  }

  func failure(_ expecting: String, single: Bool = false) -> ParseFailure {
    ParseFailure(at: at, expecting: expecting, single: single)
  }

  func text(_ start: Int, _ end: Int) -> String { String(bytes: bytes[start..<end]) }
}

extension ParseFailure {
  /// - Parameters:
  ///   - text: what the client sent, decoded.
  ///   - prefix: what stood before it in the scanned bytes; it counts for the position.
  func error(_ kind: String, _ text: [UInt8], prefix: [UInt8] = []) -> DialectError {
    let scanned = prefix + text
    var line = 1
    var column = 1
    for byte in scanned[..<min(at, scanned.count)] {
      switch byte {
      case ASCII.newline:
        line += 1
        column = 1
      case ASCII.tab: column += 8 - (column - 1) % 8
      default: column += byte & 0xC0 == 0x80 ? 0 : 1
      }
    }
    let shown = String(decoding: text, as: UTF8.self)
    return DialectError(
      "PGRST100", status: 400, "\"failed to parse \(kind) (\(shown))\" (line \(line), column \(column))",
      details: note ?? "unexpected \(unexpected(in: scanned)) expecting \(expecting)")
  }

  private func unexpected(in scanned: [UInt8]) -> String {
    guard at < scanned.count else { return "end of input" }
    var end = at + 1
    while end < scanned.count, scanned[end] & 0xC0 == 0x80 { end += 1 }
    let character = String(bytes: scanned[at..<end])
    let mark = single ? "'" : "\""
    return mark + (character == mark || character == "\\" ? "\\" + character : character) + mark
  }
}
