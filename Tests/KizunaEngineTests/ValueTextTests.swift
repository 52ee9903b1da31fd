import Testing

@testable import KizunaEngine

private func wire(_ type: ColumnType, _ value: SQLValue) -> String {
  var buffer = ByteBuffer()
  value.withRaw { type.appendWire($0, to: &buffer) }
  return buffer.string
}

@Suite struct ValueTextTests {
  @Test(arguments: [
    ("integer", "5", "5"), ("integer", "-2147483648", "\"-2147483648\""),
    ("integer", "2147483647", "2147483647"),
    ("bigint", "2147483648", "\"2147483648\""), ("bigint", "-5", "-5"), ("numeric", "4.50", "\"4.50\""),
    ("numeric", "NaN", "\"NaN\""), ("double precision", "1.5", "\"1.5\""),
    ("double precision", "NaN", "\"NaN\""),
    ("real", "0.1", "\"0.1\""), ("double precision", "-inf", "\"-Infinity\""), ("boolean", "t", "true"),
    ("jsonb", "{\"a\": 1.50}", "{\"a\": 1.50}"), ("json", "\"x\"", "\"x\""),
    ("timestamptz", "2024-05-01 10:00+02", "\"2024-05-01T08:00:00+00:00\""),
    ("timestamp", "2024-05-01 10:00", "\"2024-05-01T10:00:00\""), ("bytea", "\\xde", "\"\\\\xde\""),
    ("interval", "26:00", "\"26:00:00\""), ("text", "a\"b", "\"a\\\"b\""),
    ("text[]", "{a,1,NULL}", "[\"a\",\"1\",null]"),
    ("integer[]", "{{1,2147483647},{-2147483648,NULL}}", "[[1,2147483647],[\"-2147483648\",null]]"),
    ("bigint[]", "{9223372036854775807}", "[\"9223372036854775807\"]"),
    ("numeric[]", "{1.50,NaN}", "[\"1.50\",\"NaN\"]"),
    ("double precision[]", "{1e20,2}", "[\"1e+20\",\"2\"]"),
    ("boolean[]", "{t,f}", "[true,false]"), ("jsonb[]", "{\"[1, 2]\"}", "[[1, 2]]"),
    ("uuid", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "\"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11\""),
  ])
  func theWireLosesNoDigit(row: (type: String, literal: String, wire: String)) throws {
    let type = try ColumnType(parsing: row.type)
    #expect(wire(type, try type.stored(literal: row.literal, zone: .utc)) == row.wire)
  }

  @Test(arguments: [
    ("12", SQLValue.integer(12), "12", "12"), ("\"12\"", .text("12"), "\"12\"", "\"12\""),
    ("1.5", .real(1.5), "1.5", "\"1.5\""), ("0.1", .real(0.1), "0.1", "\"0.1\""),
    ("5.0", .real(5), "5", "\"5\""),
    ("1e2", .integer(100), "100", "100"), ("true", .blob(Array("true".utf8)), "true", "true"),
    (
      "12345678901234567890", .blob(Array("12345678901234567890".utf8)), "12345678901234567890",
      "\"12345678901234567890\""
    ),
    (
      "0.12345678901234567891", .blob(Array("0.12345678901234567891".utf8)), "0.12345678901234567891",
      "\"0.12345678901234567891\""
    ),
    (
      "{\"b\":1,\"a\":[1]}", .blob(Array("{\"a\": [1], \"b\": 1}".utf8)), "{\"a\": [1], \"b\": 1}",
      "{\"a\": [1], \"b\": 1}"
    ),
    ("null", .null, "null", "null"), ("3000000000", .integer(3_000_000_000), "3000000000", "\"3000000000\""),
  ])
  func undeclaredColumnsKeepTheKindOfAValue(
    row: (json: String, stored: SQLValue, shown: String, wire: String)
  ) throws {
    let type = ColumnType.learnt(nil)
    let value = try type.stored(json: JSONParser.parse(row.json), zone: .utc)
    #expect(value == row.stored)
    #expect(shownJSON(value, type) == row.shown)
    #expect(wire(type, value) == row.wire)
  }

