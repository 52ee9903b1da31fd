import Testing

@testable import RESTDialect

@Suite struct FilterTests {
  @Test(arguments: [
    ("pages=gt.9", column("pages", .compare(.gt, "9", nil))),
    ("pages=not.eq.5", column("pages", .compare(.eq, "5", nil), negated: true)),
    ("title=eq.", column("title", .compare(.eq, "", nil))),
    ("title=eq.null", column("title", .compare(.eq, "null", nil))),
    ("title=eq.a.b,c)\"", column("title", .compare(.eq, "a.b,c)\"", nil))),
    ("title=eq.a+b%3Bc", column("title", .compare(.eq, "a b;c", nil))),
    ("title=like(any).{A*,*z}", column("title", .pattern(.like, "{A*,*z}", .any))),
    ("id=gt(all).{4,3}", column("id", .compare(.gt, "{4,3}", .all))),
    ("title=ilike.*x*", column("title", .pattern(.ilike, "*x*", nil))),
    ("title=imatch.^a", column("title", .pattern(.imatch, "^a", nil))),
    ("pages=neq.5", column("pages", .compare(.neq, "5", nil))),
    ("tags=cs.{a,b}", column("tags", .structure(.cs, "{a,b}"))),
    ("r=adj.[1,5)", column("r", .structure(.adj, "[1,5)"))),
    ("t=isdistinct.x", column("t", .isDistinct("x"))),
    ("t=fts(french).x", column("t", .search(.fts, dictionary: "french", "x"))),
    ("t=wfts.a+b", column("t", .search(.wfts, dictionary: nil, "a b"))),
    ("lent=is.NULL", column("lent", .isTest(.null))),
    ("lent=is.Not_Null", column("lent", .isTest(.notNull))),
    ("lent=not.is.unknown", column("lent", .isTest(.unknown), negated: true)),
    ("lent=is.truex", column("lent", .isTest(.true))),
    ("\"a.b\"=eq.1", column("a.b", .compare(.eq, "1", nil))),
    ("%22order%22=eq.1", column("order", .compare(.eq, "1", nil))),
    ("\"apikey\"=eq.x", column("apikey", .compare(.eq, "x", nil))),
    ("a-b=eq.1", column("a-b", .compare(.eq, "1", nil))),
    ("a%20b=eq.1", column("a b", .compare(.eq, "1", nil))),
    ("%C3%A9t%C3%A9=eq.1", column("été", .compare(.eq, "1", nil))),
    ("\"q\\\"u\\\\o\"=eq.1", column("q\"u\\o", .compare(.eq, "1", nil))),
    ("not=eq.1", column("not", .compare(.eq, "1", nil))),
  ])
  func plainFilterIsRead(query: String, expected: FilterNode) throws {
    #expect(try filters(query) == [expected])
  }

  @Test(arguments: [
    ("in.(1,2)", ["1", "2"]),
    ("in.(\"a,b\",\"say \\\"hi\\\"\",plain)", ["a,b", "say \"hi\"", "plain"]),
    ("in.(\")", ["\""]),
    ("in.(5\"x)", ["5\"x"]),
    ("in.(\"a\"b,c)", ["\"a\"b", "c"]),
    ("in.()", []),
    ("in.(  )", []),
    ("in.(\"\")", []),
    ("in.(,)", ["", ""]),
    ("in.( a, b )", ["a", " b "]),
    ("in.(null)", ["null"]),
    ("in.(1)x", ["1"]),
    ("in. (1)", ["1"]),
  ])
  func inListIsRead(value: String, expected: [String]) throws {
    #expect(try filters("id=" + value) == [column("id", .inList(expected))])
    #expect(try filters("id=not." + value) == [column("id", .inList(expected), negated: true)])
  }

  @Test func jsonPathsReachIntoColumns() throws {
    let path = [JSONStep(.key("size"), asText: false), JSONStep(.key("w"), asText: true)]
    #expect(
      try filters("info->size->>w=eq.3")
        == [.condition(Field(name: "info", path: path), negated: false, .compare(.eq, "3", nil))])
    #expect(
      try filters("info->o=eq.{\"b\":2}")
        == [
          .condition(
            Field(name: "info", path: [JSONStep(.key("o"), asText: false)]), negated: false,
            .compare(.eq, "{\"b\":2}", nil))
        ])
  }

  @Test(arguments: [
    ("->0", JSONStep(.index(0), asText: false)),
    ("->-1", JSONStep(.index(-1), asText: false)),
    ("->>0xy", JSONStep(.key("0xy"), asText: true)),
    ("->a-b", JSONStep(.key("a-b"), asText: false)),
    ("->\"a.b->c\"", JSONStep(.key("a.b->c"), asText: false)),
    ("->!@$^*_d", JSONStep(.key("!@$^*_d"), asText: false)),
    ("->99999999999999999999", JSONStep(.index(.max), asText: false)),
  ])
  func jsonStepIsRead(path: String, expected: JSONStep) throws {
    #expect(
      try parse("select=" + path.replacingPrefix("->", with: "d->")).select == [item("d", [expected])])
  }

  @Test func filtersAndTreesKeepTheOrderOfTheQuery() throws {
    let request = try parse("a=eq.1&or=(b.eq.2,c.in.(3,4))&d=is.null&not.and=(e.like.5)&f=cs.6")
    #expect(request.literals == ["1", "2", "3", "4", "5", "6"])
    #expect(request.filters.count == 5)
  }

  @Test func separatorsAreAmpersandAndSemicolon() throws {
    #expect(try filters("a=eq.1;b=eq.2&&c&d=eq.").count == 3)
  }

  @Test func keysOfSeveralNamesAddressEmbeds() throws {
    let request = try parse(
      "a.b=eq.1&a.order=c.desc&a.limit=3&a.offset=x&a.c.not.or=(d.eq.2)&\"a.b\".e=is.null")
    #expect(request.filters.isEmpty)
    #expect(
      request.embedded == [
        EmbeddedClause(
          path: ["a"], clause: .order([OrderTerm(field: Field(name: "c"), direction: .descending)])),
        EmbeddedClause(
          path: ["a", "c"], clause: .filter(.or([column("d", .compare(.eq, "2", nil))], negated: true))),
        EmbeddedClause(path: ["a"], clause: .filter(column("b", .compare(.eq, "1", nil)))),
        EmbeddedClause(path: ["a.b"], clause: .filter(column("e", .isTest(.null)))),
        EmbeddedClause(path: ["a"], clause: .limit(3)),
        EmbeddedClause(path: ["a"], clause: .offset(nil)),
      ])
  }

  @Test func keysOfTheGatewayAreNoFilters() throws {
    let request = try parse(
      "include_deleted=true&include_dismissed=true&precondition.a=1&precondition.\"b.c\"=x.y&apikey=k&id=eq.1",
      .patch)
    #expect(request.filters.count == 1)
    #expect(request.includeDeleted && request.includeDismissed)
    #expect(request.apiKey == "k")
    #expect(
      request.preconditions == [
        Precondition(column: "a", value: "1"), Precondition(column: "b.c", value: "x.y"),
      ])
    #expect(failure("include_deleted=maybe")?.code == "PGRST100")
    #expect(failure("precondition.=1")?.code == "PGRST100")
  }
}

extension String {
  func replacingPrefix(_ prefix: String, with replacement: String) -> String {
    hasPrefix(prefix) ? replacement + dropFirst(prefix.count) : self
  }
}
