import Foundation
import Testing

@testable import KizunaSync

struct ReadTests {
  private func open() async throws -> (LiveClient, KizunaSyncTable) {
    let live = try await LiveClient.open(["crates": KizunaSyncTableConfig()])
    let crates = try live.client.from("crates")
    let rows: [[String: Any]] = [
      ["id": "a", "label": "Apple, red", "weight": 3, "memo": NSNull()],
      ["id": "b", "label": "say \"hi\"", "weight": 1, "memo": "x"],
      ["id": "c", "label": "two\nlines", "weight": NSNull(), "memo": NSNull(), "tags": ["k"]],
      ["id": "d", "label": "Dates", "weight": 2, "memo": NSNull()],
    ]
    try await crates.insert(rows)
    return (live, crates)
  }

  private func ids(_ answer: Any) -> [String] {
    (answer as? [[String: Any]])?.compactMap { $0["id"] as? String } ?? ["no rows"]
  }

  @Test func nullsComeLastAscendingAndFirstDescendingUnlessPlaced() async throws {
    let (_, crates) = try await open()
    #expect(ids(try await crates.select().order("weight").execute()) == ["b", "d", "a", "c"])
    #expect(
      ids(try await crates.select().order("weight", ascending: false).execute()) == ["c", "a", "d", "b"])
    #expect(
      ids(try await crates.select().order("weight", nullsFirst: true).execute()) == ["c", "b", "d", "a"])
    let last = crates.select().order("weight", ascending: false, nullsFirst: false)
    #expect(ids(try await last.execute()) == ["a", "d", "b", "c"])
    #expect(ids(try await crates.select().order("memo").order("weight").execute()) == ["b", "d", "a", "c"])
  }

  @Test func aRangeIsInclusiveAndALaterLimitReplacesOnlyTheNumber() async throws {
    let (_, crates) = try await open()
    #expect(ids(try await crates.select().range(from: 1, to: 2).execute()) == ["b", "c"])
    #expect(ids(try await crates.select().range(from: 1, to: 2).limit(1).execute()) == ["b"])
    #expect(ids(try await crates.select().range(from: 2, to: 1).execute()).isEmpty)
    #expect(ids(try await crates.select().range(from: 2, to: .max).execute()) == ["c", "d"])
    #expect(ids(try await crates.select().limit(0).execute()).isEmpty)
    #expect(ids(try await crates.select().range(from: 9, to: 12).execute()).isEmpty)
    for (from, to) in [(-1, 2), (3, 1), (0, -1)] {
      let error = await refusal { _ = try await crates.select().range(from: from, to: to).execute() }
      #expect(error?.code == "LOCAL_UNSUPPORTED")
    }
    #expect(await refusal { _ = try await crates.select().limit(-1).execute() }?.code == "LOCAL_UNSUPPORTED")
  }

  @Test func aCountIsMadeBeforeTheWindow() async throws {
    let (_, crates) = try await open()
    let counted = try await crates.select("id", count: .exact).neq("id", "a").limit(1).execute()
    let answer = try #require(counted as? [String: Any])
    #expect(answer["count"] as? Int == 3)
    #expect(ids(answer["rows"] as Any) == ["b"])
    let head = try #require(try await crates.select(head: true).limit(2).execute() as? [String: Any])
    #expect(head["rows"] is NSNull)
    #expect(head["count"] as? Int == 4)
    let one = try await crates.select(count: .planned).eq("id", "a").single()
    #expect(((one as? [String: Any])?["rows"] as? [String: Any])?["id"] as? String == "a")
    #expect((one as? [String: Any])?["count"] as? Int == 1)
  }

  @Test func singularAnswersCountTheirRows() async throws {
    let (_, crates) = try await open()
    let missing = await refusal { _ = try await crates.select().eq("id", "z").single() }
    let several = await refusal { _ = try await crates.select().single() }
    let maybe = await refusal { _ = try await crates.select().maybeSingle() }
    for error in [missing, several, maybe] { #expect(error?.code == "LOCAL_CONSTRAINT") }
    #expect(try await crates.select().eq("id", "z").maybeSingle() is NSNull)
    #expect((try await crates.select().limit(1).single() as? [String: Any])?["id"] as? String == "a")
  }

  @Test func aProjectionKeepsItsColumnsAndAnswersNullForUnknownOnes() async throws {
    let (_, crates) = try await open()
    let row = try #require(
      try await crates.select(" id, nowhere,memo ").eq("id", "a").single() as? [String: Any])
    #expect(row.keys.sorted() == ["id", "memo", "nowhere"])
    #expect(row["nowhere"] is NSNull)
    let stripped = try await crates.select("id,memo").eq("id", "a").stripNulls().single()
    #expect((stripped as? [String: Any])?.keys.sorted() == ["id"])
    let embed = await refusal { _ = try await crates.select("id,lists(name)").execute() }
    #expect(embed?.code == "LOCAL_UNSUPPORTED")
    let written = await refusal {
      try await crates.update(["n": 1]).eq("id", "a").select("lists(name)").execute()
    }
    #expect(written?.code == "LOCAL_UNSUPPORTED")
  }

  @Test func aUpdateAnswersItsRowsAsTheyAreThen() async throws {
    let (_, crates) = try await open()
    let rows = try await crates.update(["fresh": true], transforms: ["weight": ["op": "increment", "by": 2]])
      .in("id", ["a", "c"]).select("id,fresh,weight,nowhere").execute()
    let answer = try #require(rows as? [[String: Any]])
    #expect(answer.map { $0["weight"] as? Int } == [5, 2])
    #expect(answer.allSatisfy { $0["fresh"] as? Bool == true && $0["nowhere"] is NSNull })
    let keyed = await refusal { try await crates.update(["id": "a"]).eq("id", "a").execute() }
    #expect(keyed?.code == "LOCAL_CONSTRAINT")
  }

  @Test func csvQuotesWhatItMust() async throws {
    let (_, crates) = try await open()
    let text = try await crates.select("id,label,memo,tags").limit(3).csv()
    #expect(
      text == """
        id,label,memo,tags
        a,"Apple, red",,
        b,"say ""hi""\",x,
        c,"two
        lines",,"[""k""]"
        """)
    #expect(try await crates.select().eq("id", "z").csv() == "")
    #expect(try await crates.select("id,memo").eq("id", "z").csv() == "id,memo")
    let all = try await crates.select().eq("id", "d").csv()
    #expect(all == "id,label,memo,tags,weight\nd,Dates,,,2")
    #expect(try await crates.select().eq("id", "d").stripNulls().csv() == "id,label,weight\nd,Dates,2")
  }

  @Test func callsWithoutMeaningFailWhenTheBuilderRuns() async throws {
    let (live, crates) = try await open()
    let reads = [
      crates.select().dryRun(), crates.select().geojson(), crates.select().explain(analyze: true),
      crates.select().setHeader(name: "a", value: "b"),
    ]
    for builder in reads {
      #expect(await refusal { _ = try await builder.execute() }?.code == "LOCAL_UNSUPPORTED")
    }
    let write = crates.delete().eq("id", "a").dryRun()
    #expect(await refusal { try await write.execute() }?.code == "LOCAL_UNSUPPORTED")
    #expect(await refusal { try await write.select().execute() }?.code == "LOCAL_UNSUPPORTED")
    #expect(ids(try await crates.select().retry(enabled: true).execute()).count == 4)
    #expect(try await live.rows("crates").count == 4)
  }

  @Test func everyChainedFilterMustHold() async throws {
    let (_, crates) = try await open()
    let cases: [(KizunaSyncSelectBuilder, [String])] = [
      (crates.select().gt("weight", 1).lte("weight", 3), ["a", "d"]),
      (crates.select().match(["memo": "x", "weight": 1]), ["b"]),
      (crates.select().match(["memo": nil]), []),
      (crates.select().match("label", pattern: "^D"), ["d"]),
      (crates.select().imatch("label", pattern: "^d"), ["d"]),
      (crates.select().likeAnyOf("label", patterns: ["A%", "D%"]), ["a", "d"]),
      (crates.select().iLikeAllOf("label", patterns: ["%p%", "%red"]), ["a"]),
      (crates.select().notIn("weight", values: [1, 2]), ["a"]),
      (crates.select().is("memo", nil).not(KizunaSyncQuery.eq("id", "a")), ["c", "d"]),
      (crates.select().or([KizunaSyncQuery.eq("id", "a"), KizunaSyncQuery.eq("id", "c")]), ["a", "c"]),
      (crates.select().isDistinct("memo", value: nil), ["b"]),
      (crates.select().overlaps("tags", value: ["k", nil]), ["c"]),
      (crates.select().search("DATE"), ["d"]), (crates.select().textSearch("label", "red apple"), ["a"]),
      (crates.select().textSearch("label", "red apple", type: .phrase), []),
    ]
    for (builder, expected) in cases { #expect(ids(try await builder.execute()) == expected) }
  }

  @Test(arguments: [
    #"{"nonsense":1}"#, #"{"filters":"x"}"#, #"{"filters":[{"kind":"eq"}]}"#,
    #"{"filters":[{"column":"id"}]}"#, #"{"orders":[{"column":"id","down":true}]}"#, #"{"limit":"1"}"#,
    #"{"filters":[{"kind":"eq","column":"id","value":1,"extra":2}]}"#,
  ])
  func aPlanThatDoesNotParseIsRefused(_ text: String) async throws {
    let (live, _) = try await open()
    let plan = try #require(
      try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    let error = await refusal { _ = try await live.client.query(table: "crates", plan: plan) }
    #expect(error?.code == "JSON")
  }
}
