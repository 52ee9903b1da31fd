import Glibc

/// A point on a time line, in seconds and microseconds since 1970: UTC for `timestamptz`, local for `timestamp`.
package struct Moment: Sendable, Hashable, Comparable {
  package var seconds: Int
  /// 0 ..< 1,000,000
  package var micros: Int

  package init(seconds: Int, micros: Int) {
    self.seconds = seconds
    self.micros = micros
  }

  package static func < (a: Moment, b: Moment) -> Bool {
    a.seconds != b.seconds ? a.seconds < b.seconds : a.micros < b.micros
  }

  package static func now() -> Moment {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Moment(seconds: time.tv_sec, micros: time.tv_nsec / 1000)
  }

  package var date: CivilDate { CivilDate(daysSinceEpoch: days) }
  package var days: Int { seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400 }
  package var secondOfDay: Int { seconds - days * 86_400 }

  package func shifted(by offset: Int) -> Moment { Moment(seconds: seconds + offset, micros: micros) }

  /// 4713 BC to 294276 AD, as in Postgres.
  var isInRange: Bool { seconds >= -210_866_803_200 && seconds < 9_224_318_016_000 }

  /// Reads the stored form `YYYY-MM-DD HH:MM:SS.ffffff[ BC]`; nil for anything else, infinities among them.
  package init?(stored bytes: UnsafeBufferPointer<UInt8>) {
    var index = 0
    func number(_ stop: UInt8?) -> Int? {
      let start = index
      var value = 0
      while index < bytes.count, LiteralScanner.isDigit(bytes[index]), index - start < 9 {
        value = value * 10 + Int(bytes[index] - 0x30)
        index += 1
      }
      if index == start { return nil }
      if let stop {
        guard index < bytes.count, bytes[index] == stop else { return nil }
        index += 1
      }
      return value
    }
    guard let year = number(UInt8(ascii: "-")), let month = number(UInt8(ascii: "-")), let day = number(0x20),
      let hour = number(UInt8(ascii: ":")), let minute = number(UInt8(ascii: ":")),
      let second = number(UInt8(ascii: ".")), let fraction = number(nil)
    else { return nil }
    let isBC = index < bytes.count
    let date = CivilDate(isBC ? 1 - year : year, month, day)
    seconds = date.daysSinceEpoch * 86_400 + hour * 3600 + minute * 60 + second
    micros = fraction
  }

  /// The stored form: six fractional digits, so that text order is time order.
  package func appendStored(to buffer: inout ByteBuffer) {
    let date = date
    date.append(to: &buffer)
    buffer.append(UInt8(ascii: " "))
    Self.append(secondOfDay: secondOfDay, to: &buffer)
    buffer.append(UInt8(ascii: "."))
    buffer.append(padded: micros, 6)
    if date.year < 1 { buffer.append(" BC") }
  }

  package var stored: String {
    var buffer = ByteBuffer(capacity: 32)
    appendStored(to: &buffer)
    return buffer.string
  }

  /// The shown form, at an offset from UTC when given: `separator` is `T` in JSON and a space in text, where the
  /// offset's minutes are left out when zero.
  func appendShown(separator: UInt8, offset: Int?, to buffer: inout ByteBuffer) {
    let local = shifted(by: offset ?? 0)
    let date = local.date
    date.append(to: &buffer)
    buffer.append(separator)
    Self.append(secondOfDay: local.secondOfDay, to: &buffer)
    Self.append(fraction: micros, to: &buffer)
    if let offset { Self.append(offset: offset, isShort: separator == 0x20, to: &buffer) }
    if date.year < 1 { buffer.append(" BC") }
  }

  static func append(secondOfDay: Int, to buffer: inout ByteBuffer) {
    buffer.append(padded: secondOfDay / 3600, 2)
    buffer.append(UInt8(ascii: ":"))
    buffer.append(padded: secondOfDay / 60 % 60, 2)
    buffer.append(UInt8(ascii: ":"))
    buffer.append(padded: secondOfDay % 60, 2)
  }

  /// Nothing for 0, else a point and the digits without trailing zeros.
  static func append(fraction micros: Int, to buffer: inout ByteBuffer) {
    if micros == 0 { return }
    var value = micros
    var width = 6
    while value % 10 == 0 {
      value /= 10
      width -= 1
    }
    buffer.append(UInt8(ascii: "."))
    buffer.append(padded: value, width)
  }

  static func append(offset: Int, isShort: Bool, to buffer: inout ByteBuffer) {
    let magnitude = abs(offset)
    buffer.append(UInt8(ascii: offset < 0 ? "-" : "+"))
    buffer.append(padded: magnitude / 3600, 2)
    if isShort && magnitude % 3600 == 0 { return }
    buffer.append(UInt8(ascii: ":"))
    buffer.append(padded: magnitude / 60 % 60, 2)
    if magnitude % 60 != 0 {
      buffer.append(UInt8(ascii: ":"))
      buffer.append(padded: magnitude % 60, 2)
    }
  }
}

/// The present time as text.
package enum Timestamp {
  /// The stored form of `timestamptz`.
  package static func now() -> String { Moment.now().stored }

  /// `2024-01-01T00:00:00.000Z`
  package static func rfc3339Milliseconds() -> String { rfc3339Milliseconds(.now()) }

  package static func rfc3339Milliseconds(_ moment: Moment) -> String {
    var buffer = ByteBuffer(capacity: 32)
    moment.date.append(to: &buffer)
    buffer.append(UInt8(ascii: "T"))
    Moment.append(secondOfDay: moment.secondOfDay, to: &buffer)
    buffer.append(UInt8(ascii: "."))
    buffer.append(padded: moment.micros / 1000, 3)
    buffer.append(UInt8(ascii: "Z"))
    return buffer.string
  }
}
