import Foundation
import KizunaEngine
import Testing

@testable import Gateway

extension ServerTests {
  /// `Prefer: wait` and `drain`, before an upstream that follows a script.
  @Suite struct VerdictWait {
    private static let todo = #"{"id":"a","title":"Tea"}"#

    @Test(arguments: [
      ("POST", "/rest/v1/todos", todo, 201, #"["a"]"#),
      ("PUT", "/rest/v1/todos?id=eq.a", todo, 201, #"["a"]"#),
      (
        "POST", "/sync/v1/rpc/apply", #"{"table":"todos","pk":"a","op":"insert","columns":{"title":"Tea"}}"#,
        204,
        ""
      ),
      (
        "POST", "/sync/v1/rpc/batch",
        #"{"mutations":[{"table":"todos","pk":"a","op":"insert","columns":{}},{"table":"todos","pk":"b","op":"insert","columns":{}}]}"#,
        200, #"["a","b"]"#
      ),
    ])
    func appliedWritesAreAnsweredAsUsual(
      method: String, path: String, body: String, status: Int, text: String
    ) throws {
      let gateway = try SyncedGateway(ScriptedRemote(.applied))
      let pending = gateway.begin(method, path, body, "Prefer: wait=10")
      try gateway.waitForQueue(1)
      #expect(!pending.isAnswered)
      try gateway.engine.pushOnce()
      let answer = pending.answer()
      #expect(answer.status == status)
      #expect(answer.body == text)
      #expect(answer.headers["preference-applied"] == "wait=10")
      #expect(answer.headers["kizuna-write-id"] != nil)
    }

    @Test func refusedWritesAnswerTheirRejections() throws {
      let gateway = try SyncedGateway(ScriptedRemote(.refused(reason: "RLS_DENIED", row: "null")))
      let pending = gateway.begin(
        "POST", "/rest/v1/todos", #"[{"id":"a"},{"id":"b"}]"#, "Prefer: wait=10,return=representation")
      try gateway.waitForQueue(2)
      try gateway.engine.pushOnce()
      let answer = pending.answer()
      #expect(answer.status == 409)
      #expect(answer.json["code"]?.text == "KIZUNA_REJECTED")
      #expect(answer.json["message"]?.text?.contains("RLS_DENIED") == true)
      #expect(answer.json["hint"]?.text?.isEmpty == false)
      let shown = gateway.ask("GET", "/sync/v1/rejections?order=at,mutation_id").json
      let details = try #require(answer.json["details"]?.elements)
      #expect(details.map { $0["pk"]?.text } == ["a", "b"])
      for rejection in details {
        #expect(shown.elements?.contains { $0.jsonText == rejection.jsonText } == true)
        #expect(rejection["write_id"]?.text == answer.headers["kizuna-write-id"])
      }
      #expect(gateway.ask("GET", "/rest/v1/todos").body == "[]")
    }

    @Test(arguments: [
      ("apply", #"{"table":"todos","pk":"a","op":"insert","columns":{"title":"Tea"}}"#),
      (
        "apply_where",
        #"{"table":"todos","op":"delete","filters":[{"kind":"eq","column":"id","value":"seed"}]}"#
      ),
    ])
    func refusedFunctionsAnswerTheirRejections(name: String, body: String) throws {
      let gateway = try SyncedGateway(
        ScriptedRemote(.refused(reason: "PRECONDITION", row: #"{"id":"a","title":"Their"}"#)))
      try gateway.engine.seed("todos", rows: [[JSONMember("id", .string("seed"))]])
      let pending = gateway.begin("POST", "/sync/v1/rpc/\(name)", body, "Prefer: wait=10")
      try gateway.waitForQueue(1)
      try gateway.engine.pushOnce()
      let answer = pending.answer()
      #expect(answer.status == 409)
      #expect(answer.json["details"]?.elements?.first?["server_row"]?["title"]?.text == "Their")
      #expect(answer.headers["kizuna-write-id"] != nil)
    }

    @Test func anAbortedBatchIsRefusedForItsOffender() throws {
      let gateway = try SyncedGateway(ScriptedRemote(.aborted(offender: 1, reason: "CONSTRAINT")))
      let pending = gateway.begin(
        "POST", "/sync/v1/rpc/batch",
        #"{"mutations":[{"table":"todos","pk":"a","op":"insert"},{"table":"todos","pk":"b","op":"insert"}]}"#,
        "Prefer: wait=10")
      try gateway.waitForQueue(2)
      try gateway.engine.pushOnce()
      let answer = pending.answer()
      #expect(answer.status == 409)
      #expect(answer.json["details"]?.elements?.map { $0["pk"]?.text } == ["b"])
      #expect(answer.json["details"]?.elements?.first?["kind"]?.text == "BATCH_ABORTED")
    }

    @Test func otherCallsDoNotDecide() throws {
      let gateway = try SyncedGateway(ScriptedRemote(.refused(reason: "RLS_DENIED", row: "null"), .applied))
      #expect(gateway.ask("POST", "/rest/v1/todos", #"{"id":"other"}"#).status == 201)
      // A batch, so that the two are not pushed together.
      let pending = gateway.begin(
        "POST", "/sync/v1/rpc/batch", #"{"mutations":[{"table":"todos","pk":"a","op":"insert"}]}"#,
        "Prefer: wait=10")
      try gateway.waitForQueue(2)
      try gateway.engine.pushOnce()
      #expect(!pending.isAnswered)
      try gateway.engine.pushOnce()
      #expect(pending.answer().status == 200)
    }

    @Test(arguments: ["wait=0", "wait=1"])
    func unjudgedWritesAreAnsweredAsAccepted(preference: String) throws {
      // The idle timeout is no longer than the wait: whoever is held is not idle.
      let gateway = try SyncedGateway(ScriptedRemote())
      let answer = gateway.ask("POST", "/rest/v1/todos", Self.todo, "Prefer: \(preference)")
      #expect(answer.status == 202)
      #expect(answer.body == #"["a"]"#)
      #expect(try gateway.engine.outboxDepth() == 1)
    }

    @Test func aFailedPushIsNoVerdict() throws {
      let gateway = try SyncedGateway(ScriptedRemote(.fault(RemoteFault("gone")), .applied))
      let pending = gateway.begin("POST", "/rest/v1/todos", Self.todo, "Prefer: wait=10")
      try gateway.waitForQueue(1)
      #expect(throws: KizunaError.self) { try gateway.engine.pushOnce() }
      #expect(!pending.isAnswered)
      try gateway.engine.pushOnce()
      #expect(pending.answer().status == 201)
    }

    @Test func nobodyIsHeldWhereNothingWillBeJudged() throws {
      let gateway = try SyncedGateway(ScriptedRemote())
      let local = gateway.ask("POST", "/rest/v1/notes", #"{"id":"n"}"#, "Prefer: wait=60")
      #expect(local.status == 201)
      let rolledBack = gateway.ask("POST", "/rest/v1/todos", Self.todo, "Prefer: wait=60,tx=rollback")
      #expect(rolledBack.status == 201)
      #expect(gateway.ask("POST", "/sync/v1/rpc/pause").status == 204)
      let paused = gateway.ask("POST", "/rest/v1/todos", Self.todo, "Prefer: wait=60")
      #expect(paused.status == 202)
      #expect(gateway.ask("POST", "/sync/v1/rpc/drain").json["drained"] == .bool(false))
    }

    @Test func waitsAreCapped() throws {
      let gateway = try SyncedGateway(ScriptedRemote())
      gateway.engine.pause()
      let answer = gateway.ask("POST", "/rest/v1/todos", Self.todo, "Prefer: wait=99999999999999999999")
      #expect(answer.headers["preference-applied"] == "wait=60")
    }

    @Test func resetEndsTheWait() throws {
      let gateway = try SyncedGateway(ScriptedRemote())
      let pending = gateway.begin("POST", "/rest/v1/todos", Self.todo, "Prefer: wait=60")
      try gateway.waitForQueue(1)
      _ = try gateway.engine.reset()
      #expect(pending.answer().status == 202)
    }

    @Test func aStopAnswersWhoWaits() throws {
      let gateway = try SyncedGateway(ScriptedRemote())
      let write = gateway.begin("POST", "/rest/v1/todos", Self.todo, "Prefer: wait=60")
      let drain = gateway.begin("POST", "/sync/v1/rpc/drain", #"{"timeout_s":60}"#)
      try gateway.waitForQueue(1)
      let start = monotonicMilliseconds()
      gateway.stop()
      #expect(monotonicMilliseconds() - start < 3000)
      #expect(write.answer().status == 202)
      #expect(drain.answer().json["drained"] == .bool(false) || drain.answer().status == 200)
    }

    @Test func aCallerWhoHangsUpHarmsNobody() throws {
      let gateway = try SyncedGateway(ScriptedRemote())
      do {
        let client = try gateway.raw()
        client.send(
          "POST /rest/v1/todos HTTP/1.1\r\nHost: localhost\r\nPrefer: wait=30\r\nContent-Type: application/json\r\n"
            + "Content-Length: \(Self.todo.utf8.count)\r\n\r\n\(Self.todo)")
        try gateway.waitForQueue(1)
      }
      try gateway.engine.pushOnce()
      #expect(gateway.ask("GET", "/rest/v1/todos?select=id").body == #"[{"id":"a"}]"#)
    }

    @Test func manyMayWaitAtOnce() throws {
      let gateway = try SyncedGateway(ScriptedRemote())
      let pending = (0..<24).map {
        gateway.begin("POST", "/rest/v1/todos", #"{"id":"\#($0)"}"#, "Prefer: wait=30")
      }
      try gateway.waitForQueue(24)
      #expect(gateway.ask("GET", "/sync/v1/rpc/outbox_depth").body == "24")
      try gateway.engine.pushOnce()
      for one in pending { #expect(one.answer().status == 201) }
    }

    // MARK: Drain

    @Test func drainEndsWhenTheOutboxIsEmpty() throws {
      let gateway = try SyncedGateway(ScriptedRemote())
      #expect(gateway.ask("POST", "/sync/v1/rpc/drain").body == #"{"drained":true,"outbox_depth":0}"#)
      #expect(gateway.ask("POST", "/rest/v1/todos", Self.todo).status == 201)
      // More than there are threads for functions: a drain takes none.
      let pending = (0..<8).map { _ in gateway.begin("POST", "/sync/v1/rpc/drain") }
      #expect(
        gateway.ask("POST", "/sync/v1/rpc/drain", #"{"timeout_s":0}"#).body
          == #"{"drained":false,"outbox_depth":1}"#)
      #expect(gateway.ask("GET", "/sync/v1/rpc/outbox_depth").body == "1")
      try gateway.engine.pushOnce()
      for one in pending { #expect(one.answer().body == #"{"drained":true,"outbox_depth":0}"#) }
    }
  }
}
