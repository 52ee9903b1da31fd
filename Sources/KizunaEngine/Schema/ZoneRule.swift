/// A POSIX time zone string: a standard offset and, perhaps, the yearly rule of a summer one.
struct ZoneRule: Sendable, Hashable {
  enum Day: Sendable, Hashable {
    /// 1…365, February 29 never counted.
    case julian(Int)
    /// 0…365, February 29 counted.
    case ordinal(Int)
    /// The n-th weekday of a month; 5 is the last.
    case weekday(month: Int, week: Int, day: Int)
  }
  struct Summer: Sendable, Hashable {
    var offset: Int
    var start: Day
    /// Local seconds after midnight of the start day.
    var startTime: Int
    var end: Day
    var endTime: Int
  }
  /// Seconds east of UTC.
  var standard: Int
  var summer: Summer?

  init?(posix bytes: [UInt8]) {
    var scanner = LiteralScanner(bytes)
    Self.skipName(&scanner)
    guard let standard = Self.clock(&scanner), abs(standard) <= 167 * 3600 else { return nil }
    self.standard = -standard
    if scanner.isAtEnd { return }
    let start = scanner.index
    Self.skipName(&scanner)
    if scanner.index == start { return nil }
    var offset = self.standard + 3600
    if scanner.current != UInt8(ascii: ","), !scanner.isAtEnd {
      guard let given = Self.clock(&scanner) else { return nil }
      offset = -given
    }
    if scanner.isAtEnd {
      summer = Summer(
        offset: offset, start: .weekday(month: 3, week: 2, day: 0), startTime: 7200,
        end: .weekday(month: 11, week: 1, day: 0), endTime: 7200)
      return
    }
    guard let first = Self.transition(&scanner), let last = Self.transition(&scanner), scanner.isAtEnd else {
      return nil
    }
    summer = Summer(
      offset: offset, start: first.day, startTime: first.time, end: last.day, endTime: last.time)
  }

  /// `EST` or `<+03>`; may be missing.
  private static func skipName(_ scanner: inout LiteralScanner) {
    if scanner.take(UInt8(ascii: "<")) {
      _ = scanner.run { $0 != UInt8(ascii: ">") }
      _ = scanner.take(UInt8(ascii: ">"))
    } else {
      _ = scanner.letters()
    }
  }

  /// `[+-]hh[:mm[:ss]]` in seconds.
  private static func clock(_ scanner: inout LiteralScanner) -> Int? {
    let isNegative = scanner.take(UInt8(ascii: "-"))
    if !isNegative { _ = scanner.take(UInt8(ascii: "+")) }
    var seconds = 0
    var unit = 3600
    repeat {
      let digits = scanner.digits()
      if digits.isEmpty || digits.count > 3 { return nil }
      let value = LiteralScanner.number(digits)
      if unit < 3600 && value > 59 { return nil }
      seconds += value * unit
      unit /= 60
    } while unit > 0 && scanner.take(UInt8(ascii: ":"))
    return isNegative ? -seconds : seconds
  }

  private static func transition(_ scanner: inout LiteralScanner) -> (day: Day, time: Int)? {
    guard scanner.take(UInt8(ascii: ",")), let day = day(&scanner) else { return nil }
    var time = 7200
    if scanner.take(UInt8(ascii: "/")) {
      guard let given = clock(&scanner) else { return nil }
      time = given
    }
    return (day, time)
  }

  private static func day(_ scanner: inout LiteralScanner) -> Day? {
    func number(_ range: ClosedRange<Int>) -> Int? {
      let digits = scanner.digits()
      let value = LiteralScanner.number(digits)
      return !digits.isEmpty && range.contains(value) ? value : nil
    }
    if scanner.take(UInt8(ascii: "J")) { return number(1...365).map { .julian($0) } }
    guard scanner.take(UInt8(ascii: "M")) else { return number(0...365).map { .ordinal($0) } }
    guard let month = number(1...12), scanner.take(UInt8(ascii: ".")), let week = number(1...5),
      scanner.take(UInt8(ascii: ".")), let weekday = number(0...6)
    else { return nil }
    return .weekday(month: month, week: week, day: weekday)
  }

  func offset(utcSeconds: Int) -> Int {
    guard let summer else { return standard }
    let year = Moment(seconds: utcSeconds + standard, micros: 0).date.year
    let start = Self.seconds(summer.start, year) + summer.startTime - standard
    let end = Self.seconds(summer.end, year) + summer.endTime - summer.offset
    let isSummer =
      start < end
      ? utcSeconds >= start && utcSeconds < end
      : utcSeconds >= start || utcSeconds < end
    return isSummer ? summer.offset : standard
  }

  /// Local midnight of the day, in seconds since 1970.
  private static func seconds(_ day: Day, _ year: Int) -> Int {
    let first = CivilDate(year, 1, 1).daysSinceEpoch
    switch day {
    case .julian(let number):
      return (first + number - 1 + (number >= 60 && CivilDate.isLeap(year) ? 1 : 0)) * 86_400
    case .ordinal(let number): return (first + number) * 86_400
    case .weekday(let month, let week, let weekday):
      let monthStart = CivilDate(year, month, 1).daysSinceEpoch
      var date = 1 + (weekday - CivilDate.weekday(daysSinceEpoch: monthStart) + 7) % 7 + (week - 1) * 7
      while date > CivilDate.days(inMonth: month, of: year) { date -= 7 }
      return (monthStart + date - 1) * 86_400
    }
  }
}
