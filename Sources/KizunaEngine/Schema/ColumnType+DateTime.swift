/// Date and time literals to their stored forms.
extension ColumnType {
  func storedDateTime(_ literal: String, zone: Zone) throws(KizunaError) -> String {
    let fields = try DateTimeLiteral(literal, type: literalName)
    switch self {
    case .date: return try Self.date(fields, literal, zone)
    case .time: return try Self.time(fields, literal, zone)
    case .timetz: return try Self.timetz(fields, literal, zone)
    case .timestamp: return try Self.moment(fields, literal, zone, isLocal: true)
    default: return try Self.moment(fields, literal, zone, isLocal: false)
    }
  }

  /// Seconds since local midnight of today as the zone sees it.
  private static func localNow(_ zone: Zone) -> Moment {
    let now = Moment.now()
    return now.shifted(by: zone.offset(utcSeconds: Int64(now.seconds)))
  }

  private static func malformed(_ type: ColumnType, _ literal: String) -> KizunaError {
    .invalidSyntax(type.literalName, literal, sqlstate: "22007")
  }

  /// Local midnight of the day that a word names; nil for words that name no day.
  private static func day(_ special: DateTimeLiteral.Special, _ zone: Zone) -> Moment? {
    let today = localNow(zone).days
    switch special {
    case .today: return Moment(seconds: today * 86_400, micros: 0)
    case .tomorrow: return Moment(seconds: (today + 1) * 86_400, micros: 0)
    case .yesterday: return Moment(seconds: (today - 1) * 86_400, micros: 0)
    default: return nil
    }
  }

  private static func date(_ fields: DateTimeLiteral, _ literal: String, _ zone: Zone) throws(KizunaError)
    -> String
  {
    switch fields.special {
    case .infinity: return "infinity"
    case .minusInfinity: return "-infinity"
    case .epoch: return "1970-01-01"
    case .now: return text(localNow(zone).date)
    case let special?:
      guard let moment = day(special, zone) else { throw malformed(.date, literal) }
      return text(moment.date)
    case nil: break
    }
    guard let date = fields.date else { throw malformed(.date, literal) }
    guard date.year < 5_874_898, date.daysSinceEpoch >= -2_440_588 else {
      throw .refused("22008", "date out of range: \"\(literal)\"")
    }
    return text(date)
  }

  static func text(_ date: CivilDate) -> String {
    var buffer = ByteBuffer(capacity: 16)
    date.append(to: &buffer)
    if date.year < 1 { buffer.append(" BC") }
    return buffer.string
  }

  static func text(secondOfDay: Int, micros: Int) -> String {
    var buffer = ByteBuffer(capacity: 32)
    Moment.append(secondOfDay: secondOfDay, to: &buffer)
    buffer.append(UInt8(ascii: "."))
    buffer.append(padded: micros, 6)
    return buffer.string
  }

  private static func time(_ fields: DateTimeLiteral, _ literal: String, _ zone: Zone) throws(KizunaError)
    -> String
  {
    if let clock = fields.clock { return text(secondOfDay: clock.seconds, micros: clock.micros) }
    switch fields.special {
    case .now:
      let now = localNow(zone)
      return text(secondOfDay: now.secondOfDay, micros: now.micros)
    case .midnight: return "00:00:00.000000"
    default: throw malformed(.time, literal)
    }
  }

  private static func timetz(
    _ fields: DateTimeLiteral, _ literal: String, _ zone: Zone
  ) throws(KizunaError) -> String {
    let local: String
    do { local = try time(fields, literal, zone) } catch { throw malformed(.timetz, literal) }
    let isMidnightUTC = fields.special == .midnight
    let offset =
      fields.offset
      ?? (isMidnightUTC ? 0 : (fields.zone ?? zone).offset(utcSeconds: Int64(Moment.now().seconds)))
    var buffer = ByteBuffer(capacity: 32)
    buffer.append(local)
    Moment.append(offset: offset, isShort: true, to: &buffer)
    return buffer.string
  }

  private static func moment(
    _ fields: DateTimeLiteral, _ literal: String, _ zone: Zone, isLocal: Bool
  ) throws(KizunaError) -> String {
    let type: ColumnType = isLocal ? .timestamp : .timestamptz
    var local: Moment
    switch fields.special {
    case .infinity: return "infinity"
    case .minusInfinity: return "-infinity"
    case .epoch: return "1970-01-01 00:00:00.000000"
    case .now: return isLocal ? localNow(zone).stored : Moment.now().stored
    case let special?:
      guard let midnight = day(special, zone) else { throw malformed(type, literal) }
      local = midnight
    case nil:
      guard let date = fields.date else { throw malformed(type, literal) }
      local = Moment(seconds: date.daysSinceEpoch * 86_400, micros: 0)
    }
    if let clock = fields.clock {
      local.seconds += clock.seconds
      local.micros = clock.micros
    }
    if !isLocal {
      let offset = fields.offset ?? (fields.zone ?? zone).offset(localSeconds: Int64(local.seconds))
      local = local.shifted(by: -offset)
    }
    if !local.isInRange { throw .refused("22008", "timestamp out of range: \"\(literal)\"") }
    return local.stored
  }
}
