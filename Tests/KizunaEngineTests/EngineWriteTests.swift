import Testing

@testable import KizunaEngine

@Suite struct EngineWriteTests {
  @Test func deleteAnswersTheKeysItTouchedAndQueuesEach() throws {
    let fixture = try EngineFixture([("todos", EngineFixture.todos)])
    try fixture.insert(
      "todos",
      #"[{"id":"b","list_id":"1","title":"B"},{"id":"a","list_id":"1","title":"A"},{"id":"c","list_id":"2","title":"C"}]"#
    )
    let keys = try fixture.engine.applyWhere(
      table: "todos", op: .delete, filters: fixture.json(#"[{"kind":"eq","column":"list_id","value":"1"}]"#))
    #expect(keys == ["a", "b"])
    #expect(try fixture.rows("todos") == #"[{"id":"c","list_id":"2","title":"C","done":null,"n":null}]"#)
    #expect(
      try fixture.sql("SELECT op, pk, columns FROM _kizunasync_outbox WHERE op = 'delete' ORDER BY seq")
        == ["delete|a|{}", "delete|b|{}"])
    #expect(
      try fixture.sql("SELECT pk, origin FROM _kizunasync_tombstones ORDER BY pk") == ["a|local", "b|local"])
    #expect(try fixture.engine.outboxDepth() == 5)
  }

  @Test func theBaseImageIsTheRowBeforeItsFirstPendingWrite() throws {
    let fixture = try EngineFixture([("todos", EngineFixture.todos)])
    try fixture.engine.seed(
      "todos", rows: [[JSONMember("id", .string("a")), JSONMember("title", .string("old"))]])
    #expect(try fixture.engine.outboxDepth() == 0)
    try fixture.engine.apply(
      Mutation(table: "todos", pk: "a", op: .update, columns: [JSONMember("title", .string("new"))]))
    try fixture.engine.apply(Mutation(table: "todos", pk: "a", op: .delete))
    #expect(
      try fixture.sql("SELECT pk, row FROM _kizunasync_base")
        == [#"a|{"id":"a","list_id":null,"title":"old","done":null,"n":null}"#])
  }

  @Test func aDuplicateKeyIsRefusedAndChangesNothing() throws {
    let fixture = try EngineFixture([("todos", EngineFixture.todos)])
    try fixture.insert("todos", #"[{"id":"a","title":"A"}]"#)
    let error = #expect(throws: KizunaError.self) {
      try fixture.insert("todos", #"[{"id":"b","title":"B"},{"id":"a","title":"again"}]"#)
    }
    #expect(error?.sqlstate == "23505")
    #expect(error?.details == "Key (id)=(a) already exists.")
    #expect(try fixture.engine.outboxDepth() == 1)
    #expect(try fixture.rows("todos", #"{"projection":"id"}"#) == #"[{"id":"a"}]"#)
  }

  @Test func aDryRunAnswersAndLeavesNothing() throws {
    let fixture = try EngineFixture([("todos", EngineFixture.todos)])
    try fixture.insert("todos", #"[{"id":"a","title":"A"}]"#)
    let table = try #require(fixture.engine.catalog.table("todos"))
    var plan = WritePlan(
      table, .delete(.test(ColumnPath("id"), .compare(.eq, .literal("a")))), writeId: UUIDText.v7())
    plan.dryRun = true
    plan.returnsRows = true
    let outcome = try fixture.engine.write(plan)
    #expect(outcome.keys == ["a"])
    #expect(String(decoding: outcome.body, as: UTF8.self).contains(#""title":"A""#))
    #expect(try fixture.engine.outboxDepth() == 1)
    #expect(try fixture.rows("todos", #"{"projection":"id"}"#) == #"[{"id":"a"}]"#)
  }

  @Test func aSoftDeleteStampsAndHidesTheRow() throws {
    let table = EngineFixture.table(["id": "text", "title": "text", "deleted_at": "text"]) {
      $0.softDeleteColumn = "deleted_at"
    }
    let fixture = try EngineFixture([("notes", table)])
    try fixture.insert("notes", #"[{"id":"a","title":"A"}]"#)
    let keys = try fixture.engine.applyWhere(
      table: "notes", op: .delete, filters: fixture.json(#"[{"kind":"eq","column":"id","value":"a"}]"#))
    #expect(keys == ["a"])
    #expect(try fixture.rows("notes") == "[]")
    #expect(try fixture.rows("notes", #"{"includeDeleted":true,"projection":"id"}"#) == #"[{"id":"a"}]"#)
    #expect(try fixture.sql("SELECT op FROM _kizunasync_outbox ORDER BY seq") == ["insert", "update"])
    let error = #expect(throws: KizunaError.self) {
      try fixture.engine.apply(Mutation(table: "notes", pk: "a", op: .delete))
    }
    #expect(error?.code == "SOFT_DELETE_VIOLATION")
  }

  @Test func learntColumnsKeepValuesApart() throws {
    var table = EngineConfiguration.Table()
    table.columns = nil
    let fixture = try EngineFixture([("things", table)])
    try fixture.insert("things", #"[{"id":"a","v":12},{"id":"b","v":"12"}]"#)
    try fixture.insert("things", #"[{"id":"c","v":true,"w":{"x":1}}]"#)
    #expect(
      try fixture.rows("things", #"{"filters":[{"kind":"eq","column":"v","value":12}],"projection":"id"}"#)
        == #"[{"id":"a"}]"#)
    #expect(
      try fixture.rows("things", #"{"filters":[{"kind":"is","column":"v","value":true}]}"#)
        == #"[{"id":"c","v":true,"w":{"x":1}}]"#)
  }

  @Test func manyWritersShareCommitsAndLoseNothing() throws {
    let fixture = try EngineFixture([("todos", EngineFixture.todos)])
    let engine = fixture.engine
    let threads = (0..<8).map { index in
      Thread(name: "w\(index)") {
        for number in 0..<50 {
          _ = try? engine.apply(
            Mutation(
              table: "todos", pk: "\(index)-\(number)", op: .insert,
              columns: [JSONMember("title", .string("t"))]))
        }
      }
    }
    for thread in threads { thread.join() }
    #expect(try fixture.engine.outboxDepth() == 400)
    #expect(try fixture.sql("SELECT count(*) FROM todos") == ["400"])
  }
}
