/// What a date or time literal says, field by field.
struct DateTimeLiteral {
  enum Special { case infinity, minusInfinity, epoch, now, today, tomorrow, yesterday, midnight }
  struct Clock {
    var hour: Int
    var minute: Int
    var second: Int
    var micros: Int
    /// 86,400 s and a little more are allowed: `24:00:00`, `23:59:60`.
    var seconds: Int { hour * 3600 + minute * 60 + second }
  }

  var special: Special?
  var date: CivilDate?
  var clock: Clock?
  /// Seconds east of UTC, or a named zone.
  var offset: Int?
  var zone: Zone?

  private let text: String
  private let type: String
  private var scanner: LiteralScanner
  /// Numbers around a month's name, in their order.
  private var loose: [ArraySlice<UInt8>] = []
  private var namedMonth: Int?
  private var isBC = false
  private var isAfternoon: Bool?

  /// Reads a literal of the type named `type`, as ISO 8601 or one of the other forms that Postgres takes.
  init(_ text: String, type: String) throws(KizunaError) {
    self.text = text
    self.type = type
    scanner = LiteralScanner(text)
    try readTokens()
    try finish()
  }

  private var malformed: KizunaError { .invalidSyntax(type, text, sqlstate: "22007") }
  private var outOfRange: KizunaError {
    .refused("22008", "date/time field value out of range: \"\(text)\"")
  }
  private var misorderedDate: KizunaError {
    .refused(
      "22008", "date/time field value out of range: \"\(text)\"",
      hint: "Perhaps you need a different \"datestyle\" setting.")
  }

