import Testing

@testable import KizunaEngine

/// Columns without a declared type.
@Suite struct FunctionsCellTests {
  let db: FunctionsDatabase
  init() throws { db = try FunctionsDatabase() }

  @Test(
    arguments: [
      (.text("Crate 7"), #""Crate 7""#, "1"), (.integer(12), "12.0", "1"), (.integer(12), #""12""#, "0"),
      (.text("12"), "12", "0"), (.integer(1), "true", "0"), (.null, "null", "∅"), (.null, #""x""#, "∅"),
      (.integer(3), "null", "∅"), (.real(3), "3", "1"), (json("true"), "true", "1"),
      (json("true"), "false", "0"),
      (json("true"), "1", "0"), (.text("true"), "true", "0"),
      (json(#"{"a":1,"b":[2]}"#), #"{ "b":[2.0], "a":1 }"#, "1"),
      (json("[1,2]"), "[2,1]", "0"),
      (json("123456789012345678901234567890"), "1.2345678901234567890123456789e29", "1"),
      (.text("é"), #""e\u0301""#, "0"), (.text("a"), #""\u0061""#, "1"), (.text("[1]"), "[1]", "0"),
    ] as [(SQLValue, String, String)])
  func equality(_ cell: SQLValue, _ operand: String, _ expected: String) throws {
    #expect(try db.value("SELECT kz_any_eq(?,?)", cell, .text(operand)) == expected)
  }

  @Test(
    arguments: [
      (.text("Zed"), #""apple""#, "-1"), (.text("é"), #""z""#, "1"), (.integer(9), "10", "-1"),
      (.text("9"), "10", "1"),
      (.integer(2), #""10""#, "1"), (.real(0.30000000000000004), "0.3", "1"),
      (json(#"["n"]"#), #""a""#, "-1"),
      (json("false"), "true", "-1"), (json("true"), #""true""#, "0"), (json("[]"), "{}", "0"),
      (.null, "1", "∅"),
      (.integer(1), "null", "∅"), (.text("3"), "3.0", "0"), (.text("｡"), #""🚚""#, "-1"),
      (.real(1.5), "1.5", "0"),
    ] as [(SQLValue, String, String)])
  func comparison(_ cell: SQLValue, _ operand: String, _ expected: String) throws {
    #expect(try db.value("SELECT kz_any_compare(?,?)", cell, .text(operand)) == expected)
  }

  @Test(
    arguments: [
      (.integer(120), "12_", "1"), (.real(3), "3", "1"), (json(#"["n"]"#), "%", "0"), (.null, "%", "∅"),
      (json("true"), "tr%", "1"), (.real(-0.0), "0", "1"), (.real(0.1), "0.1", "1"), (.text("x"), "x", "1"),
    ] as [(SQLValue, String, String)])
  func like(_ cell: SQLValue, _ pattern: String, _ expected: String) throws {
    #expect(try db.value("SELECT kz_any_like(?,?,0)", cell, .text(pattern)) == expected)
  }

  @Test func regex() throws {
    #expect(try db.value("SELECT kz_any_regex(?,'^1.0$',0)", .integer(120)) == "1")
    #expect(try db.value("SELECT kz_any_regex(?,'^TRUE$',1)", json("true")) == "1")
    #expect(try db.value("SELECT kz_any_regex(?,'',0)", json("{}")) == "0")
  }

  @Test(
    arguments: [
      (.real(4), "[2,4]", "1"), (.null, "[]", "0"), (.integer(4), "[2,null]", "∅"),
      (.integer(4), "[4,null]", "1"),
      (.null, "[2]", "∅"), (.text("2"), "[2]", "0"), (json("true"), "[1,true]", "1"),
      (.integer(4), "[]", "0"),
    ] as [(SQLValue, String, String)])
  func membership(_ cell: SQLValue, _ operands: String, _ expected: String) throws {
    #expect(try db.value("SELECT kz_any_in(?,?)", cell, .text(operands)) == expected)
  }

  @Test(
    arguments: [
      (.text(#"["n","s"]"#), #"["n"]"#, "1"), (.text(#"["n","s"]"#), #"["n","w"]"#, "0"),
      (.text(#"["n"]"#), #""n""#, "0"), (json(#"{"a":{"x":1,"y":2}}"#), #"{"a":{"x":1}}"#, "1"),
      (.text("{bad}"), #""{bad}""#, "1"), (.text("Crate"), "[]", "0"), (json("[1,2]"), "[2.0]", "1"),
      (json("[[1,2]]"), "[[1]]", "0"), (json(#"{"a":[1,2]}"#), #"{"a":[2]}"#, "1"),
      (json(#"{"a":1}"#), #"{"b":1}"#, "0"),
      (.text(" [1] "), "[1]", "1"), (.null, "[]", "∅"), (.integer(1), "null", "∅"), (.integer(1), "1", "1"),
    ] as [(SQLValue, String, String)])
  func containment(_ cell: SQLValue, _ operand: String, _ expected: String) throws {
    #expect(try db.value("SELECT kz_any_contains(?,?)", cell, .text(operand)) == expected)
  }

  @Test(
    arguments: [
      (.text("[]"), #"["n"]"#, "1"), (.text("n"), #"["n"]"#, "0"),
      (json(#"{"a":1}"#), #"{"a":1,"b":2}"#, "1"),
      (json(#"["n","s"]"#), #"["n"]"#, "0"), (.null, "[]", "∅"),
    ] as [(SQLValue, String, String)])
  func containedBy(_ cell: SQLValue, _ operand: String, _ expected: String) throws {
    #expect(try db.value("SELECT kz_any_contained(?,?)", cell, .text(operand)) == expected)
  }

  @Test(
    arguments: [
      (.text(#"["n","s"]"#), #"["s","x"]"#, "1"), (.text("s"), #"["s"]"#, "0"),
      (json("[1]"), #""[1.0]""#, "1"),
      (json("[1]"), "[]", "0"), (.null, "[1]", "∅"), (json("[1]"), "null", "∅"),
    ] as [(SQLValue, String, String)])
  func overlap(_ cell: SQLValue, _ operand: String, _ expected: String) throws {
    #expect(try db.value("SELECT kz_any_overlaps(?,?)", cell, .text(operand)) == expected)
  }

  @Test func overlapRefusesAnOperandThatIsNoArray() throws {
    #expect(throws: KizunaError.self) { try db.value("SELECT kz_any_overlaps('a','\"[1,5)\"')") }
  }

  @Test(
    arguments: [
      (.integer(12), "12", "12", "0"), (.real(3), "3", "3", "0"), (.real(0.1), "0.1", "0.1", "0"),
      (.text("a\"b"), "a\"b", #""a\"b""#, "1"), (json("true"), "true", "true", "1"),
      (json("[1, 2]"), "∅", "[1, 2]", "1"),
      (json("12345678901234567890"), "12345678901234567890", "12345678901234567890", "0"),
      (json("{}"), "∅", "{}", "1"), (.text(""), "", "\"\"", "1"),
    ] as [(SQLValue, String, String, String)])
  func textJSONAndRank(_ cell: SQLValue, _ text: String, _ document: String, _ rank: String) throws {
    #expect(try db.value("SELECT kz_any_text(?)", cell) == text)
    #expect(try db.value("SELECT kz_any_json(?)", cell) == document)
    #expect(try db.value("SELECT kz_any_rank(?)", cell) == rank)
  }
}
