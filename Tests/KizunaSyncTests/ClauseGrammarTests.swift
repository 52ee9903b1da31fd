import KizunaEngine
import Testing

@testable import KizunaSync

struct ClauseGrammarTests {
  @Test(arguments: [
    ("eq", "abc", #"{"kind":"eq","column":"c","value":"abc"}"#),
    ("eq", "12", #"{"kind":"eq","column":"c","value":12}"#),
    ("eq", "-12", #"{"kind":"eq","column":"c","value":-12}"#),
    ("eq", "007", #"{"kind":"eq","column":"c","value":"007"}"#),
    ("eq", "1.5", #"{"kind":"eq","column":"c","value":1.5}"#),
    ("eq", "1.50", #"{"kind":"eq","column":"c","value":"1.50"}"#),
    ("eq", "1e3", #"{"kind":"eq","column":"c","value":"1e3"}"#),
    ("eq", "-0", #"{"kind":"eq","column":"c","value":"-0"}"#),
    ("eq", "9223372036854775807", #"{"kind":"eq","column":"c","value":9223372036854775807}"#),
    ("eq", "12345678901234567890", #"{"kind":"eq","column":"c","value":"12345678901234567890"}"#),
    ("eq", "nan", #"{"kind":"eq","column":"c","value":"nan"}"#),
    ("eq", "", #"{"kind":"eq","column":"c","value":""}"#),
    ("eq", "null", #"{"kind":"eq","column":"c","value":null}"#),
    ("eq", "true", #"{"kind":"eq","column":"c","value":true}"#),
    ("eq", #""true""#, #"{"kind":"eq","column":"c","value":"true"}"#),
    ("eq", #""12""#, #"{"kind":"eq","column":"c","value":"12"}"#),
    ("eq", #""a \"b\" \\ \c""#, #"{"kind":"eq","column":"c","value":"a \"b\" \\ \\c"}"#),
    ("eq", "it's", #"{"kind":"eq","column":"c","value":"it's"}"#),
    ("eq", "(a", #"{"kind":"eq","column":"c","value":"(a"}"#),
    ("neq", "false", #"{"kind":"neq","column":"c","value":false}"#),
    ("gte", "5", #"{"kind":"gte","column":"c","value":5}"#),
    ("is", "null", #"{"kind":"is","column":"c","value":null}"#),
    ("not.is", "true", #"{"kind":"not","filter":{"kind":"is","column":"c","value":true}}"#),
    ("like", "a*b%", #"{"kind":"like","column":"c","pattern":"a%b%"}"#),
    ("like", #""a*b"*"#, #"{"kind":"like","column":"c","pattern":"a\\*b%"}"#),
    ("ilike", "12", #"{"kind":"ilike","column":"c","pattern":"12"}"#),
    ("in", "(a,1,null,true)", #"{"kind":"in","column":"c","values":["a",1,null,true]}"#),
    ("in", #"("a,b",c)"#, #"{"kind":"in","column":"c","values":["a,b","c"]}"#),
    ("in", #"("1",")")"#, #"{"kind":"in","column":"c","values":["1",")"]}"#),
    ("in", "(f(x),y)", #"{"kind":"in","column":"c","values":["f(x)","y"]}"#),
    ("in", "()", #"{"kind":"in","column":"c","values":[]}"#),
    ("in", "(,)", #"{"kind":"in","column":"c","values":["",""]}"#),
    ("not.in", "(1)", #"{"kind":"not","filter":{"kind":"in","column":"c","values":[1]}}"#),
  ])
  func aClauseBecomesANode(_ name: String, _ value: String, _ node: String) throws {
    #expect(try ClauseGrammar.node("c", operator: name, value: value).jsonText == node)
  }

  @Test(arguments: [
    ("between", "1"), ("not.not.eq", "1"), ("NOT.eq", "1"), ("", "1"), ("not.", "1"), ("cs", "{a}"),
    ("like(any)", "{a}"), ("eq", #""abc"#), ("in", "1,2"), ("in", "(1,2"), ("in", "(1,2))"),
    ("in", "(1)x"), ("in", "(f(x,y)"), ("in", #"("a,b)"#), ("in", ""),
  ])
  func aClauseWithoutMeaningIsRefused(_ name: String, _ value: String) throws {
    let error = #expect(throws: KizunaSyncError.self) {
      try ClauseGrammar.node("c", operator: name, value: value)
    }
    #expect(error?.code == "LOCAL_UNSUPPORTED")
  }

  @Test func theRefusalComesWhenTheBuilderRuns() async throws {
    let live = try await LiveClient.open(["todos": KizunaSyncTableConfig()])
    let todos = try live.client.from("todos")
    try await todos.insert(["id": "a", "n": 1])
    let builder = todos.select().filter("n", operator: "between", value: "1")
    #expect(await refusal { _ = try await builder.execute() }?.code == "LOCAL_UNSUPPORTED")
    #expect(await refusal { _ = try await builder.csv() }?.code == "LOCAL_UNSUPPORTED")
    let test = todos.select().filter("n", operator: "is", value: "x")
    #expect(await refusal { _ = try await test.execute() }?.code == "LOCAL_UNSUPPORTED")
    let keys = try await todos.delete().filter("n", operator: "in", value: "(1,2)").execute()
    #expect(keys == ["a"])
  }
}
