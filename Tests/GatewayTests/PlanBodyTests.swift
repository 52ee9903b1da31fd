import KizunaEngine
import Testing

@testable import Gateway

@Suite struct PlanBodyTests {
  private func rows(_ text: String) throws -> Payload {
    guard case .rows(let payload) = try Fixture.read(text) else { throw Failure("XX000", "not rows") }
    return payload
  }

  @Test func anObjectIsOneRow() throws {
    #expect(
      try rows(#" {"id":1,"title":null} "#)
        == Payload(columns: ["id", "title"], rows: [[.number("1"), .some(.null)]]))
  }

  @Test func objectsMayHaveTheirKeysInAnyOrder() throws {
    let payload = try rows(#"[{"a":1,"b":2},{"b":4,"a":3},{"a":5,"a":6,"b":7}]"#)
    #expect(
      payload.rows == [
        [.number("1"), .number("2")], [.number("3"), .number("4")], [.number("6"), .number("7")],
      ])
  }

  @Test(arguments: ["[]", "5", "null", "\"x\"", "true"])
  func emptyArraysAndScalarsAreAnEmptyBatch(text: String) throws {
    #expect(try rows(text) == Payload())
  }

  @Test func emptyObjectsAreRowsOfDefaults() throws {
    #expect(try rows("{}") == Payload(columns: [], rows: [[]]))
    #expect(try rows("[{},{}]") == Payload(columns: [], rows: [[], []]))
  }

  @Test(arguments: [
    ("", "Empty or invalid json"), ("{", "Empty or invalid json"), ("}{ x = 2", "Empty or invalid json"),
    ("[{\"a\":1},5,]", "Empty or invalid json"), ("{} {}", "Empty or invalid json"),
    ("[{\"a\":1},5]", "All object keys must match"), ("[5]", "All object keys must match"),
    ("[{\"a\":1},{\"b\":1}]", "All object keys must match"), ("[{\"a\":1},{}]", "All object keys must match"),
    ("[{\"a\":1},{\"a\":1,\"b\":2}]", "All object keys must match"),
  ])
  func malformedAndRaggedBodiesAreRefused(text: String, message: String) {
    #expect(throws: Failure("PGRST102", message)) { try Fixture.read(text) }
  }

  @Test func otherContentTypesAreRefusedByName() {
    #expect(throws: Failure("PGRST102", "Content-Type not acceptable: application/octet-stream")) {
      try Fixture.read("xx", contentType: "application/octet-stream; q=1")
    }
    #expect(throws: Never.self) { try Fixture.read("{}", contentType: "Application/JSON ; charset=utf-8") }
  }

  @Test func columnsTakeJustTheNamedKeys() throws {
    let text = #"[{"id":1,"junk":2},{"title":"x","id":2}]"#
    let body = try Fixture.read(text, columns: ["id", "title"])
    #expect(
      try body.payload(for: Fixture.shelf).get().rows == [
        [.number("1"), .some(.null)], [.number("2"), .string("x")],
      ])
    let filled = try Fixture.read(text, columns: ["id", "title"], defaultsMissing: true)
    #expect(try filled.payload(for: Fixture.shelf).get().rows[0] == [.number("1"), nil])
  }

  @Test(arguments: [
    ("{bad", "22P02", "invalid input syntax for type json", "Token \"bad\" is invalid."),
    ("", "22P02", "invalid input syntax for type json", "The input string ended unexpectedly."),
    ("5", "22023", "cannot call json_to_recordset on a scalar", nil),
    ("[1]", "22023", "argument of json_to_recordset must be an array of objects", nil),
  ])
  func underColumnsTheDatabaseJudges(text: String, code: String, message: String, details: String?) throws {
    let body = try Fixture.read(text, columns: ["id"])
    #expect(try body.payload(for: Fixture.shelf) == .failure(Failure(code, message, details: details)))
  }

  @Test func unknownColumnsAreRefusedFirst() throws {
    let judged = try Fixture.read("{bad", columns: ["zz"])
    #expect(Fixture.code { _ = try judged.payload(for: Fixture.shelf) } == "PGRST204")
    let body = try Fixture.read(#"{"zz":1,"yy":2}"#)
    #expect(
      throws: Failure("PGRST204", "Could not find the 'yy' column of 'shelf' in the schema cache")
    ) { try body.payload(for: Fixture.shelf) }
    #expect(Fixture.code { _ = try body.payload(for: Fixture.learnt) } == nil)
  }
}
