import Glibc

/// A LIKE or ILIKE pattern: `%` any run (line feeds too), `_` one Unicode scalar, backslash makes the next one
/// literal and is itself literal at the end. A failed comparison goes back to the last `%` only, so that time is
/// bounded by text × pattern.
final class LikePattern {
  let insensitive: Bool
  /// UTF-8 bytes of the literals when case counts, else lowered scalars; with the two wildcards.
  private let tokens: [UInt32]
  private static let run: UInt32 = .max
  private static let one: UInt32 = .max - 1

  init(_ pattern: UnsafeBufferPointer<UInt8>, insensitive: Bool) {
    self.insensitive = insensitive
    var tokens: [UInt32] = []
    var index = 0
    while index < pattern.count {
      var scalar = insensitive ? UTF8Text.next(pattern, &index) : Self.byte(pattern, &index)
      switch scalar {
      case UInt32(UInt8(ascii: "%")):
        if tokens.last != Self.run { tokens.append(Self.run) }
        continue
      case UInt32(UInt8(ascii: "_")):
        tokens.append(Self.one)
        continue
      case UInt32(UInt8(ascii: "\\")) where index < pattern.count:
        scalar = insensitive ? UTF8Text.next(pattern, &index) : Self.byte(pattern, &index)
      default: break
      }
      tokens.append(insensitive ? CaseFolding.lower(scalar) : scalar)
    }
    self.tokens = tokens
  }

  private static func byte(_ bytes: UnsafeBufferPointer<UInt8>, _ index: inout Int) -> UInt32 {
    defer { index += 1 }
    return UInt32(bytes[index])
  }

  func matches(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    tokens.withUnsafeBufferPointer { insensitive ? matchScalars(text, $0) : matchBytes(text, $0) }
  }

  private func matchBytes(_ text: UnsafeBufferPointer<UInt8>, _ tokens: UnsafeBufferPointer<UInt32>) -> Bool {
    var at = 0
    var token = 0
    var retryToken = -1
    var retryAt = 0
    while true {
      if token < tokens.count, tokens[token] == Self.run {
        token += 1
        if token == tokens.count { return true }
        (retryToken, retryAt) = (token, at)
        continue
      }
      if at == text.count { return token == tokens.count }
      if token < tokens.count, tokens[token] == Self.one {
        repeat { at += 1 } while at < text.count && UTF8Text.isContinuation(text[at])
        token += 1
        continue
      }
      if token < tokens.count, tokens[token] == UInt32(text[at]) {
        at += 1
        token += 1
        continue
      }
      guard retryToken >= 0, let start = Self.nextStart(text, after: retryAt, for: tokens[retryToken]) else {
        return false
      }
      (token, at, retryAt) = (retryToken, start, start)
    }
  }

  /// Where the part behind a `%` may start next: its first byte, when that is a literal, is searched for.
  private static func nextStart(
    _ text: UnsafeBufferPointer<UInt8>, after index: Int, for token: UInt32
  ) -> Int? {
    var start = index + 1
    if token == one {
      while start < text.count && UTF8Text.isContinuation(text[start]) { start += 1 }
      return start
    }
    guard start < text.count, let base = text.baseAddress,
      let found = memchr(base + start, Int32(token), text.count - start)
    else { return nil }
    return UnsafeRawPointer(found) - UnsafeRawPointer(base)
  }

  private func matchScalars(_ text: UnsafeBufferPointer<UInt8>, _ tokens: UnsafeBufferPointer<UInt32>) -> Bool
  {
    var at = 0
    var token = 0
    var retryToken = -1
    var retryAt = 0
    while true {
      if token < tokens.count, tokens[token] == Self.run {
        token += 1
        if token == tokens.count { return true }
        (retryToken, retryAt) = (token, at)
        continue
      }
      if at == text.count { return token == tokens.count }
      if token < tokens.count {
        var next = at
        let scalar = UTF8Text.next(text, &next)
        if tokens[token] == Self.one || tokens[token] == CaseFolding.lower(scalar) {
          at = next
          token += 1
          continue
        }
      }
      guard retryToken >= 0 else { return false }
      _ = UTF8Text.next(text, &retryAt)
      (token, at) = (retryToken, retryAt)
    }
  }
}
