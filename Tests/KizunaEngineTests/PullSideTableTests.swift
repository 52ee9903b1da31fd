import Testing

@testable import KizunaEngine

/// What the tables are like once a side table has taken their place, or its rows have gone into them.
struct PullSideTableTests {
  private static func todos(_ change: (inout EngineConfiguration.Table) -> Void = { _ in })
    -> EngineConfiguration.Table
  {
    EngineFixture.table(["id": "text", "title": "text", "n": "integer"]) { table in
      table.indexes = [["title"], ["title", "n"]]
      change(&table)
    }
  }

  private func entry(_ id: String, _ seq: Int, _ title: String = "t") -> String {
    #"todos \#(id) \#(seq) {"id":"\#(id)","title":"\#(title)","n":\#(seq)}"#
  }

  private func rehydrate(_ fixture: PullFixture, _ cursor: String, _ entries: String...) {
    fixture.script.signal("CHECKPOINT_EXPIRED")
    fixture.script.then(PullScript.text(cursor, entries))
    #expect(fixture.pullAll() == "-")
  }

  private static let indexNames =
    "SELECT count(*), sum(tbl_name = 'todos') FROM sqlite_schema WHERE type = 'index' AND name LIKE '%\\_index\\_%' ESCAPE '\\'"

  @Test func indexesSurviveEverySwapAndReopening() throws {
    let fixture = try PullFixture([("todos", Self.todos())])
    fixture.script.page("1", entry("a", 1))
    fixture.pull()
    for round in 2...4 {
      rehydrate(fixture, "\(round)", entry("b\(round)", round))
      #expect(fixture.sql(Self.indexNames) == ["2|2"])
      #expect(fixture.keys("todos") == "b\(round)")
    }
    let plan = fixture.sql("EXPLAIN QUERY PLAN SELECT * FROM todos WHERE title = 'x'")
    #expect(plan.first?.contains("USING INDEX") == true)
    try fixture.reopen()
    #expect(fixture.sql(Self.indexNames) == ["2|2"])
    try fixture.reopen { $0.tables[0].table.indexes = [["n"]] }
    #expect(fixture.sql(Self.indexNames) == ["1|1"])
    #expect(fixture.sql("PRAGMA integrity_check") == ["ok"])
  }

