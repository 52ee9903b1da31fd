import KizunaEngine
import RESTDialect
import Testing

@testable import Gateway

@Suite struct PlanTests {
  // MARK: Filters and outputs

  @Test func filtersAreJoinedWithAnd() throws {
    let request = Fixture.request([
      Fixture.equals("id", "1", negated: true),
      .or(
        [
          .condition(
            Field(name: "info", path: [JSONStep(.key("k"), asText: true)]), negated: false, .inList([]))
        ], negated: true),
    ])
    let path = ColumnPath("info", path: [ColumnPath.Step(.key("k"), asText: true)])
    #expect(
      try FilterPlanner.filter(request.filters)
        == .and([
          .not(.test(ColumnPath("id"), .compare(.eq, .literal("1")))), .not(.or([.test(path, .inList([]))])),
        ]))
    #expect(try FilterPlanner.filter([]) == nil)
  }

  @Test func everyOperatorHasItsTest() throws {
    let cases: [(Operation, KizunaEngine.Test)] = [
      (.compare(.gte, "1", .any), .compareEach(.gte, literal: "1", all: false)),
      (.pattern(.ilike, "a*", nil), .pattern(.ilike, "a*")),
      (.pattern(.match, "{a}", .all), .patternEach(.match, literal: "{a}", all: true)),
      (.structure(.cs, "{a}"), .structure(.contains, .literal("{a}"))),
      (.structure(.nxl, "[1,2)"), .range("nxl")),
      (.isDistinct("x"), .isDistinct(.literal("x"))),
      (.isTest(.notNull), .truth(.notNull)),
    ]
    for (operation, test) in cases {
      let node = FilterNode.condition(Field(name: "id"), negated: false, operation)
      #expect(try FilterPlanner.filter([node]) == .test(ColumnPath("id"), test))
    }
    let search = FilterNode.condition(
      Field(name: "title"), negated: false, .search(.fts, dictionary: nil, "x"))
    #expect(Fixture.code { _ = try FilterPlanner.filter([search]) } == "PGRST127")
  }

  @Test func aStarAmongOthersIsEveryColumn() {
    var request = Request()
    #expect(FilterPlanner.outputs(request, of: Fixture.heap) == nil)
    request.hasSelect = true
    request.select = [.all]
    #expect(FilterPlanner.outputs(request, of: Fixture.heap) == nil)
    request.select = [
      .all, .field(Field(name: "a"), alias: "b", cast: "text", aggregate: nil, aggregateCast: nil),
    ]
    #expect(
      FilterPlanner.outputs(request, of: Fixture.heap) == [
        Output("a", ColumnPath("a")), Output("b", ColumnPath("a"), cast: "text"),
      ])
  }

  @Test func aReadIsCappedAndCounted() throws {
    var preferences = Preferences()
    preferences.count = .planned
    let plan = try ReadPlanner.plan(
      Request(), relation: Fixture.shelf, window: Window(offset: 2, limit: 50), maxRows: 10,
      preferences: preferences)
    #expect(plan.limit == 10)
    #expect(plan.offset == 2)
    #expect(plan.wantsCount)
  }

  @Test(arguments: [
    ("Nowhere/Atall", "invalid value for parameter \"TimeZone\": \"Nowhere/Atall\""),
    ("05:30:15", "time zone \"05:30:15\" appears to use leap seconds"),
  ])
  func zonesThatCannotBeAreRefused(name: String, message: String) {
    do throws(Failure) {
      _ = try ReadPlanner.zone(name)
      Issue.record("accepted")
    } catch {
      #expect(error.code == "22023")
      #expect(error.message == message)
    }
  }

  // MARK: Related parts

  @Test func whatReachesBeyondTheTableIsRefused() {
    var embed = Request()
    embed.select = [.embed(name: "pages", alias: nil, hints: [], select: [.all])]
    #expect(
      Fixture.code { try RelatedParts.check(embed, table: Fixture.shelf, aggregates: true) } == "PGRST127")
    #expect(
      Fixture.code {
        try RelatedParts.check(embed, table: Fixture.shelf, aggregates: true, answersRows: false)
      }
        == nil)
    var stray = Request()
    stray.embedded = [EmbeddedClause(path: ["x"], clause: .limit(1))]
    #expect(
      Fixture.code { try RelatedParts.check(stray, table: Fixture.shelf, aggregates: true) } == "PGRST108")
    var count = Request()
    count.select = [.countAll(alias: nil, cast: nil)]
    #expect(
      Fixture.code { try RelatedParts.check(count, table: Fixture.shelf, aggregates: false) } == "PGRST123")
    #expect(
      Fixture.code { try RelatedParts.check(count, table: Fixture.shelf, aggregates: true) } == "PGRST127")
  }

  @Test(arguments: [
    ("projectx", "projects"), ("projecxx", "projects"), ("Shelf", "shelf"), ("faketable", nil), ("", nil),
  ])
  func nearMissesAreNamed(name: String, nearest: String?) {
    #expect(NearestName.nearest(to: name, among: ["projects", "shelf", "empty_table"]) == nearest)
  }

  // MARK: Writes

  @Test func unfilteredWritesAreRefusedUnlessTheySetNothing() throws {
    let planner = Fixture.planner()
    #expect(
      throws: Failure("21000", status: 400, "UPDATE requires a WHERE clause")
    ) { try planner.update(Payload(columns: ["title"], rows: [[.string("x")]])) }
    #expect(throws: Failure("21000", status: 400, "DELETE requires a WHERE clause")) { try planner.delete() }
    #expect(try planner.update(Payload()) == nil)
    #expect(try planner.update(Payload(columns: [], rows: [[]])) == nil)
  }

  @Test func anUpdateUsesTheFirstRow() throws {
    let planner = Fixture.planner(Fixture.shelf, Fixture.request([Fixture.equals("id", "1")]))
    let plan = try planner.update(Payload(columns: ["title"], rows: [[.string("a")], [.string("b")]]))
    guard case .update(_, let assignments, _) = plan?.action else {
      Issue.record("no update")
      return
    }
    #expect(assignments.map(\.column) == ["title"])
    #expect(assignments.map(\.value) == [.string("a")])
  }

  @Test(arguments: [
    (["id"], nil), (["isbn"], nil), (["title"], "42P10"), (["foo"], "42703"), (["id", "isbn"], "42P10"),
  ])
  func upsertsNeedAUniqueTarget(target: [String], code: String?) {
    var request = Request()
    request.onConflict = target
    var preferences = Preferences()
    preferences.resolution = .mergeDuplicates
    #expect(
      Fixture.code { _ = try Fixture.planner(Fixture.shelf, request, preferences).insert(Payload()) } == code)
    #expect(Fixture.code { _ = try Fixture.planner(Fixture.shelf, request).insert(Payload()) } == nil)
  }

  @Test func capsHoldOnlyUnderStrictHandling() throws {
    var preferences = Preferences()
    preferences.maxAffected = 1
    preferences.transaction = .rollback
    let request = Fixture.request([Fixture.equals("id", "1")])
    let lenient = try Fixture.planner(Fixture.shelf, request, preferences, type: .object(stripped: false))
      .delete()
    #expect(lenient.maxAffected == nil)
    #expect(lenient.dryRun)
    #expect(lenient.singular)
    preferences.handling = .strict
    #expect(try Fixture.planner(Fixture.shelf, request, preferences).delete().maxAffected == 1)
  }

  @Test func preconditionsGoWithUpdatesAndDeletesOfSyncedTables() throws {
    var request = Fixture.request([Fixture.equals("id", "1")])
    request.preconditions = [
      Precondition(column: "title", value: "null"), Precondition(column: "id", value: "null"),
      Precondition(column: "info", value: "{\"a\":1}"),
    ]
    let plan = try Fixture.planner(Fixture.shelf, request).delete()
    #expect(plan.precondition?.jsonText == #"{"title":"null","id":null,"info":{"a":1}}"#)
    #expect(
      Fixture.code { _ = try Fixture.planner(Fixture.shelf, request).insert(Payload()) }
        == "LOCAL_UNSUPPORTED")
    #expect(Fixture.code { _ = try Fixture.planner(Fixture.heap, request).delete() } == "LOCAL_UNSUPPORTED")
    request.preconditions = [Precondition(column: "nope", value: "1")]
    #expect(Fixture.code { _ = try Fixture.planner(Fixture.shelf, request).delete() } == "42703")
  }

  // MARK: PUT

  @Test(arguments: [
    [FilterNode](), [Fixture.equals("title", "x")], [Fixture.equals("id", "1", negated: true)],
    [Fixture.equals("id", "1"), Fixture.equals("title", "x")],
    [.and([Fixture.equals("id", "1")], negated: false)],
    [.condition(Field(name: "id"), negated: false, .inList(["1"]))],
  ])
  func aPutNamesItsRowByTheKeyAlone(filters: [FilterNode]) {
    #expect(Fixture.code { _ = try PutKey(Fixture.request(filters), table: Fixture.shelf) } == "PGRST105")
  }

  @Test func aPutKeepsTheRowsOfItsKey() throws {
    let request = Fixture.request([Fixture.equals("year", "1981"), Fixture.equals("name", "DeLorean")])
    let key = try PutKey(request, table: Fixture.pairs)
    let wanted: [JSONValue?] = [.string("DeLorean"), .string("1981"), .some(.null)]
    let other: [JSONValue?] = [.string("Roma"), .number("1981"), .some(.null)]
    let columns = ["name", "year", "brand"]
    #expect(try key.select(Payload(columns: columns, rows: [other, wanted])).rows == [wanted])
    #expect(Fixture.code { _ = try key.select(Payload(columns: columns, rows: [other])) } == "PGRST115")
    #expect(
      Fixture.code { _ = try key.select(Payload(columns: ["name"], rows: [[.string("DeLorean")]])) }
        == "PGRST115")
    #expect(
      Fixture.code { _ = try key.select(Payload(columns: columns, rows: [wanted, wanted])) } == "21000")
    #expect(Fixture.code { _ = try PutKey(Fixture.request(), table: Fixture.heap) } == "PGRST105")
  }
}
