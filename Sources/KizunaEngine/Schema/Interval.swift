/// A span of time as Postgres keeps it: months, days and microseconds, which do not turn into one another.
package struct Interval: Sendable, Comparable {
  package var months = 0
  package var days = 0
  package var micros = 0

  package init(months: Int = 0, days: Int = 0, micros: Int = 0) {
    self.months = months
    self.days = days
    self.micros = micros
  }

  /// A month counts 30 days and a day 24 hours: days, and microseconds of a day.
  private var length: (days: Int, micros: Int) {
    let dayLength = 86_400_000_000
    let rest = micros % dayLength
    let whole = micros / dayLength - (rest < 0 ? 1 : 0)
    return (months * 30 + days + whole, rest < 0 ? rest + dayLength : rest)
  }

  package static func < (a: Interval, b: Interval) -> Bool { a.length < b.length }
  package static func == (a: Interval, b: Interval) -> Bool { a.length == b.length }

  /// `1 year 2 mons 3 days 04:05:06.789`
  package var text: String {
    var buffer = ByteBuffer(capacity: 48)
    var isNegative = false
    func part(_ value: Int, _ unit: StaticString) {
      if value == 0 { return }
      if buffer.count > 0 { buffer.append(UInt8(ascii: " ")) }
      if isNegative && value > 0 { buffer.append(UInt8(ascii: "+")) }
      buffer.append(integer: Int64(value))
      buffer.append(UInt8(ascii: " "))
      buffer.append(unit)
      if value != 1 { buffer.append(UInt8(ascii: "s")) }
      isNegative = value < 0
    }
    part(months / 12, "year")
    part(months % 12, "mon")
    part(days, "day")
    if micros == 0 && buffer.count > 0 { return buffer.string }
    if buffer.count > 0 { buffer.append(UInt8(ascii: " ")) }
    if micros < 0 {
      buffer.append(UInt8(ascii: "-"))
    } else if isNegative {
      buffer.append(UInt8(ascii: "+"))
    }
    let magnitude = Int(clamping: micros.magnitude)
    Moment.append(secondOfDay: magnitude / 1_000_000, to: &buffer)
    Moment.append(fraction: magnitude % 1_000_000, to: &buffer)
    return buffer.string
  }
}
