import Foundation
import KizunaEngine
import Testing

@testable import Gateway

extension ServerTests {
  @Suite struct ServerRequests {
    @Test func connectionServesAThousandRequests() throws {
      try withServer { _, bound in
        let client = try RawClient(bound[0])
        for index in 0..<1000 {
          client.send("GET /n/\(index) HTTP/1.1\r\nHost: a\r\n\r\n")
          #expect(client.receive()?.text == "get /n/\(index) ")
        }
      }
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() throws {
      try withServer { _, bound in
        let client = try RawClient(bound[0])
        client.send(
          (0..<50).map { "POST /\($0) HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nxy" }.joined())
        for index in 0..<50 { #expect(client.receive()?.text == "post /\(index) xy") }
      }
    }

    @Test func targetArrivesUndecoded() throws {
      try withServer { _, bound in
        let client = try RawClient(bound[0])
        for target in ["/a%00b?x=%ff", "/a+b%2Fc?q=a%26b&q=c+d&&=", "/%zz?%"] {
          client.send("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
          #expect(client.receive()?.text == "get \(target) ")
        }
      }
    }

    @Test func methodsKeepTheirNames() throws {
      try withServer { _, bound in
        let client = try RawClient(bound[0])
        for (sent, seen) in [
          ("PATCH", "patch"), ("PUT", "put"), ("DELETE", "delete"), ("OPTIONS", "options"),
          ("FROB", "other(\"FROB\")"),
        ] {
          client.send("\(sent) / HTTP/1.1\r\nHost: a\r\n\r\n")
          #expect(client.receive()?.text == "\(seen) / ")
        }
      }
    }

    @Test func headersAreFoundInAnyCaseAndListedInOrder() throws {
      let lines = Shared<[String]>([])
      let handler: @Sendable (HTTPExchange) -> Void = { exchange in
        exchange.forEachHeader { name, value in
          let line = String(decoding: name, as: UTF8.self) + "=" + String(decoding: value, as: UTF8.self)
          lines.change { $0.append(line) }
        }
        let first = exchange.header("prefer").map { String(decoding: $0, as: UTF8.self) } ?? "none"
        exchange.respond(textResponse(200, first + (exchange.header("absent") == nil ? "" : "!")))
      }
      try withServer(handler: handler) { _, bound in
        let client = try RawClient(bound[0])
        client.send("GET / HTTP/1.1\r\nHost: a\r\nPREFER: one\r\nX: 1\r\nPrefer: two\r\n\r\n")
        #expect(client.receive()?.text == "one")
        #expect(lines.value == ["Host=a", "PREFER=one", "X=1", "Prefer=two"])
      }
    }

    @Test func headAnswersWithoutABodyAndWithoutALength() throws {
      try withServer { _, bound in
        let client = try RawClient(bound[0])
        client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
        let answer = try #require(client.receive(toHead: true))
        #expect(answer.status == 200)
        #expect(!answer.has("Content-Length") && !answer.has("Transfer-Encoding"))
        #expect(answer.has("Content-Type") && answer.has("Connection"))
        #expect(client.readToEnd() == "")
      }
    }

    @Test func headMayShowTheLength() throws {
      let handler: @Sendable (HTTPExchange) -> Void = { exchange in
        var response = textResponse(200, "12345")
        response.showsLengthOnHead = true
        exchange.respond(response)
      }
      try withServer(handler: handler) { _, bound in
        let client = try RawClient(bound[0])
        for _ in 0..<2 {
          client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
          #expect(client.receive(toHead: true)?.head.contains("Content-Length: 5\r\n") == true)
        }
      }
    }

    @Test(arguments: [(204, false), (201, true), (200, true)])
    func emptyAnswersSayTheirLength(status: Int, hasLength: Bool) throws {
      let handler: @Sendable (HTTPExchange) -> Void = { $0.respond(Response(status: status)) }
      try withServer(handler: handler) { _, bound in
        let client = try RawClient(bound[0])
        client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        let answer = try #require(client.receive())
        #expect(answer.status == status)
        #expect(answer.has("Content-Length") == hasLength)
        #expect(!answer.has("Transfer-Encoding"))
      }
    }

    @Test func headerValueCannotSmuggleASecondLine() throws {
      let handler: @Sendable (HTTPExchange) -> Void = { exchange in
        var response = textResponse(200, "ok")
        response.add("X-Bad", "a\r\nX-Evil: b")
        response.add("X-Good", "a b")
        exchange.respond(response)
      }
      try withServer(handler: handler) { _, bound in
        let client = try RawClient(bound[0])
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        let answer = try #require(client.receive())
        #expect(answer.has("X-Good") && !answer.has("X-Evil") && !answer.has("X-Bad"))
      }
    }

    @Test func oldClientsAreServedAndClosed() throws {
      try withServer { _, bound in
        let client = try RawClient(bound[0])
        client.send("GET /old HTTP/1.0\r\n\r\n")
        #expect(client.receive()?.text == "get /old ")
        #expect(!client.fill())
      }
    }

    @Test func overlongRequestLinesAndHeadersAreRejected() throws {
      try withServer { _, bound in
        let long = String(repeating: "a", count: 20_000)
        for request in ["GET /\(long) HTTP/1.1\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nX: \(long)\r\n\r\n"] {
          let client = try RawClient(bound[0])
          client.send(request)
          let answer = client.receive()
          #expect(answer == nil || [413, 414, 431].contains(answer?.status))
        }
      }
    }

    @Test func malformedRequestsLeaveTheServerAlive() throws {
      try withServer(idleTimeout: 1) { _, bound in
        for request in [
          "\r\n\r\n\0\0", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\n: x\r\n\r\n",
        ] {
          let client = try RawClient(bound[0])
          client.send(request)
          client.stopSending()
          _ = client.readToEnd()
        }
        let client = try RawClient(bound[0])
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.receive()?.status == 200)
      }
    }
  }
}
