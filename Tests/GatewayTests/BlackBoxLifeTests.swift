import Foundation
import Testing

extension ServerTests {
  /// How the process lives and ends, and what it does for many and slow callers.
  @Suite struct BlackBoxLifeTests {
    private func fill(_ call: Caller, rows: Int = 10_000) {
      let row = #"{"v":"\#(String(repeating: "x", count: 1000))","n":1}"#
      let body = "[" + Array(repeating: row, count: rows).joined(separator: ",") + "]"
      #expect(call("POST", "/rest/v1/bulk?columns=v,n", body, "Prefer: return=minimal").status == 201)
    }

    @Test func anIdleGatewayEndsAtOnceAndAgainAfterItsRestart() throws {
      let gateway = try startGateway()
      let call = gateway.caller()
      #expect(call("POST", "/rest/v1/notes", #"{"id":"a"}"#).status == 201)
      // A reader whose snapshot is kept, and one of the pool.
      #expect(call("GET", "/rest/v1/notes?id=eq.a").status == 200)
      #expect(call("GET", "/ready").status == 200)
      let end = gateway.end()
      #expect(end.code == 0)
      #expect(end.seconds < 0.8, "\(end.seconds)")
    }

    @Test(arguments: [(SIGTERM, Int32(0)), (SIGINT, Int32(0)), (SIGKILL, Int32(9))])
    func noAcknowledgedWriteIsLostWhenTheProcessEnds(_ signal: Int32, _ code: Int32) throws {
      let place = FileManager.default.temporaryDirectory.appending(path: "kizuna-\(UUID().uuidString)")
      let gateway = try startGateway(in: place)
      let acknowledged = Shared<Set<String>>([])
      let writers = DispatchGroup()
      for writer in 0..<6 {
        let call = Shared(gateway.caller())
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
      #expect(end.code == code)
      #expect(end.seconds < 5)
      writers.wait()

      let again = try startGateway(in: place)
      let call = again.caller()
      for (path, field) in [("/rest/v1/notes?select=id", "id"), ("/sync/v1/outbox?select=pk", "pk")] {
        let rows = try JSONDecoder().decode([[String: String]].self, from: Data(call("GET", path).body.utf8))
        #expect(acknowledged.value.subtracting(rows.compactMap { $0[field] }).isEmpty)
      }
    }

    @Test func openStreamsDoNotHoldUpTheEnd() throws {
      let gateway = try startGateway()
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
      let gateway = try startGateway()
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
      let call = gateway.caller()
      for number in 1...3 { #expect(call("POST", "/rest/v1/notes", #"{"id":"\#(number)"}"#).status == 201) }
      let all = try listen("Last-Event-ID: 0\r\n", until: #"{"depth":3}"#)
      let ids = all.matches(of: /id: (\d+)/).compactMap { Int($0.output.1) }
      #expect(ids.count == 6 && ids == ids.sorted())
      let rest = try listen("Last-Event-ID: \(ids[3])\r\n", until: #"{"depth":3}"#)
      #expect(rest.matches(of: /id: (\d+)/).compactMap { Int($0.output.1) } == Array(ids[4...]))
    }

    @Test func aSlowReadIsCutAndHoldsUpNobody() throws {
      let gateway = try startGateway(#""read_timeout_s": 2"#)
      let call = gateway.caller()
      fill(call)
      // Every row is put to all of them, since none decides.
      let tests = (0..<40).map { "v=not.match.%5E(x%2Bx%2B)%2By\($0)%24" }
      let answers = Shared<[CurlClient.Answer]>([])
      for _ in 0..<6 {
        let slow = Shared(gateway.caller())
        Thread.detachNewThread {
          let answer = slow.value("GET", "/rest/v1/bulk?" + tests.joined(separator: "&"))
          answers.change { $0.append(answer) }
        }
      }
      for path in ["/live", "/ready", "/rest/v1/notes", "/sync/v1/rpc/status", "/metrics"] {
        #expect(call("GET", path).status == 200, "\(path)")
      }
      #expect(call("POST", "/rest/v1/notes", #"{"id":"a"}"#).status == 201)
      #expect(answers.value.isEmpty, "a function or a write waited for the reads")
      #expect(eventually { answers.value.count == 6 })
      for answer in answers.value { #expect(answer.status == 500 && answer.body.contains("57014")) }
    }

    @Test func aStalledClientHoldsNoReader() throws {
      let gateway = try startGateway(#""read_timeout_s": 1"#)
      let call = gateway.caller()
      fill(call)
      let stalled = try (0..<4).map { _ in try gateway.raw() }
      for client in stalled {
        client.send("GET /rest/v1/bulk HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try #require(client.fill())
      }
      // It needs one of the threads that serve the four.
      let start = Date()
      #expect(call("GET", "/rest/v1/bulk?select=v").body.utf8.count > 10_000_000)
      #expect(Date().timeIntervalSince(start) < 20)
    }

    @Test func aStaleUnixSocketIsReplacedAndItsPathFreedAtTheEnd() throws {
      let place = FileManager.default.temporaryDirectory.appending(
        path: "kz-\(UInt32.random(in: 0 ... .max))")
      let path = place.appending(path: "k.sock").path
      let killed = try startGateway(listen: "unix:k.sock", in: place)
      #expect(try killed.run("health").status == 0)
      _ = killed.end(SIGKILL)
      #expect(FileManager.default.fileExists(atPath: path))

      let next = try startGateway(listen: "unix:k.sock", in: place)
      let call = CurlClient("http://localhost", unixSocket: path)
      #expect(try call.request("GET", "/live").status == 200)
      #expect(next.end().code == 0)
      #expect(!FileManager.default.fileExists(atPath: path))
      #expect(try next.run("health").status == 1)
    }

    @Test func commandsBesideAServedDatabase() throws {
      let gateway = try startGateway()
      let call = gateway.caller()
      #expect(call("POST", "/rest/v1/notes", #"{"id":"a"}"#).status == 201)
      #expect(try gateway.run("check").status == 0)
      #expect(try gateway.run("backup", "copy.sqlite").status == 0)
      let busy = try gateway.run("reset", "--yes")
      #expect(busy.status == 69 && busy.error.split(separator: "\n").count == 1, "\(busy)")
      #expect(try gateway.run("serve", "--listen", "127.0.0.1:0").status == 69)
      #expect(gateway.end().code == 0)
      #expect(try gateway.run("reset", "--yes").status == 0)
    }
  }
}
