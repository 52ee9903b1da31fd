import Foundation
import Testing

@testable import KizunaEngine

/// What must hold when things cross: faults of the store in the middle of a run, and calls from other threads during
/// one.
@Suite("Sync safety")
struct SyncSafetyTests {
  static let todos = ("todos", EngineFixture.todos)
  static let scoped = (
    "todos",
    EngineFixture.table(["id": "text", "list_id": "text", "title": "text"]) {
      $0.bucket = .column("list_id")
    }
  )

  private func depths(_ events: Guarded<[EngineEvent]>) -> [UInt32] {
    events.with { list in
      list.compactMap { event in
        if case .queueDepth(let depth) = event { depth } else { nil }
      }
    }
  }

  /// One entry more than a request takes.
  private func fill(_ fixture: EngineFixture) throws {
    let rows = (0..<501).map { #"{"id":"k\#($0)","title":"1"}"# }
    try fixture.insert("todos", "[" + rows.joined(separator: ",") + "]")
  }

  // MARK: What a run reports

  @Test func theRefusalOfAPushIsReportedEvenIfThePullFailsToo() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.scoped])
    fixture.apply(.insert, "todos", "a", #"{"title":"1"}"#)
    script.fail("42703")
    #expect(EngineFixture.code { try fixture.engine.sync() } == "PERMANENT_TRANSPORT/42703")
    // The push half is run even where the pull has no scope.
    #expect(EngineFixture.code { try fixture.engine.sync() } == "BUCKET_UNSET")
    #expect(script.sizes == [1, 1])
    #expect(script.functions == ["push", "push"])
    #expect(try fixture.engine.outboxDepth() == 0)
  }

  private final class CountingSource: AccessTokenSource {
    let calls = Guarded(0)
    func token(refused: String?) throws(RemoteFault) -> String? {
      calls.with { $0 += 1 }
      return nil
    }
    func cancel() {}
  }

  @Test func aBlockedStoreAsksNobodyForAToken() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    let source = CountingSource()
    fixture.engine.setTokenSource(source)
    fixture.apply(.insert, "todos", "a", #"{"title":"1"}"#)
    script.then(#"{"signal":{"type":"RESET_REQUIRED"}}"#)
    try fixture.engine.sync()
    try fixture.engine.sync()
    try fixture.engine.pushOnce()
    try fixture.engine.pullOnce()
    #expect(source.calls.with { $0 } == 1)
    #expect(script.functions == ["push"])
  }

  // MARK: The queue's depth

  @Test func theDepthIsRightAfterASliceCouldNotBeReturned() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    let events = Guarded<[EngineEvent]>([])
    _ = fixture.engine.subscribe { event in events.with { $0.append(event) } }
    fixture.apply(.insert, "todos", "a", #"{"title":"1"}"#)
    _ = try fixture.sql(
      """
      CREATE TEMP TRIGGER broken BEFORE UPDATE ON _kizunasync_outbox WHEN NEW.in_flight = 0
      BEGIN SELECT raise(ABORT, 'disk'); END
      """)
    script.fail(nil, times: 2)
    #expect(EngineFixture.code { try fixture.engine.pushOnce() } == "STORE/XX000")
    _ = try fixture.sql("DROP TRIGGER broken")
    #expect(EngineFixture.code { try fixture.engine.pushOnce() } == "REMOTE")
    fixture.apply(.insert, "todos", "b", #"{"title":"1"}"#)
    try fixture.engine.pushOnce()
    fixture.apply(.insert, "todos", "c", #"{"title":"1"}"#)
    fixture.engine.close()
    #expect(depths(events) == [1, 2, 1])
  }

  @Test func aWriteDuringAPushCountsAndStaysOnTop() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    let engine = fixture.engine
    let events = Guarded<[EngineEvent]>([])
    _ = engine.subscribe { event in events.with { $0.append(event) } }
    fixture.apply(.insert, "todos", "a", #"{"title":"1","n":1}"#)
    script.then { body in
      try? engine.apply(
        Mutation(table: "todos", pk: "a", op: .update, columns: [JSONMember("n", .integer(5))]))
      let id = PushScript.mutations(body)[0]["mutation_id"]?.text ?? ""
      return
        #"{"verdicts":[{"mutation_id":"\#(id)","verdict":"rejected","reason":"PRECONDITION","server_row":{"id":"a","title":"theirs","n":9}}]}"#
    }
    try engine.pushOnce()
    #expect(try fixture.sql("SELECT title, n FROM todos") == ["theirs|5"])
    #expect(try engine.outboxDepth() == 1)
    fixture.apply(.insert, "todos", "b", #"{"title":"1"}"#)
    engine.close()
    #expect(depths(events) == [1, 1, 2])
  }

  @Test func aPauseDuringARunKeepsTheRestQueued() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    let engine = fixture.engine
    try fill(fixture)
    script.then { body in
      engine.pause()
      return PushScript.applied(body)
    }
    #expect(EngineFixture.code { try engine.sync() } == "REMOTE")
    #expect(script.functions == ["push"])
    #expect(try engine.outboxDepth() == 1)
    engine.resume()
    try engine.sync()
    #expect(script.sizes == [500, 1])
  }

  // MARK: Ends in the middle

  @Test func aStoreThatDiesDuringAPushSendsTheSameMutationsAgain() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    let engine = fixture.engine
    fixture.apply(.insert, "todos", "a", #"{"title":"1"}"#)
    let copy = fixture.directory + "/copy.sqlite"
    script.then { body in
      // What is on disk now is what a crash would leave.
      try? engine.backup(to: copy)
      return PushScript.applied(body)
    }
    try engine.sync()
    let (revived, second) = try EngineFixture.reopened(copy, [Self.todos])
    #expect(try revived.engine.outboxDepth() == 1)
    #expect(try revived.sql("SELECT in_flight FROM _kizunasync_outbox") == ["0"])
    try revived.engine.sync()
    #expect(second.pushes.map(\.jsonText) == script.pushes.map(\.jsonText))
    #expect(try revived.engine.outboxDepth() == 0)
    withExtendedLifetime(fixture) {}
  }

  @Test func closingDuringAPushLeavesTheQueueAsItWas() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    let engine = fixture.engine
    let closed = DispatchSemaphore(value: 0)
    fixture.apply(.insert, "todos", "a", #"{"title":"1"}"#)
    script.then { (_: JSONValue) throws(RemoteFault) -> String in
      Thread.detachNewThread {
        engine.close()
        closed.signal()
      }
      while !engine.closing.isClosed { sched_yield() }
      throw RemoteFault("the call was cancelled")
    }
    #expect(EngineFixture.code { try engine.sync() } == "REMOTE")
    closed.wait()
    let (revived, second) = try EngineFixture.reopened(engine.databasePath, [Self.todos])
    #expect(try revived.engine.outboxDepth() == 1)
    try revived.engine.sync()
    #expect(second.sizes == [1])
    withExtendedLifetime(fixture) {}
  }

  @Test func aResetBetweenPagesForgetsTheTransfer() throws {
    let fixture = try PullFixture([Self.todos])
    fixture.script.page("0:1", more: true, #"todos a 1 {"id":"a","title":"1"}"#)
    fixture.pull()
    _ = try fixture.engine.reset()
    #expect(fixture.leftovers == [])
    fixture.script.page("2", #"todos b 2 {"id":"b","title":"1"}"#)
    #expect(fixture.pull() == "-")
    #expect(fixture.script.cursors == ["0", "0"])
    #expect(fixture.keys("todos") == "b")
  }

  @Test func whatIsQueuedBehindADroppedWriteOfTheSameRowStays() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    fixture.apply(.insert, "todos", "a", #"{"title":"0","n":0}"#)
    try fixture.engine.sync()
    fixture.apply(.update, "todos", "a", #"{"title":"dropped","n":1}"#)
    fixture.apply(.update, "todos", "a", #"{"n":2}"#)
    script.fail("22023", times: 9)
    for _ in 0..<4 { _ = EngineFixture.code { try fixture.engine.sync() } }
    script.fail("22023")
    script.fail(nil)
    #expect(EngineFixture.code { try fixture.engine.sync() } == "REMOTE")
    #expect(try fixture.sql("SELECT title, n FROM todos") == ["0|2"])
    #expect(try fixture.engine.outboxDepth() == 1)
    try fixture.engine.sync()
    #expect(try fixture.sql("SELECT title, n FROM todos") == ["0|2"])
    #expect(try fixture.sql("SELECT count(*) FROM _kizunasync_base") == ["0"])
  }

  @Test func theLastThousandAppliedMutationsAreRemembered() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    try fill(fixture)
    try fixture.engine.sync()
    #expect(
      fixture.applyWhere(
        .update, "todos", #"[{"kind":"like","column":"id","pattern":"k%"}]"#, #"{"title":"2"}"#) != "")
    try fixture.engine.sync()
    #expect(script.sizes == [500, 1, 500, 1])
    let sent = script.pushes.flatMap { PushScript.mutations($0) }.compactMap { $0["mutation_id"]?.text }
    #expect(try fixture.sql("SELECT mutation_id FROM _kizunasync_pushed ORDER BY id") == sent.suffix(1000))
  }

  // MARK: Tokens and scopes from other threads

  @Test func anotherUsersTokenDuringAPushOutweighsAResetSignal() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    let engine = fixture.engine
    fixture.apply(.insert, "todos", "a", #"{"title":"1"}"#)
    script.then { _ in
      try? engine.setAccessToken(EngineFixture.token("u2"))
      return #"{"signal":{"type":"RESET_REQUIRED"}}"#
    }
    try engine.sync()
    #expect(try engine.checkpoint().softBlockReason == "identity_changed")
    #expect(try engine.outboxDepth() == 1)
    #expect(script.functions == ["push"])
  }

  @Test func aTokenChangedBetweenTwoSlicesEndsTheRun() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    let engine = fixture.engine
    try fill(fixture)
    script.then { body in
      try? engine.setAccessToken(EngineFixture.token("u2"))
      return PushScript.applied(body)
    }
    try engine.sync()
    #expect(script.sizes == [500])
    #expect(script.functions == ["push"])
    #expect(try engine.outboxDepth() == 1)
  }

  @Test func bucketsSetByManyThreadsAreTheOnesThatTheStoreKeeps() throws {
    let fixture = try EngineFixture([Self.scoped])
    let engine = fixture.engine
    for round in 0..<15 {
      DispatchQueue.concurrentPerform(iterations: 4) { index in
        try? engine.setBucket(.object([JSONMember("list_id", .string("\(round)-\(index)"))]))
      }
      let kept = try fixture.sql("SELECT value FROM _kizunasync_buckets")
      #expect(try engine.status().buckets.map { $0.value.text } == kept)
    }
  }

  // MARK: Pulls

  @Test func aFaultAtTheCloseOfARehydrationIsMadeGoodByTheNextPull() throws {
    let fixture = try PullFixture([
      Self.todos, ("lists", EngineFixture.table(["id": "text", "name": "text"])),
    ])
    fixture.script.page("2", #"todos a 1 {"id":"a","title":"1"}"#, #"lists l 2 {"id":"l","name":"x"}"#)
    fixture.pull()
    fixture.script.signal("CHECKPOINT_EXPIRED")
    fixture.script.page("0:5", more: true, #"todos b 5 {"id":"b","title":"1"}"#)
    fixture.script.page("6", #"todos c 6 {"id":"c","title":"1"}"#)
    _ = fixture.sql(
      """
      CREATE TEMP TRIGGER broken BEFORE INSERT ON _kizunasync_meta WHEN NEW.key = 'cursor'
      BEGIN SELECT raise(ABORT, 'disk'); END
      """)
    #expect(fixture.pullAll() == "STORE/XX000")
    #expect(fixture.keys("todos") == "a")
    #expect(fixture.keys("lists") == "l")
    _ = fixture.sql("DROP TRIGGER broken")
    fixture.script.page("6", #"todos c 6 {"id":"c","title":"1"}"#)
    #expect(fixture.pullAll() == "-")
    #expect(fixture.keys("todos") == "b,c")
    #expect(fixture.keys("lists") == "")
    #expect(fixture.cursor == "6")
    #expect(fixture.leftovers == [])
  }

  @Test func aPendingRowKeepsItsDeviceColumnsThroughARehydration() throws {
    let table = EngineFixture.table(["id": "text", "title": "text", "seen": "boolean"])
    let fixture = try PullFixture([("todos", table)]) { $0.remote?.localOnlyColumns = ["seen"] }
    fixture.apply(.insert, "todos", "a", #"{"title":"A"}"#)
    fixture.apply(.update, "todos", "a", #"{"seen":true}"#)
    fixture.script.signal("CHECKPOINT_EXPIRED")
    fixture.script.page("0:5", more: true, #"todos b 5 {"id":"b","title":"B"}"#)
    fixture.script.page("6", #"todos c 6 {"id":"c","title":"C"}"#)
    #expect(fixture.pullAll() == "-")
    #expect(
      fixture.sql("SELECT id, seen FROM todos ORDER BY id") == ["a|1", "b|null", "c|null"])
    #expect(fixture.depth == 1)
  }

  // MARK: Device-only columns

  @Test func nothingOfADeviceOnlyColumnIsSent() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos], localOnly: ["n"])
    fixture.apply(.insert, "todos", "a", #"{"title":"1","n":1}"#)
    #expect(fixture.apply(.update, "todos", "a", transforms: #"{"n":{"op":"increment","by":2}}"#) == "-")
    #expect(
      fixture.apply(.update, "todos", "a", #"{"title":"2"}"#, precondition: #"{"n":3}"#)
        == "LOCAL_UNSUPPORTED")
    #expect(try fixture.engine.outboxDepth() == 1)
    #expect(try fixture.sql("SELECT title, n FROM todos") == ["1|3"])
    try fixture.engine.sync()
    #expect(!script.pushes[0].jsonText.contains(#""n""#))
    #expect(try fixture.sql("SELECT title, n FROM todos") == ["1|3"])
  }
}
