import Foundation
import Testing

/// The executable from outside, over libcurl. Among the server's tests, which count the descriptors of this process.
extension ServerTests {
  @Suite struct BlackBoxTests {
    private static let three = """
      [{"id":"a","list_id":"1","title":"A"},{"id":"b","list_id":"1","title":"B"},{"id":"c","list_id":"2","title":"C"}]
      """

    private func start(_ more: String = "") throws -> (GatewayProcess, CurlClient) {
      let gateway = try GatewayProcess(more: more)
      return (gateway, CurlClient(gateway.base))
    }

    @Test func deleteAnswersTheKeysItTouchedAndFillsTheOutbox() throws {
      let (_gateway, client) = try start()
      defer { withExtendedLifetime(_gateway) {} }
      #expect(try client.request("POST", "/rest/v1/todos", body: Self.three).status == 201)
      let answer = try client.request("DELETE", "/rest/v1/todos?list_id=eq.1")
      #expect(answer.status == 200)
      #expect(answer.body == #"["a","b"]"#)
      let writeId = try #require(answer.headers["kizuna-write-id"])
      let outbox = try client.request("GET", "/sync/v1/outbox?op=eq.delete&select=pk,write_id")
      #expect(outbox.body == #"[{"pk":"a","write_id":"\#(writeId)"},{"pk":"b","write_id":"\#(writeId)"}]"#)
    }

    @Test func anUnfilteredDeleteIsRefusedAndTouchesNothing() throws {
      let (_gateway, client) = try start()
      defer { withExtendedLifetime(_gateway) {} }
      _ = try client.request("POST", "/rest/v1/todos", body: Self.three)
      let answer = try client.request("DELETE", "/rest/v1/todos")
      #expect(answer.status == 400)
      #expect(answer.headers["proxy-status"] == "PostgREST; error=21000")
      #expect(
        try client.request("GET", "/rest/v1/todos?select=id").body == #"[{"id":"a"},{"id":"b"},{"id":"c"}]"#)
    }

    @Test func aDryRunAnswersAndLeavesNothing() throws {
      let (_gateway, client) = try start()
      defer { withExtendedLifetime(_gateway) {} }
      _ = try client.request("POST", "/rest/v1/todos", body: Self.three)
      let answer = try client.request(
        "DELETE", "/rest/v1/todos?id=eq.a&select=id,title",
        headers: ["Prefer: tx=rollback, return=representation"])
      #expect(answer.body == #"[{"id":"a","title":"A"}]"#)
      #expect(answer.headers["preference-applied"] == "return=representation, tx=rollback")
      #expect(try client.request("GET", "/sync/v1/rpc/outbox_depth").body == "3")
    }

