/// Intervals as Postgres prints them: `1 year 2 mons -3 days 04:05:06.5`.
enum IntervalText {
  /// The length in microseconds that Postgres compares by: a month has 30 days, a day 24 hours.
  static func span(_ text: UnsafeBufferPointer<UInt8>) -> Int128 {
    let day: Int128 = 86_400_000_000
    var total: Int128 = 0
    var number: Int128 = 0
    for word in text.split(separator: 0x20) {
      let field = UnsafeBufferPointer(rebasing: word)
      guard let first = field.first(where: { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "+") }) else {
        continue
      }
      if field.contains(UInt8(ascii: ":")) {
        total += time(field)
      } else if first &- 0x30 < 10 {
        number = signed(field, integer(field[...]))
      } else {
        switch first {
        case UInt8(ascii: "y"): total += number * 360 * day
        case UInt8(ascii: "m"): total += number * 30 * day
        case UInt8(ascii: "d"): total += number * day
        default: break
        }
      }
    }
    return total
  }

  private static func signed(_ field: UnsafeBufferPointer<UInt8>, _ value: Int128) -> Int128 {
    field.first == UInt8(ascii: "-") ? -value : value
  }

  private static func integer(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> Int128 {
    var value: Int128 = 0
    for byte in digits.prefix(24) where byte &- 0x30 < 10 { value = value * 10 + Int128(byte - 0x30) }
    return value
  }

  /// `[-]hh:mm:ss[.ffffff]`
  private static func time(_ field: UnsafeBufferPointer<UInt8>) -> Int128 {
    var units: [Int128] = [3_600_000_000, 60_000_000, 1_000_000]
    var total: Int128 = 0
    for part in field.split(separator: UInt8(ascii: ":")).prefix(3) {
      let halves = part.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
      total += integer(halves[0]) * units.removeFirst()
      guard halves.count > 1 else { continue }
      var scale: Int128 = 100_000
      for byte in halves[1].prefix(6) where byte &- 0x30 < 10 {
        total += Int128(byte - 0x30) * scale
        scale /= 10
      }
    }
    return signed(field, total)
  }

  static func compare(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int {
    let one = span(left)
    let other = span(right)
    return one == other ? 0 : one < other ? -1 : 1
  }
}
