/// A day of the proleptic Gregorian calendar. Years are astronomical: 0 is 1 BC.
package struct CivilDate: Sendable, Hashable {
  package var year: Int
  package var month: Int
  package var day: Int

  package init(_ year: Int, _ month: Int, _ day: Int) {
    self.year = year
    self.month = month
    self.day = day
  }

  package static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

  package static func days(inMonth month: Int, of year: Int) -> Int {
    switch month {
    case 4, 6, 9, 11: 30
    case 2: isLeap(year) ? 29 : 28
    default: 31
    }
  }

  /// Counted from 1970-01-01, by way of 400-year eras that begin in March.
  package var daysSinceEpoch: Int {
    let y = month <= 2 ? year - 1 : year
    let era = (y >= 0 ? y : y - 399) / 400
    let yearOfEra = y - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  package init(daysSinceEpoch days: Int) {
    let z = days + 719_468
    let era = (z >= 0 ? z : z - 146_096) / 146_097
    let dayOfEra = z - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * shifted + 2) / 5 + 1
    month = shifted < 10 ? shifted + 3 : shifted - 9
    year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
  }

  /// 0 is Sunday.
  package static func weekday(daysSinceEpoch days: Int) -> Int { ((days + 4) % 7 + 7) % 7 }

  /// The date without the `BC` that belongs behind it when `year` is below 1.
  func append(to buffer: inout ByteBuffer) {
    buffer.append(padded: year > 0 ? year : 1 - year, 4)
    buffer.append(UInt8(ascii: "-"))
    buffer.append(padded: month, 2)
    buffer.append(UInt8(ascii: "-"))
    buffer.append(padded: day, 2)
  }
}

extension ByteBuffer {
  /// A number that is not negative, with leading zeros up to `width` digits.
  mutating func append(padded value: Int, _ width: Int) {
    var bound = 10
    for _ in 1..<width {
      if value < bound { append(UInt8(ascii: "0")) }
      bound *= 10
    }
    append(integer: Int64(value))
  }
}
