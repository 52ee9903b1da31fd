import Testing

@testable import Gateway

@Suite struct RoutesTests {
  @Test(arguments: [
    (["rest", "v1", "todos"], Route.table("todos"), Route.Schema?.none),
    (["rest", "v1", ""], .root, nil), (["rest", "v1"], .root, nil),
    (["rest", "v1", "rpc", "sync"], .function("sync"), nil), (["rest", "v1", "rpc"], .table("rpc"), nil),
    (["sync", "v1", "outbox"], .table("outbox"), .kizunasync),
    (["sync", "v1", "rpc", "sync"], .function("sync"), .kizunasync), (["live"], .live, .public),
    ([""], .index, .public), ([], .index, .public),
  ])
  func pathsLeadToTheirRoutes(segments: [String], route: Route, schema: Route.Schema?) throws {
    #expect(try Route.place(segments) == Route.Place(route: route, schema: schema))
  }

  @Test(arguments: [
    ["nope"], ["rest", "v2", "x"], ["rest", "v1", "x", ""], ["rest", "v1", "rpc", ""], ["a", "v1", "b"],
  ])
  func otherPathsAreUnknown(segments: [String]) {
    #expect(throws: Failure("PGRST125", "Invalid path specified in request URL")) {
      try Route.place(segments)
    }
  }

  @Test func profilesNameTheSchema() throws {
    #expect(try Route.schema(named: nil) == .public)
    #expect(try Route.schema(named: "kizunasync") == .kizunasync)
    #expect(Fixture.code { _ = try Route.schema(named: "nope") } == "PGRST106")
  }

  // MARK: Access

  private func policy(key: String? = nil, origins: [String] = [], hosts: [String] = []) -> AccessPolicy {
    AccessPolicy(apiKey: key, corsOrigins: origins, allowedHosts: hosts)
  }

  @Test(arguments: [
    ("localhost", true), ("LocalHost:54321", true), ("127.0.0.1:1", true), ("[::1]:80", true),
    ("[::1]", true),
    ("box.lan:80", true), ("evil.example", false), ("localhost.evil.example:80", false), ("[::2]:80", false),
  ])
  func onlyKnownHostsAreServedWithoutAKey(host: String, isServed: Bool) {
    let policy = policy(hosts: ["box.lan"])
    #expect((Fixture.code { try policy.checkHost(host) } == nil) == isServed)
    #expect(Fixture.code { try self.policy(key: "k").checkHost(host) } == nil)
  }

  @Test func webPagesMayNotWriteUnlessListed() {
    let policy = policy(origins: ["http://a.example"])
    func code(_ origin: String?) -> String? {
      Fixture.code {
        try policy.checkWriter(origin: origin, host: "localhost:1", grant: policy.grant(origin))
      }
    }
    #expect(code(nil) == nil)
    #expect(code("http://a.example") == nil)
    #expect(code("http://localhost:1") == nil)
    #expect(code("http://localhost:2") == "42501")
    #expect(code("null") == "42501")
  }

  @Test func grantsAreEchoedOrForAll() {
    #expect(policy(origins: ["*"]).grant("http://x") == .any)
    #expect(policy(origins: ["http://x"]).grant("http://x") == .origin("http://x"))
    #expect(policy(origins: ["http://x"]).grant("http://y") == .none)
    let headers = CrossOrigin.origin("http://x").preflight(requested: "Foo", privateNetwork: true)
    #expect(headers.value("Access-Control-Allow-Origin") == "http://x")
    #expect(headers.value("Access-Control-Allow-Credentials") == "true")
    #expect(
      headers.value("Access-Control-Allow-Headers")
        == "Authorization, Foo, Accept, Accept-Language, Content-Language")
    #expect(headers.value("Access-Control-Allow-Private-Network") == "true")
  }

  @Test(
    arguments: [
      ("secret", nil, "", nil), (nil, "Bearer secret", "", nil), (nil, "bearer secret", "", nil),
      (nil, nil, "id=eq.1&apikey=sec%72et", nil), (nil, nil, "", "No API key found in request"),
      ("wrong", nil, "", "Invalid API key"), (nil, "Bearer sekret", "", "Invalid API key"),
      (nil, nil, "apikey=", "Invalid API key"),
      (nil, nil, "%22apikey%22=eq.secret", "No API key found in request"),
    ] as [(String?, String?, String, String?)])
  func theKeyMayComeInThreePlaces(header: String?, bearer: String?, query: String, message: String?) {
    let policy = policy(key: "secret")
    let failure = lend(header) { header in
      lend(bearer) { bearer in
        lend(query) { query -> Failure? in
          do throws(Failure) {
            try policy.checkKey(
              header: header, authorization: bearer, query: query ?? .init(start: nil, count: 0))
            return nil
          } catch {
            return error
          }
        }
      }
    }
    #expect(failure?.message == message)
    if let failure {
      #expect(failure.code == "PGRST301")
      #expect(failure.status == 401)
    }
  }

  private func lend<Result>(_ text: String?, _ body: (UnsafeBufferPointer<UInt8>?) -> Result) -> Result {
    guard let text else { return body(nil) }
    return Array(text.utf8).withUnsafeBufferPointer { body($0) }
  }
}
