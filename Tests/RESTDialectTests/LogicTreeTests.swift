import Testing

@testable import RESTDialect

@Suite struct LogicTreeTests {
  @Test func nestedTreeIsRead() throws {
    let query = "or=(title.ilike.*sea*,and(price.lt.5,not.or(lent.is.true,tags.cs.{old,worn})))"
    #expect(
      try filters(query) == [
        .or(
          [
            column("title", .pattern(.ilike, "*sea*", nil)),
            .and(
              [
                column("price", .compare(.lt, "5", nil)),
                .or(
                  [column("lent", .isTest(.true)), column("tags", .structure(.cs, "{old,worn}"))],
                  negated: true),
              ], negated: false),
          ], negated: false)
      ])
  }

  @Test(arguments: [
    ("(title.eq.\"Me, and you\",title.in.(\"a)\",\"b\"))", ["Me, and you", "a)", "b"]),
    ("(a.eq.\"x\"y)", ["\"x\"y"]),
    ("(a.eq.{\"b\":{\"c\":1}})", ["{\"b\":{\"c\":1}}"]),
    ("(a.like(any).{x,y},b.eq.)", ["{x,y}", ""]),
    ("( a.eq.1 , b.eq.2)", ["1 ", "2"]),
    ("(id.eq.1))", ["1"]),
    ("(info->>k.eq.a,info->n.gt.2)", ["a", "2"]),
    ("(and.eq.1,or.eq.2,not.eq.3,not.not.eq.4)", ["1", "2", "3", "4"]),
    ("(and (a.eq.1) ,not.and( b.eq.2 ))", ["1", "2 "]),
    ("(\"a.b\".eq.1)", ["1"]),
  ])
  func valuesEndAtCommaOrParenthesis(value: String, literals: [String]) throws {
    #expect(try parse("or=" + value).literals == literals)
  }

  @Test func notInTheKeyNegates() throws {
    #expect(
      try filters("not.and=(a.not.eq.1)") == [
        .and([column("a", .compare(.eq, "1", nil), negated: true)], negated: true)
      ])
  }

  @Test func depthIsBounded() throws {
    func nested(_ depth: Int) -> String {
      "or=" + String(repeating: "(and", count: depth - 1) + "(a.eq.1)"
        + String(repeating: ")", count: depth - 1)
    }
    #expect(try parse(nested(64)).literals == ["1"])
    let refusal = try #require(failure(nested(65)))
    #expect(refusal.code == "PGRST100")
    #expect(refusal.details == "logic operators may be nested at most 64 deep")
    #expect(failure("or=" + String(repeating: "(or", count: 300_000))?.code == "PGRST100")
    #expect(failure("select=" + String(repeating: "a(", count: 300_000))?.code == "PGRST100")
  }
}
