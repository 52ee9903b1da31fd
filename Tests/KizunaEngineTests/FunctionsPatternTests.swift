import Testing

@testable import KizunaEngine

@Suite struct FunctionsPatternTests {
  let db: FunctionsDatabase
  init() throws { db = try FunctionsDatabase() }

  @Test(arguments: [
    ("Crate 7", "crate%", 0, "0"), ("Crate 7", "crate%", 1, "1"), ("ABCDE", "BCD", 0, "0"),
    ("ABCDE", "AB%", 0, "1"), ("50% off", #"50\% off"#, 0, "1"), ("50x off", #"50\% off"#, 0, "0"),
    ("a_b", #"a\_b"#, 0, "1"), ("axb", #"a\_b"#, 0, "0"), ("120", "12_", 0, "1"), ("🚚", "_", 0, "1"),
    ("🚚", "__", 0, "0"), ("🚚", "_", 1, "1"), ("x🚚é", "%_é", 0, "1"), ("🚚", "%_", 0, "1"),
    ("🚚", "%__", 0, "0"),
    ("ÅNGSTRÖM", "ångström", 1, "1"), ("ÅNGSTRÖM", "ångström", 0, "0"), ("a\nb", "a%b", 0, "1"),
    ("a\nb", "a_b", 1, "1"), (#"a\"#, #"a\"#, 0, "1"), ("", "", 0, "1"), ("", "%", 0, "1"), ("", "_", 0, "0"),
    ("a", "", 0, "0"), ("abcabd", "%abd", 0, "1"), ("abcabd", "%ABD", 1, "1"), ("aab", "%a_", 0, "1"),
    ("abab", "a%b%b", 0, "1"), ("ab", "a%b%b", 0, "0"), ("a*b", "a*b", 0, "1"), (#"a\b"#, #"a\\b"#, 0, "1"),
    ("Σ", "σ", 1, "1"), ("abc", "%", 1, "1"), ("abc", "%c%", 1, "1"),
  ])
  func like(_ text: String, _ pattern: String, _ insensitive: Int64, _ expected: String) throws {
    #expect(
      try db.value("SELECT kz_like(?,?,?)", .text(text), .text(pattern), .integer(insensitive)) == expected)
  }

  @Test(arguments: [0, 1] as [Int64])
  func likeTakesBoundedTime(_ insensitive: Int64) throws {
    let text = String(repeating: "a", count: 20_000)
    let start = ContinuousClock.now
    let found = try db.value("SELECT kz_like(?,'%a%a%a%a%b',?)", .text(text), .integer(insensitive))
    let time = ContinuousClock.now - start
    #expect(found == "0")
    #expect(time < .seconds(5))
  }

  @Test func nullInIsNullOut() throws {
    for call in [
      "kz_like(NULL,'a',0)", "kz_like('a',NULL,0)", "kz_regex(NULL,'a',0)", "kz_regex('a',NULL,0)",
      "kz_textsearch(NULL,'','plain')", "kz_textsearch('a',NULL,'plain')", "kz_search('a',NULL)",
      "kz_search(NULL,'zz')", "kz_path(NULL,'[]',0)", "kz_jsonb_contains(NULL,'1')",
      "kz_array_overlaps('[]',NULL)",
      "kz_any_eq(NULL,'1')", "kz_any_eq(1,NULL)", "kz_any_like(NULL,'%',0)", "kz_any_text(NULL)",
      "kz_any_json(NULL)", "kz_any_rank(NULL)", "kz_any_contains(NULL,'[]')", "kz_any_compare(NULL,'1')",
    ] {
      #expect(try db.value("SELECT \(call)") == "∅", "\(call)")
    }
  }

  @Test func patternsThatChangeFromRowToRowAreCompiledAnew() throws {
    let rows = try db.rows(
      """
      SELECT kz_like(t, p, i), kz_regex(t, r, i), kz_search(t, p), kz_array_contains('["'||t||'"]', '["a"]')
      FROM (SELECT 'a' AS t, 'A' AS p, '^A' AS r, 0 AS i UNION ALL SELECT 'a', 'A', '^A', 1
      UNION ALL SELECT 'b', 'b', 'b$', 0 UNION ALL SELECT 'b', 'c', 'c', 1)
      """)
    #expect(rows == ["0|0|1|1", "1|1|1|1", "1|1|1|0", "0|0|0|0"])
  }

  @Test func regexSearchesAndReportsBadPatterns() throws {
    #expect(try db.value("SELECT kz_regex('Crate','^C',0)") == "1")
    #expect(try db.value("SELECT kz_regex('Crate','^c',0)") == "0")
    #expect(try db.value("SELECT kz_regex('Crate','^c',1)") == "1")
    let failure = #expect(throws: KizunaError.self) { try db.value("SELECT kz_regex('a','*',0)") }
    #expect(failure?.message == "invalid regular expression: quantifier operand invalid")
  }

  @Test(arguments: [
    ("Crate Seven A", "seven crate", "plain", "1"), ("Crate Seven A", "seven crate", "phrase", "0"),
    ("Crate Seven A", " crate seven ", "phrase", "1"), ("a  b", "a b", "phrase", "0"),
    ("Crate Seven A", #""crate seven" a"#, "websearch", "1"),
    ("Crate Seven A", #""seven crate""#, "websearch", "0"),
    ("red", "-blue", "websearch", "0"), ("a-blue", "-blue", "websearch", "1"),
    (#"say "x"#, #""x"#, "websearch", "1"),
    ("say x", #""x"#, "websearch", "0"), ("any", " \n", "plain", "1"), ("any", "", "phrase", "1"),
    ("any", #""""#, "websearch", "1"), ("ÅNGSTRÖM", "ström", "plain", "1"), ("ab", "a c", "plain", "0"),
  ])
  func textSearch(_ text: String, _ query: String, _ kind: String, _ expected: String) throws {
    #expect(
      try db.value("SELECT kz_textsearch(?,?,?)", .text(text), .text(query), .text(kind)) == expected)
  }

  @Test(
    arguments: [
      (.text("Crate Seven"), "  SEVEN ", "1"), (.text("Crate"), "x", "0"), (.text("Crate"), "  ", "1"),
      (.null, "  ", "1"),
      (.null, "zz", "∅"), (json("true"), "tru", "1"), (json("[\"a\"]"), "a", "0"), (.integer(120), "20", "1"),
      (.text("aab"), "ab", "1"), (.text("Ünïcode"), "ÜNÏ", "1"),
    ] as [(SQLValue, String, String)])
  func search(_ cell: SQLValue, _ query: String, _ expected: String) throws {
    #expect(try db.value("SELECT kz_search(?,?)", cell, .text(query)) == expected)
  }
}
