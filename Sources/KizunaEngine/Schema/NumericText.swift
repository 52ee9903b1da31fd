/// Numbers of any size and scale as Postgres' `numeric` keeps them: their exact decimal text.
package enum NumericText {
  /// A finite number: digits in ASCII, `whole` without leading zeros (empty for 0), `fraction` as long as the scale.
  struct Decimal {
    var isNegative = false
    var whole: [UInt8] = []
    var fraction: [UInt8] = []

    var isZero: Bool { whole.isEmpty && fraction.allSatisfy { $0 == 0x30 } }

    var text: String {
      var bytes: [UInt8] = []
      bytes.reserveCapacity(whole.count + fraction.count + 3)
      if isNegative && !isZero { bytes.append(UInt8(ascii: "-")) }
      if whole.isEmpty { bytes.append(0x30) } else { bytes += whole }
      if !fraction.isEmpty {
        bytes.append(UInt8(ascii: "."))
        bytes += fraction
      }
      return String(decoding: bytes, as: UTF8.self)
    }

    /// Rounds half away from zero; a negative scale rounds to tens, hundreds …
    mutating func round(toScale scale: Int) {
      if scale >= fraction.count {
        fraction += [UInt8](repeating: 0x30, count: scale - fraction.count)
        return
      }
      var digits = whole + fraction
      let keep = whole.count + scale
      fraction = []
      if keep < 0 {
        whole = []
        return
      }
      let roundsUp = digits[keep] >= 0x35
      digits.removeSubrange(keep...)
      if roundsUp { Self.increment(&digits) }
      let wholeCount = digits.count - max(scale, 0)
      whole = Array(digits[..<wholeCount])
      if scale > 0 { fraction = Array(digits[wholeCount...]) }
      if scale < 0, !whole.isEmpty { whole += [UInt8](repeating: 0x30, count: -scale) }
      whole = Array(whole.drop { $0 == 0x30 })
    }

    private static func increment(_ digits: inout [UInt8]) {
      var position = digits.count - 1
      while position >= 0 {
        if digits[position] < 0x39 {
          digits[position] += 1
          return
        }
        digits[position] = 0x30
        position -= 1
      }
      digits.insert(0x31, at: 0)
    }
  }

  enum Value {
    case finite(Decimal)
    case infinity(isNegative: Bool)
    case nan
  }

  static let maximumWhole = 131_072
  static let maximumFraction = 16_383

  /// Reads a literal; nil: not a number. Throws when it exceeds what `numeric` can hold.
  static func parse(_ text: String) throws(KizunaError) -> Value? {
    var scanner = LiteralScanner(Array(LiteralScanner.trimmed(text)))
    var decimal = Decimal()
    if scanner.take(UInt8(ascii: "-")) {
      decimal.isNegative = true
    } else {
      _ = scanner.take(UInt8(ascii: "+"))
    }
    if LiteralScanner.isLetter(scanner.current) { return word(scanner, decimal.isNegative) }
    decimal.whole = Array(scanner.digits())
    if scanner.take(UInt8(ascii: ".")) { decimal.fraction = Array(scanner.digits()) }
    if decimal.whole.isEmpty && decimal.fraction.isEmpty { return nil }
    if scanner.current | 0x20 == UInt8(ascii: "e") {
      scanner.index += 1
      let isNegative = scanner.take(UInt8(ascii: "-"))
      if !isNegative { _ = scanner.take(UInt8(ascii: "+")) }
      let digits = scanner.digits()
      if digits.isEmpty { return nil }
      let magnitude = LiteralScanner.number(digits)
      if scanner.isAtEnd { try shift(&decimal, by: isNegative ? -magnitude : magnitude) }
    }
    guard scanner.isAtEnd else { return nil }
    decimal.whole = Array(decimal.whole.drop { $0 == 0x30 })
    if decimal.whole.count > maximumWhole || decimal.fraction.count > maximumFraction { throw overflow }
    return .finite(decimal)
  }

  private static func word(_ scanner: LiteralScanner, _ isNegative: Bool) -> Value? {
    let isSigned = scanner.index > 0
    switch LiteralScanner.string(LiteralScanner.lowered(scanner.bytes[scanner.index...])) {
    case "nan": return isSigned ? nil : .nan
    case "infinity", "inf": return .infinity(isNegative: isNegative)
    default: return nil
    }
  }

  private static var overflow: KizunaError { .refused("22003", "value overflows numeric format") }

  private static func shift(_ decimal: inout Decimal, by exponent: Int) throws(KizunaError) {
    if decimal.isZero {
      let scale = max(0, decimal.fraction.count - exponent)
      if scale > maximumFraction { throw overflow }
      decimal = Decimal(fraction: [UInt8](repeating: 0x30, count: scale))
      return
    }
    if exponent > maximumWhole + maximumFraction || exponent < -(maximumWhole + maximumFraction) {
      throw overflow
    }
    if exponent >= 0 {
      let moved = min(exponent, decimal.fraction.count)
      decimal.whole += decimal.fraction[..<moved]
      decimal.fraction.removeFirst(moved)
      decimal.whole += [UInt8](repeating: 0x30, count: exponent - moved)
    } else {
      let missing = max(0, -exponent - decimal.whole.count)
      let digits = [UInt8](repeating: 0x30, count: missing) + decimal.whole
      let cut = digits.count + exponent
      decimal.whole = Array(digits[..<cut])
      decimal.fraction = digits[cut...] + decimal.fraction
    }
  }

  /// The stored text of a literal; the error is Postgres' own.
  package static func canonical(
    _ text: String, precision: Int? = nil, scale: Int? = nil
  ) throws(KizunaError) -> String {
    guard let value = try parse(text) else {
      throw .refused("22P02", "invalid input syntax for type numeric: \"\(text)\"")
    }
    switch value {
    case .nan: return "NaN"
    case .infinity(let isNegative):
      guard precision == nil else {
        throw fieldOverflow(precision, scale, "cannot hold an infinite value.")
      }
      return isNegative ? "-Infinity" : "Infinity"
    case .finite(var decimal):
      guard let precision else { return decimal.text }
      let scale = scale ?? 0
      decimal.round(toScale: scale)
      let limit = precision - scale
      let wholeDigits = decimal.whole.count
      let isTooLarge =
        limit >= 0
        ? wholeDigits > limit
        : wholeDigits > 0 || decimal.fraction.prefix(-limit).contains { $0 != 0x30 }
      if isTooLarge {
        let bound = limit == 0 ? "1" : "10^\(limit)"
        throw fieldOverflow(precision, scale, "must round to an absolute value less than \(bound).")
      }
      return decimal.text
    }
  }

  private static func fieldOverflow(_ precision: Int?, _ scale: Int?, _ rest: String) -> KizunaError {
    .refused(
      "22003", "numeric field overflow",
      details: "A field with precision \(precision ?? 0), scale \(scale ?? 0) \(rest)")
  }
}