  private mutating func readTokens() throws(KizunaError) {
    while true {
      _ = scanner.run { LiteralScanner.isSpace($0) || $0 == UInt8(ascii: ",") }
      if scanner.isAtEnd { return }
      let byte = scanner.current
      if LiteralScanner.isDigit(byte) {
        try readNumber()
      } else if LiteralScanner.isLetter(byte) {
        try readWord()
      } else if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-") {
        try readSigned()
      } else {
        throw malformed
      }
    }
  }

  private mutating func readNumber() throws(KizunaError) {
    let start = scanner.index
    let digits = scanner.digits()
    switch scanner.current {
    case UInt8(ascii: ":"):
      scanner.index = start
      try readClock()
    case UInt8(ascii: "-"), UInt8(ascii: "/"), UInt8(ascii: "."):
      if date != nil || isFraction(digits) {
        try readCompact(digits)
      } else {
        try readDate(first: digits)
      }
    default: try readCompact(digits)
    }
  }

  /// `101530.25`: a compact time with a fraction, not a date.
  private func isFraction(_ digits: ArraySlice<UInt8>) -> Bool {
    scanner.current == UInt8(ascii: ".") && digits.count == 6 && date != nil
  }

  /// `10:15`, `10:15:30.25`
  private mutating func readClock() throws(KizunaError) {
    guard clock == nil else { throw malformed }
    let hour = LiteralScanner.number(scanner.digits())
    _ = scanner.take(UInt8(ascii: ":"))
    let minutes = scanner.digits()
    var second = 0
    var micros = 0
    if scanner.take(UInt8(ascii: ":")) {
      second = LiteralScanner.number(scanner.digits())
      micros = readFraction()
    }
    if minutes.isEmpty { throw malformed }
    try setClock(hour, LiteralScanner.number(minutes), second, micros)
  }

  /// Microseconds, rounded.
  private mutating func readFraction() -> Int {
    scanner.take(UInt8(ascii: ".")) ? LiteralScanner.micros(scanner.digits()) : 0
  }

  private mutating func setClock(_ hour: Int, _ minute: Int, _ second: Int, _ micros: Int) throws(KizunaError)
  {
    let isPastMidnight = hour == 24 && (minute > 0 || second > 0 || micros > 0)
    guard hour <= 24, minute <= 59, second <= 60, !isPastMidnight else { throw outOfRange }
    clock = Clock(hour: hour, minute: minute, second: second + micros / 1_000_000, micros: micros % 1_000_000)
  }

  /// `2024-05-01`, `5/1/2024`, `01-May-2024`
  private mutating func readDate(first: ArraySlice<UInt8>) throws(KizunaError) {
    let delimiter = scanner.current
    var fields = [first]
    while fields.count < 3, scanner.current == delimiter,
      LiteralScanner.isDigit(scanner.peek(1)) || LiteralScanner.isLetter(scanner.peek(1))
    {
      scanner.index += 1
      fields.append(LiteralScanner.isDigit(scanner.current) ? scanner.digits() : scanner.letters())
    }
    if fields.count == 2, fields[0].count >= 4, fields[1].count == 3 {
      try setDayOfYear(LiteralScanner.number(fields[0]), LiteralScanner.number(fields[1]))
      return
    }
    guard fields.count == 3 else { throw malformed }
    if let at = fields.firstIndex(where: { LiteralScanner.isLetter($0.first ?? 0) }) {
      guard
        let month = DateTimeWords.month(LiteralScanner.string(LiteralScanner.lowered(fields.remove(at: at))))
      else {
        throw malformed
      }
      try setDate(month: month, fields)
    } else if fields[0].count > 2 && fields[1].count > 2 {
      throw malformed
    } else if fields[0].count >= 3 {
      try setDate(year: year(fields[0]), LiteralScanner.number(fields[1]), LiteralScanner.number(fields[2]))
    } else {
      try setDate(year: year(fields[2]), LiteralScanner.number(fields[0]), LiteralScanner.number(fields[1]))
    }
  }

  private mutating func setDayOfYear(_ year: Int, _ day: Int) throws(KizunaError) {
    guard day >= 1, day <= (CivilDate.isLeap(year) ? 366 : 365), year > 0 else { throw outOfRange }
    date = CivilDate(daysSinceEpoch: CivilDate(year, 1, 1).daysSinceEpoch + day - 1)
  }

  /// Two digits mean 1970 to 2069.
  private func year(_ digits: ArraySlice<UInt8>) -> Int {
    let value = LiteralScanner.number(digits)
    return digits.count > 2 ? value : value < 70 ? value + 2000 : value + 1900
  }

  private mutating func setDate(year: Int, _ month: Int, _ day: Int) throws(KizunaError) {
    if date != nil { throw malformed }
    if month < 1 || month > 12 || day < 1 || day > 31 { throw misorderedDate }
    date = CivilDate(min(year, 10_000_000), month, day)
  }

  /// A month's name with a day and a year in either order.
  private mutating func setDate(month: Int, _ numbers: [ArraySlice<UInt8>]) throws(KizunaError) {
    guard numbers.count == 2 else { throw malformed }
    let isYearFirst = numbers[0].count > 2
    let day = LiteralScanner.number(numbers[isYearFirst ? 1 : 0])
    try setDate(year: year(numbers[isYearFirst ? 0 : 1]), month, day)
  }

  /// Digits without delimiters: a whole date, a whole time, or one number beside a month's name.
  private mutating func readCompact(_ digits: ArraySlice<UInt8>) throws(KizunaError) {
    let value = LiteralScanner.number(digits)
    let hasDate = date != nil || namedMonth != nil && loose.count == 2
    let isTime = hasDate || type.hasPrefix("time") && !type.hasPrefix("timestamp")
    if isTime, clock == nil, digits.count == 6 || digits.count == 4 || (digits.count == 2 && date != nil) {
      let hhmmss = digits.count == 6 ? value : digits.count == 4 ? value * 100 : value * 10_000
      let micros = digits.count == 6 ? readFraction() : 0
      if digits.count == 2 && !isMeridianNext { throw malformed }
      try setClock(hhmmss / 10_000, hhmmss / 100 % 100, hhmmss % 100, micros)
    } else if date == nil, digits.count >= 7, namedMonth == nil {
      try setDate(year: value / 10_000, value / 100 % 100, value % 100)
    } else if date == nil, digits.count == 6, namedMonth == nil {
      try setDate(year: year(digits.prefix(2)), value / 100 % 100, value % 100)
    } else if date == nil, loose.count < 2 {
      loose.append(digits)
    } else {
      throw malformed
    }
  }

  /// `10 pm`, or the end of an ISO time of hours alone.
  private var isMeridianNext: Bool {
    var ahead = scanner
    ahead.skipSpace()
    return ahead.current | 0x20 == UInt8(ascii: "p") || ahead.current | 0x20 == UInt8(ascii: "a")
  }

  private mutating func readSigned() throws(KizunaError) {
    let isNegative = scanner.current == UInt8(ascii: "-")
    scanner.index += 1
    if LiteralScanner.isLetter(scanner.current) {
      guard LiteralScanner.lowered(scanner.letters()).elementsEqual("infinity".utf8), special == nil else {
        throw malformed
      }
      special = isNegative ? .minusInfinity : .infinity
      return
    }
    guard offset == nil, zone == nil, date != nil || clock != nil else { throw malformed }
    let digits = scanner.digits()
    var fields = [LiteralScanner.number(digits)]
    while scanner.take(UInt8(ascii: ":")) { fields.append(LiteralScanner.number(scanner.digits())) }
    if fields.count == 1, digits.count > 2 {
      let value = fields[0]
      fields = [value / 100, value % 100]
    }
    guard !digits.isEmpty, fields.count <= 3 else { throw malformed }
    fields += [0, 0]
    guard fields[0] <= 15, fields[1] < 60, fields[2] < 60 else {
      throw .refused("22009", "time zone displacement out of range: \"\(text)\"")
    }
    let seconds = fields[0] * 3600 + fields[1] * 60 + fields[2]
    offset = isNegative ? -seconds : seconds
  }
  /// Whether a `T` stands where ISO 8601 has it: before a time, behind the date if the type has one.
  private var beginsClock: Bool {
    LiteralScanner.isDigit(scanner.current) && clock == nil
      && (date != nil || namedMonth != nil && loose.count == 2 || type == "time" || type.hasPrefix("time "))
  }

  private mutating func readWord() throws(KizunaError) {
    let start = scanner.index
    let word = LiteralScanner.string(LiteralScanner.lowered(scanner.letters()))
    if let month = DateTimeWords.month(word) {
      if namedMonth != nil { throw malformed }
      namedMonth = month
      _ = scanner.take(UInt8(ascii: "."))
      _ = LiteralScanner.isDigit(scanner.peek(1)) && scanner.take(UInt8(ascii: "-"))
      return
    }
    if DateTimeWords.isDay(word) { return }
    switch word {
    case "t" where beginsClock: return
    case "at", "on": return
    case "am", "pm":
      if isAfternoon != nil { throw malformed }
      isAfternoon = word == "pm"
    case "ad": return
    case "bc": isBC = true
    case "infinity": try set(.infinity)
    case "epoch": try set(.epoch)
    case "now": try set(.now)
    case "today": try set(.today)
    case "tomorrow": try set(.tomorrow)
    case "yesterday": try set(.yesterday)
    case "allballs": try set(.midnight)
    default: try readZone(from: start, word)
    }
  }

  private mutating func set(_ value: Special) throws(KizunaError) {
    if special != nil { throw malformed }
    special = value
  }

  private mutating func readZone(from start: Int, _ word: String) throws(KizunaError) {
    if zone != nil || offset != nil || (date == nil && namedMonth == nil && clock == nil) { throw malformed }
    scanner.index = start
    let rest = scanner.run { byte in
      switch byte {
      case UInt8(ascii: "/"), UInt8(ascii: "_"), UInt8(ascii: "+"), UInt8(ascii: "-"): true
      default: LiteralScanner.isLetter(byte) || LiteralScanner.isDigit(byte)
      }
    }
    if rest.count == word.utf8.count, let seconds = DateTimeWords.abbreviation(word) {
      offset = seconds
      return
    }
    let name = LiteralScanner.string(rest)
    guard let named = Zone(named: name) else {
      guard name.utf8.contains(UInt8(ascii: "/")) else { throw malformed }
      throw .refused("22023", "time zone \"\(LiteralScanner.lowered(name))\" not recognized")
    }
    zone = named
  }

  private mutating func finish() throws(KizunaError) {
    if let namedMonth { try setDate(month: namedMonth, loose) } else if !loose.isEmpty { throw malformed }
    if let isAfternoon {
      guard let time = clock, time.hour >= 1, time.hour <= 12 else { throw outOfRange }
      clock?.hour = time.hour % 12 + (isAfternoon ? 12 : 0)
    }
    guard var day = date else {
      if isBC || (special == nil && clock == nil) { throw malformed }
      return
    }
    if special != nil { throw malformed }
    if day.year == 0 { throw outOfRange }
    if isBC { day.year = 1 - day.year }
    if day.day > CivilDate.days(inMonth: day.month, of: day.year) { throw outOfRange }
    date = day
  }
}
