import Foundation
import KizunaEngine
import Testing

@testable import Gateway

extension ServerTests {
  /// A gateway that syncs by itself.
  @Suite struct BackgroundSync {
    private func start(_ remote: ScriptedRemote) throws -> SyncedGateway {
      try SyncedGateway(remote) { engine in
        let scheduler = SyncScheduler.forEngine(engine, pollIntervalSeconds: 3600)
        scheduler.start()
        return scheduler
      }
    }

    private func status(_ gateway: SyncedGateway, until isReached: (JSONValue) -> Bool) throws -> JSONValue {
      let end = monotonicMilliseconds() + 10_000
      while true {
        let status = gateway.ask("GET", "/sync/v1/rpc/status").json
        if isReached(status) { return status }
        try #require(monotonicMilliseconds() < end, "\(status.jsonText)")
        usleep(5000)
      }
    }

    @Test func whoWaitsHasTheWriteSentAtOnce() throws {
      let gateway = try start(ScriptedRemote())
      _ = try status(gateway) { $0["last_success_at"]?.text != nil }
      let answer = gateway.ask("POST", "/rest/v1/todos", #"{"id":"a"}"#, "Prefer: wait=20")
      #expect(answer.status == 201)
      #expect(gateway.remote.called.contains("push"))
      #expect(gateway.ask("POST", "/sync/v1/rpc/drain").json["drained"] == .bool(true))
    }

    @Test func failuresShowInStatusAndMetrics() throws {
      let gateway = try start(ScriptedRemote(.fault(RemoteFault(code: "PGRST301", "JWT expired"))))
      _ = try status(gateway) { $0["last_success_at"]?.text != nil }
      #expect(gateway.ask("POST", "/rest/v1/todos", #"{"id":"a"}"#).status == 201)
      let failed = try status(gateway) { $0["consecutive_failures"]?.int64 == 1 }
      #expect(failed["phase"]?.text == "backoff")
      #expect(failed["last_error"]?["code"]?.text == "REMOTE")
      #expect(failed["last_error"]?["message"]?.text == "PGRST301: JWT expired")
      #expect(failed["last_error"]?["at"]?.text?.hasSuffix("+00:00") == true)
      #expect(failed["next_attempt_at"]?.text != nil)
      let metrics = gateway.ask("GET", "/metrics").body
      #expect(metrics.contains("kizuna_sync_failures_total{code=\"REMOTE\"} 1\n"))
      #expect(gateway.ask("POST", "/sync/v1/rpc/set_access_token", #"{"token":"other"}"#).status == 204)
      let well = try status(gateway) { $0["outbox_depth"]?.int64 == 0 && $0["phase"]?.text == "idle" }
      #expect(well["consecutive_failures"]?.int64 == 0)
      #expect(well["last_error"] == .null)
    }

    @Test func aPauseKeepsAwayAndAResumeCatchesUp() throws {
      let gateway = try start(ScriptedRemote())
      _ = try status(gateway) { $0["last_success_at"]?.text != nil }
      #expect(gateway.ask("POST", "/sync/v1/rpc/pause").status == 204)
      #expect(gateway.ask("POST", "/rest/v1/todos", #"{"id":"a"}"#, "Prefer: wait=60").status == 202)
      let paused = gateway.ask("GET", "/sync/v1/rpc/status").json
      #expect(paused["phase"]?.text == "offline" && paused["paused"] == .bool(true))
      #expect(!gateway.remote.called.contains("push"))
      #expect(gateway.ask("POST", "/sync/v1/rpc/resume").status == 204)
      #expect(gateway.ask("POST", "/sync/v1/rpc/drain").body == #"{"drained":true,"outbox_depth":0}"#)
    }
  }

  /// The executable before an upstream that is of no use.
  @Suite struct UselessUpstream {
    private func remote(_ port: UInt16) -> String {
      #""sync":{"poll_interval_s":1},"remote":{"url":"http://127.0.0.1:\#(port)","publishable_key":"k","access_token":"t"}"#
    }

    /// A socket that listens and never answers. Closed by its owner.
    private func silentPort() throws -> (descriptor: Int32, port: UInt16) {
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = inet_addr("127.0.0.1")
      var length = socklen_t(MemoryLayout<sockaddr_in>.size)
      let isBound = withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
          bind(descriptor, address, length) == 0 && listen(descriptor, 8) == 0
            && getsockname(descriptor, address, &length) == 0
        }
      }
      try #require(isBound)
      return (descriptor, UInt16(bigEndian: address.sin_port))
    }

    @Test func anUpstreamThatIsAwayHoldsNobodyUp() throws {
      let silent = try silentPort()
      close(silent.descriptor)
      let gateway = try startGateway(remote(silent.port))
      let call = gateway.caller()
      #expect(call("POST", "/rest/v1/notes", #"{"id":"a"}"#).status == 201)
      let refused = call("POST", "/sync/v1/rpc/sync")
      #expect(refused.status == 502)
      #expect(refused.json["code"]?.text == "REMOTE")
      #expect(call("POST", "/rest/v1/notes", #"{"id":"b"}"#, "Prefer: wait=1").status == 202)
      let status = call("GET", "/sync/v1/rpc/status").json
      #expect(status["upstream"]?.text == "http://127.0.0.1:\(silent.port)")
      #expect(status["last_error"]?["code"]?.text == "REMOTE")
      #expect(gateway.end().code == 0)
    }

    @Test func theProcessEndsInTimeWhateverIsInFlight() throws {
      let silent = try silentPort()
      defer { close(silent.descriptor) }
      let gateway = try startGateway(remote(silent.port))
      let call = gateway.caller()
      #expect(call("POST", "/rest/v1/notes", #"{"id":"a"}"#).status == 201)
      let base = gateway.base
      let answers = Guarded<[String: Int]>([:])
      let calls = [
        ("/rest/v1/notes", #"{"id":"b"}"#), ("/sync/v1/rpc/sync", "{}"), ("/sync/v1/rpc/drain", "{}"),
      ]
      let askers = calls.map { path, body in
        KizunaEngine.Thread(name: "asker") {
          let answer = try? CurlClient(base).request(
            "POST", path, body: body, headers: ["Expect:", "Prefer: wait=60"])
          answers.with { $0[path] = answer?.status ?? 0 }
        }
      }
      let until = monotonicMilliseconds() + 10_000
      while call("GET", "/sync/v1/outbox").json.elements?.count != 2, monotonicMilliseconds() < until {
        usleep(5000)
      }
      let end = gateway.end()
      #expect(end.code == 0)
      #expect(end.seconds < 4)
      for asker in askers { asker.join() }
      #expect(answers.with { $0["/rest/v1/notes"] } == 202)
    }
  }
}