    @Test func everyReadSeesTheWritesAnsweredBeforeIt() throws {
      let (gateway, writer) = try start()
      let readers = (0..<4).map { _ in CurlClient(gateway.base) }
      _ = try writer.request("POST", "/rest/v1/todos", body: #"{"id":"x","title":"0","n":0}"#)
      for round in 1...60 {
        _ = try writer.request("PATCH", "/rest/v1/todos?id=eq.x", body: #"{"n":\#(round)}"#)
        for reader in readers {
          #expect(try reader.request("GET", "/rest/v1/todos?id=eq.x&select=n").body == #"[{"n":\#(round)}]"#)
        }
      }
    }

    @Test func requestsOfOneShapeNeverShareAnAnswer() throws {
      let (_gateway, client) = try start()
      defer { withExtendedLifetime(_gateway) {} }
      _ = try client.request("POST", "/rest/v1/todos", body: Self.three)
      for _ in 0..<3 {
        let path = "/rest/v1/todos?list_id=eq.1&select=id&order=id&limit=1"
        #expect(try client.request("GET", path).body == #"[{"id":"a"}]"#)
        #expect(try client.request("GET", path + "&offset=1").body == #"[{"id":"b"}]"#)
        #expect(try client.request("GET", path, headers: ["Accept: text/csv"]).body == "id\na")
        #expect(
          try client.request("GET", path, headers: ["Accept: application/vnd.pgrst.object+json"]).body
            == #"{"id":"a"}"#)
        let counted = try client.request("GET", path, headers: ["Prefer: count=exact"])
        #expect(counted.status == 206)
        #expect(counted.headers["content-range"] == "0-0/2")
        #expect(try client.request("GET", "/rest/v1/todos?n=eq.x").status == 400)
        #expect(try client.request("GET", "/sync/v1/tombstones").body == "[]")
        #expect(try client.request("GET", path, headers: ["Host: evil.example"]).status == 403)
        let location = try client.request("GET", "/rest/v1/todos?title=eq.a%2Bb+c").headers[
          "content-location"]
        #expect(location == "/todos?title=eq.a%2Bb%20c")
      }
    }

    @Test func softDeletedRowsComeBackWhenAskedFor() throws {
      let (_gateway, client) = try start()
      defer { withExtendedLifetime(_gateway) {} }
      _ = try client.request("POST", "/rest/v1/notes", body: #"{"id":"n","body":"x"}"#)
      #expect(try client.request("DELETE", "/rest/v1/notes?id=eq.n").body == #"["n"]"#)
      #expect(try client.request("GET", "/rest/v1/notes").body == "[]")
      #expect(
        try client.request("GET", "/rest/v1/notes?include_deleted=true&select=id").body == #"[{"id":"n"}]"#)
      let refused = try client.request(
        "POST", "/sync/v1/rpc/apply", body: #"{"table":"notes","pk":"n","op":"delete"}"#)
      #expect(refused.status == 409)
      #expect(refused.body.contains("SOFT_DELETE_VIOLATION"))
    }

    @Test func jsonSentAsAFormIsToldApart() throws {
      let (_gateway, client) = try start()
      defer { withExtendedLifetime(_gateway) {} }
      let answer = try client.request(
        "POST", "/rest/v1/todos", body: #"{"id":"a","title":"A"}"#,
        headers: ["Content-Type: application/x-www-form-urlencoded"], isJSON: false)
      #expect(answer.status == 400)
      #expect(answer.body.contains("Content-Type: application/json"))
    }

    @Test func functionsRefuseArgumentsThatDoNotFit() throws {
      let (_gateway, client) = try start()
      defer { withExtendedLifetime(_gateway) {} }
      #expect(try client.request("POST", "/sync/v1/rpc/nope").status == 404)
      #expect(try client.request("POST", "/sync/v1/rpc/apply", body: #"{"table":"todos"}"#).status == 400)
      #expect(try client.request("GET", "/sync/v1/rpc/reset").status == 405)
      #expect(try client.request("POST", "/sync/v1/rpc/sync").status == 502)
      let bucket = try client.request("POST", "/sync/v1/rpc/set_bucket", body: #"{"team_id":"7"}"#)
      #expect(bucket.status == 409)
      #expect(bucket.body.contains("BUCKET_UNSET"))
    }

    @Test func aBatchIsAllOrNothing() throws {
      let (_gateway, client) = try start()
      defer { withExtendedLifetime(_gateway) {} }
      let good = #"{"table":"todos","pk":"a","op":"insert","columns":{"title":"A"}}"#
      let bad = #"{"table":"todos","pk":"b","op":"insert","columns":{"title":"B","n":"x"}}"#
      let refused = try client.request(
        "POST", "/sync/v1/rpc/batch", body: #"{"mutations":[\#(good),\#(bad)]}"#)
      #expect(refused.status == 400)
      #expect(try client.request("GET", "/rest/v1/todos").body == "[]")
      #expect(
        try client.request("POST", "/sync/v1/rpc/batch", body: #"{"mutations":[\#(good)]}"#).body == #"["a"]"#
      )
    }

    @Test func aKeyIsAskedForWhereOneIsSet() throws {
      let (_gateway, client) = try start(#""api_key":"secret""#)
      defer { withExtendedLifetime(_gateway) {} }
      #expect(try client.request("GET", "/live").status == 200)
      for _ in 0..<3 {
        #expect(try client.request("GET", "/rest/v1/todos?id=eq.a").status == 401)
        #expect(try client.request("GET", "/rest/v1/todos?id=eq.a", headers: ["apikey: wrong"]).status == 401)
        #expect(
          try client.request("GET", "/rest/v1/todos?id=eq.a", headers: ["apikey: secret"]).status == 200)
        #expect(try client.request("GET", "/rest/v1/todos?id=eq.a&apikey=secret").status == 200)
      }
    }

    @Test func sigtermEndsCleanlyAndKeepsEveryAnsweredWrite() throws {
      let gateway = try GatewayProcess()
      let client = CurlClient(gateway.base)
      _ = try client.request("POST", "/rest/v1/todos", body: Self.three)
      gateway.signal(SIGTERM)
      #expect(gateway.exitStatus() == 0)
      let again = try GatewayProcess(directory: gateway.directory)
      let rows = try CurlClient(again.base).request("GET", "/rest/v1/todos?select=id")
      #expect(rows.body == #"[{"id":"a"},{"id":"b"},{"id":"c"}]"#)
    }

    @Test func commandsAnswerWithTheSystemsExitCodes() throws {
      let gateway = try GatewayProcess()
      #expect(try gateway.run("health", "--url", "http://127.0.0.1:1").status == 1)
      #expect(try gateway.run("health", "--url", gateway.base).status == 0)
      #expect(try gateway.run("check").status == 0)
      #expect(try gateway.run("backup", "copy.sqlite").status == 0)
      #expect(try gateway.run("nonsense").status == 64)
      let second = try gateway.run("serve")
      #expect(second.status == 69)
      #expect(second.error.contains("test.sqlite"))
      #expect(try gateway.run("serve", "--config", "missing.json").status == 78)
      #expect(try gateway.run("serve", "--database", "/nowhere/at/all.sqlite").status == 74)
    }

    @Test func aUnixSocketServesAsTCPDoes() throws {
      let path = "/tmp/kizuna-\(UInt32.random(in: 0...UInt32.max)).sock"
      let gateway = try GatewayProcess(listen: "unix:\(path)")
      #expect(gateway.readyLine.contains("unix:\(path)"))
      let client = CurlClient("http://localhost", unixSocket: path)
      #expect(try client.request("GET", "/rest/v1/todos").body == "[]")
      let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
      #expect(mode == 0o600)
    }
  }
}
