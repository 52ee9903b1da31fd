import Testing

@testable import RESTDialect

@Suite struct WindowTests {
  @Test(
    arguments: [
      ("", nil, 0, nil), ("limit=5", nil, 0, 5), ("limit=5&offset=2", nil, 2, 5), ("limit=0", nil, 0, 0),
      ("limit=x&offset=y", nil, 0, nil), ("limit=1&limit=2", nil, 0, 2), ("limit=1&limit=x", nil, 0, nil),
      ("limit=3&offset=-2", nil, 0, 1), ("offset=-2", nil, 0, nil), ("limit=2&offset=-2", nil, 0, 0),
      ("", "0-9", 0, 10), ("", "5-", 5, nil), ("", "items=0-9", 0, nil), ("", "9", 0, nil),
      ("", "-5", 0, nil),
      ("limit=3&offset=4", "0-4", 4, 1), ("limit=10&offset=2", "5-8", 5, 4), ("offset=7", "5-", 7, nil),
      ("limit=0", "5-9", 0, 0), ("limit=99999999999999999999&offset=1", nil, 1, Int.max),
      ("limit=%205%20", nil, 0, 5),
    ] as [(String, String?, Int, Int?)])
  func windowIsTheIntersection(query: String, range: String?, offset: Int, limit: Int?) throws {
    #expect(try parse(query).window(range: range) == Window(offset: offset, limit: limit))
  }

  @Test(
    arguments: [
      ("limit=-1", nil, "Limit"), ("limit=0&offset=1", nil, "Limit"), ("limit=2", "5-9", "Limit"),
      ("offset=5", "0-3", "Limit"), ("limit=2&offset=-5", nil, "Limit"), ("", "1-0", "The lower"),
      ("limit=-1", "1-0", "The lower"),
    ] as [(String, String?, String)])
  func emptyWindowIsRefused(query: String, range: String?, details: String) throws {
    let request = try parse(query)
    let refusal = #expect(throws: DialectError.self) { try request.window(range: range) }
    #expect(refusal?.code == "PGRST103" && refusal?.status == 416)
    #expect(refusal?.details?.hasPrefix(details) == true)
  }

  @Test func putRefusesAWindow() throws {
    for query in ["limit=1", "offset=1", "limit=0"] {
      let request = try parse(query, .put)
      #expect(throws: DialectError.windowOnPut) { try request.checkPutWindow() }
    }
    try parse("limit=x", .put).checkPutWindow()
  }
}
