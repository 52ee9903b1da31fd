import Foundation
import KizunaEngine
import Testing

@testable import Gateway

extension ServerTests {
  @Suite struct ServerBodies {
    /// The limit that `withServer` sets.
    let limit = 100_000

    private func chunked(_ count: Int) -> [UInt8] {
      var bytes = Array("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
      var rest = count
      while rest > 0 {
        let size = min(rest, 10_000)
        bytes += Array((String(size, radix: 16) + "\r\n").utf8)
        bytes += [UInt8](repeating: 120, count: size)
        bytes += [13, 10]
        rest -= size
      }
      return bytes + Array("0\r\n\r\n".utf8)
    }

    @Test(arguments: [0, 1, 4096, 4097, 99_999, 100_000])
    func bodiesArriveWhole(count: Int) throws {
      try withServer { _, bound in
        let client = try RawClient(bound[0])
        let body = String(repeating: "y", count: count)
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(count)\r\n\r\n" + body)
        #expect(client.receive()?.text == "post / " + body)
        client.send(chunked(count))
        #expect(client.receive()?.body.count == count + 7)
      }
    }

    @Test func declaredLengthOverTheLimitIsRefusedAtOnce() throws {
      try withServer { _, bound in
        let client = try RawClient(bound[0])
        client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(limit + 1)\r\n\r\n")
        let answer = try #require(client.receive())
        #expect(answer.status == 413 && answer.text == "too large")
        #expect(answer.has("Connection"))
      }
    }

    @Test func refusalReachesAClientThatSendsItsWholeBodyFirst() throws {
      try withServer { _, bound in
        for _ in 0..<10 {
          let client = try RawClient(bound[0])
          let size = 5_000_000
          client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(size)\r\n\r\n")
          #expect(client.send([UInt8](repeating: 120, count: size)))
          #expect(client.receive()?.status == 413)
        }
      }
    }

    @Test func continueIsSaidForBodiesThatFitOnly() throws {
      try withServer { _, bound in
        let client = try RawClient(bound[0])
        client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        #expect(client.receive()?.status == 100)
        client.send("abc")
        #expect(client.receive()?.text == "post / abc")
        client.send("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 300000\r\n\r\n")
        #expect(client.receive()?.status == 413)
      }
    }

    @Test func undeclaredBodyIsReadToTwiceTheLimitThenCut() throws {
      try withServer { _, bound in
        let client = try RawClient(bound[0])
        client.send(chunked(limit * 2))
        #expect(client.receive()?.status == 413)
        client.send("GET /next HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.receive()?.text == "get /next ")
        client.send(chunked(limit * 4))
        #expect(client.receive() == nil)
      }
    }

    @Test func hangingUpInTheBodyLeaksNothing() throws {
      try withServer { server, bound in
        let before = openDescriptors()
        for index in 0..<200 {
          let client = try RawClient(bound[0])
          client.send(
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50000\r\n\r\n"
              + String(repeating: "z", count: (index + 1) * 200))
        }
        #expect(eventually { openDescriptors() <= before })
        #expect(eventually { !server.hasRequests })
      }
    }
  }
}
