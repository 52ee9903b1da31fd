import Foundation
import Testing

@testable import Gateway

extension BlackBoxTests {
  /// How the process lives and ends, and what it does for many and slow callers.
  @Suite struct Life {
    private func fill(_ call: CurlClient, rows: Int = 10_000) {
      let row = #"{"v":"\#(String(repeating: "x", count: 1000))","n":1}"#
      let body = "[" + Array(repeating: row, count: rows).joined(separator: ",") + "]"
      #expect(call("POST", "/rest/v1/bulk?columns=v,n", body, "Prefer: return=minimal").status == 201)
    }

    @Test func anIdleGatewayEndsAtOnceAndAgainAfterItsRestart() throws {
      for database in ["kizuna.sqlite", ":memory:"] {
        let gateway = try BlackBox(settings: #""database": "\#(database)""#)
        let call = gateway.client()
        #expect(call("POST", "/rest/v1/notes", #"{"id":"a"}"#).status == 201)
        // A reader whose snapshot is kept, and one of the pool.
        #expect(call("GET", "/rest/v1/notes?id=eq.a").status == 200)
        #expect(call("GET", "/ready").status == 200)
        let end = gateway.end()
        #expect(end.code == 0)
        #expect(end.seconds < 0.8, "\(database): \(end.seconds)")
      }
    }

    @Test(arguments: [(SIGTERM, 0), (SIGINT, 0), (SIGKILL, 9)])
    func noAcknowledgedWriteIsLostWhenTheProcessEnds(_ signal: Int32, _ code: Int) throws {
      let place = FileManager.default.temporaryDirectory.appending(path: "kizuna-\(UUID().uuidString)")
      let gateway = try BlackBox(in: place)
      let acknowledged = Shared<Set<String>>([])
      let writers = DispatchGroup()
      for writer in 0..<6 {
        let call = Shared(gateway.client())
        writers.enter()
        Thread.detachNewThread {
          var number = 0
          while call.value("POST", "/rest/v1/notes", #"{"id":"\#(writer)-\#(number)"}"#).status == 201 {
            acknowledged.change { _ = $0.insert("\(writer)-\(number)") }
            number += 1
          }
          writers.leave()
        }
      }
      #expect(eventually { acknowledged.value.count > 200 })
      let end = gateway.end(signal)
      #expect(Int(end.code) == code)
      #expect(end.seconds < 5)
      writers.wait()

      let again = try BlackBox(in: place)
      let call = again.client()
      for (path, field) in [("/rest/v1/notes?select=id", "id"), ("/sync/v1/outbox?select=pk", "pk")] {
        let rows = try JSONDecoder().decode([[String: String]].self, from: Data(call("GET", path).body))
        #expect(acknowledged.value.subtracting(rows.compactMap { $0[field] }).isEmpty)
      }
    }

    @Test func openStreamsDoNotHoldUpTheEnd() throws {
      let gateway = try BlackBox()
      let streams = try (0..<50).map { _ in try gateway.raw() }
      for stream in streams {
        stream.send("GET /sync/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        while !stream.takePending().contains(": connected") { try #require(stream.fill()) }
      }
      let end = gateway.end()
      #expect(end.code == 0)
      #expect(end.seconds < 2)
      for stream in streams { #expect(stream.readToEnd().hasSuffix("0\r\n\r\n")) }
    }

    @Test func eventsComeInOrderAndAreResumed() throws {
      let gateway = try BlackBox()
      func listen(_ header: String, until text: String) throws -> String {
        let stream = try gateway.raw()
        stream.send("GET /sync/v1/events HTTP/1.1\r\nHost: localhost\r\n\(header)\r\n")
        var seen = ""
        while !seen.contains(text) {
          try #require(stream.fill())
          seen += stream.takePending()
        }
        return seen
      }
      let call = gateway.client()
      for number in 1...3 { #expect(call("POST", "/rest/v1/notes", #"{"id":"\#(number)"}"#).status == 201) }
      let all = try listen("Last-Event-ID: 0\r\n", until: #"{"depth":3}"#)
      let ids = all.matches(of: /id: (\d+)/).compactMap { Int($0.output.1) }
      #expect(ids.count == 6 && ids == ids.sorted())
      let rest = try listen("Last-Event-ID: \(ids[3])\r\n", until: #"{"depth":3}"#)
      #expect(rest.matches(of: /id: (\d+)/).compactMap { Int($0.output.1) } == Array(ids[4...]))
    }

    @Test func aSlowReadIsCutAndHoldsUpNobody() throws {
      let gateway = try BlackBox(settings: #""read_timeout_s": 1"#)
      let call = gateway.client()
      fill(call)
      // Every row is put to all of them, since none decides.
      let tests = (0..<40).map { "v=not.match.%5E(x%2Bx%2B)%2By\($0)%24" }
      let answers = Shared<[CurlClient.Answer]>([])
      for _ in 0..<6 {
        let slow = Shared(gateway.client())
        Thread.detachNewThread {
          let answer = slow.value("GET", "/rest/v1/bulk?" + tests.joined(separator: "&"))
          answers.change { $0.append(answer) }
        }
      }
      for path in ["/live", "/ready", "/rest/v1/notes", "/sync/v1/rpc/status", "/metrics"] {
        #expect(call("GET", path).status == 200, "\(path)")
      }
      #expect(call("POST", "/rest/v1/notes", #"{"id":"a"}"#).status == 201)
      #expect(answers.value.count < 6, "a function or a write waited for the reads")
      #expect(eventually { answers.value.count == 6 })
      for answer in answers.value { #expect(answer.status == 500 && answer.text.contains("57014")) }
    }

    @Test func aStalledClientHoldsNoReader() throws {
      let gateway = try BlackBox(settings: #""read_timeout_s": 1"#)
      let call = gateway.client()
      fill(call)
      let stalled = try (0..<4).map { _ in try gateway.raw() }
      for client in stalled {
        client.send("GET /rest/v1/bulk HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try #require(client.fill())
      }
      // It needs one of the threads that serve the four.
      let start = Date()
      #expect(call("GET", "/rest/v1/bulk?select=v").body.count > 10_000_000)
      #expect(Date().timeIntervalSince(start) < 20)
    }

    @Test func functionsJudgeTheirArguments() throws {
      let gateway = try BlackBox()
      let call = gateway.client()
      let rows: [(String, String, Int)] = [
        ("apply", #"{"table":"notes","pk":"a","op":"insert","columns":{"n":1}}"#, 204),
        ("apply", #"{"table":"nope","pk":"a","op":"insert"}"#, 404),
        ("apply", #"{"table":"notes","pk":"a","op":"delete"}"#, 409),
        ("apply", #"{"table":"notes","pk":"a","op":"what"}"#, 400), ("apply", "{", 400), ("apply", "[]", 400),
        ("apply", "{}", 400), ("apply", #"{"table":"notes","pk":"a","op":"update","odd":1}"#, 400),
        ("apply_where", #"{"table":"lists","op":"delete","filters":[]}"#, 400),
        ("batch", #"{"mutations":[5]}"#, 400), ("batch", #"{"mutations":[]}"#, 200), ("batch", "", 400),
        ("dismiss_rejection", #"{"mutation_id":"x"}"#, 200), ("dismiss_overwrite", #"{"id":-1}"#, 400),
        ("set_bucket", #"{"team_id":"7"}"#, 409), ("sync", "", 502), ("drain", #"{"timeout_s":-1}"#, 400),
        ("drain", "", 200), ("outbox_depth", "", 200), ("checkpoint", "", 200), ("status", "", 200),
        ("pause", "", 204), ("resume", "", 204), ("nope", "", 404), ("reset", "", 200),
      ]
      for (name, body, status) in rows {
        let answer = call("POST", "/sync/v1/rpc/\(name)", body)
        #expect(answer.status == status, "\(name) \(body): \(answer.text)")
      }
      #expect(call("GET", "/sync/v1/rpc/pause").status >= 400)
    }

    @Test func aBatchIsAllOrNothing() throws {
      let gateway = try BlackBox()
      let call = gateway.client()
      let good = #"{"table":"notes","pk":"a","op":"insert","columns":{"n":1}}"#
      let bad = #"{"table":"notes","pk":"b","op":"insert","columns":{"nope":1}}"#
      #expect(call("POST", "/sync/v1/rpc/batch", #"{"mutations":[\#(good),\#(bad)]}"#).status == 400)
      #expect(call("GET", "/rest/v1/notes").text == "[]")
      #expect(call("GET", "/sync/v1/outbox").text == "[]")
      #expect(call("POST", "/sync/v1/rpc/batch", #"{"mutations":[\#(good)]}"#).text == #"["a"]"#)
    }

    @Test func aUnixSocketServesAndAStaleOneIsReplaced() throws {
      let place = FileManager.default.temporaryDirectory.appending(
        path: "kz-\(UInt32.random(in: 0 ... .max))")
      let settings = #""listen": ["unix:k.sock", "127.0.0.1:0"]"#
      let killed = try BlackBox(settings: settings, in: place)
      #expect(killed.ready.contains("unix:"))
      let path = place.appending(path: "k.sock").path
      #expect(killed.client(socket: path)("GET", "/live").status == 200)
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
      #expect(mode as? Int == 0o600)
      #expect(try killed.command("health").code == 0)
      _ = killed.end(SIGKILL)

      let next = try BlackBox(settings: settings, in: place)
      #expect(next.client(socket: path)("GET", "/live").status == 200)
      #expect(next.end().code == 0)
      #expect(!FileManager.default.fileExists(atPath: path))
      #expect(try next.command("health").code == 1)
    }

    @Test func commandsBesideAServedDatabase() throws {
      let gateway = try BlackBox()
      let call = gateway.client()
      #expect(call("POST", "/rest/v1/notes", #"{"id":"a"}"#).status == 201)
      #expect(try gateway.command("check").code == 0)
      #expect(try gateway.command("backup", "copy.sqlite").code == 0)
      let busy = try gateway.command("reset", "--yes")
      #expect(busy.code == 69 && busy.errors.split(separator: "\n").count == 1, "\(busy)")
      #expect(try gateway.command("serve", "--listen", "127.0.0.1:0").code == 69)
      #expect(gateway.end().code == 0)
      #expect(try gateway.command("reset", "--yes").code == 0)
    }

    @Test func bodiesUpToTheLimitAreTaken() throws {
      let gateway = try BlackBox()
      let call = gateway.client()
      let most = #"{"id":"most","body":"\#(String(repeating: "y", count: 16_777_216 - 24))"}"#
      #expect(call("POST", "/rest/v1/notes", most, "Prefer: return=minimal").status == 201)
      #expect(call("GET", "/rest/v1/notes?id=eq.most&select=body").body.count > 16_777_000)
      #expect(call("POST", "/rest/v1/notes", most + "  ").status == 413)
      #expect(call("GET", "/live").status == 200)
    }
  }
}
