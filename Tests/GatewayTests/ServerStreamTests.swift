import Foundation
import KizunaEngine
import Testing

@testable import Gateway

extension ServerTests {
  @Suite struct ServerSuspension {
    @Test func anotherThreadAnswers() throws {
      let handler: @Sendable (HTTPExchange) -> Void = { exchange in
        exchange.suspend()
        onThread {
          let seen = exchange.header("Host").map { String(decoding: $0, as: UTF8.self) } ?? ""
          exchange.respond(textResponse(200, seen))
        }
      }
      try withServer(handler: handler) { _, bound in
        let client = try RawClient(bound[0])
        for _ in 0..<200 {
          client.send("GET / HTTP/1.1\r\nHost: here\r\n\r\n")
          #expect(client.receive()?.text == "here")
        }
      }
    }

    @Test func clientsThatLeaveWhileSuspendedCostNothing() throws {
      let waiting = Shared<[HTTPExchange]>([])
      let handler: @Sendable (HTTPExchange) -> Void = { exchange in
        exchange.suspend()
        waiting.change { $0.append(exchange) }
      }
      try withServer(handler: handler) { server, bound in
        let before = openDescriptors()
        for _ in 0..<100 {
          let client = try RawClient(bound[0])
          client.send("POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 2\r\n\r\nab")
        }
        #expect(eventually { waiting.value.count == 100 })
        for exchange in waiting.value {
          #expect(exchange.header("Host").map { String(decoding: $0, as: UTF8.self) } == "here")
          exchange.respond(textResponse(200, "late"))
        }
        #expect(eventually { !server.hasRequests })
        #expect(eventually { openDescriptors() <= before })
        // What the exchange owns outlives the connection.
        #expect(waiting.value.allSatisfy { Array($0.body) == [97, 98] && $0.target.count == 1 })
      }
    }

    @Test func refusedBodyMayBeAnsweredByAnotherThread() throws {
      let handler: @Sendable (HTTPExchange) -> Void = { exchange in
        exchange.suspend()
        onThread { exchange.respond(textResponse(413, "no")) }
      }
      try withServer(handler: handler) { _, bound in
        let client = try RawClient(bound[0])
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 900000\r\n\r\nabc")
        #expect(client.receive()?.status == 413)
      }
    }
  }
}

extension ServerTests {
  @Suite struct ServerStreams {
    private func chunk(_ count: Int, _ byte: UInt8 = 97) -> ByteBuffer {
      var buffer = ByteBuffer(capacity: count)
      buffer.append([UInt8](repeating: byte, count: count))
      return buffer
    }

    @Test func slowReaderHoldsTheProducerBack() throws {
      let written = Shared(0)
      let handler: @Sendable (HTTPExchange) -> Void = { [self] exchange in
        exchange.suspend()
        onThread { [self] in
          let stream = exchange.respondStreaming(status: 200, headers: ResponseHeaders())
          for _ in 0..<400 {
            guard stream.write(chunk(100_000)) else { return }
            written.change { $0 += 100_000 }
          }
          stream.finish()
        }
      }
      try withServer(handler: handler) { _, bound in
        let client = try RawClient(bound[0])
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(eventually { written.value >= ResponseStream.writeBound })
        // The socket's buffers and the bound, far less than all of it.
        #expect(written.value < 30_000_000)
        let answer = try #require(client.receive())
        #expect(answer.isComplete && answer.body.count == 40_000_000)
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.receive()?.body.count == 40_000_000)
      }
    }

    @Test func producerLearnsThatTheClientIsGone() throws {
      let isOver = Shared(false)
      let handler: @Sendable (HTTPExchange) -> Void = { [self] exchange in
        let stream = exchange.respondStreaming(status: 200, headers: ResponseHeaders())
        onThread { [self] in
          while stream.write(chunk(10_000)) {}
          isOver.change { $0 = true }
        }
      }
      try withServer(handler: handler) { server, bound in
        for _ in 0..<20 {
          isOver.change { $0 = false }
          do {
            let client = try RawClient(bound[0])
            client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(client.fill())
          }
          #expect(eventually { isOver.value })
        }
        #expect(eventually { !server.hasRequests })
      }
    }

    @Test func failedStreamIsSeenAsIncomplete() throws {
      let handler: @Sendable (HTTPExchange) -> Void = { [self] exchange in
        let stream = exchange.respondStreaming(status: 200, headers: ResponseHeaders())
        onThread { [self] in
          _ = stream.write(chunk(1000))
          stream.fail()
        }
      }
      try withServer(handler: handler) { _, bound in
        let client = try RawClient(bound[0])
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.receive()?.isComplete != true)
      }
    }

    @Test func streamToHeadEndsAtOnce() throws {
      let isOver = Shared(false)
      let handler: @Sendable (HTTPExchange) -> Void = { [self] exchange in
        let stream = exchange.respondStreaming(status: 200, headers: ResponseHeaders())
        onThread { [self] in
          while stream.write(chunk(10_000)) {}
          isOver.change { $0 = true }
        }
      }
      try withServer(handler: handler) { _, bound in
        let client = try RawClient(bound[0])
        client.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.receive(toHead: true)?.status == 200)
        #expect(client.readToEnd() == "")
        #expect(eventually { isOver.value })
      }
    }

    @Test func eventsArriveOneByOneAndASlowClientIsCut() throws {
      let streams = Shared<[ResponseStream]>([])
      let handler: @Sendable (HTTPExchange) -> Void = { exchange in
        var headers = ResponseHeaders()
        headers.add("Content-Type", "text/event-stream")
        let stream = exchange.respondStreaming(status: 200, headers: headers, endsAtStop: true)
        streams.change { $0.append(stream) }
      }
      try withServer(handler: handler) { _, bound in
        let client = try RawClient(bound[0])
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(eventually { streams.value.count == 1 })
        let stream = streams.value[0]
        var seen = ""
        for index in 0..<50 {
          let isTaken = stream.offer(Self.event("event \(index)\n"))
          #expect(isTaken)
          while !seen.contains("event \(index)\n") {
            guard client.fill() else { break }
            seen += client.takePending()
          }
        }
        // Nobody reads any more: the bound is reached after the socket's own buffers.
        var offers = 0
        while stream.offer(chunk(50_000)) && offers < 10_000 { offers += 1 }
        #expect(offers < 10_000)
        #expect(stream.isClosed)
      }
    }

    private static func event(_ text: String) -> ByteBuffer {
      var buffer = ByteBuffer()
      buffer.append(text)
      return buffer
    }

    @Test func stopEndsEventStreamsProperly() throws {
      let count = Shared(0)
      let handler: @Sendable (HTTPExchange) -> Void = { exchange in
        _ = exchange.respondStreaming(status: 200, headers: ResponseHeaders(), endsAtStop: true)
        count.change { $0 += 1 }
      }
      try withServer(handler: handler) { server, bound in
        let client = try RawClient(bound[0])
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(eventually { count.value == 1 })
        #expect(server.stop(deadlineSeconds: 5))
        #expect(client.receive()?.isComplete == true)
      }
    }
  }
}
