import Testing

@testable import RESTDialect

@Suite struct SelectAndOrderTests {
  @Test(arguments: [
    ("*", [SelectItem.all]),
    ("id, title", [item("id"), item("title")]),
    ("*,a:id", [.all, item("id", alias: "a")]),
    ("id::text", [item("id", cast: "text")]),
    ("price::double precision", [item("price", cast: "double precision")]),
    (
      "w:info->size->>w::int",
      [
        item(
          "info", [JSONStep(.key("size"), asText: false), JSONStep(.key("w"), asText: true)], alias: "w",
          cast: "int")
      ]
    ),
    ("tags->-1", [item("tags", [JSONStep(.index(-1), asText: false)])]),
    ("price.sum()", [item("price", aggregate: .sum)]),
    (
      "t:price::text.max()::int",
      [item("price", alias: "t", cast: "text", aggregate: .max, aggregateCast: "int")]
    ),
    ("count()", [.countAll(alias: nil, cast: nil)]),
    ("n:count()::text", [.countAll(alias: "n", cast: "text")]),
    ("count", [item("count")]),
    (
      "clients(id,name)",
      [.embed(name: "clients", alias: nil, hints: [], select: [item("id"), item("name")])]
    ),
    ("c:clients!fk!inner(*)", [.embed(name: "clients", alias: "c", hints: ["fk", "inner"], select: [.all])]),
    ("clients()", [.embed(name: "clients", alias: nil, hints: [], select: [])]),
    (
      "...clients(a(b))",
      [
        .spread(
          name: "clients", hints: [], select: [.embed(name: "a", alias: nil, hints: [], select: [item("b")])])
      ]
    ),
    ("\"a,b\":\"c.d\"", [item("c.d", alias: "a,b")]),
    ("id)", [item("id")]),
  ])
  func selectIsRead(value: String, expected: [SelectItem]) throws {
    let request = try parse("select=" + value)
    #expect(request.select == expected)
    #expect(request.hasSelect)
  }

  @Test(arguments: [
    "*::text", "a:*", "id::", "id::numeric(8,2)", "id::int[]", "id x!", ")", "a,,b", "a,",
    "a.foo()", "a.sum", "a::b::c", "x(y",
  ])
  func malformedSelectIsRefused(value: String) {
    #expect(failure("select=" + value)?.code == "PGRST100")
  }

  @Test func blankSelectMeansEverything() throws {
    #expect(try !parse("select=").hasSelect)
    #expect(try !parse("select=%20").hasSelect)
    #expect(try !parse("").hasSelect)
    #expect(try parse("select=a&select=b").select == [item("a")])
  }

  @Test(arguments: [
    ("info->size->>w", "w"), ("info->a->0", "a"), ("tags->0", "tags"), ("x:id", "x"), ("id", "id"),
    ("price.sum()", "sum"), ("count()", "count"), ("n:count()", "n"), ("a(b)", "a"),
  ])
  func resultKeyFollowsTheNamingRule(value: String, key: String) throws {
    #expect(try parse("select=" + value).select.first?.resultKey == key)
  }

  @Test func orderTermsAreRead() throws {
    let request = try parse(
      "order=a,b.desc,c.asc.nullsfirst, d->0.nullslast,e->>k.desc,f(g->h).asc,\"i.j\"&order=z")
    #expect(
      request.order == [
        OrderTerm(field: Field(name: "a")),
        OrderTerm(field: Field(name: "b"), direction: .descending),
        OrderTerm(field: Field(name: "c"), direction: .ascending, nulls: .first),
        OrderTerm(field: Field(name: "d", path: [JSONStep(.index(0), asText: false)]), nulls: .last),
        OrderTerm(field: Field(name: "e", path: [JSONStep(.key("k"), asText: true)]), direction: .descending),
        OrderTerm(
          field: Field(name: "g", path: [JSONStep(.key("h"), asText: false)]), relation: "f",
          direction: .ascending),
        OrderTerm(field: Field(name: "i.j")),
      ])
    #expect(request.hasOrder)
    #expect(failure("order=a&order=!")?.code == "PGRST100")
    #expect(failure("order=a.asc.desc")?.code == "PGRST100")
    #expect(failure("order=a.nullsfirst.asc")?.code == "PGRST100")
  }

  @Test func columnsCountForPostAndPatchOnly() throws {
    let query = "columns=\"id\", title ,\"a,b\"&columns=z&on_conflict=a%20b,c&on_conflict=z"
    for method in [DialectMethod.post, .patch] {
      #expect(try parse(query, method).columns == ["id", "title", "a,b"])
    }
    #expect(try parse(query, .put).columns == nil)
    #expect(try parse(query, .get).onConflict == ["a b", "c"])
    #expect(failure("columns=", .delete)?.code == "PGRST100")
  }
}
