import Testing

@testable import KizunaEngine

@Suite struct FunctionsCollationTests {
  let db: FunctionsDatabase
  init() throws { db = try FunctionsDatabase() }

  /// Each list ascends; every pair of its values is compared.
  @Test(arguments: [
    (
      "kz_numeric",
      [
        "-Infinity", "-1e30", "-12", "-1.51", "-1.5", "-0.001", "0", "1e-7", "0.05", "0.5", "1.5", "1.51",
        "9", "10", "99.99", "100", "12345678901234567890123", "1e30", "Infinity", "NaN",
      ]
    ),
    (
      "kz_jsonb",
      [
        "[]", "null", #""""#, #""a""#, #""b""#, "-1", "2", "10", "false", "true", "[9]", "[1,2]", "[1,3]",
        "[1,2,3]", "{}", #"{"a":1}"#, #"{"a":2}"#, #"{"aa":0}"#, #"{"b":0}"#, #"{"a":0,"b":0}"#,
      ]
    ),
    ("kz_array", ["[]", "[1]", "[1,1]", "[1,2]", "[1,10]", "[1,null]", "[2]", "[10]", #"[null]"#]),
    ("kz_citext", ["", "a", "Ab", "abc", "B", "é", "Êa", "日"]),
    (
      "kz_interval",
      [
        "-1 years", "-1 mons +29 days", "-04:05:06", "00:00:00", "00:00:00.5", "00:00:01", "1 day",
        "1 day 00:00:00.000001", "29 days 25:00:00", "1 mon 2 days", "1 year",
        "1 year 2 mons -3 days 04:05:06.5",
      ]
    ),
  ])
  func ascends(_ collation: String, _ values: [String]) throws {
    for (one, left) in values.enumerated() {
      for (other, right) in values.enumerated() {
        let sql =
          "SELECT CASE WHEN a < b COLLATE \(collation) THEN -1 WHEN a = b COLLATE \(collation) THEN 0 "
          + "ELSE 1 END FROM (SELECT ? AS a, ? AS b)"
        let order = try db.value(sql, .text(left), .text(right))
        #expect(order == String((one - other).signum()), "\(collation): \(left) and \(right)")
      }
    }
  }

  @Test(arguments: [
    ("kz_numeric", "1.50", "1.5"), ("kz_numeric", "-0.0", "0"), ("kz_numeric", "1e3", "1000.000"),
    ("kz_numeric", "NaN", "NaN"), ("kz_numeric", "0.00100", "1e-3"), ("kz_numeric", "007", "7"),
    ("kz_numeric", "0e5", "0"), ("kz_jsonb", #"{"b":1,"a":2}"#, #"{"a":2.0, "b":1}"#),
    ("kz_jsonb", "1.0", "1"),
    ("kz_jsonb", #"{"a":1,"a":2}"#, #"{"a":2}"#), ("kz_jsonb", #""\u0061""#, #""a""#),
    ("kz_array", "[1.0, 2]", "[1,2]"), ("kz_citext", "ÅNGSTRÖM", "ångström"),
    ("kz_interval", "1 mon", "30 days"),
    ("kz_interval", "1 day", "24:00:00"), ("kz_interval", "-00:00:01.5", "-00:00:01.500"),
  ])
  func equates(_ collation: String, _ left: String, _ right: String) throws {
    #expect(
      try db.value(
        "SELECT a = b COLLATE \(collation) FROM (SELECT ? AS a, ? AS b)", .text(left), .text(right))
        == "1")
  }

  @Test func ordersAQuery() throws {
    let rows = try db.rows(
      "SELECT v FROM (SELECT '10' AS v UNION ALL SELECT '9.5' UNION ALL SELECT '9.50' UNION ALL SELECT NULL) "
        + "ORDER BY v COLLATE kz_numeric DESC")
    #expect(rows == ["10", "9.5", "9.50", "∅"])
  }
}
