extension Interval {
  /// Reads any form that Postgres takes: `1 day 2 hours ago`, `1 02:03:04`, `1-2`, `P1Y2M3DT4H5M6S`.
  package init(parsing text: String) throws(KizunaError) {
    var parser = IntervalParser(text)
    self = try parser.interval()
  }
}

private struct IntervalParser {
  enum Unit: Equatable {
    case micros(Int)
    case days(Int)
    case months(Int)
    /// Hours, minutes and seconds in one term.
    static let clock = micros(0)

    var isClock: Bool {
      if case .micros = self { return true }
      return false
    }
  }

  struct Number {
    var isNegative: Bool
    var whole: Int
    /// Digits behind the point as a number of billionths.
    var fraction: Int
  }

  let text: String
  var scanner: LiteralScanner
  var result = Interval()
  /// Units met: each may occur once.
  var units: [Unit] = []

  init(_ text: String) {
    self.text = text
    scanner = LiteralScanner(LiteralScanner.lowered(text.utf8))
  }

  var malformed: KizunaError { .invalidSyntax("interval", text, sqlstate: "22007") }
  var outOfRange: KizunaError { .refused("22015", "interval field value out of range: \"\(text)\"") }

  mutating func interval() throws(KizunaError) -> Interval {
    scanner.skipSpace()
    if scanner.current == UInt8(ascii: "p"),
      !LiteralScanner.isLetter(scanner.peek(1)) || scanner.peek(1) == UInt8(ascii: "t")
    {
      scanner.index += 1
      try iso()
    } else {
      try words()
    }
    guard Int32(exactly: result.months) != nil, Int32(exactly: result.days) != nil else { throw outOfRange }
    return result
  }

