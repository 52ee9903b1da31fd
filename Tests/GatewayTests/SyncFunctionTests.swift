import Foundation
import Testing

@testable import Gateway
@testable import KizunaEngine

extension ServerTests {
  /// The functions of sync, before an upstream that follows a script.
  @Suite struct SyncFunctions {
    @Test(arguments: [
      (
        ScriptedRemote.Step.fault(
          RemoteFault(code: "PGRST301", "JWT expired", details: "d", hint: "h", status: 401)),
        "REMOTE", "PGRST301: JWT expired"
      ),
      (.fault(RemoteFault("connection refused")), "REMOTE", "connection refused"),
      (
        .fault(RemoteFault(code: "KZP01", "todos is pull-only")), "PERMANENT_TRANSPORT",
        "KZP01: todos is pull-only"
      ),
      (.fault(RemoteFault(code: "KZP03", "atomic only")), "REMOTE", "KZP03: atomic only"),
      (.fault(RemoteFault(code: "22023", "bad pk")), "PERMANENT_TRANSPORT", "22023: bad pk"),
      (.body(#"{"verdicts":[]}"#), "VERDICT_BIJECTION", "1 mutations"),
      (.body("{}"), "MALFORMED_PUSH_RESPONSE", "the answer to a push"),
      (.body(#"{"signal":{"type":"NEVER"}}"#), "UNKNOWN_SIGNAL", "a push"),
      (.body("<html>"), "REMOTE", "the upstream's answer is no JSON"),
    ])
    func faultsOfTheUpstreamAreBadGateways(step: ScriptedRemote.Step, code: String, message: String) throws {
      let gateway = try SyncedGateway(ScriptedRemote(step))
      #expect(gateway.ask("POST", "/rest/v1/todos", #"{"id":"a"}"#).status == 201)
      let answer = gateway.ask("POST", "/sync/v1/rpc/push_once")
      #expect(answer.status == 502)
      #expect(answer.json["code"]?.text == code)
      #expect(answer.json["message"]?.text?.hasPrefix(message) == true)
      #expect(answer.headers["proxy-status"] == "PostgREST; error=\(code)")
      if message.hasPrefix("PGRST301") {
        #expect(answer.json["details"]?.text == "d" && answer.json["hint"]?.text == "h")
      }
      #expect(gateway.ask("GET", "/sync/v1/rpc/outbox_depth").body == "1")
    }

    @Test func aJSONFaultOfTheCallerStaysItsOwn() throws {
      let gateway = try SyncedGateway(ScriptedRemote())
      let answer = gateway.ask("POST", "/sync/v1/rpc/apply", #"{"table":5,"pk":"a","op":"insert"}"#)
      #expect(answer.status == 400)
    }

    @Test func unknownBucketColumnsConflict() throws {
      let gateway = try SyncedGateway(ScriptedRemote())
      let answer = gateway.ask("POST", "/sync/v1/rpc/set_bucket", #"{"nope":"1"}"#)
      #expect(answer.status == 409)
      #expect(answer.json["code"]?.text == "BUCKET_UNSET")
    }

    @Test func statusHasEveryKey() throws {
      let gateway = try SyncedGateway(ScriptedRemote())
      let status = gateway.ask("GET", "/sync/v1/rpc/status").json
      #expect(
        status.members?.map(\.key) == [
          "phase", "consecutive_failures", "next_attempt_at", "last_success_at", "last_error", "needs_reset",
          "soft_block_reason", "outbox_depth", "oldest_queued_at", "cursor", "client_id", "owner", "buckets",
          "paused", "upstream", "version",
        ])
      #expect(status["phase"]?.text == "idle")
      #expect(gateway.ask("POST", "/sync/v1/rpc/pause").status == 204)
      #expect(gateway.ask("GET", "/sync/v1/rpc/status").json["phase"]?.text == "offline")
      #expect(gateway.ask("POST", "/sync/v1/rpc/push_once").json["code"]?.text == "REMOTE")
    }

    @Test func momentsAreShownAsTheDialectShowsThem() {
      #expect(StatusAnswer.moment(1_700_000_000_250) == .string("2023-11-14T22:13:20.25+00:00"))
      #expect(StatusAnswer.moment(nil) == .null)
    }

    @Test func aResetIsNeededOnceTheUpstreamSaysSo() throws {
      let gateway = try SyncedGateway(ScriptedRemote(.body(#"{"signal":{"type":"RESET_REQUIRED"}}"#)))
      #expect(gateway.ask("POST", "/rest/v1/todos", #"{"id":"a"}"#).status == 201)
      #expect(gateway.ask("POST", "/sync/v1/rpc/push_once").status == 204)
      let status = gateway.ask("GET", "/sync/v1/rpc/status").json
      #expect(status["needs_reset"] == .bool(true))
      #expect(status["soft_block_reason"]?.text == "reset_required")
      // Nothing will be judged until then.
      #expect(gateway.ask("POST", "/rest/v1/todos", #"{"id":"b"}"#, "Prefer: wait=60").status == 202)
    }
  }
}

@Suite struct SyncMonitorTests {
  private func health(success: Int64? = nil, failure: Int64? = nil, code: String? = "REMOTE") -> SyncHealth {
    SyncHealth(
      phase: .idle, consecutiveFailures: 0, lastSuccessAt: success,
      lastError: failure.map { SyncHealth.Failure(code: code, message: "m", at: $0) }, needsReset: false)
  }

  private func withMonitor(_ body: (SyncMonitor) -> Void) throws {
    var configuration = EngineConfiguration()
    configuration.databasePath = ":memory:"
    let engine = try Engine.open(configuration)
    let monitor = SyncMonitor(engine: engine, scheduler: nil)
    body(monitor)
    monitor.close()
    engine.close()
  }

  @Test func runsAreCountedOnce() throws {
    try withMonitor { monitor in
      monitor.note(health())
      monitor.note(health(failure: 1))
      monitor.note(health(failure: 1))
      monitor.note(health(failure: 2, code: nil))
      monitor.note(health(success: 3, failure: 2))
      monitor.note(health(success: 3, failure: 2))
      monitor.note(health(success: 4, failure: 2))
      #expect(monitor.counts == .init(runs: 4, failures: ["REMOTE": 1, "other": 1], rejections: [:]))
    }
  }

  @Test func refusalsAreCountedByReasonsThatAreKnown() throws {
    try withMonitor { monitor in
      for reason in ["RLS_DENIED", "RLS_DENIED", "the words of a server"] {
        monitor.note(.mutationRejected(mutationId: "m", reason: reason))
      }
      monitor.note(.localChanged)
      #expect(monitor.counts.rejections == ["RLS_DENIED": 2, "other": 1])
    }
  }
}

@Suite struct EventTextTests {
  @Test(arguments: [
    (
      EngineEvent.mutationRejected(mutationId: "m", reason: "r"), "MUTATION_REJECTED",
      #"{"mutation_id":"m","reason":"r"}"#
    ),
    (
      .batchAborted(offenderMutationId: "m", reason: "r"), "BATCH_ABORTED",
      #"{"offender_mutation_id":"m","reason":"r"}"#
    ),
    (.deadLetter(mutationId: "m", reason: "a\nb"), "DEAD_LETTER", #"{"mutation_id":"m","reason":"a\nb"}"#),
    (
      .columnOverwritten(
        table: "t", pk: "p", column: "c", loserValueJSON: #"{"a": 1}"#, winnerMutationId: "w",
        conflictMode: "hlc"),
      "COLUMN_OVERWRITTEN",
      #"{"table":"t","pk":"p","column":"c","loser_value":{"a":1},"winner_mutation_id":"w","conflict_mode":"hlc"}"#
    ),
    (.checkpointExpired, "CHECKPOINT_EXPIRED", "{}"),
    (.resetRequired(reason: "identity_changed"), "RESET_REQUIRED", #"{"reason":"identity_changed"}"#),
  ])
  func eventsOfSyncHaveTheirData(event: EngineEvent, name: String, data: String) {
    let text = String(decoding: EventText.bytes(event, id: 7), as: UTF8.self)
    #expect(text == "id: 7\nevent: \(name)\ndata: \(data)\n\n")
  }
}
