import Foundation
import Testing

extension ServerTests {
  /// What the server keeps between requests, and what its functions and limits take.
  @Suite struct BlackBoxKeptTests {
    /// A preference takes the general path, so the two answers are made in two ways.
    @Test func aKeptShapeAnswersAsTheGeneralPath() throws {
      let gateway = try startGateway()
      let call = gateway.caller()
      let rows =
        #"[{"id":"a b","n":1},{"id":"a+b","n":null},{"id":"*","n":2},{"id":"é","n":3},{"id":"x,y","n":4}]"#
      #expect(call("POST", "/rest/v1/notes", rows).status == 201)
      let values = [
        "a%20b", "a+b", "a%2Bb", "%00", "%ff", "%zz", "%", "", "*", "%C3%A9", "x,y", "1", "1e3", "9999999999",
      ]
      let windows = ["", "&limit=0", "&limit=2", "&limit=1&offset=1", "&offset=100000", "&limit=999999999"]
      // libcurl sends no Accept for the second, and an empty one for the fourth.
      let headers = [
        "Accept: */*", "Accept:", "Accept: text/csv", "Accept;", "Accept: application/vnd.pgrst.object+json",
        "Accept: text/html",
        "Accept: application/vnd.pgrst.array+json;nulls=stripped", "Accept-Profile: public",
        "Accept-Profile: kizunasync",
      ]
      for column in ["id", "n"] {
        for (index, value) in values.enumerated() {
          for filter in ["eq", "gt", "not.eq", "like", "is"] {
            let target =
              "/rest/v1/notes?\(column)=\(filter).\(value)\(windows[(index + filter.count) % windows.count])"
            for header in headers {
              var fast = call("GET", target, nil, header)
              var general = call("GET", target, nil, header, "Prefer: unknown=1")
              fast.headers["date"] = nil
              general.headers["date"] = nil
              #expect(
                fast.status == general.status && fast.headers == general.headers && fast.body == general.body,
                "\(target) \(header)")
            }
          }
        }
      }
    }

    @Test func aLearntColumnShowsOnEveryConnection() throws {
      let gateway = try startGateway()
      let clients = (0..<6).map { _ in gateway.caller() }
      for number in 0..<10 {
        let row = #"{"id":"a","c\#(number)":\#(number)}"#
        let made = clients[0]("POST", "/rest/v1/learnt", row, "Prefer: resolution=merge-duplicates")
        #expect(made.status < 300, "\(made.body)")
        for call in clients {
          let read = call("GET", "/rest/v1/learnt?id=eq.a")
          #expect(read.body.contains(#""c\#(number)":\#(number)"#), "\(read.body)")
        }
      }
    }

    @Test func theKeyIsAskedForWithEveryReadAndShownInNone() throws {
      let gateway = try startGateway(#""api_key": "secret""#)
      let call = gateway.caller()
      for _ in 0..<3 {
        let read = call("GET", "/rest/v1/notes?id=eq.a", nil, "apikey: secret")
        #expect(read.status == 200)
        #expect(call("GET", "/rest/v1/notes?id=eq.a").status == 401)
        #expect(call("GET", "/rest/v1/notes?id=eq.a", nil, "apikey: secreT").status == 401)
        let inQuery = call("GET", "/rest/v1/notes?id=eq.a&apikey=secret")
        #expect(inQuery.status == 200 && inQuery.headers.values.allSatisfy { !$0.contains("secret") })
      }
      #expect(call("GET", "/live").status == 200)
    }

    @Test func functionsJudgeTheirArguments() throws {
      let gateway = try startGateway()
      let call = gateway.caller()
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
        #expect(answer.status == status, "\(name) \(body): \(answer.body)")
      }
      #expect(call("GET", "/sync/v1/rpc/pause").status >= 400)
    }

    @Test func bodiesUpToTheLimitAreTaken() throws {
      let gateway = try startGateway()
      let call = gateway.caller()
      let most = #"{"id":"most","body":"\#(String(repeating: "y", count: 16_777_216 - 24))"}"#
      #expect(call("POST", "/rest/v1/notes", most, "Prefer: return=minimal").status == 201)
      #expect(call("GET", "/rest/v1/notes?id=eq.most&select=body").body.utf8.count > 16_777_000)
      #expect(call("POST", "/rest/v1/notes", most + "  ").status == 413)
      #expect(call("GET", "/live").status == 200)
    }
  }
}