  private mutating func words() throws(KizunaError) {
    var isEmpty = true
    var isNegated = false
    while true {
      _ = scanner.run { LiteralScanner.isSpace($0) || $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "@") }
      if scanner.isAtEnd { break }
      if isNegated { throw malformed }
      if LiteralScanner.isLetter(scanner.current) {
        guard scanner.letters().elementsEqual("ago".utf8), !isEmpty else { throw malformed }
        isNegated = true
      } else {
        try term()
        isEmpty = false
      }
    }
    if isEmpty { throw malformed }
    if isNegated { result = Interval(months: -result.months, days: -result.days, micros: -result.micros) }
  }

  private mutating func term() throws(KizunaError) {
    let start = scanner.index
    let number = try number()
    switch scanner.current {
    case UInt8(ascii: ":"):
      if units.contains(where: \.isClock) { throw malformed }
      units.append(.clock)
      scanner.index = start
      try clock()
    case UInt8(ascii: "-") where number.fraction == 0 && LiteralScanner.isDigit(scanner.peek(1)):
      scanner.index += 1
      let months = LiteralScanner.number(scanner.digits())
      if months > 11 { throw outOfRange }
      try add(number, .months(12))
      try add(Number(isNegative: number.isNegative, whole: months, fraction: 0), .months(1))
    default:
      let unit = try unit(of: number)
      if units.contains(unit) || unit.isClock && units.contains(.clock) { throw malformed }
      units.append(unit)
      try add(number, unit)
    }
  }

  private mutating func number() throws(KizunaError) -> Number {
    let isNegative = scanner.take(UInt8(ascii: "-"))
    if !isNegative { _ = scanner.take(UInt8(ascii: "+")) }
    scanner.skipSpace()
    let digits = scanner.digits()
    var fraction = 0
    var places = 0
    if scanner.take(UInt8(ascii: ".")) {
      let decimals = scanner.digits()
      places = decimals.count
      for place in 0..<9 {
        fraction = fraction * 10 + (place < places ? Int(decimals[decimals.startIndex + place] - 0x30) : 0)
      }
    }
    if digits.isEmpty && places == 0 { throw malformed }
    return Number(isNegative: isNegative, whole: LiteralScanner.number(digits), fraction: fraction)
  }

  /// `[-]H:M[:S[.f]]`; with one field less, `M:S.f` when the last has a fraction.
  private mutating func clock() throws(KizunaError) {
    let isNegative = scanner.take(UInt8(ascii: "-"))
    if !isNegative { _ = scanner.take(UInt8(ascii: "+")) }
    var fields: [Int] = []
    repeat {
      let digits = scanner.digits()
      if digits.isEmpty { throw malformed }
      fields.append(LiteralScanner.number(digits))
    } while fields.count < 3 && scanner.take(UInt8(ascii: ":"))
    var micros = 0
    if scanner.take(UInt8(ascii: ".")) {
      if fields.count == 2 { fields.insert(0, at: 0) }
      micros = LiteralScanner.micros(scanner.digits())
    }
    fields += [0]
    guard fields[1] < 60, fields[2] <= 60 else { throw outOfRange }
    guard fields[0] < 2_562_047_788 else { throw outOfRange }
    micros += ((fields[0] * 60 + fields[1]) * 60 + fields[2]) * 1_000_000
    try add(micros: micros, isNegative)
  }

  private mutating func add(micros: Int, _ isNegative: Bool) throws(KizunaError) {
    let (sum, isOver) = result.micros.addingReportingOverflow(isNegative ? -micros : micros)
    if isOver || sum == Int.min { throw outOfRange }
    result.micros = sum
  }

  /// The unit behind a number. Without one it counts days before a time, else seconds.
  private mutating func unit(of number: Number) throws(KizunaError) -> Unit {
    scanner.skipSpace()
    let start = scanner.index
    let word = LiteralScanner.string(scanner.letters())
    if word.isEmpty || word == "ago" {
      scanner.index = start
      if scanner.isAtEnd || word == "ago" { return .micros(1_000_000) }
      var ahead = scanner
      _ = ahead.run { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") }
      _ = ahead.digits()
      guard ahead.current == UInt8(ascii: ":") else { throw malformed }
      return .days(1)
    }
    guard let unit = Self.unit(word) else { throw malformed }
    return unit
  }

  private static func unit(_ word: String) -> Unit? {
    switch word {
    case "us", "usec", "usecs", "usecond", "useconds", "microsecond", "microseconds", "microsecon": .micros(1)
    case "ms", "msec", "msecs", "msecond", "mseconds", "millisecond", "milliseconds", "millisecon":
      .micros(1000)
    case "s", "sec", "secs", "second", "seconds": .micros(1_000_000)
    case "m", "min", "mins", "minute", "minutes": .micros(60_000_000)
    case "h", "hr", "hrs", "hour", "hours": .micros(3_600_000_000)
    case "d", "day", "days": .days(1)
    case "w", "week", "weeks": .days(7)
    case "mon", "mons", "month", "months": .months(1)
    case "y", "yr", "yrs", "year", "years": .months(12)
    case "dec", "decs", "decade", "decades": .months(120)
    case "c", "cent", "century", "centuries": .months(1200)
    case "mil", "mils", "millennium", "millennia": .months(12_000)
    default: nil
    }
  }

  /// A fraction of months falls to days, one of days to microseconds.
  private mutating func add(_ number: Number, _ unit: Unit) throws(KizunaError) {
    let sign = number.isNegative ? -1 : 1
    let billion = 1_000_000_000
    switch unit {
    case .micros(let size):
      let (product, isOver) = number.whole.multipliedReportingOverflow(by: size)
      if isOver { throw outOfRange }
      try add(micros: product, number.isNegative)
      try add(micros: Self.scaled(number.fraction, size), number.isNegative)
    case .days(let size):
      result.days += sign * number.whole * size
      let rest = number.fraction * size
      result.days += sign * (rest / billion)
      try add(micros: Self.scaled(rest % billion, 86_400_000_000), number.isNegative)
    case .months(let size):
      result.months += sign * number.whole * size
      let rest = number.fraction * size
      if size > 1 {
        // Years and longer: a fraction is rounded to whole months.
        result.months += sign * ((rest + billion / 2) / billion)
      } else {
        let days = rest * 30
        result.days += sign * (days / billion)
        try add(micros: Self.scaled(days % billion, 86_400_000_000), number.isNegative)
      }
    }
  }

  /// Billionths of `size`, rounded.
  private static func scaled(_ fraction: Int, _ size: Int) -> Int {
    Int((Double(fraction) * Double(size) / 1e9).rounded(.toNearestOrEven))
  }

  private mutating func iso() throws(KizunaError) {
    var isTime = false
    var isEmpty = true
    while !scanner.isAtEnd {
      if scanner.take(UInt8(ascii: "t")) {
        if isTime { throw malformed }
        isTime = true
        continue
      }
      let number = try number()
      let letter = scanner.current
      scanner.index += 1
      isEmpty = false
      switch (letter, isTime) {
      case (UInt8(ascii: "y"), false): try add(number, .months(12))
      case (UInt8(ascii: "m"), false): try add(number, .months(1))
      case (UInt8(ascii: "w"), false): try add(number, .days(7))
      case (UInt8(ascii: "d"), false): try add(number, .days(1))
      case (UInt8(ascii: "h"), true): try add(number, .micros(3_600_000_000))
      case (UInt8(ascii: "m"), true): try add(number, .micros(60_000_000))
      case (UInt8(ascii: "s"), true): try add(number, .micros(1_000_000))
      default: throw malformed
      }
    }
    if isEmpty { throw malformed }
  }
}
