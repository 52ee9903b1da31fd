extension NumericText {
  /// The sum of two decimal texts, of any size. Text that is no finite number counts as 0.
  package static func add(_ left: String, _ right: String) -> String {
    var a = finite(left)
    var b = finite(right)
    let scale = max(a.fraction.count, b.fraction.count)
    a.round(toScale: scale)
    b.round(toScale: scale)
    let x = a.whole + a.fraction
    let y = b.whole + b.fraction
    var digits: [UInt8]
    var isNegative = a.isNegative
    if a.isNegative == b.isNegative {
      digits = sum(x, y)
    } else if isSmaller(x, y) {
      digits = difference(y, x)
      isNegative = b.isNegative
    } else {
      digits = difference(x, y)
    }
    if digits.count < scale { digits = [UInt8](repeating: 0x30, count: scale - digits.count) + digits }
    let cut = digits.count - scale
    let whole = Array(digits[..<cut].drop { $0 == 0x30 })
    return Decimal(isNegative: isNegative, whole: whole, fraction: Array(digits[cut...])).text
  }

  private static func finite(_ text: String) -> Decimal {
    guard case .finite(let decimal)? = try? parse(text) else { return Decimal() }
    return decimal
  }

  private static func sum(_ x: [UInt8], _ y: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var carry: UInt8 = 0
    for place in 0..<max(x.count, y.count) {
      let total = digit(x, place) + digit(y, place) + carry
      result.append(0x30 + total % 10)
      carry = total / 10
    }
    if carry > 0 { result.append(0x31) }
    return result.reversed()
  }

  /// x − y for x ≥ y.
  private static func difference(_ x: [UInt8], _ y: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var borrow: UInt8 = 0
    for place in 0..<max(x.count, y.count) {
      let subtrahend = digit(y, place) + borrow
      let minuend = digit(x, place)
      borrow = minuend < subtrahend ? 1 : 0
      result.append(0x30 + minuend + borrow * 10 - subtrahend)
    }
    return result.reversed()
  }

  /// The digit at `place`, counted from the right.
  private static func digit(_ digits: [UInt8], _ place: Int) -> UInt8 {
    place < digits.count ? digits[digits.count - 1 - place] - 0x30 : 0
  }

  private static func isSmaller(_ x: [UInt8], _ y: [UInt8]) -> Bool {
    let a = x.drop { $0 == 0x30 }
    let b = y.drop { $0 == 0x30 }
    return a.count != b.count ? a.count < b.count : a.lexicographicallyPrecedes(b)
  }

  /// Orders two stored texts by value: below 0, 0 or above. NaN stands above everything, as in Postgres.
  /// No allocation: this is what a collation calls for every pair of rows.
  package static func compare(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int
  {
    let a = rank(left)
    let b = rank(right)
    if a != b || a != 0 { return a - b }
    let isNegative = left.first == UInt8(ascii: "-")
    let isOtherNegative = right.first == UInt8(ascii: "-")
    if isNegative != isOtherNegative { return isNegative ? -1 : 1 }
    let order = compareMagnitudes(left, right, from: isNegative ? 1 : 0)
    return isNegative ? -order : order
  }

  /// 0 for a finite number.
  private static func rank(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
    switch bytes.first {
    case UInt8(ascii: "N"): return 2
    case UInt8(ascii: "I"): return 1
    case UInt8(ascii: "-"): return bytes.count > 1 && bytes[1] == UInt8(ascii: "I") ? -1 : 0
    default: return 0
    }
  }

  private static func compareMagnitudes(
    _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>, from start: Int
  ) -> Int {
    let point = UInt8(ascii: ".")
    let a = left.firstIndex(of: point) ?? left.count
    let b = right.firstIndex(of: point) ?? right.count
    if a != b { return a - b }
    var index = start
    while index < left.count || index < right.count {
      let x = index < left.count ? left[index] : (index == a ? point : 0x30)
      let y = index < right.count ? right[index] : (index == b ? point : 0x30)
      if x != y { return Int(x) - Int(y) }
      index += 1
    }
    return 0
  }
}
