/// A time zone: UTC, a fixed offset, or a named one read from the system's TZif files.
package struct Zone: Sendable, Hashable {
  private enum Kind: Sendable, Hashable {
    case fixed(Int)
    case rule(ZoneRule)
    case named(ZoneFile)
  }
  private let kind: Kind

  package static let utc = Zone(offset: 0)

  /// Seconds east of UTC.
  package init(offset: Int) { kind = .fixed(offset) }

  /// A zone by the name a session setting takes: one of the system's (in any letter case), a bare number of hours
  /// (east is positive), or a POSIX string (`+05:30`, `EST5EDT`: west is positive). nil: there is none.
  package init?(named name: String) {
    let bytes = Array(name.utf8)
    if let hours = Self.hours(bytes) {
      kind = .fixed(hours)
    } else if let file = ZoneFile.named(bytes) {
      kind = file.fixedOffset.map { .fixed($0) } ?? .named(file)
    } else if let rule = ZoneRule(posix: bytes) {
      kind = rule.summer == nil ? .fixed(rule.standard) : .rule(rule)
    } else {
      return nil
    }
  }

  /// `-4`, `5.5`: an offset in hours.
  private static func hours(_ bytes: [UInt8]) -> Int? {
    var scanner = LiteralScanner(bytes)
    let isNegative = scanner.take(UInt8(ascii: "-"))
    if !isNegative { _ = scanner.take(UInt8(ascii: "+")) }
    let whole = scanner.digits()
    let fraction = scanner.take(UInt8(ascii: ".")) ? scanner.digits() : []
    guard scanner.isAtEnd, !whole.isEmpty, fraction.count <= 6 else { return nil }
    var divisor = 1
    for _ in fraction { divisor *= 10 }
    let seconds = LiteralScanner.number(whole) * 3600 + LiteralScanner.number(fraction) * 3600 / divisor
    return seconds > 167 * 3600 ? nil : (isNegative ? -seconds : seconds)
  }

  var isUTC: Bool {
    if case .fixed(0) = kind { return true }
    return false
  }

  /// Seconds east of UTC at an instant.
  package func offset(utcSeconds: Int64) -> Int {
    switch kind {
    case .fixed(let offset): offset
    case .rule(let rule): rule.offset(utcSeconds: Int(utcSeconds))
    case .named(let file): file.offset(utcSeconds: Int(utcSeconds))
    }
  }

  /// Seconds east of UTC for a local time. A time that a transition skips is read with the offset before it, one
  /// that occurs twice with the offset after it, as in Postgres.
  package func offset(localSeconds: Int64) -> Int {
    if case .fixed(let offset) = kind { return offset }
    let before = offset(utcSeconds: localSeconds - 86_400)
    let after = offset(utcSeconds: localSeconds + 86_400)
    if before == after { return before }
    let isBeforeValid = offset(utcSeconds: localSeconds - Int64(before)) == before
    let isAfterValid = offset(utcSeconds: localSeconds - Int64(after)) == after
    return isAfterValid || (!isBeforeValid && before > after) ? after : before
  }
}
