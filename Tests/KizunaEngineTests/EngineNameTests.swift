import Testing

@testable import KizunaEngine

/// SQLite folds ASCII case and keeps some names for itself: every name of the configuration works all the same.
@Suite struct EngineNameTests {
  @Test(arguments: [
    ["todos", "Todos", "TODOS"], ["sqlite_master", "sqlite_x"], ["_kizunasync_outbox", "_KIZUNASYNC_meta"],
    ["a b", "a\"b", "a'b", "select", "ünï"], ["json_each", "pragma_table_info"],
    ["todos_2", "todos", "Todos"], ["\u{e9}", "e\u{301}"],
  ]) func tablesOfAnyNameAreApart(names: [String]) throws {
    let fixture = try EngineFixture(names.map { ($0, EngineFixture.table(["id": "text", "v": "text"])) })
    for (index, name) in names.enumerated() {
      try fixture.insert(name, #"[{"id":"\#(index)","v":"\#(index)"}]"#)
    }
    for (index, name) in names.enumerated() {
      #expect(try fixture.rows(name) == #"[{"id":"\#(index)","v":"\#(index)"}]"#)
      #expect(
        fixture.applyWhere(.delete, name, #"[{"kind":"eq","column":"v","value":"\#(index)"}]"#) == "\(index)")
    }
    #expect(try fixture.engine.outboxDepth() == names.count * 2)
  }

  @Test(arguments: [false, true]) func columnsOfAnyNameAreApart(learns: Bool) throws {
    let names = [
      "A", "a", "a_2", "rowid", "oid", "_rowid_", "ROWID", "rowid_2", "sqlite_x", "_kizunasync_position",
      "_kizunasync_row", "key", "value", "a\\\"b", "\u{e9}", "e\u{301}", "select", "a b", "json", "atom",
    ]
    let plain = names.map { $0.replacing("\\\"", with: "\"") }
    var table = EngineConfiguration.Table()
    if !learns {
      table.columns = [(name: "id", declaration: "text")] + plain.map { (name: $0, declaration: "text") }
    }
    let fixture = try EngineFixture([("t", table)])
    let members = names.enumerated().map { #""\#($1)":"\#($0)""# }.joined(separator: ",")
    let row = #"{"id":"x",\#(members)}"#
    let schema = try #require(fixture.engine.catalog.table("t"))
    var plan = WritePlan(
      schema,
      .insert(
        columns: ["id"] + plain, rows: [[.string("x")] + plain.indices.map { .string(String($0)) }], .refuse),
      writeId: UUIDText.v7())
    plan.returnsRows = true
    #expect(String(decoding: try fixture.engine.write(plan).body, as: UTF8.self) == "[\(row)]")
    #expect(try fixture.rows("t") == "[\(row)]")
    for (index, name) in names.enumerated() {
      let filter = #"[{"kind":"eq","column":"\#(name)","value":"\#(index)"}]"#
      #expect(
        try fixture.rows("t", #"{"filters":\#(filter),"projection":"id"}"#) == #"[{"id":"x"}]"#, "\(name)")
      #expect(fixture.applyWhere(.update, "t", filter, #"{"\#(name)":"new"}"#) == "x", "\(name)")
    }
    #expect(try fixture.rows("t").components("new") == names.count)
  }
}

extension String {
  fileprivate func components(_ word: String) -> Int { split(separator: "\"\(word)\"").count - 1 }
}
