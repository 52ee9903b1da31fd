extension ColumnType {
  /// Casts between date and time types; nil when Postgres has no such cast.
  func castTime(_ raw: RawValue, _ target: ColumnType, _ zone: Zone) throws(KizunaError) -> SQLValue? {
    guard case .text(let bytes) = raw else { return nil }
    switch (self, target) {
    case (.date, .timestamp), (.date, .timestamptz), (.timestamp, .date), (.timestamp, .timestamptz),
      (.timestamptz, .date), (.timestamptz, .timestamp):
      return .text(try castMoment(bytes, target, zone))
    case (.timestamp, .time), (.timestamptz, .time), (.timestamptz, .timetz):
      guard let moment = Moment(stored: bytes) else { return .null }
      return .text(clock(moment, target, zone))
    case (.time, .timetz): return try target.stored(literal: text(raw, zone), zone: zone)
    case (.timetz, .time): return .text(String(decoding: bytes.prefix(15), as: UTF8.self))
    case (.time, .interval): return .text(try Interval(parsing: text(raw, zone)).text)
    case (.interval, .time):
      let day = 86_400_000_000
      let micros = try Interval(parsing: text(raw, zone)).micros % day
      let positive = micros < 0 ? micros + day : micros
      return .text(Self.text(secondOfDay: positive / 1_000_000, micros: positive % 1_000_000))
    default: return nil
    }
  }

  private func castMoment(
    _ bytes: UnsafeBufferPointer<UInt8>, _ target: ColumnType, _ zone: Zone
  ) throws(KizunaError) -> String {
    let source = String(decoding: bytes, as: UTF8.self)
    if bytes.last == UInt8(ascii: "y") { return source }
    if self == .date { return try storedText(target, source, zone) }
    guard var moment = Moment(stored: bytes) else { return source }
    if self == .timestamptz { moment = moment.shifted(by: zone.offset(utcSeconds: Int64(moment.seconds))) }
    switch target {
    case .date: return Self.text(moment.date)
    case .timestamptz:
      return moment.shifted(by: -zone.offset(localSeconds: Int64(moment.seconds))).stored
    default: return moment.stored
    }
  }

  private func storedText(_ target: ColumnType, _ source: String, _ zone: Zone) throws(KizunaError) -> String
  {
    guard case .text(let text) = try target.stored(literal: source, zone: zone) else { return source }
    return text
  }

  private func clock(_ moment: Moment, _ target: ColumnType, _ zone: Zone) -> String {
    let offset = self == .timestamptz ? zone.offset(utcSeconds: Int64(moment.seconds)) : 0
    let local = moment.shifted(by: offset)
    let time = Self.text(secondOfDay: local.secondOfDay, micros: local.micros)
    guard target == .timetz else { return time }
    var buffer = ByteBuffer(capacity: 32)
    buffer.append(time)
    Moment.append(offset: offset, isShort: true, to: &buffer)
    return buffer.string
  }
}
