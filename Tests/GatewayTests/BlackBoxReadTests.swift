import Foundation
import Testing

extension BlackBoxTests {
  /// What reads answer, above all from what the server keeps between them.
  @Suite struct Reads {
    @Test func theDemoIsReadAndWrittenAsShown() throws {
      let gateway = try BlackBox(tables: "")
      let call = gateway.client()
      #expect(call("GET", "/rest/v1/todos?select=id").text.contains(#"{"id":"bread"}"#))
      let keys = #"["bread","coffee","milk"]"#
      let dry = call("DELETE", "/rest/v1/todos?list_id=eq.groceries", nil, "Prefer: tx=rollback")
      #expect(dry.status == 200 && dry.text == keys)
      #expect(call("GET", "/sync/v1/outbox").text == "[]")
      #expect(call("DELETE", "/rest/v1/todos?list_id=eq.groceries").text == keys)
      #expect(call("GET", "/sync/v1/outbox?select=pk,op&limit=1").text == #"[{"pk":"bread","op":"delete"}]"#)
      let refused = call("DELETE", "/rest/v1/todos")
      #expect(refused.status == 400 && refused.text.contains("21000"))
      #expect(refused.headers["proxy-status"] == "PostgREST; error=21000")
      let made = call("POST", "/rest/v1/todos", #"{"id":"tea","list_id":"groceries","title":"Buy tea"}"#)
      #expect(made.status == 201 && made.text == #"["tea"]"#)
      #expect(made.headers["kizuna-write-id"] != nil)
      #expect(
        call("PATCH", "/rest/v1/todos?id=in.(tea,tomatoes)", #"{"done":true}"#).text == #"["tea","tomatoes"]"#
      )
    }

    @Test func everyConnectionReadsEveryAcknowledgedWrite() throws {
      let gateway = try BlackBox()
      let clients = (0..<8).map { _ in gateway.client() }
      for number in 0..<200 {
        let made = clients[number % 8]("POST", "/rest/v1/notes", #"{"id":"n\#(number)","n":\#(number)}"#)
        #expect(made.status == 201)
        let read = clients[(number * 5 + 3) % 8]("GET", "/rest/v1/notes?id=eq.n\(number)&select=id,n")
        #expect(read.text == #"[{"id":"n\#(number)","n":\#(number)}]"#)
      }
    }

    /// A preference takes the general path, so the two answers are made in two ways.
    @Test func aKeptShapeAnswersAsTheGeneralPath() throws {
      let gateway = try BlackBox()
      let call = gateway.client()
      let rows =
        #"[{"id":"a b","n":1},{"id":"a+b","n":null},{"id":"*","n":2},{"id":"é","n":3},{"id":"x,y","n":4}]"#
      #expect(call("POST", "/rest/v1/notes", rows).status == 201)
      let values = [
        "a%20b", "a+b", "a%2Bb", "%00", "%ff", "%zz", "%", "", "*", "%C3%A9", "x,y", "1", "1e3", "9999999999",
      ]
      let windows = ["", "&limit=0", "&limit=2", "&limit=1&offset=1", "&offset=100000", "&limit=999999999"]
      let headers = [
        "X-None: 1", "Accept: text/csv", "Accept;", "Accept: application/vnd.pgrst.object+json",
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
              #expect(fast == general, "\(target) \(header)")
            }
          }
        }
      }
    }

    @Test func aLearntColumnShowsOnEveryConnection() throws {
      let gateway = try BlackBox()
      let clients = (0..<6).map { _ in gateway.client() }
      for number in 0..<10 {
        let row = #"{"id":"a","c\#(number)":\#(number)}"#
        let made = clients[0]("POST", "/rest/v1/learnt", row, "Prefer: resolution=merge-duplicates")
        #expect(made.status < 300, "\(made.text)")
        for call in clients {
          let read = call("GET", "/rest/v1/learnt?id=eq.a")
          #expect(read.text.contains(#""c\#(number)":\#(number)"#), "\(read.text)")
        }
      }
    }

    @Test func deletedRowsShowOnlyWhenAskedFor() throws {
      let gateway = try BlackBox()
      let call = gateway.client()
      #expect(call("POST", "/rest/v1/notes", #"[{"id":"a"},{"id":"b"}]"#).status == 201)
      #expect(call("DELETE", "/rest/v1/notes?id=eq.a").text == #"["a"]"#)
      for _ in 0..<2 {
        #expect(call("GET", "/rest/v1/notes?select=id").text == #"[{"id":"b"}]"#)
        #expect(
          call("GET", "/rest/v1/notes?select=id&include_deleted=true").text == #"[{"id":"a"},{"id":"b"}]"#)
        #expect(call("GET", "/rest/v1/notes?select=id&include_deleted=false").text == #"[{"id":"b"}]"#)
      }
    }

    @Test func theKeyIsAskedForWithEveryReadAndShownInNone() throws {
      let gateway = try BlackBox(settings: #""api_key": "secret""#)
      let call = gateway.client()
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

    @Test func aForeignHostIsRefusedAlsoWhereTheShapeIsKept() throws {
      let gateway = try BlackBox()
      let call = gateway.client()
      for _ in 0..<3 {
        #expect(call("GET", "/rest/v1/notes?id=eq.a").status == 200)
        #expect(call("GET", "/rest/v1/notes?id=eq.a", nil, "Host: evil.example").status == 403)
      }
      #expect(call("POST", "/rest/v1/notes", #"{"id":"a"}"#, "Origin: http://evil.example").status == 403)
    }
  }
}
