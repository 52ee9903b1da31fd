import Testing

@testable import RESTDialect

@Suite struct TargetTests {
  @Test(
    arguments: [
      ("/", []), ("/shelf", ["shelf"]), ("/shelf/", ["shelf", ""]),
      ("/a+b/c%20d/e%2Ff", ["a+b", "c d", "e/f"]),
      ("/%C3%A9", ["é"]), ("//", ["", ""]),
    ] as [(String, [String])])
  func segmentsAreDecoded(path: String, expected: [String]) throws {
    #expect(try withBytes(path) { try Target.segments($0) } == expected)
  }

  @Test(arguments: ["", "shelf", "/%", "/%zz", "/a%00b", "/%FF"])
  func undecodablePathIsInvalid(path: String) {
    #expect(throws: DialectError.invalidPath) { try withBytes(path) { try Target.segments($0) } }
  }

  @Test func firstQuestionMarkSplits() {
    withBytes("/a?b=c?d") { raw in
      let (path, query) = Target.split(raw)
      #expect(path.elementsEqual("/a".utf8) && query.elementsEqual("b=c?d".utf8))
    }
    withBytes("/a") { raw in #expect(Target.split(raw).query.isEmpty) }
  }

  @Test(arguments: [
    ("b=eq.1&a=eq.1", "/t?a=eq.1&b=eq.1"), ("", "/t"), ("c", "/t"),
    ("a=gt.1&b=x&a=lt.%2A+2", "/t?a=gt.1,lt.%2A%202&b=x"),
    ("select=*&apikey=secret", "/t?select=%2A"),
    ("id=in.(1,2)&%22a.b%22=eq.~-_.", "/t?%22a.b%22=eq.~-_.&id=in.%281%2C2%29"),
  ])
  func contentLocationIsCanonical(query: String, expected: String) throws {
    #expect(ContentLocation.text(path: "/t", pairs: try parseLeniently(query)) == expected)
  }

  private func parseLeniently(_ query: String) throws -> [QueryPair] {
    var pairs: [QueryPair] = []
    try withBytes(query) { bytes in
      for pair in try FormBody.parse(bytes) where query.contains(pair.key + "=") || pair.key.contains("\"") {
        pairs.append(pair)
      }
    }
    return pairs
  }

  @Test func pairsAreKeptAsDecoded() throws {
    #expect(
      try parse("b=eq.a%2Bb&x&a=is.null").pairs == [
        QueryPair(key: "b", value: "eq.a+b"), QueryPair(key: "a", value: "is.null"),
      ])
  }
}

@Suite struct BodyTests {
  @Test(
    arguments: [
      ("a,b\nbar,baz", ["a", "b"], [["bar", "baz"]]),
      ("a,b\n\"x, \"\"y\"\"\",\n", ["a", "b"], [["x, \"y\"", ""]]),
      ("b,a\r\nNULL,\"line\nbreak\"\r\n", ["b", "a"], [[nil, "line\nbreak"]]),
      ("a\nNULL\n\n7\n", ["a"], [[nil], ["7"]]),
      ("a\n\"NULL\"", ["a"], [["NULL"]]),
    ] as [(String, [String], [[String?]])])
  func csvIsRead(body: String, header: [String], rows: [[String?]]) throws {
    let table = try withBytes(body) { try CSVBody.parse($0) }
    #expect(table.header == header)
    #expect(table.rows == rows)
  }

  @Test(arguments: [
    ("a,b\nfoo,bar\nbaz", "All lines must have same number of fields"),
    ("", "parse error (not enough input) at \"\""), ("a,b\n", "parse error (not enough input) at \"\""),
    ("a\n\"x", "parse error (not enough input) at \"\""), ("a\nx\"y", "parse error (endOfInput) at \"\"y\""),
  ])
  func malformedCSVIsRefused(body: String, message: String) {
    #expect(throws: DialectError("PGRST102", status: 400, message)) {
      try withBytes(body) { try CSVBody.parse($0) }
    }
  }

  @Test func formIsRead() throws {
    #expect(
      try withBytes("a=x+y%20z&b=&c") { try FormBody.parse($0) } == [
        QueryPair(key: "a", value: "x y z"), QueryPair(key: "b", value: ""), QueryPair(key: "c", value: ""),
      ])
    #expect(throws: DialectError.self) { try withBytes("a=%") { try FormBody.parse($0) } }
  }
}
