import Foundation
import KizunaEngine
import Testing

@testable import Gateway

@Suite struct RoutesPlainTests {
  @Test(arguments: [
    (nil, "application/openapi+json; charset=utf-8"), ("*/*", "application/openapi+json; charset=utf-8"),
    ("application/json", "application/json; charset=utf-8"),
    ("text/html, Application/JSON;q=0.9, */*;q=0.1", "application/json; charset=utf-8"),
    ("application/json, application/openapi+json", "application/openapi+json; charset=utf-8"),
  ])
  func descriptionsAreJSONOfTheTypeAskedFor(accept: String?, type: String) {
    #expect(GatewayServer.descriptionType(accept: accept).description == type)
  }

  @Test(arguments: [
    KizunaError("ENGINE_UNAVAILABLE", "closed"), KizunaError("STORE", sqlstate: "XX000", "broken"),
    KizunaError("STORE", sqlstate: "53100", "full"), KizunaError("SLOW_READ", "slow"),
  ])
  func whateverKeepsFromBeingReadyIsAnsweredAs503(error: KizunaError) {
    #expect(GatewayServer.notReady(error).status == 503)
  }
}

extension ServerTests {
  @Suite struct RoutesPlain {
    private func withGateway(_ body: (Engine, RawClient) throws -> Void) throws {
      var configuration = GatewayConfiguration()
      configuration.database = ":memory:"
      configuration.listen = [.tcp(host: "127.0.0.1", port: 0)]
      configuration.tables = [("todos", EngineConfiguration.Table())]
      let engine = try Engine.open(configuration.engineConfiguration())
      defer { engine.close() }
      let server = GatewayServer(
        configuration: configuration, engine: engine, process: ProcessFacts(version: "9", stop: {}))
      let addresses = try server.start()
      let address = try #require(addresses.first)
      defer { server.stop(deadlineSeconds: 5) }
      let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
      let bound = BoundAddress(address: .tcp(host: "127.0.0.1", port: port))
      try body(engine, try RawClient(bound))
    }

    private func ask(_ client: RawClient, _ method: String, _ path: String) throws -> RawClient.Answer {
      client.send("\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n")
      return try #require(client.receive())
    }

    @Test func readinessFollowsTheDatabaseAndLivenessDoesNot() throws {
      try withGateway { engine, client in
        #expect(try ask(client, "GET", "/ready").status == 200)
        engine.close()
        let refused = try ask(client, "GET", "/ready")
        #expect(refused.status == 503)
        #expect(refused.text.contains(#""code":"ENGINE_UNAVAILABLE""#))
        #expect(try ask(client, "GET", "/metrics").status == 503)
        #expect(try ask(client, "GET", "/live").status == 200)
      }
    }

    @Test(arguments: ["/", "/live", "/ready", "/metrics", "/rest/v1/", "/sync/v1/"])
    func plainAddressesOnlyRead(path: String) throws {
      try withGateway { _, client in
        let options = try ask(client, "OPTIONS", path)
        #expect(options.status == 200 && options.head.contains("\r\nAllow: OPTIONS,GET,HEAD\r\n"))
        let refused = try ask(client, "POST", path)
        #expect(refused.status == 405 && refused.head.contains("\r\nAllow: OPTIONS,GET,HEAD\r\n"))
        #expect(refused.text.contains(#""code":"PGRST117""#))
        #expect(try ask(client, "GET", path).status == 200)
      }
    }

    @Test func metricsCountEveryWayOfAnswering() throws {
      try withGateway { _, client in
        for _ in 0..<3 { #expect(try ask(client, "GET", "/rest/v1/todos?id=eq.a").status == 200) }
        #expect(try ask(client, "GET", "/rest/v1/nope").status == 404)
        #expect(try ask(client, "POST", "/sync/v1/rpc/pause").status == 204)
        let text = try ask(client, "GET", "/metrics").text
        #expect(text.contains("kizuna_http_requests_total{method=\"GET\",status=\"200\"} 3\n"))
        #expect(text.contains("kizuna_http_requests_total{method=\"GET\",status=\"404\"} 1\n"))
        #expect(text.contains("kizuna_http_requests_total{method=\"POST\",status=\"204\"} 1\n"))
        #expect(text.contains("kizuna_build_info{version=\"9\"} 1\n"))
      }
    }

    @Test(arguments: [
      ("/rest/v1/", #""/todos":{"get""#), ("/sync/v1/", #""/rpc/status":{"post""#),
      ("/", #""name":"kizuna-gateway","version":"9""#),
    ])
    func descriptionsFollowTheAddress(path: String, part: String) throws {
      try withGateway { _, client in
        let answer = try ask(client, "GET", path)
        #expect(answer.text.contains(part))
      }
    }
  }
}
