import Testing

@testable import KizunaEngine

@Suite struct EngineFilteredWriteTests {
  private static func fixture() throws -> EngineFixture {
    let pulled = EngineFixture.table(["id": "text"]) { $0.syncMode = .pullOnly }
    let fixture = try EngineFixture([
      ("todos", EngineFixture.todos), ("pulled", pulled),
      ("numbers", EngineFixture.table(["id": "bigint", "v": "text"])),
    ])
    try fixture.insert(
      "todos", #"[{"id":"b","title":"B","n":1},{"id":"a","title":"A","n":1},{"id":"c","title":"C","n":2}]"#)
    return fixture
  }

  @Test func aWriteMustSayWhichRowsItMeans() throws {
    let fixture = try Self.fixture()
    let eq = #"{"kind":"eq","column":"n","value":1}"#
    let rows: [(String, String)] = [
      ("[]", "LOCAL_UNSUPPORTED"), ("{}", "JSON"),
      (#"[{"kind":"and","filters":[]}]"#, "LOCAL_UNSUPPORTED"),
      (#"[\#(eq),{"kind":"or","filters":[]}]"#, "LOCAL_UNSUPPORTED"),
      (
        #"[{"kind":"not","filter":{"kind":"and","filters":[\#(eq),{"kind":"or","filters":[]}]}}]"#,
        "LOCAL_UNSUPPORTED"
      ),
      (#"[\#(eq),{"kind":"search","query":"  "}]"#, "LOCAL_UNSUPPORTED"),
      (#"[{"kind":"textSearch","column":"title","query":""}]"#, "LOCAL_UNSUPPORTED"),
      (#"[{"kind":"not","filter":{"kind":"in","column":"id","values":[]}}]"#, "LOCAL_UNSUPPORTED"),
      (#"[{"kind":"between","column":"n"}]"#, "JSON"),
      (#"[{"kind":"and","filters":[]},{"kind":"between"}]"#, "JSON"),
      (#"[{"kind":"eq","column":"n"}]"#, "JSON"), (#"[{"kind":"eq","column":"n","value":1,"x":1}]"#, "JSON"),
      (#"[{"kind":"is","column":"n","value":"x"}]"#, "LOCAL_UNSUPPORTED"),
      (#"[{"kind":"eq","column":"n","value":"abc"}]"#, "LOCAL_CONSTRAINT/22P02"),
      (#"[{"kind":"eq","column":"nope","value":1}]"#, "LOCAL_UNSUPPORTED/42703"),
    ]
    for (filters, code) in rows {
      #expect(fixture.applyWhere(.delete, "todos", filters) == code, "\(filters)")
      #expect(fixture.applyWhere(.update, "todos", filters, #"{"n":9}"#) == code, "\(filters)")
    }
    #expect(fixture.applyWhere(.insert, "todos", "[\(eq)]") == "LOCAL_UNSUPPORTED")
    #expect(fixture.applyWhere(.delete, "nope", "[]") == "UNKNOWN_TABLE/PGRST205")
    #expect(fixture.applyWhere(.delete, "pulled", #"[{"kind":"between"}]"#) == "LOCAL_UNSUPPORTED")
    #expect(fixture.applyWhere(.update, "todos", "[\(eq)]", #"{"id":"x"}"#) == "LOCAL_CONSTRAINT/428C9")
    #expect(
      fixture.applyWhere(.update, "todos", #"[{"kind":"eq","column":"n","value":99}]"#, #"{"id":"x"}"#)
        == "LOCAL_CONSTRAINT/428C9")
    #expect(
      fixture.applyWhere(.delete, "todos", #"[{"kind":"regexMatch","column":"title","pattern":"(a)\\1"}]"#)
        .hasPrefix("LOCAL_UNSUPPORTED"))
    #expect(
      fixture.applyWhere(.delete, "todos", "[\(eq)]", transforms: #"{"n":{"op":"increment","by":1}}"#)
        == "LOCAL_CONSTRAINT")
    #expect(try fixture.engine.outboxDepth() == 3)
    #expect(fixture.applyWhere(.delete, "todos", #"[{"kind":"in","column":"id","values":[]}]"#) == "")
  }

  @Test func aFailureMidwayKeepsNothing() throws {
    let fixture = try Self.fixture()
    let events = EventLog(fixture.engine)
    let all = #"[{"kind":"gt","column":"n","value":0}]"#
    #expect(
      fixture.applyWhere(.update, "todos", all, #"{"title":"x"}"#, maxAffected: 2)
        == "LOCAL_CONSTRAINT/PGRST124")
    #expect(fixture.applyWhere(.delete, "todos", all, maxAffected: 2) == "LOCAL_CONSTRAINT/PGRST124")
    #expect(
      fixture.applyWhere(.update, "todos", all, transforms: #"{"title":{"op":"arrayUnion","values":[1]}}"#)
        == "LOCAL_CONSTRAINT")
    #expect(try fixture.engine.outboxDepth() == 3)
    #expect(fixture.applyWhere(.update, "todos", all, #"{"title":"x"}"#, maxAffected: 3) == "a,b,c")
    #expect(events.finish() == [.localChanged, .queueDepth(6)])
  }

  @Test func singularAndAtMostOneAreUndoneAndSpeakBeforeTheCap() throws {
    let fixture = try Self.fixture()
    let schema = try #require(fixture.engine.catalog.table("todos"))
    let filter = Filter.test(ColumnPath("n"), .compare(.eq, .literal("1")))
    for action: WritePlan.Action in [
      .delete(filter), .update(filter, assignments: [("title", .string("x"))], transforms: nil),
    ] {
      var plan = WritePlan(schema, action, writeId: UUIDText.v7())
      plan.singular = true
      plan.maxAffected = 1
      #expect(EngineFixture.code { _ = try fixture.engine.write(plan) } == "LOCAL_CONSTRAINT/PGRST116")
      plan.singular = false
      plan.atMostOne = true
      #expect(EngineFixture.code { _ = try fixture.engine.write(plan) } == "LOCAL_CONSTRAINT/PGRST116")
    }
    let insert = WritePlan.Action.insert(
      columns: ["id", "title"], rows: [[.string("x"), .string("t")], [.string("y"), .string("t")]], .refuse)
    var plan = WritePlan(schema, insert, writeId: UUIDText.v7())
    plan.singular = true
    #expect(EngineFixture.code { _ = try fixture.engine.write(plan) } == "LOCAL_CONSTRAINT/PGRST116")
    #expect(try fixture.engine.outboxDepth() == 3)
    #expect(try fixture.sql("SELECT count(*) FROM todos") == ["3"])
  }

  @Test func keysComeInTheOrderOfTheirType() throws {
    let fixture = try Self.fixture()
    try fixture.insert("numbers", #"[{"id":10,"v":"a"},{"id":7,"v":"a"},{"id":-1,"v":"a"}]"#)
    let filter = #"[{"kind":"eq","column":"v","value":"a"}]"#
    #expect(fixture.applyWhere(.update, "numbers", filter, #"{"v":"a"}"#) == "-1,7,10")
    #expect(fixture.applyWhere(.delete, "numbers", filter) == "-1,7,10")
  }

  @Test func aPreconditionGoesWithEveryRow() throws {
    let fixture = try Self.fixture()
    let filter = #"[{"kind":"eq","column":"n","value":1}]"#
    #expect(fixture.applyWhere(.update, "todos", filter, #"{"n":5}"#, precondition: #"{"n":"1"}"#) == "a,b")
    #expect(fixture.outbox("precondition").suffix(2) == [#"{"n":1}"#, #"{"n":1}"#])
  }

  @Test(arguments: ["timestamptz", "timestamp", "boolean", "date", "text", nil])
  func aSoftDeleteStampsEveryKindOfColumn(type: String?) throws {
    var table = EngineConfiguration.Table()
    if let type {
      table.columns = [("id", "text"), ("v", "text"), ("gone", type)].map { (name: $0.0, declaration: $0.1) }
    }
    table.softDeleteColumn = "gone"
    let fixture = try EngineFixture([("t", table)])
    try fixture.insert("t", #"[{"id":"a","v":"x"},{"id":"b","v":"x"},{"id":"c","v":"y"}]"#)
    #expect(
      fixture.applyWhere(.delete, "t", #"[{"kind":"eq","column":"v","value":"x"}]"#, #"{"v":"z"}"#) == "a,b")
    #expect(try fixture.rows("t", #"{"projection":"id"}"#) == #"[{"id":"c"}]"#)
    let marked = try fixture.engine.query(
      table: "t",
      plan: fixture.json(#"{"includeDeleted":true,"filters":[{"kind":"eq","column":"v","value":"z"}]}"#))
    #expect(marked.elements?.count == 2)
    #expect(Set(marked.elements?.compactMap { $0["gone"]?.jsonText } ?? []).count == 1)
    let queued = fixture.outbox("op, columns").suffix(2)
    #expect(
      queued.allSatisfy { $0.hasPrefix("update|{") && $0.contains("\"gone\":") && $0.contains("\"v\":\"z\"") }
    )
    #expect(try fixture.sql("SELECT count(*) FROM _kizunasync_tombstones") == ["0"])
    #expect(fixture.applyWhere(.delete, "t", #"[{"kind":"eq","column":"v","value":"z"}]"#) == "")
    #expect(fixture.apply(.delete, "t", "c") == "SOFT_DELETE_VIOLATION")
  }

  @Test func aSoftDeleteOfAColumnNobodyHasYetWorks() throws {
    var table = EngineConfiguration.Table()
    table.softDeleteColumn = "gone"
    let fixture = try EngineFixture([("t", table)])
    try fixture.insert("t", #"[{"id":"a"}]"#)
    let filter = #"[{"kind":"eq","column":"id","value":"a"}]"#
    #expect(fixture.applyWhere(.delete, "t", filter, #"{"why":"old"}"#) == "a")
    #expect(try fixture.rows("t") == "[]")
    try fixture.insert(
      "t", #"[{"id":"b","gone":false},{"id":"c","gone":0},{"id":"d","gone":""},{"id":"e","gone":null}]"#)
    #expect(try fixture.rows("t", #"{"projection":"id"}"#) == #"[{"id":"e"}]"#)
  }
}
