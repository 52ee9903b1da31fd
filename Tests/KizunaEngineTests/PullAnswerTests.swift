import Testing

@testable import KizunaEngine

/// What is asked, and what an answer may be.
struct PullAnswerTests {
  private static let todos = EngineFixture.table(["id": "text", "n": "integer"])

  // MARK: Requests

  @Test func aPullAsksForEverySyncedTableInConfigurationOrder() throws {
    let scoped = EngineFixture.table(["id": "text", "list": "uuid"]) { $0.bucket = .column("list") }
    let owned = EngineFixture.table(["id": "text", "by": "text"]) { $0.bucket = .owner("by") }
    let pullOnly = EngineFixture.table(["id": "text"]) { $0.syncMode = .pullOnly }
    let local = EngineFixture.table(["id": "text"]) { $0.syncMode = .localOnly }
    let fixture = try PullFixture(
      [("z", scoped), ("drafts", local), ("a", owned), ("units", pullOnly)]
    ) {
      $0.clientId = "B1C9D7E4-52f0-4c5b-9a3e-6e1f0d2a7c33"
      $0.schemaVersion = 4
      $0.defaultLimit = 250
    }
    try fixture.engine.setBucket(fixture.json(#"{"list":7}"#))
    #expect(fixture.pull() == "-")
    #expect(
      fixture.script.bodies.first?.jsonText
        == #"{"client_id":"b1c9d7e4-52f0-4c5b-9a3e-6e1f0d2a7c33","schema_version":4,"cursor":"0","buckets":["#
        + #"{"table":"z","params":{"list":"7"}},{"table":"a","params":{"by":"u1"}},{"table":"units","params":{}}"#
        + #"],"limit":250}"#)
  }

  @Test func withoutAConfiguredPageSizeNoneIsSent() throws {
    let fixture = try PullFixture([("todos", Self.todos)])
    fixture.pull()
    #expect(
      fixture.script.bodies.first?.members?.map(\.key) == [
        "client_id", "schema_version", "cursor", "buckets",
      ])
  }

  @Test func aMissingBucketValueIsToldAndNothingIsAsked() throws {
    let scoped = EngineFixture.table(["id": "text", "list": "text"]) { $0.bucket = .column("list") }
    let fixture = try PullFixture([("todos", Self.todos), ("tasks", scoped)])
    #expect(fixture.pull() == "BUCKET_UNSET")
    let message = EngineFixture.message { try fixture.engine.pullOnce() }
    #expect(message.contains("list") && message.contains("tasks"))
    try fixture.engine.setBucket(fixture.json(#"{"list":""}"#))
    #expect(fixture.pull() == "BUCKET_UNSET")
    #expect(fixture.script.bodies.isEmpty)
    try fixture.engine.setBucket(fixture.json(#"{"list":"w"}"#))
    #expect(fixture.pull() == "-")
  }

  @Test func anEmptiedOwnerBucketIsRefilledAndAnotherOneIsKept() throws {
    let owned = EngineFixture.table(["id": "text", "by": "text"]) { $0.bucket = .owner("by") }
    let fixture = try PullFixture([("todos", owned)])
    func asked() -> String? {
      fixture.pull()
      return fixture.script.bodies.last?["buckets"]?.elements?.first?["params"]?["by"]?.text
    }
    #expect(asked() == "u1")
    try fixture.engine.setBucket(fixture.json(#"{"by":""}"#))
    #expect(asked() == "u1")
    try fixture.engine.setBucket(fixture.json(#"{"by":"other"}"#))
    #expect(asked() == "other")
    _ = try fixture.engine.reset()
    #expect(asked() == "u1")
  }

  // MARK: Answers

  @Test(arguments: [
    ("", "REMOTE"), ("null", "REMOTE"), ("[]", "JSON"), ("{", "REMOTE"), ("{}", "JSON"),
    ("not json", "REMOTE"),
    (#"{"cursor":"2","has_more":false,"rows":[],"tombstones":[]} x"#, "REMOTE"),
    (#"{"cursor":2,"has_more":false,"rows":[],"tombstones":[]}"#, "JSON"),
    (#"{"cursor":"","has_more":false,"rows":[],"tombstones":[]}"#, "JSON"),
    (#"{"cursor":"2","has_more":"no","rows":[],"tombstones":[]}"#, "JSON"),
    (#"{"cursor":"2","has_more":false,"tombstones":[]}"#, "JSON"),
    (#"{"cursor":"2","has_more":false,"rows":{},"tombstones":[]}"#, "JSON"),
    (#"{"cursor":"2","has_more":false,"rows":[],"tombstones":[7]}"#, "JSON"),
    (#"{"cursor":"2","has_more":false,"rows":[],"tombstones":[],"conflicts":{}}"#, "JSON"),
    (#"{"cursor":"2","has_more":false,"rows":[],"tombstones":[],"conflicts":[{}]}"#, "JSON"),
    (#"{"cursor":"2","has_more":false,"rows":[],"tombstones":[],"signal":"x"}"#, "JSON"),
    (
      #"{"cursor":"2","has_more":false,"rows":[],"tombstones":[],"signal":{"type":"WAIT"}}"#, "UNKNOWN_SIGNAL"
    ),
    (PullAnswerTests.row(#"{"table":"todos","pk":"b","seq":2,"row":{"id":"b"}}"#), "JSON"),
    (PullAnswerTests.row(#"{"table":"todos","pk":"b","seq":"02","row":{"id":"b"}}"#), "JSON"),
    (PullAnswerTests.row(#"{"table":"todos","pk":"","seq":"2","row":{"id":"b"}}"#), "JSON"),
    (PullAnswerTests.row(#"{"table":"todos","pk":7,"seq":"2","row":{"id":"b"}}"#), "JSON"),
    (PullAnswerTests.row(#"{"table":"todos","pk":"b","seq":"2","row":[]}"#), "JSON"),
    (PullAnswerTests.row(#"{"table":"todos","pk":"b","seq":"2"}"#), "JSON"),
    (PullAnswerTests.row(#"{"table":"todos","pk":"b","seq":"2","row":{"id":"b","n":"many"}}"#), "JSON"),
    (PullAnswerTests.row(#"{"table":"todos","pk":"b","seq":"2","row":{"id":"\ud800"}}"#), "JSON"),
    (PullAnswerTests.row(#"{"table":"elsewhere","pk":"b","seq":"2","row":{"id":"b"}}"#), "UNKNOWN_TABLE"),
    (PullAnswerTests.row(#"{"table":"drafts","pk":"b","seq":"2","row":{"id":"b"}}"#), "UNKNOWN_TABLE"),
  ])
  func anAnswerThatIsNoPageChangesNothing(answer: String, expected: String) throws {
    let local = EngineFixture.table(["id": "text"]) { $0.syncMode = .localOnly }
    let fixture = try PullFixture([("todos", Self.todos), ("drafts", local)])
    fixture.script.page("1", #"todos a 1 {"id":"a","n":1}"#)
    fixture.pull()
    let log = EventLog(fixture.engine)
    fixture.script.then(answer)
    #expect(fixture.pull() == expected)
    #expect(fixture.cursor == "1")
    #expect(fixture.rows("todos") == #"[{"id":"a","n":1}]"#)
    #expect(fixture.leftovers == [])
    #expect(log.finish() == [])
  }

  private static func row(_ row: String) -> String {
    #"{"cursor":"2","has_more":false,"signal":null,"tombstones":[],"#
      + #""rows":[{"table":"todos","pk":"0","seq":"1","row":{"id":"0","n":0}},\#(row)]}"#
  }

  @Test func anUndecodablePageKeepsThePagesBeforeIt() throws {
    let fixture = try PullFixture([("todos", Self.todos)])
    fixture.script.page("0:1", more: true, #"todos a 1 {"id":"a","n":1}"#)
    fixture.script.then(#"{"cursor":"# + "}")
    fixture.script.signal("WAIT")
    fixture.script.page("2", #"todos b 2 {"id":"b","n":2}"#)
    #expect((1...4).map { _ in fixture.pull() } == ["-", "JSON", "UNKNOWN_SIGNAL", "-"])
    #expect(fixture.script.cursors == ["0", "0:1", "0:1", "0:1"])
    #expect(fixture.keys("todos") == "a,b")
  }

  @Test func membersComeInAnyOrderAndUnknownOnesAreIgnored() throws {
    let fixture = try PullFixture([("todos", Self.todos)])
    fixture.script.then(
      #"""
      { "later" : [1, {"x": "\u00e9"}], "tombstones" : [ ], "signal" : null, "rows" : [
        { "extra" : null, "seq" : "2", "row" : { "n" : 9007199254740993e0, "id" : "ö\n" }, "pk" : "\u00f6\n", "table" : "to\u0064os" } ],
        "has_more" : false, "cursor" : "2" }
      """#.split(separator: "9007199254740993e0").joined(separator: "3"))
    #expect(fixture.pull() == "-")
    #expect(fixture.rows("todos") == #"[{"id":"ö\n","n":3}]"#)
  }

  // MARK: Conflicts

  private let conflict =
    #"{"table":"todos","pk":"a","column_name":"n","loser_value":7,"winner_mutation_id":"51F0C2AA-9D3E-4B7C-8C10-2F6A7E9B0D41","winner_seq":"2","conflict_mode":"hlc"}"#

  @Test(arguments: [true, false])
  func overwritesAreJournalledAndToldWhenTheSequenceCloses(isStaged: Bool) throws {
    let fixture = try PullFixture([("todos", Self.todos)])
    let log = EventLog(fixture.engine)
    fixture.script.page("0:2", more: isStaged, #"todos a 2 {"id":"a","n":8}"#, conflicts: "[\(conflict)]")
    fixture.script.page("3")
    fixture.pull()
    if isStaged {
      #expect(try fixture.engine.overwrites(includeDismissed: true).isEmpty)
      fixture.pull()
    }
    let entries = try fixture.engine.overwrites(includeDismissed: true)
    #expect(entries.map(\.column) == ["n"])
    #expect(entries.first?.loserValueJSON == "7")
    #expect(entries.first?.winnerSeq == "2")
    #expect(
      log.finish() == [
        .localChanged,
        .columnOverwritten(
          table: "todos", pk: "a", column: "n", loserValueJSON: "7",
          winnerMutationId: "51f0c2aa-9d3e-4b7c-8c10-2f6a7e9b0d41", conflictMode: "hlc"),
      ])
  }

  @Test func aConflictThatThisDeviceWonIsNoNews() throws {
    let fixture = try PullFixture([("todos", Self.todos)])
    _ = fixture.sql(
      "INSERT INTO _kizunasync_pushed(mutation_id) VALUES('51f0c2aa-9d3e-4b7c-8c10-2f6a7e9b0d41') RETURNING 1"
    )
    let log = EventLog(fixture.engine)
    fixture.script.page("2", #"todos a 2 {"id":"a","n":8}"#, conflicts: "[\(conflict)]")
    fixture.pull()
    #expect(try fixture.engine.overwrites(includeDismissed: true).isEmpty)
    #expect(log.finish() == [.localChanged])
  }
}
