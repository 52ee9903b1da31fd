import Testing

@testable import KizunaEngine

@Suite struct ZoneTests {
  @Test(arguments: ZoneRows.shown)
  func instantsAreShownInTheZone(row: (name: String, stored: String, json: String, text: String)) throws {
    let zone = try #require(Zone(named: row.name))
    #expect(shownJSON(.text(row.stored), .timestamptz, zone: zone) == row.json)
    #expect(shownText(.text(row.stored), .timestamptz, zone: zone) == row.text)
  }

  @Test(arguments: ZoneRows.read)
  func literalsWithoutZoneAreReadInIt(row: (name: String, literal: String, stored: String)) throws {
    let zone = try #require(Zone(named: row.name))
    #expect(try ColumnType.timestamptz.stored(literal: row.literal, zone: zone) == .text(row.stored))
  }

  @Test(arguments: [
    "", "Nowhere/Land", "../../etc/passwd", "/etc/passwd", "Europe/", "Europe", "Europe/../UTC", "zone.tab",
    "posix/../UTC", "a b", "+", "999",
  ])
  func unknownNamesGiveNone(name: String) {
    #expect(Zone(named: name) == nil)
  }

  @Test func zonesAreEqualByWhatTheySay() {
    #expect(Zone(named: "UTC") == .utc)
    #expect(Zone(named: "Etc/UTC") == .utc)
    #expect(Zone(named: "Europe/Berlin") == Zone(named: "europe/berlin"))
    #expect(Zone(named: "Europe/Berlin") != Zone(named: "Europe/Paris"))
  }

  @Test func arraysOfInstantsAreShownInTheZone() throws {
    let type = ColumnType.array(.timestamptz)
    let value = try type.stored(literal: "{2024-07-01 10:00+00,NULL}", zone: .utc)
    let zone = try #require(Zone(named: "Europe/Berlin"))
    #expect(shownJSON(value, type, zone: zone) == #"["2024-07-01T12:00:00+02:00",null]"#)
    #expect(shownText(value, type, zone: zone) == #"{"2024-07-01 12:00:00+02",NULL}"#)
  }
}