  @Test(arguments: [
    (LearntType?.some(.integer), "12", SQLValue.integer(12)), (.number, "1.5", .real(1.5)),
    (.number, "12", .integer(12)),
    (.text, "12", .text("12")), (nil, "12", .text("12")), (.boolean, "t", .blob(Array("true".utf8))),
    (.json, "[1,2]", .blob(Array("[1, 2]".utf8))), (.json, "12", .integer(12)), (.json, "\"x\"", .text("x")),
    (.integer, "1.5", .real(1.5)),
  ])
  func literalsForUndeclaredColumnsFollowWhatWasLearnt(
    row: (type: LearntType?, literal: String, value: SQLValue)
  ) throws {
    #expect(try ColumnType.learnt(row.type).stored(literal: row.literal, zone: .utc) == row.value)
  }

  @Test func theNarrowestTypeIsLearnt() throws {
    func learnt(_ values: String...) throws -> LearntType? {
      var type: LearntType?
      for value in values { type = ColumnType.merge(type, try JSONParser.parse(value)) }
      return type
    }
    #expect(try learnt("null") == nil)
    #expect(try learnt("null", "1") == .integer)
    #expect(try learnt("1", "2.5", "3") == .number)
    #expect(try learnt("1", "12345678901234567890") == .number)
    #expect(try learnt("\"x\"", "null") == .text)
    #expect(try learnt("true", "false") == .boolean)
    #expect(try learnt("1", "\"x\"") == .json)
    #expect(try learnt("[1]") == .json)
  }

  @Test func castsOfUndeclaredColumnsGoByTheValue() throws {
    let type = ColumnType.learnt(.json)
    func cast(_ value: SQLValue, _ target: ColumnType) throws -> SQLValue {
      try value.withRaw { try type.cast($0, to: target, zone: .utc) }
    }
    #expect(try cast(.integer(5), .text) == .text("5"))
    #expect(try cast(.text("5"), .integer) == .integer(5))
    #expect(try cast(.blob(Array("true".utf8)), .text) == .text("true"))
    #expect(try cast(.blob(Array("true".utf8)), .boolean) == .integer(1))
    #expect(try cast(.real(2.5), .integer) == .integer(2))
  }

  @Test(arguments: ["text", "jsonb", "character varying(9)", "citext", "tsvector", "text[]"])
  func nulIsRefused(name: String) throws {
    let type = try ColumnType(parsing: name)
    let json: JSONValue = name == "text[]" ? .array([.string("a\0")]) : .string("a\0")
    #expect { try type.stored(json: json, zone: .utc) } throws: { ($0 as? KizunaError)?.sqlstate == "22P05" }
  }

  @Test(arguments: [
    ("1", "2", "3"), ("9223372036854775807", "1", "9223372036854775808"), ("-1", "1", "0"), ("5", "-7", "-2"),
    ("-5", "-7", "-12"), ("100", "-1", "99"), ("1.5", "2.25", "3.75"), ("0.05", "-0.10", "-0.05"),
    ("-99", "100", "1"),
    ("999999999999999999999999", "1", "1000000000000000000000000"), ("0", "0", "0"),
  ])
  func additionHasNoSizeLimit(row: (a: String, b: String, sum: String)) {
    #expect(NumericText.add(row.a, row.b) == row.sum)
    #expect(NumericText.add(row.b, row.a) == row.sum)
  }

