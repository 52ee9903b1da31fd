import Glibc

/// Decimal numbers as text: `1.50`, `-2e3`, `NaN`, `Infinity`. Compared by value, whatever their scale, without
/// rounding.
package enum DecimalText {
  private enum Class: Int { case negativeInfinity, finite, infinity, notANumber }

  /// A borrowed look at a finite number: its significant digits and where the point stands before them.
  private struct Parts {
    var kind = Class.finite
    /// -1, 0 or 1.
    var sign = 1
    var digits: UnsafeBufferPointer<UInt8>
    /// The number is 0.d₁d₂d₃… × 10^magnitude, d₁ not zero.
    var magnitude = 0
    var index = 0

    /// The next digit; zeros for ever behind the last.
    mutating func next() -> UInt8 {
      while index < digits.count {
        let digit = digits[index] &- 0x30
        index += 1
        if digit < 10 { return digit }
      }
      return 0
    }
    var isAtEnd: Bool { index >= digits.count }
  }

  private static func parts(_ text: UnsafeBufferPointer<UInt8>) -> Parts {
    var index = 0
    var parts = Parts(digits: text)
    while index < text.count, text[index] == 0x20 { index += 1 }
    if index < text.count, text[index] == UInt8(ascii: "-") || text[index] == UInt8(ascii: "+") {
      if text[index] == UInt8(ascii: "-") { parts.sign = -1 }
      index += 1
    }
    if index < text.count {
      switch text[index] | 0x20 {
      case UInt8(ascii: "n"):
        parts.kind = .notANumber
        return parts
      case UInt8(ascii: "i"):
        parts.kind = parts.sign < 0 ? .negativeInfinity : .infinity
        return parts
      default: break
      }
    }
    scan(text, from: index, into: &parts)
    return parts
  }

  private static func scan(_ text: UnsafeBufferPointer<UInt8>, from start: Int, into parts: inout Parts) {
    var index = start
    var first: Int?
    var point: Int?
    var wholeDigits = 0
    var leadingZeros = 0
    while index < text.count {
      let byte = text[index]
      if byte == UInt8(ascii: "."), point == nil {
        point = index
      } else if byte &- 0x30 < 10 {
        if first == nil, byte != 0x30 { first = index }
        if point == nil {
          if first != nil { wholeDigits += 1 }
        } else if first == nil {
          leadingZeros += 1
        }
      } else {
        break
      }
      index += 1
    }
    guard let first else {
      parts.sign = 0
      return
    }
    parts.digits = UnsafeBufferPointer(rebasing: text[first..<index])
    parts.magnitude = wholeDigits > 0 ? wholeDigits : -leadingZeros
    if index < text.count, text[index] | 0x20 == UInt8(ascii: "e") {
      parts.magnitude += exponent(text, from: index + 1)
    }
  }

  /// Exponents beyond any number that is kept are clamped.
  private static func exponent(_ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    var index = start
    let isNegative = index < text.count && text[index] == UInt8(ascii: "-")
    if index < text.count, isNegative || text[index] == UInt8(ascii: "+") { index += 1 }
    var value = 0
    while index < text.count, text[index] &- 0x30 < 10 {
      value = min(value * 10 + Int(text[index] - 0x30), 1_000_000_000_000)
      index += 1
    }
    return isNegative ? -value : value
  }

  /// -1, 0 or 1. NaN equals itself and stands above everything, as in Postgres.
  package static func compare(
    _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
  ) -> Int {
    var one = parts(left)
    var other = parts(right)
    if one.kind != .finite || other.kind != .finite {
      return (one.kind.rawValue - other.kind.rawValue).signum()
    }
    if one.sign != other.sign { return one.sign < other.sign ? -1 : 1 }
    if one.sign == 0 { return 0 }
    if one.magnitude != other.magnitude { return one.magnitude < other.magnitude ? -one.sign : one.sign }
    while !one.isAtEnd || !other.isAtEnd {
      let first = one.next()
      let second = other.next()
      if first != second { return first < second ? -one.sign : one.sign }
    }
    return 0
  }

  package static func compare(_ left: String, _ right: String) -> Int {
    var left = left
    var right = right
    return left.withUTF8 { one in right.withUTF8 { other in compare(one, other) } }
  }

  /// The text of a floating-point number: an integer without fraction below 2⁵³, else the shortest form that
  /// reads back the same.
  static func text(_ value: Double) -> String {
    if value.rounded(.towardZero) == value, value.magnitude < 9_007_199_254_740_992 {
      return String(Int64(value))
    }
    return value.description
  }

  /// The text of a JSON number under the same rule; integers keep all their digits.
  static func text(jsonNumber text: String) -> String {
    let isInteger = text.utf8.allSatisfy { $0 &- 0x30 < 10 || $0 == UInt8(ascii: "-") }
    if isInteger { return text == "-0" ? "0" : text }
    guard let value = Double(text), value.isFinite else { return text }
    return Self.text(value)
  }
}
