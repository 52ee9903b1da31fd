import Foundation
import KizunaEngine
import Testing

@testable import Gateway

extension ServerTests {
  @Suite struct ServerLife {
    @Test func localhostListensOnBothFamiliesUnderOnePort() throws {
      try withServer([.tcp(host: "localhost", port: 0)]) { _, bound in
        #expect(!bound.isEmpty)
        #expect(Set(bound.map(\.port)).count == 1)
        for address in bound {
          #expect(address.display.hasPrefix("http://") && address.port != 0)
          let client = try RawClient(address)
          client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
          #expect(client.receive()?.status == 200)
        }
      }
    }

    @Test func takenPortIsNamed() throws {
      try withServer { _, bound in
        let second = HTTPServer(
          configuration: ServerConfiguration(addresses: bound.map(\.address)), handler: echo)
        #expect(throws: ServerError.inUse(bound[0].display)) { try second.start() }
      }
    }

    @Test(arguments: ["not-an-address", "256.0.0.1", "192.0.2.1"])
    func foreignAddressIsRefused(host: String) throws {
      let server = HTTPServer(
        configuration: ServerConfiguration(addresses: [.tcp(host: host, port: 0)]), handler: echo)
      #expect {
        try server.start()
      } throws: { error in
        if case .cannotBind = error as? ServerError { true } else { false }
      }
    }

    @Test func unixSocketIsPrivateAndRemovedAtTheEnd() throws {
      let path = temporaryPath("a.sock")
      let handler: @Sendable (HTTPExchange) -> Void = { $0.respond(textResponse(200, "\($0.peer)")) }
      try withServer([.unix(path: path)], handler: handler) { server, bound in
        #expect(bound[0].display == "unix:\(path)")
        var status = stat()
        #expect(lstat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let client = try RawClient(bound[0])
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.receive()?.text == "unixSocket")
        let second = HTTPServer(
          configuration: ServerConfiguration(addresses: bound.map(\.address)), handler: echo)
        #expect(throws: ServerError.inUse("unix:\(path)")) { try second.start() }
        server.stop(deadlineSeconds: 5)
        #expect(lstat(path, &status) != 0)
      }
    }

    @Test func staleUnixSocketIsReplacedAndAFileIsNot() throws {
      let path = temporaryPath("b.sock")
      defer { unlink(path) }
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      let left = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      let result = withUnsafePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          bind(left, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
      }
      #expect(result == 0)
      close(left)
      try withServer([.unix(path: path)]) { _, bound in
        let client = try RawClient(bound[0])
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(client.receive()?.status == 200)
      }
      try Data("precious".utf8).write(to: URL(fileURLWithPath: path))
      let server = HTTPServer(
        configuration: ServerConfiguration(addresses: [.unix(path: path)]), handler: echo)
      #expect(throws: ServerError.self) { try server.start() }
      #expect(FileManager.default.contents(atPath: path) == Data("precious".utf8))
    }

    @Test func answersInFlightFinishBeforeTheEnd() throws {
      let waiting = Shared<[HTTPExchange]>([])
      let handler: @Sendable (HTTPExchange) -> Void = { exchange in
        exchange.suspend()
        waiting.change { $0.append(exchange) }
      }
      try withServer(handler: handler) { server, bound in
        let clients = try (0..<20).map { _ in try RawClient(bound[0]) }
        for client in clients { client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
        #expect(eventually { waiting.value.count == 20 })
        onThread {
          while !server.isStopping { sched_yield() }
          for exchange in waiting.value { exchange.respond(textResponse(200, "done")) }
        }
        #expect(server.stop(deadlineSeconds: 10))
        for client in clients {
          let answer = client.receive()
          #expect(answer?.text == "done" && answer?.has("Connection") == true)
        }
        #expect(throws: (any Error).self) { try RawClient(bound[0]) }
      }
    }

    @Test func answerThatNeverComesDoesNotHoldTheStop() throws {
      let waiting = Shared<[HTTPExchange]>([])
      let handler: @Sendable (HTTPExchange) -> Void = { exchange in
        exchange.suspend()
        waiting.change { $0.append(exchange) }
      }
      try withServer(handler: handler) { server, bound in
        let client = try RawClient(bound[0])
        client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        let half = try RawClient(bound[0])
        half.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nabc")
        #expect(eventually { waiting.value.count == 1 })
        #expect(!server.stop(deadlineSeconds: 0))
        #expect(half.readToEnd() == "")
        waiting.value[0].respond(textResponse(200, "too late"))
        #expect(eventually { !server.hasRequests })
        #expect(server.stop(deadlineSeconds: 1))
      }
    }

    @Test func tenThousandConnectionsLeaveNoDescriptor() throws {
      try withServer { _, bound in
        let before = openDescriptors()
        for index in 0..<10_000 {
          let client = try RawClient(bound[0])
          guard index % 4 != 0 else { continue }
          client.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
          if index % 4 != 1 { #expect(client.receive()?.status == 200) }
        }
        #expect(eventually { openDescriptors() <= before })
      }
    }

    @Test func connectionsBeyondTheLimitWaitTheirTurn() throws {
      try withServer(maxConnections: 20) { _, bound in
        var clients = try (0..<60).map { _ in try RawClient(bound[0]) }
        for client in clients { client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n") }
        while !clients.isEmpty {
          #expect(clients.removeFirst().receive()?.status == 200)
        }
      }
    }

    @Test func silentClientsAreDropped() throws {
      try withServer(idleTimeout: 1) { _, bound in
        let client = try RawClient(bound[0])
        client.send("GET / HTTP/1.1\r\n")
        _ = client.readToEnd()
        let next = try RawClient(bound[0])
        next.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        #expect(next.receive()?.status == 200)
      }
    }

    @Test func threadsKeepTheirOwnSlot() throws {
      final class Worker { var served = 0 }
      let workers = Shared<[Worker]>([])
      let handler: @Sendable (HTTPExchange) -> Void = { exchange in
        let worker =
          ThreadLocal.current(as: Worker.self)
          ?? {
            let worker = Worker()
            workers.change { $0.append(worker) }
            ThreadLocal.set(worker)
            return worker
          }()
        worker.served += 1
        exchange.respond(Response(status: 204))
      }
      try withServer(handler: handler) { server, bound in
        let clients = try (0..<40).map { _ in try RawClient(bound[0]) }
        for client in clients {
          client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
          #expect(client.receive()?.status == 204)
        }
        server.stop(deadlineSeconds: 5)
        #expect((1...2).contains(workers.value.count))
        #expect(workers.value.map(\.served).reduce(0, +) == 40)
      }
    }
  }
}
