import Glibc

/// Binary floating point the way Postgres reads and shows it.
package enum FloatText {
  /// The shortest text that reads back as the same value, with an exponent where Postgres writes one.
  package static func text(_ value: Double, isSingle: Bool = false) -> String {
    if value.isNaN { return "NaN" }
    if value.isInfinite { return value < 0 ? "-Infinity" : "Infinity" }
    let description = isSingle ? Float(value).description : value.description
    let (digits, exponent) = split(description)
    let sign = value.sign == .minus ? "-" : ""
    if digits.isEmpty { return sign + "0" }
    if exponent < -4 || exponent >= (isSingle ? 6 : 15) {
      return sign + scientific(digits, exponent)
    }
    return sign + plain(digits, exponent)
  }

  private static func scientific(_ digits: [UInt8], _ exponent: Int) -> String {
    var bytes = [digits[0]]
    if digits.count > 1 {
      bytes.append(UInt8(ascii: "."))
      bytes += digits[1...]
    }
    let magnitude = abs(exponent)
    return LiteralScanner.string(bytes) + (exponent < 0 ? "e-" : "e+") + (magnitude < 10 ? "0" : "")
      + "\(magnitude)"
  }

  private static func plain(_ digits: [UInt8], _ exponent: Int) -> String {
    var bytes: [UInt8] = []
    if exponent < 0 {
      bytes = [0x30, UInt8(ascii: ".")] + [UInt8](repeating: 0x30, count: -exponent - 1) + digits
    } else {
      for place in 0..<max(digits.count, exponent + 1) {
        if place == exponent + 1 { bytes.append(UInt8(ascii: ".")) }
        bytes.append(place < digits.count ? digits[place] : 0x30)
      }
    }
    return LiteralScanner.string(bytes)
  }

  /// The significant digits of a description, and the decimal exponent of the first.
  private static func split(_ description: String) -> (digits: [UInt8], exponent: Int) {
    var scanner = LiteralScanner(description)
    _ = scanner.take(UInt8(ascii: "-"))
    let whole = Array(scanner.digits())
    let fraction = scanner.take(UInt8(ascii: ".")) ? Array(scanner.digits()) : []
    var exponent = whole.count - 1
    if scanner.take(UInt8(ascii: "e")) {
      let isNegative = scanner.take(UInt8(ascii: "-"))
      if !isNegative { _ = scanner.take(UInt8(ascii: "+")) }
      let magnitude = LiteralScanner.number(scanner.digits())
      exponent += isNegative ? -magnitude : magnitude
    }
    var digits = whole + fraction
    while digits.first == 0x30 {
      digits.removeFirst()
      exponent -= 1
    }
    while digits.last == 0x30 { digits.removeLast() }
    return (digits, exponent)
  }

  /// Reads a literal of `real` or `double precision`; a `real` is rounded to its 24 bits.
  package static func parse(_ text: String, isSingle: Bool = false) throws(KizunaError) -> Double {
    let name = isSingle ? "real" : "double precision"
    let trimmed = LiteralScanner.trimmed(text)
    let source = LiteralScanner.string(trimmed)
    guard !trimmed.isEmpty, !trimmed.contains(0), !trimmed.contains(UInt8(ascii: "(")) else {
      throw .refused("22P02", "invalid input syntax for type \(name): \"\(text)\"")
    }
    var isComplete = false
    var value = 0.0
    errno = 0
    source.withCString { start in
      var end: UnsafeMutablePointer<CChar>?
      value = isSingle ? Double(strtof(start, &end)) : strtod(start, &end)
      isComplete = end.map { UnsafePointer($0) == start + trimmed.count } ?? false
    }
    let code = errno
    guard isComplete else {
      throw .refused("22P02", "invalid input syntax for type \(name): \"\(text)\"")
    }
    if code == ERANGE, value == 0 || value.isInfinite {
      throw .refused("22003", "\"\(text)\" is out of range for type \(name)")
    }
    return value
  }
}
