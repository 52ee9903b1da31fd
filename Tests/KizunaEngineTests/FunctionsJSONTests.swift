import Testing

@testable import KizunaEngine

@Suite struct FunctionsJSONTests {
  let db: FunctionsDatabase
  init() throws { db = try FunctionsDatabase() }

  @Test(arguments: [
    (#"{"a": {"b": [1, 2 , 3]}}"#, #"["a","b"]"#, "[1, 2 , 3]", "[1, 2 , 3]"),
    (#"{"a":{"b":[1,2]}}"#, #"["a","b",-1]"#, "2", "2"), (#"[10,20]"#, "[0]", "10", "10"),
    ("[10,20]", "[-2]", "10", "10"), ("[10,20]", "[2]", "∅", "∅"), ("[10,20]", "[-3]", "∅", "∅"),
    ("[]", "[-1]", "∅", "∅"), ("[]", "[0]", "∅", "∅"),
    (#"{"0":1}"#, "[0]", "∅", "∅"), (#"{"0":1}"#, #"["0"]"#, "1", "1"), ("[1]", #"["0"]"#, "∅", "∅"),
    (#"{"a":null}"#, #"["a"]"#, "null", "∅"), (#"{"a":"x\ny"}"#, #"["a"]"#, #""x\ny""#, "x\ny"),
    (#"{"a":1}"#, #"["b"]"#, "∅", "∅"), (#"{"a":1,"a":2}"#, #"["a"]"#, "2", "2"),
    (#"{"\u0061":1}"#, #"["a"]"#, "1", "1"), (#"{"a\"b":1}"#, #"["a\"b"]"#, "1", "1"),
    (
      #"{"n":123456789012345678901234567890.50}"#, #"["n"]"#, "123456789012345678901234567890.50",
      "123456789012345678901234567890.50"
    ),
    (#""text""#, #"["a"]"#, "∅", "∅"), ("text", #"["a"]"#, "∅", "∅"), ("", #"["a"]"#, "∅", "∅"),
    (#"{"a":1"#, #"["a"]"#, "∅", "∅"), (#"{"a":true}"#, #"["a"]"#, "true", "true"),
    (#"{"a.b":{"":"é"}}"#, #"["a.b",""]"#, #""é""#, "é"), (#" {"a" : "x" } "#, #"["a"]"#, #""x""#, "x"),
    (#"{"a":"]}"}"#, #"["a"]"#, #""]}""#, "]}"), ("[1]", "[99999999999999999999]", "∅", "∅"),
    ("[1]", "[-99999999999999999999]", "∅", "∅"), ("7", "[]", "7", "7"),
  ])
  func path(_ document: String, _ steps: String, _ asJSON: String, _ asText: String) throws {
    #expect(try db.value("SELECT kz_path(?,?,0)", .text(document), .text(steps)) == asJSON)
    #expect(try db.value("SELECT kz_path(?,?,1)", .text(document), .text(steps)) == asText)
  }

  @Test(arguments: [
    (#"{"a":1,"b":2}"#, #"{"a":1.0}"#, "1"), (#"{"a":1}"#, #"{"a":1,"b":2}"#, "0"),
    ("[1,2,3]", "[3,1,1]", "1"),
    ("[1,2]", "[4]", "0"), (#"["foo","bar"]"#, #""bar""#, "1"), (#""bar""#, #"["bar"]"#, "0"),
    (#"[1,[2,3]]"#, "[2]", "0"), ("[1,[2,3]]", "[[3]]", "1"),
    (#"{"a":[1,{"b":2,"c":3}]}"#, #"{"a":[{"b":2}]}"#, "1"),
    (#"{"a":[1]}"#, #"{"a":1}"#, "0"), ("1", "1.00", "1"), ("1", "2", "0"), (#"{"a":{}}"#, "{}", "1"),
    ("[]", "{}", "0"),
    ("{}", "[]", "0"), ("[null]", "null", "1"), ("null", "null", "1"), ("[[1]]", "1", "0"),
    ("no json", "1", "∅"),
  ])
  func jsonbContains(_ left: String, _ right: String, _ expected: String) throws {
    #expect(try db.value("SELECT kz_jsonb_contains(?,?)", .text(left), .text(right)) == expected)
  }

  @Test(arguments: [
    (#"["a","b"]"#, #"["b"]"#, "1", "1"), (#"["a"]"#, #"["b"]"#, "0", "0"), (#"["a"]"#, "[]", "1", "0"),
    ("[1,null]", "[null]", "0", "0"), ("[1.50,2]", "[1.5]", "1", "1"), ("[[1,2],[3,4]]", "[4,[1]]", "1", "1"),
    (#"["é"]"#, #"["e\u0301"]"#, "0", "0"), (#"["1"]"#, "[1]", "0", "0"),
    ("[true]", "[true,false]", "0", "1"),
  ])
  func arrays(_ left: String, _ right: String, _ contains: String, _ overlaps: String) throws {
    #expect(try db.value("SELECT kz_array_contains(?,?)", .text(left), .text(right)) == contains)
    #expect(try db.value("SELECT kz_array_overlaps(?,?)", .text(left), .text(right)) == overlaps)
  }

  @Test func everyRowIsItsOwn() throws {
    let rows = try db.rows(
      """
      SELECT kz_path(d, '["a"]', 1), kz_jsonb_contains(d, '{"a":1}'), kz_array_contains('[1]', '['||n||']')
      FROM (SELECT '{"a":1}' AS d, 1 AS n UNION ALL SELECT '{"a":"x"}', 2 UNION ALL SELECT '[]', 1)
      """)
    #expect(rows == ["1|1|1", "x|0|0", "∅|0|1"])
  }

  @Test func arrayTransformsCompareByText() {
    let cell = JSONValue.array([.string("a"), .number("1")])
    #expect(
      ArrayTransform.union(cell: cell, values: [.number("1"), .number("1.0"), .string("b"), .string("b")])
        == [.string("a"), .number("1"), .number("1.0"), .string("b")])
    #expect(ArrayTransform.union(cell: .null, values: [.bool(true)]) == [.bool(true)])
    #expect(ArrayTransform.remove(cell: cell, values: [.string("a"), .number("2")]) == [.number("1")])
    #expect(ArrayTransform.remove(cell: nil, values: [.string("a")]) == [])
  }
}