  @Test func viewsIndexesAndTriggersOfOthersStay() throws {
    let fixture = try PullFixture([("todos", Self.todos()), ("notes", Self.todos())])
    _ = fixture.sql("CREATE VIEW titles AS SELECT title FROM todos")
    _ = fixture.sql("CREATE INDEX mine ON notes(n)")
    fixture.script.page("1", entry("a", 1, "one"))
    fixture.pull()
    rehydrate(fixture, "3", entry("b", 2, "two"), #"notes x 3 {"id":"x","title":"note","n":1}"#)
    #expect(fixture.sql("SELECT title FROM titles") == ["two"])
    #expect(fixture.sql("SELECT tbl_name FROM sqlite_schema WHERE name = 'mine'") == ["notes"])
    #expect(fixture.keys("notes") == "x")
  }

  @Test func deviceColumnsKeepTheirValues() throws {
    let table = EngineFixture.table(["id": "text", "title": "text", "seen": "boolean"])
    let fixture = try PullFixture([("todos", table)]) { $0.remote?.localOnlyColumns = ["seen"] }
    fixture.script.page(
      "3", #"todos a 1 {"id":"a","title":"A"}"#, #"todos b 2 {"id":"b","title":"B"}"#,
      #"todos c 3 {"id":"c","title":"C"}"#)
    fixture.pull()
    for id in ["a", "b", "c"] { fixture.apply(.update, "todos", id, #"{"seen":true}"#) }
    fixture.apply(.update, "todos", "b", #"{"title":"mine"}"#)
    fixture.script.page("3:4", more: true, #"todos a 4 {"id":"a","title":"A2"}"#)
    fixture.script.page("5", #"todos b 5 {"id":"b","title":"B2"}"#)
    #expect(fixture.pullAll() == "-")
    let rows =
      #"[{"id":"a","title":"A2","seen":true},{"id":"b","title":"mine","seen":true},{"id":"c","title":"C","seen":true}]"#
    #expect(fixture.rows("todos") == rows)
    rehydrate(
      fixture, "9", #"todos a 4 {"id":"a","title":"A2"}"#, #"todos b 5 {"id":"b","title":"B2"}"#,
      #"todos c 3 {"id":"c","title":"C"}"#)
    #expect(fixture.rows("todos") == rows)
    rehydrate(fixture, "10", #"todos c 3 {"id":"c","title":"C"}"#)
    #expect(fixture.rows("todos") == #"[{"id":"c","title":"C","seen":true}]"#)
  }

  @Test func columnsThatTheConfigurationDroppedStayInTheFile() throws {
    let fixture = try PullFixture([("todos", Self.todos())])
    fixture.script.page("1", entry("a", 1))
    fixture.pull()
    try fixture.reopen {
      $0.tables[0].table.columns?.removeLast()
      $0.tables[0].table.indexes = []
    }
    rehydrate(fixture, "2", entry("a", 1))
    #expect(fixture.sql("SELECT name FROM pragma_table_info('todos')") == ["id", "title", "n"])
    try fixture.reopen { $0.tables[0].table.columns?.append((name: "n", declaration: "integer")) }
    #expect(fixture.keys("todos") == "a")
  }

  @Test(arguments: [true, false])
  func columnsAreLearntFromPages(isBootstrap: Bool) throws {
    var table = EngineConfiguration.Table()
    table.key = ["id"]
    let fixture = try PullFixture([("things", table)])
    if !isBootstrap {
      fixture.script.page("1", #"things 0 1 {"id":0}"#)
      fixture.pull()
    }
    fixture.script.page("1:2", more: true, #"things 7 2 {"id":7,"name":"x"}"#)
    fixture.script.page("1:3", more: true, #"things 8 3 {"id":8,"tags":["a"],"done":true}"#)
    fixture.script.page("4", #"things 9 4 {"id":9,"price":1.50}"#)
    #expect(fixture.pull() == "-")
    fixture.apply(.insert, "things", "5", #"{"mine":1}"#)
    #expect(fixture.pullAll() == "-")
    let rows = fixture.rows("things")
    #expect(rows.contains(#""tags":["a"],"done":true"#))
    #expect(fixture.keys("things") == (isBootstrap ? "5,7,8,9" : "0,5,7,8,9"))
    #expect(fixture.depth == 1)
    fixture.script.page("4:5", more: true, "things 8 5")
    fixture.script.page("6", #"things 7 6 {"id":7,"name":"y"}"#)
    #expect(fixture.pullAll() == "-")
    #expect(fixture.keys("things") == (isBootstrap ? "5,7,9" : "0,5,7,9"))
  }

  @Test func aLearntKeyHasOneRowInEitherForm() throws {
    var table = EngineConfiguration.Table()
    table.key = ["id"]
    let fixture = try PullFixture([("things", table)])
    fixture.script.page("1", #"things 7 1 {"id":"7","name":"text"}"#)
    fixture.pull()
    fixture.script.page("1:2", more: true, #"things 7 2 {"id":7,"name":"number"}"#)
    fixture.script.page("3", #"things 8 3 {"id":8,"name":"x"}"#)
    fixture.pullAll()
    #expect(fixture.sql("SELECT count(*) FROM things") == ["2"])
  }

  @Test func readersGoOnWhileTheTableIsReplaced() throws {
    let fixture = try PullFixture([("todos", Self.todos())])
    fixture.script.page("1", entry("a", 1))
    fixture.pull()
    let session = try fixture.engine.makeSession()
    let schema = try #require(fixture.engine.catalog.table("todos"))
    func read(_ prepared: PreparedRead) throws -> String {
      var buffer = ByteBuffer()
      _ = try session.run(prepared, into: &buffer, budget: .init(milliseconds: 5000, bytes: .max))
      return buffer.string
    }
    let prepared = try session.prepare(ReadPlan(schema), format: .array(stripNulls: false))
    #expect(try read(prepared).contains(#""id":"a""#))
    rehydrate(fixture, "2", entry("b", 2))
    #expect(try read(prepared) == #"[{"id":"b","title":"t","n":2}]"#)
  }

  @Test func aStoreFaultAtTheCloseKeepsWhatIsStaged() throws {
    let fixture = try PullFixture([("todos", Self.todos())])
    fixture.script.page("1", entry("a", 1))
    fixture.pull()
    fixture.script.page("1:2", more: true, entry("b", 2))
    fixture.pull()
    _ = fixture.sql(
      "CREATE TEMP TRIGGER broken BEFORE INSERT ON todos BEGIN SELECT raise(ABORT, 'disk'); END")
    fixture.script.page("3", entry("c", 3))
    #expect(fixture.pull() == "STORE/XX000")
    #expect(fixture.keys("todos") == "a")
    #expect(fixture.cursor == "1")
    _ = fixture.sql("DROP TRIGGER broken")
    fixture.script.page("3", entry("c", 3))
    #expect(fixture.pull() == "-")
    #expect(fixture.script.cursors == ["0", "1", "1:2", "1:2"])
    #expect(fixture.keys("todos") == "a,b,c")
    #expect(fixture.leftovers == [])
  }

  @Test func aLargeSinglePageIsStagedAndShownAtOnce() throws {
    let fixture = try PullFixture([("todos", Self.todos())])
    let entries = (1...5000).map { entry("r\($0)", $0) }
    fixture.script.then(PullScript.text("5000", entries))
    #expect(fixture.pull() == "-")
    #expect(fixture.sql("SELECT count(*), sum(n) FROM todos") == ["5000|12502500"])
    fixture.script.then(PullScript.text("9000", (1...3000).map { "todos r\($0) \($0 + 5000)" }))
    #expect(fixture.pull() == "-")
    #expect(fixture.sql("SELECT count(*) FROM todos") == ["2000"])
    #expect(fixture.leftovers == [])
    rehydrate(fixture, "9001", entry("only", 9001))
    #expect(fixture.keys("todos") == "only")
    #expect(fixture.sql("PRAGMA integrity_check") == ["ok"])
  }

  /// So much changes that the table is made anew beside the old one.
  @Test(arguments: [true, false])
  func aLargeIncrementIsShownAtOnceAndPendingRowsStayOnTop(isLearning: Bool) throws {
    var table = Self.todos()
    if isLearning { table.columns = nil }
    let fixture = try PullFixture([("todos", table)])
    let old = #"todos old 1 {"id":"old","title":"kept","n":1}"#
    fixture.script.then(PullScript.text("2", [old] + (1...13000).map { entry("r\($0)", $0) }))
    #expect(fixture.pull() == "-")
    fixture.apply(.update, "todos", "r1", #"{"title":"mine"}"#)
    fixture.apply(.update, "todos", "old", #"{"title":"mine too"}"#)
    fixture.apply(.delete, "todos", "r2")
    fixture.script.then(
      PullScript.text("2:9", more: true, (1...12000).map { entry("r\($0)", $0 + 10000, "new") }))
    fixture.script.page("10", entry("r12001", 30000, "new"), "todos r12002 30001", entry("more", 30002))
    #expect(fixture.pull() == "-")
    fixture.apply(.insert, "todos", "mine", #"{"title":"mine"}"#)
    #expect(fixture.keys("todos").hasPrefix("mine,old,r1,r10,"))
    #expect(fixture.pullAll() == "-")
    #expect(
      fixture.sql("SELECT title, count(*) FROM todos GROUP BY title ORDER BY title")
        == ["mine|2", "mine too|1", "new|11999", "t|999"])
    #expect(
      fixture.sql("SELECT n FROM todos WHERE id IN ('r1', 'r3', 'r12002') ORDER BY id") == ["10001", "10003"])
    #expect(fixture.sql("SELECT pk FROM _kizunasync_server_tombstones") == ["r12002"])
    #expect(fixture.depth == 4)
    #expect(fixture.leftovers == [])
    #expect(fixture.sql("PRAGMA integrity_check") == ["ok"])
  }

  @Test func aStoreFaultAtTheCloseOfAReplacingTransferKeepsWhatIsStaged() throws {
    let fixture = try PullFixture([("todos", Self.todos()), ("notes", Self.todos())])
    fixture.script.page("1", entry("a", 1), #"notes x 1 {"id":"x","title":"t","n":1}"#)
    fixture.pull()
    fixture.script.signal("CHECKPOINT_EXPIRED")
    fixture.script.page("0:2", more: true, entry("b", 2))
    fixture.pull()
    fixture.pull()
    let broken =
      "CREATE TEMP TRIGGER broken BEFORE DELETE ON _kizunasync_meta BEGIN SELECT raise(ABORT, 'disk'); END"
    _ = fixture.sql(broken)
    fixture.script.page("3", entry("c", 3))
    #expect(fixture.pull() == "STORE/XX000")
    #expect(fixture.keys("todos") == "a")
    #expect(fixture.keys("notes") == "x")
    _ = fixture.sql("DROP TRIGGER broken")
    fixture.script.page("3", entry("c", 3))
    #expect(fixture.pull() == "-")
    #expect(fixture.script.cursors == ["0", "1", "0", "0:2", "0:2"])
    #expect(fixture.keys("todos") == "b,c")
    #expect(fixture.rows("notes") == "[]")
    #expect(fixture.leftovers == [])
  }
}
