import Testing

@testable import KizunaEngine

/// Signals, failures, scopes and restarts.
struct PullLifecycleTests {
  private static let todos = EngineFixture.table(["id": "text", "title": "text"])
  private static let scoped = EngineFixture.table(["id": "text", "list": "text"]) {
    $0.bucket = .column("list")
  }

  private func entry(_ id: String, _ seq: Int) -> String {
    #"todos \#(id) \#(seq) {"id":"\#(id)","title":"t"}"#
  }
  private func scopedEntry(_ id: String, _ seq: Int, _ list: String) -> String {
    #"todos \#(id) \#(seq) {"id":"\#(id)","list":"\#(list)"}"#
  }

  @Test func anExpiredCheckpointIsFollowedByAReplacingTransfer() throws {
    let fixture = try PullFixture([("todos", Self.todos), ("others", Self.todos)])
    fixture.script.page("1", entry("ghost", 1), #"others o 1 {"id":"o","title":"t"}"#)
    fixture.pull()
    fixture.apply(.insert, "todos", "mine", #"{"title":"m"}"#)
    let log = EventLog(fixture.engine)
    fixture.script.signal("CHECKPOINT_EXPIRED")
    fixture.script.page("0:3", more: true, entry("b", 3))
    fixture.script.page("4", entry("c", 4))
    #expect(fixture.pullAll() == "-")
    #expect(fixture.script.cursors == ["0", "1", "0", "0:3"])
    #expect(fixture.keys("todos") == "b,c,mine")
    #expect(fixture.rows("others") == "[]")
    #expect(fixture.depth == 1)
    #expect(fixture.cursor == "4")
    #expect(fixture.leftovers == [])
    #expect(log.finish() == [.checkpointExpired, .localChanged])
  }

  @Test func aCheckpointThatExpiresBetweenPagesDropsWhatIsStagedOnly() throws {
    let fixture = try PullFixture([("todos", Self.todos)])
    fixture.script.page("1", entry("a", 1))
    fixture.script.page("1:3", more: true, entry("b", 3))
    fixture.script.signal("CHECKPOINT_EXPIRED")
    for _ in 0..<3 { #expect(fixture.pull() == "-") }
    #expect(fixture.keys("todos") == "a")
    #expect(fixture.cursor == "1")
    #expect(fixture.leftovers == [])
    fixture.script.page("5", entry("c", 5))
    #expect(fixture.pull() == "-")
    #expect(fixture.script.cursors.last == "0")
    #expect(fixture.keys("todos") == "c")
  }

  @Test func theRehydrationIsStillDueAfterAReopening() throws {
    let fixture = try PullFixture([("todos", Self.todos)])
    fixture.script.page("1", entry("ghost", 1))
    fixture.script.signal("CHECKPOINT_EXPIRED")
    fixture.pull()
    fixture.pull()
    try fixture.reopen()
    fixture.script.page("3", entry("b", 3))
    fixture.pull()
    #expect(fixture.script.cursors == ["0", "1", "0"])
    #expect(fixture.keys("todos") == "b")
    fixture.pull()
    #expect(fixture.script.cursors.last == "3")
  }

  @Test func aRehydrationLeavesAServerTombstoneForAPendingKeyItOmits() throws {
    let fixture = try PullFixture([("todos", Self.todos)])
    fixture.script.page("1", entry("edited", 1), entry("idle", 2))
    fixture.pull()
    fixture.apply(.update, "todos", "edited", #"{"title":"mine"}"#)
    fixture.script.signal("CHECKPOINT_EXPIRED")
    fixture.script.page("3")
    fixture.pullAll()
    #expect(fixture.rows("todos") == "[]")
    #expect(fixture.depth == 1)
    #expect(fixture.sql("SELECT pk FROM _kizunasync_server_tombstones") == ["edited"])
  }

  @Test func aStaleSchemaBlocksAndNothingMoreIsAsked() throws {
    let fixture = try PullFixture([("todos", Self.todos)])
    fixture.script.page("1", entry("a", 1))
    fixture.script.page("1:2", more: true, entry("b", 2))
    fixture.script.signal("RESET_REQUIRED")
    let log = EventLog(fixture.engine)
    for _ in 0..<4 { #expect(fixture.pull() == "-") }
    #expect(fixture.script.bodies.count == 3)
    let checkpoint = try fixture.engine.checkpoint()
    #expect(checkpoint == Checkpoint(cursor: "1", softBlocked: true, softBlockReason: "reset_required"))
    #expect(fixture.keys("todos") == "a")
    #expect(fixture.leftovers == [])
    #expect(log.finish() == [.localChanged, .resetRequired(reason: "reset_required")])
    try fixture.reopen()
    fixture.pull()
    #expect(fixture.script.bodies.count == 3)
  }

  @Test func aResetEmptiesTheStoreAndTheNextPullBeginsAnew() throws {
    let fixture = try PullFixture([("todos", Self.todos)])
    fixture.script.page("1", entry("a", 1))
    fixture.script.page("1:2", more: true, entry("b", 2))
    fixture.pull()
    fixture.pull()
    _ = try fixture.engine.reset()
    #expect(fixture.leftovers == [])
    fixture.script.page("5", entry("c", 5))
    fixture.pull()
    #expect(fixture.script.cursors == ["0", "1", "0"])
    #expect(fixture.keys("todos") == "c")
    #expect(fixture.script.bodies.first?["client_id"] != fixture.script.bodies.last?["client_id"])
  }

  @Test func aFailureBetweenPagesRestartsFromTheDurableCursor() throws {
    let fixture = try PullFixture([("todos", Self.todos)])
    fixture.script.page("1", entry("a", 1))
    fixture.script.page("1:3", more: true, entry("b", 3))
    fixture.script.fail(nil)
    fixture.script.page("4", entry("c", 4))
    #expect(fixture.pull() == "-")
    #expect(fixture.pullAll() == "REMOTE")
    #expect(fixture.leftovers == [])
    #expect(fixture.keys("todos") == "a")
    #expect(fixture.pullAll() == "-")
    #expect(fixture.script.cursors == ["0", "1", "1:3", "1"])
    #expect(fixture.keys("todos") == "a,c")
  }

  @Test(arguments: [
    ("KZL01", "PERMANENT_TRANSPORT/KZL01"), ("22023", "PERMANENT_TRANSPORT/22023"),
    ("KZL02", "REMOTE/KZL02"), ("42501", "REMOTE/42501"), ("0A000", "PERMANENT_TRANSPORT/0A000"),
  ])
  func aRefusedPullReportsAndChangesNothing(code: String, expected: String) throws {
    let fixture = try PullFixture([("todos", Self.todos)])
    fixture.script.page("1", entry("a", 1))
    fixture.script.fail(code)
    fixture.pull()
    #expect(fixture.pull() == expected)
    #expect(fixture.cursor == "1")
    #expect(fixture.keys("todos") == "a")
  }

  @Test func aReplacedBucketFetchesEverythingAndKeepsTheOutbox() throws {
    let fixture = try PullFixture([("todos", Self.scoped), ("notes", Self.todos)])
    try fixture.engine.setBucket(fixture.json(#"{"list":"w1"}"#))
    fixture.script.page("2", scopedEntry("a", 1, "w1"), #"notes n 2 {"id":"n","title":"t"}"#)
    fixture.pull()
    fixture.apply(.insert, "todos", "mine", #"{"list":"w2"}"#)
    try fixture.engine.setBucket(fixture.json(#"{"list":"w2"}"#))
    fixture.script.page("9", scopedEntry("b", 8, "w2"), #"notes n 2 {"id":"n","title":"t"}"#)
    fixture.pull()
    #expect(fixture.script.cursors == ["0", "0"])
    #expect(fixture.keys("todos") == "b,mine")
    #expect(fixture.keys("notes") == "n")
    #expect(fixture.depth == 1)
    try fixture.reopen()
    try fixture.engine.setBucket(fixture.json(#"{"list":"w2"}"#))
    fixture.pull()
    #expect(fixture.script.cursors.last == "9")
  }

  @Test func anAnswerToAReplacedScopeIsDiscarded() throws {
    let fixture = try PullFixture([("todos", Self.scoped)])
    try fixture.engine.setBucket(fixture.json(#"{"list":"w1"}"#))
    let engine = fixture.engine
    let page = PullScript.text("2", [scopedEntry("a", 1, "w1")])
    fixture.script.then { _ in
      try? engine.setBucket(.object([JSONMember("list", .string("w2"))]))
      return page
    }
    #expect(fixture.pullAll() == "-")
    #expect(fixture.rows("todos") == "[]")
    #expect(fixture.cursor == "0")
    fixture.script.page("3", scopedEntry("b", 3, "w2"))
    #expect(fixture.pullAll() == "-")
    #expect(fixture.keys("todos") == "b")
    #expect(
      fixture.script.bodies.last?["buckets"]?.jsonText == #"[{"table":"todos","params":{"list":"w2"}}]"#)
  }

  @Test func aScopeReplacedBetweenPagesDropsWhatIsStaged() throws {
    let fixture = try PullFixture([("todos", Self.scoped)])
    try fixture.engine.setBucket(fixture.json(#"{"list":"w1"}"#))
    fixture.script.page("0:1", more: true, scopedEntry("a", 1, "w1"))
    fixture.pull()
    try fixture.engine.setBucket(fixture.json(#"{"list":"w2"}"#))
    fixture.script.page("3", scopedEntry("b", 3, "w2"))
    fixture.pull()
    #expect(fixture.script.cursors == ["0", "0"])
    #expect(fixture.keys("todos") == "b")
    #expect(fixture.leftovers == [])
  }

  @Test func theSameBucketBetweenPagesKeepsWhatIsStaged() throws {
    let fixture = try PullFixture([("todos", Self.scoped)])
    try fixture.engine.setBucket(fixture.json(#"{"list":"w1"}"#))
    fixture.script.page("0:1", more: true, scopedEntry("a", 1, "w1"))
    fixture.pull()
    try fixture.engine.setBucket(fixture.json(#"{"list":""}"#))
    try fixture.engine.setBucket(fixture.json(#"{"list":"w1"}"#))
    fixture.script.page("3", scopedEntry("b", 3, "w1"))
    fixture.pull()
    #expect(fixture.script.cursors == ["0", "0:1"])
    #expect(fixture.keys("todos") == "a,b")
  }

  @Test func aFailureUnderAReplacedScopeKeepsTheRestart() throws {
    let fixture = try PullFixture([("todos", Self.scoped)])
    try fixture.engine.setBucket(fixture.json(#"{"list":"w1"}"#))
    fixture.script.page("5", scopedEntry("a", 1, "w1"))
    fixture.pull()
    let engine = fixture.engine
    fixture.script.then { (_: JSONValue) throws(RemoteFault) -> String in
      try? engine.setBucket(.object([JSONMember("list", .string("w2"))]))
      throw RemoteFault("the line is down")
    }
    #expect(fixture.pull() == "REMOTE")
    fixture.pull()
    #expect(fixture.script.cursors == ["0", "5", "0"])
  }

  @Test func anotherUsersTokenMeanwhileVoidsTheAnswer() throws {
    let fixture = try PullFixture([("todos", Self.todos)])
    let engine = fixture.engine
    let page = PullScript.text("2", [entry("a", 1)])
    fixture.script.then { _ in
      try? engine.setAccessToken(EngineFixture.token("u2"))
      return page
    }
    #expect(fixture.pull() == "-")
    #expect(fixture.rows("todos") == "[]")
    #expect(fixture.cursor == "0")
  }

  @Test func aReopenedStoreBeginsAtItsDurableCursorAndHoldsNoStagedRows() throws {
    let fixture = try PullFixture([("todos", Self.todos)])
    fixture.script.page("1", entry("a", 1))
    fixture.script.page("1:3", more: true, entry("b", 3), "todos a 2")
    fixture.pull()
    fixture.pull()
    #expect(fixture.leftovers != [])
    try fixture.reopen()
    #expect(fixture.leftovers == [])
    fixture.script.page("4", entry("c", 4))
    fixture.pull()
    #expect(fixture.script.cursors == ["0", "1", "1"])
    #expect(fixture.keys("todos") == "a,c")
  }

  @Test func tooManyPagesEndTheRunAndTheNextOneGoesOn() throws {
    let fixture = try PullFixture([("todos", Self.todos)])
    for number in 1...3 { fixture.script.page("0:\(number)", more: true, entry("r\(number)", number)) }
    fixture.script.page("9")
    let code = EngineFixture.code {
      try PullRun(engine: fixture.engine, maximumPages: 3).pullAll()
    }
    #expect(code == "REMOTE")
    #expect(fixture.rows("todos") == "[]")
    #expect(fixture.pullAll() == "-")
    #expect(fixture.script.cursors == ["0", "0:1", "0:2", "0:3"])
    #expect(fixture.keys("todos") == "r1,r2,r3")
  }
}