  @Test func numericTextsAreOrderedByValue() {
    let ascending = [
      "-Infinity", "-10", "-9.5", "-0.1", "0", "0.09", "0.1", "1", "1.05", "1.5", "2", "10", "100.01",
      "Infinity", "NaN",
    ]
    func compare(_ a: String, _ b: String) -> Int {
      Array(a.utf8).withUnsafeBufferPointer { x in
        Array(b.utf8).withUnsafeBufferPointer { y in NumericText.compare(x, y).signum() }
      }
    }
    for (i, a) in ascending.enumerated() {
      for (j, b) in ascending.enumerated() { #expect(compare(a, b) == (i - j).signum(), "\(a) \(b)") }
    }
    #expect(compare("1.50", "1.5") == 0)
    #expect(compare("2", "2.000") == 0)
  }

  @Test func intervalsCompareByLength() throws {
    #expect(try Interval(parsing: "1 mon") == Interval(parsing: "30 days"))
    #expect(try Interval(parsing: "24:00") == Interval(parsing: "1 day"))
    #expect(try Interval(parsing: "29 days 23:59") < Interval(parsing: "1 mon"))
    #expect(try Interval(parsing: "-1 day") < Interval(parsing: "-23:00"))
  }

  @Test(arguments: [
    "2562047788:00 2562047788 d 1 y", "9223372036854775807 us 1.5 days", "2562047788:59:59 1.5 days",
    "999999999999 s 2562047788:00", "9223372036854.775807 s 0.5 days", "-9223372036854775808 us",
  ])
  func hugeIntervalsAreKeptOrRefused(literal: String) {
    do { _ = try Interval(parsing: literal).text } catch {
      #expect(error.sqlstate == "22015" || error.sqlstate == "22007")
    }
    #expect(Interval(micros: .min) < Interval(micros: .max))
  }

  @Test(arguments: ["", "x", " ", "x C", "2024-05-01 C", "2024-05-01 10:00", "99999999999-1-1 1:1:1.1"])
  func foreignTextInATimeColumnIsShownWithoutHarm(stored: String) throws {
    let zone = try #require(Zone(named: "Europe/Berlin"))
    for type in [
      ColumnType.timestamptz, .timestamp, .time, .timetz, .numeric(precision: nil, scale: nil), .array(.text),
    ] {
      _ = shownJSON(.text(stored), type)
      _ = shownText(.text(stored), type, zone: zone)
    }
  }

  @Test func keysHaveOneSpelling() {
    let upper = "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"
    #expect(RowKey.text([.integer(-12)]) == "-12")
    #expect(RowKey.text([.text(#"["a", "b"]"#)]) == #"["a", "b"]"#)
    #expect(RowKey.text([.integer(9), .integer(5)]) == #"["9", "5"]"#)
    #expect(RowKey.text([.text("q\"é/\n\u{1}"), .integer(3)]) == "[\"q\\\"é/\\n\\u0001\", \"3\"]")
    #expect(RowKey.text([.text(upper)]) == upper.lowercased())
    #expect(RowKey.components(upper, count: 1) == [upper.lowercased()])
    #expect(RowKey.components(#"["9",5]"#, count: 2) == ["9", "5"])
    #expect(RowKey.components("[\"\(upper)\", \"X\"]", count: 2) == [upper.lowercased(), "X"])
    for malformed in ["", "9", "[1]", "[1,2,3]", "[1,null]", "[1,2.5]", "{}", "[\"1\", \"2\"] x"] {
      #expect(RowKey.components(malformed, count: 2) == nil)
    }
    var buffer = ByteBuffer()
    RowKey.append([.integer(9), .integer(5)], to: &buffer)
    #expect(buffer.string == #"["9", "5"]"#)
  }

  @Test func mintedIdsAreUniqueAndTimeOrdered() {
    var previous = ""
    for _ in 0..<5000 {
      let id = UUIDText.v7()
      #expect(id > previous)
      previous = id
    }
    #expect(
      RowKey.isUUIDShaped(previous) && Array(previous)[14] == "7" && "89ab".contains(Array(previous)[19]))
    let random = Set((0..<1000).map { _ in UUIDText.v4() })
    #expect(random.count == 1000)
    #expect(random.allSatisfy { RowKey.isUUIDShaped($0) && Array($0)[14] == "4" })
  }

  @Test func momentsHaveAFixedWidth() {
    #expect(Moment(seconds: 0, micros: 5).stored == "1970-01-01 00:00:00.000005")
    #expect(Moment(seconds: -1, micros: 500_000).stored == "1969-12-31 23:59:59.500000")
    #expect(
      Timestamp.rfc3339Milliseconds(Moment(seconds: 1_704_067_200, micros: 1500))
        == "2024-01-01T00:00:00.001Z")
    #expect(Timestamp.now().utf8.count == 26)
  }

  @Test func civilDatesRoundTrip() {
    for days in stride(from: -1_500_000, through: 1_500_000, by: 97) {
      #expect(CivilDate(daysSinceEpoch: days).daysSinceEpoch == days)
    }
  }
}
