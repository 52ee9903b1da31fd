import Testing

@testable import RESTDialect

@Suite struct ParseErrorTests {
  private static let fieldName = "field name (* or [a..z0..9_$])"
  private static let logicNode = fieldName + ", negation operator (not) or logic operator (and, or)"
  private static let jsonKey = "\"-\", digit or any non reserved character different from: .,>()"

  struct Case: Sendable, CustomTestStringConvertible {
    var query: String
    var message: String
    var details: String
    var testDescription: String { query }
    init(_ query: String, _ message: String, _ column: Int, _ details: String) {
      self.query = query
      self.message = "\"failed to parse \(message)\" (line 1, column \(column))"
      self.details = "unexpected " + details
    }
  }

  private static let cases = [
    Case("order=id.asc.nullslasttt", "order (id.asc.nullslasttt)", 17, "'t' expecting \",\" or end of input"),
    Case(
      "order=id.x", "order (id.x)", 4, "\"x\" expecting \"asc\", \"desc\", \"nullsfirst\" or \"nullslast\""),
    Case("order=id.asc.x", "order (id.asc.x)", 8, "\"x\" expecting \"nullsfirst\" or \"nullslast\""),
    Case("order=id.descc", "order (id.descc)", 8, "'c' expecting delimiter (.), \",\" or end of input"),
    Case("order=id.nullslast.asc", "order (id.nullslast.asc)", 13, "'.' expecting \",\" or end of input"),
    Case("order=", "order ()", 1, "end of input expecting " + fieldName),
    Case("id=0", "filter (0)", 1, "\"0\" expecting \"not\" or operator (eq, gt, ...)"),
    Case("a=foo", "filter (foo)", 1, "\"f\" expecting \"not\" or operator (eq, gt, ...)"),
    Case("pages=", "filter ()", 1, "end of input expecting \"not\" or operator (eq, gt, ...)"),
    Case("id=not.not.eq.1", "filter (not.not.eq.1)", 5, "\"n\" expecting operator (eq, gt, ...)"),
    Case("id=neq(any).%7B1%7D", "filter (neq(any).{1})", 4, "\"(\" expecting operator (eq, gt, ...)"),
    Case(
      "id=is.", "filter (is.)", 4,
      "end of input expecting isVal: (null, not_null, true, false, unknown)"),
    Case("id=in.1,2", "filter (in.1,2)", 4, "\"1\" expecting \"(\""),
    Case("id=in.(1,2", "filter (in.(1,2)", 8, "end of input expecting \",\" or \")\""),
    Case("id=eqx.1", "filter (eqx.1)", 3, "\"x\" expecting operator (eq, gt, ...)"),
    Case("or=()", "logic tree (())", 4, "\")\" expecting " + logicNode),
    Case("or=(id.eq.1,)", "logic tree ((id.eq.1,))", 12, "\")\" expecting " + logicNode),
    Case("or=(id.foo.1)", "logic tree ((id.foo.1))", 7, "\"f\" expecting \"not\" or operator (eq, gt, ...)"),
    Case("or=)(", "logic tree ()()", 3, "\")\" expecting \"(\""),
    Case("not.or=x", "logic tree (x)", 7, "\"x\" expecting \"(\""),
    Case("or=(id.in.1,2)", "logic tree ((id.in.1,2))", 10, "\"1\" expecting \"(\""),
    Case("columns=", "columns parameter ()", 1, "end of input expecting " + fieldName),
    Case("columns=%20", "columns parameter ( )", 2, "end of input expecting " + fieldName),
    Case("on_conflict=a,", "on_conflict parameter (a,)", 3, "end of input expecting " + fieldName),
    Case(
      "select=data-%3E(!@_d::integer", "select parameter (data->(!@_d::integer)", 7,
      "\"(\" expecting " + jsonKey),
    Case("select=data-%3E%3E--34", "select parameter (data->>--34)", 9, "\"-\" expecting digit"),
    Case("select=id->", "select parameter (id->)", 5, "end of input expecting " + jsonKey),
    Case(
      "select=data->>-7x", "select parameter (data->>-7x)", 10,
      "'x' expecting digit, \"->\", \"::\", \".\", \",\" or end of input"),
    Case("select=%C3%A9,\u{22}", "select parameter (é,\")", 4, "end of input expecting \"\\\"\""),
    Case("=eq.1", "tree path ()", 1, "end of input expecting " + fieldName),
    Case("a.=eq.1", "tree path (a.)", 3, "end of input expecting " + fieldName),
    Case(".or=(a.eq.1)", "logic path (.or)", 1, "\".\" expecting " + fieldName),
  ]

  @Test(arguments: cases)
  func refusalNamesTextAndPosition(expected: Case) throws {
    let refusal = try #require(failure(expected.query))
    #expect(refusal.code == "PGRST100" && refusal.status == 400)
    #expect(refusal.message == expected.message)
    #expect(refusal.details == expected.details)
  }

  @Test func firstFailingStepWins() {
    let steps = [
      ("on_conflict=!", "on_conflict"), ("a=x", "filter"), ("select=!", "select"), ("columns=!", "columns"),
      ("or=x", "logic"), ("order=!", "order"),
    ]
    for last in steps.indices {
      let query = steps[...last].map(\.0).joined(separator: "&")
      #expect(failure(query)?.message.hasPrefix("\"failed to parse \(steps[last].1)") == true)
    }
  }

  @Test(arguments: [
    "a=eq.%", "a=eq.%4", "a=eq.%zz", "%=eq.1", "a=eq.%FF", "a=eq.%C0%80", "a=eq.%00", "%00", "a=%ED%A0%80",
  ])
  func undecodableQueryIsRefusedWithAHint(query: String) throws {
    let refusal = try #require(failure(query))
    #expect(refusal.code == "PGRST100" && refusal.status == 400)
    #expect(refusal.hint != nil)
  }

  @Test func linesAndTabsCountAsInTheDialect() {
    #expect(failure("order=%22%0A%22,!")?.message.hasSuffix("(line 2, column 3)") == true)
    #expect(failure("order=a,%09!")?.message.hasSuffix("(line 1, column 9)") == true)
  }

  @Test func longInputsTakeLinearTime() {
    let long = 200_000
    for query in [
      "id=in.(" + String(repeating: "\"a,", count: long), "or=(" + String(repeating: "a.eq.{,", count: long),
      "select=" + String(repeating: "a:b->c::d,", count: long / 4),
      "order=" + String(repeating: "a.desc,", count: long / 4),
      String(repeating: "a=eq.1&or=(b.is.null)&", count: long / 20),
      "columns=" + String(repeating: "a-", count: long),
      String(repeating: "a.", count: long) + "b=eq.1", "id=" + String(repeating: "not.", count: long),
    ] {
      _ = failure(query)
    }
  }
}
