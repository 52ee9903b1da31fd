import Testing

@testable import RESTDialect

@Suite struct RequestShapeTests {
  private struct Shape: Equatable {
    var key: String
    var hash: UInt64
    var holes: [String]
  }

  private func shape(_ query: String, path: String = "/t") -> Shape? {
    var shape = RequestShape()
    return withBytes(path) { path in
      withBytes(query) { query in
        guard shape.scan(path: path, query: query) else { return nil }
        return Shape(
          key: String(decoding: shape.key, as: UTF8.self), hash: shape.hash,
          holes: shape.holes.map { "\($0.kind):" + String(decoding: query[$0.start..<$0.end], as: UTF8.self) }
        )
      }
    }
  }

  @Test func literalsAndNumbersAreCutOut() {
    let one = shape("id=eq.1&name=not.ilike.a%2A&lent=is.true&select=id,name&order=id.desc&limit=10&offset=7")
    let other = shape("id=eq.&name=not.ilike.b+c&lent=is.true&select=id,name&order=id.desc&limit=9&offset=0")
    #expect(one?.holes == ["filter:1", "filter:a%2A", "limit:10", "offset:7"])
    #expect(one?.key == other?.key && one?.hash == other?.hash)
    #expect(
      one?.key
        == "/t?id=eq.\u{1}&name=not.ilike.\u{1}&lent=is.true&select=id,name&order=id.desc&limit=\u{2}&offset=\u{2}&"
    )
  }

  @Test(arguments: [
    ("id=eq.1", "id=neq.1"), ("id=eq.1", "id=not.eq.1"), ("id=eq.1", "ie=eq.1"), ("id=is.null", "id=is.true"),
    ("select=a", "select=b"), ("limit=1", "offset=1"), ("id=eq.1", "id=eq.1&id=eq.1"),
    ("columns=a", "columns=b"),
    ("apikey=a", "apikey=b"), ("", "select="),
  ])
  func differentStatementsHaveDifferentKeys(one: String, other: String) {
    #expect(shape(one) != nil && shape(one)?.key != shape(other)?.key)
    #expect(shape(one, path: "/t")?.key != shape(one, path: "/u")?.key)
  }

  @Test(arguments: [
    "id=in.(1)", "or=(a.eq.1)", "and=(a.eq.1)", "not.or=(a.eq.1)", "not=eq.1", "id=eq(any).{1}", "a.b=eq.1",
    "\"a\"=eq.1", "%61=eq.1", "a->b=eq.1", "id", "=eq.1", "id=1", "id=fts.x", "id=isdistinct.x", "limit=-1",
    "limit=",
    "limit=1234567890", "limit=1&limit=2", "offset=1&offset=1", "id=not.not.eq.1", "select=a\u{1}",
    "a b=eq.1",
    "precondition.a=1", "id=EQ.1", "id=eq",
  ])
  func everythingElseTakesTheGeneralPath(query: String) { #expect(shape(query) == nil) }

  @Test func emptyPiecesAreSkipped() {
    #expect(shape("&a=eq.1;;b=eq.2&")?.key == shape("a=eq.1&b=eq.2")?.key)
  }

  @Test func storageGrowsAndIsReused() {
    var shape = RequestShape()
    let long = String(repeating: "a=eq.&", count: 5_000)
    for query in [long, "a=eq.1", long] {
      #expect(withBytes("/t") { path in withBytes(query) { shape.scan(path: path, query: $0) } })
    }
    #expect(shape.holes.count == 5_000)
    #expect(shape.key.count == 3 + 5_000 * 7)
  }

  @Test func decodeRefusesWhatTheGeneralPathRefuses() {
    var output: [UInt8] = [9]
    #expect(withBytes("a+%41%C3%A9") { RequestShape.decode($0, into: &output) })
    #expect(output == Array("a Aé".utf8))
    for malformed in ["%", "%4", "%4x", "%00", "%FF", "%E2%82"] {
      #expect(!withBytes(malformed) { RequestShape.decode($0, into: &output) })
    }
    let number = RequestShape.Hole(kind: .limit, start: 6, end: 9)
    #expect(withBytes("limit=120") { RequestShape.number(number, in: $0) } == 120)
  }
}
