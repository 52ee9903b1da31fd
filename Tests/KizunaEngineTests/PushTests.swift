import Foundation
import Testing

@testable import KizunaEngine

/// The push half: what travels, and how verdicts land. The upstream is a script.
@Suite("Push")
struct PushTests {
  static let todos = ("todos", EngineFixture.todos)

  @Test func entriesTravelInOrderAndLeaveTheQueue() throws {
    let wide = EngineFixture.table([
      "id": "text", "list_id": "text", "title": "text not null", "done": "boolean", "n": "bigint",
    ])
    let (fixture, script) = try EngineFixture.scripted([("todos", wide)])
    fixture.apply(
      .insert, "todos", "a", #"{"title":"one","n":3000000000}"#, id: "51f0c2aa-9d3e-4b7c-8c10-2f6a7e9b0d41")
    fixture.apply(.update, "todos", "a", #"{"title":"two"}"#, transforms: #"{"n":{"op":"increment","by":2}}"#)
    fixture.apply(.delete, "todos", "b", precondition: #"{"done":true}"#)
    try fixture.engine.pushOnce()

    let body = try #require(script.pushes.first)
    #expect(body["last_mutation_id"] == .null)
    #expect(body["schema_version"]?.int64 == 1)
    #expect(body["batch"]?["atomic"] == .bool(false))
    let sent = PushScript.mutations(body)
    try #require(sent.count == 3)
    #expect(sent.map { $0["op"]?.text } == ["insert", "update", "delete"])
    #expect(sent[0]["columns"]?.jsonText == #"{"title":"one","n":"3000000000"}"#)
    #expect(sent[0]["transforms"] == nil)
    #expect(sent[1]["transforms"]?.jsonText == #"{"n":{"op":"increment","by":2}}"#)
    #expect(sent[2]["columns"]?.jsonText == "{}")
    #expect(sent[2]["precondition"]?.jsonText == #"{"done":true}"#)
    #expect(sent[0].members?.map(\.key) == ["mutation_id", "table", "pk", "op", "columns"])
    #expect(fixture.outbox() == [])
    #expect(try fixture.sql("SELECT count(*) FROM _kizunasync_base") == ["0"])
    #expect(
      try fixture.rows("todos") == #"[{"id":"a","list_id":null,"title":"two","done":null,"n":3000000002}]"#)
    #expect(try fixture.engine.inspect()["last_mutation_id"] == sent[2]["mutation_id"])
  }

  @Test func theWatermarkIsTheLastAppliedMutation() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    fixture.apply(.insert, "todos", "a", #"{"title":"1"}"#)
    fixture.apply(.insert, "todos", "b", #"{"title":"1"}"#)
    script.verdicts("applied", "RLS_DENIED null")
    try fixture.engine.pushOnce()
    fixture.apply(.insert, "todos", "c", #"{"title":"1"}"#)
    try fixture.engine.pushOnce()
    #expect(script.pushes[1]["last_mutation_id"] == PushScript.mutations(script.pushes[0])[0]["mutation_id"])
  }

  @Test func nothingIsSentWithoutAToken() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos], token: nil)
    fixture.apply(.insert, "todos", "a", #"{"title":"1"}"#)
    #expect(EngineFixture.code { try fixture.engine.sync() } == "REMOTE/AUTH_SESSION_MISSING")
    #expect(script.functions == [])
    #expect(fixture.outbox("attempts, in_flight") == ["0|0"])
  }

  @Test func aRefusalRestoresTheUpstreamsRow() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    try fixture.engine.seed("todos", rows: [fixture.members(#"{"id":"a","title":"theirs","n":1}"#)])
    fixture.apply(.update, "todos", "a", #"{"title":"mine"}"#)
    script.verdicts(#"RLS_DENIED {"id":"a","title":"newer","done":true,"n":2}"#)
    let log = EventLog(fixture.engine)
    try fixture.engine.pushOnce()
    #expect(try fixture.rows("todos") == #"[{"id":"a","list_id":null,"title":"newer","done":true,"n":2}]"#)
    let entry = try #require(try fixture.engine.rejections(includeDismissed: false).first)
    #expect(entry.kind == "REJECTED" && entry.reason == "RLS_DENIED" && entry.changedColumns == ["title"])
    #expect(entry.serverRowJSON.contains("newer"))
    #expect(
      log.finish() == [.mutationRejected(mutationId: entry.mutationId, reason: "RLS_DENIED"), .localChanged])
  }

  @Test(arguments: [
    // op, reason, the row behind it, shadowed
    ("delete", "RLS_DENIED", true, false), ("delete", "COLUMN_DENIED", true, false),
    ("delete", "DELETE_WINS", false, true), ("update", "RLS_DENIED", false, true),
    ("update", "DELETE_WINS", false, true),
  ])
  func aRefusalWithoutARow(op: String, reason: String, isThere: Bool, isShadowed: Bool) throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    try fixture.engine.seed("todos", rows: [fixture.members(#"{"id":"a","title":"theirs"}"#)])
    fixture.apply(
      op == "delete" ? .delete : .update, "todos", "a", op == "delete" ? "{}" : #"{"title":"mine"}"#)
    script.verdicts("\(reason) null")
    try fixture.engine.pushOnce()
    #expect(try fixture.sql("SELECT title FROM todos") == (isThere ? ["theirs"] : []))
    #expect(
      try fixture.sql("SELECT pk, origin FROM _kizunasync_tombstones") == (isShadowed ? ["a|server"] : []))
  }

  @Test func aRefusedInsertIsGoneWithWhatWasWrittenOverIt() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    fixture.apply(.insert, "todos", "a", #"{"title":"mine"}"#)
    fixture.apply(.update, "todos", "a", #"{"title":"mine too"}"#)
    script.verdicts("RLS_DENIED null", "RLS_DENIED null")
    try fixture.engine.pushOnce()
    #expect(try fixture.rows("todos") == "[]")
    #expect(try fixture.engine.rejections(includeDismissed: false).count == 2)
  }

  @Test func laterMutationsAreLaidOverTheUpstreamsRow() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    try fixture.engine.seed("todos", rows: [fixture.members(#"{"id":"a","title":"t","n":0}"#)])
    fixture.apply(.update, "todos", "a", transforms: #"{"n":{"op":"increment","by":1}}"#)
    // While the answer is under way another write arrives.
    let engine = fixture.engine
    script.then { body in
      try? engine.apply(
        Mutation(
          table: "todos", pk: "a", op: .update, columns: [],
          transforms: try? JSONParser.parse(#"{"n":{"op":"increment","by":10}}"#)))
      let id = PushScript.mutations(body)[0]["mutation_id"]?.text ?? ""
      return
        #"{"verdicts":[{"mutation_id":"\#(id)","verdict":"applied","server_row":{"id":"a","title":"peer","n":2}}]}"#
    }
    try fixture.engine.pushOnce()
    #expect(try fixture.sql("SELECT title, n FROM todos") == ["peer|12"])
    #expect(try fixture.engine.outboxDepth() == 1)
    script.verdicts(#"CONSTRAINT {"id":"a","title":"peer","n":2}"#)
    try fixture.engine.pushOnce()
    #expect(try fixture.sql("SELECT title, n FROM todos") == ["peer|2"])
  }

  @Test func anAppliedWriteBehindAResetRowIsLaidBack() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    try fixture.engine.seed("todos", rows: [fixture.members(#"{"id":"a","title":"t","n":5}"#)])
    fixture.apply(.update, "todos", "a", #"{"title":"refused"}"#)
    fixture.apply(.update, "todos", "a", #"{"done":true}"#)
    script.verdicts(#"PRECONDITION {"id":"a","title":"now","done":false,"n":5}"#, "applied")
    try fixture.engine.pushOnce()
    #expect(try fixture.sql("SELECT title, done FROM todos") == ["now|1"])
  }

  @Test func aCounterIsNotCountedTwice() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    try fixture.engine.seed("todos", rows: [fixture.members(#"{"id":"a","title":"t","n":0}"#)])
    for _ in 0..<2 { fixture.apply(.update, "todos", "a", transforms: #"{"n":{"op":"increment","by":1}}"#) }
    script.verdicts(#"applied {"id":"a","title":"t","n":1}"#, #"applied {"id":"a","title":"t","n":2}"#)
    try fixture.engine.pushOnce()
    #expect(try fixture.sql("SELECT n FROM todos") == ["2"])
  }

  @Test func anAppliedUpdateOfAnUnknownRowLeavesWhatItWrote() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    fixture.apply(.update, "todos", "a", #"{"title":"mine"}"#)
    try fixture.engine.pushOnce()
    #expect(script.sizes == [1])
    #expect(try fixture.sql("SELECT id, title FROM todos") == ["a|mine"])
    #expect(try fixture.sql("SELECT * FROM _kizunasync_tombstones") == [])
  }

  // MARK: Batches

  @Test func anAbortedBatchUndoesItsMembersNewestFirst() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    try fixture.engine.seed(
      "todos", rows: [fixture.members(#"{"id":"y","title":"old","n":0}"#)])
    _ = try fixture.engine.batch([
      Mutation(table: "todos", pk: "x", op: .insert, columns: fixture.members(#"{"title":"x"}"#)),
      Mutation(table: "todos", pk: "y", op: .update, columns: fixture.members(#"{"title":"mine"}"#)),
    ])
    script.abort(offender: 1, "PRECONDITION", #"{"id":"y","title":"theirs","n":7}"#)
    let log = EventLog(fixture.engine)
    try fixture.engine.pushOnce()
    #expect(script.pushes[0]["batch"]?["atomic"] == .bool(true))
    #expect(try fixture.sql("SELECT id, title, n FROM todos") == ["y|theirs|7"])
    let entries = try fixture.engine.rejections(includeDismissed: false)
    #expect(entries.map(\.kind) == ["BATCH_ABORTED"])
    #expect(
      log.finish() == [
        .batchAborted(offenderMutationId: entries[0].mutationId, reason: "PRECONDITION"),
        .mutationRejected(mutationId: entries[0].mutationId, reason: "PRECONDITION"), .localChanged,
      ])
  }

  /// S-30: the row that an abort shows holds effects of the siblings, which were never committed.
  @Test func anAbortedRowThatASiblingTouchedIsItsPreImage() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    try fixture.engine.seed("todos", rows: [fixture.members(#"{"id":"a","title":"t","n":0}"#)])
    _ = try fixture.engine.batch([
      Mutation(
        table: "todos", pk: "a", op: .update, columns: [],
        transforms: fixture.json(#"{"n":{"op":"increment","by":1}}"#)),
      Mutation(table: "todos", pk: "a", op: .update, columns: fixture.members(#"{"title":"bad"}"#)),
    ])
    script.abort(offender: 1, "CONSTRAINT", #"{"id":"a","title":"t","n":1}"#)
    try fixture.engine.pushOnce()
    #expect(try fixture.sql("SELECT title, n FROM todos") == ["t|0"])
  }

  @Test func aBatchIsNeverCutAndNeverJoined() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos])
    fixture.apply(.insert, "todos", "a", #"{"title":"1"}"#)
    _ = try fixture.engine.batch(
      (0..<600).map {
        Mutation(table: "todos", pk: "b\($0)", op: .insert, columns: fixture.members(#"{"title":"1"}"#))
      })
    fixture.apply(.insert, "todos", "c", #"{"title":"1"}"#)
    try fixture.engine.sync()
    #expect(script.sizes == [1, 600, 1])
    #expect(script.pushes.map { $0["batch"]?["atomic"] } == [.bool(false), .bool(true), .bool(false)])
  }

  // MARK: Device-only columns

  @Test func deviceOnlyColumnsStayHere() throws {
    let (fixture, script) = try EngineFixture.scripted([Self.todos], localOnly: ["n"])
    fixture.apply(.insert, "todos", "a", #"{"title":"1","n":1}"#)
    fixture.apply(.update, "todos", "a", #"{"n":2}"#)
    #expect(try fixture.engine.outboxDepth() == 1)
    script.verdicts(#"applied {"id":"a","title":"theirs","n":9}"#)
    try fixture.engine.pushOnce()
    #expect(PushScript.mutations(script.pushes[0])[0]["columns"]?.jsonText == #"{"title":"1"}"#)
    #expect(try fixture.sql("SELECT title, n FROM todos") == ["theirs|2"])
  }

  @Test(arguments: [
    ("varchar(3)", #""longer""#, "longer"), ("enum('a','b')", #""c""#, "c"), ("smallint", "70000", "70000"),
    ("numeric(4,2)", "123456.789", "123456.789"), ("enum('a')[]", #"["a","z"]"#, #"["a","z"]"#),
  ])
  func aBoundThatHasGrownUpstreamKeepsNoRowAway(type: String, value: String, stored: String) throws {
    let table = EngineFixture.table(["id": "text", "v": type])
    let (fixture, script) = try EngineFixture.scripted([("todos", table)])
    fixture.apply(.insert, "todos", "a")
    script.verdicts(#"applied {"id":"a","v":\#(value)}"#)
    try fixture.engine.pushOnce()
    #expect(try fixture.sql("SELECT v FROM todos") == [stored])
  }
}
