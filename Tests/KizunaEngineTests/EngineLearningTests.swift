import Testing

@testable import KizunaEngine

@Suite struct EngineLearningTests {
  private static func fixture() throws -> EngineFixture {
    try EngineFixture([("t", EngineConfiguration.Table())])
  }

  private static func type(_ fixture: EngineFixture, _ column: String) -> String {
    guard case .learnt(let type)? = fixture.engine.catalog.table("t")?.column(column)?.type else {
      return "?"
    }
    return type?.rawValue ?? "none"
  }

  @Test func typesWidenWithTheValues() throws {
    let fixture = try Self.fixture()
    let steps: [(String, String)] = [
      ("null", "none"), ("1", "integer"), ("1.5", "number"), ("2", "number"), (#""x""#, "json"),
      ("3", "json"),
    ]
    for (number, step) in steps.enumerated() {
      #expect(fixture.apply(.insert, "t", "a\(number)", #"{"v":\#(step.0)}"#) == "-")
      #expect(Self.type(fixture, "v") == step.1, "\(step.0)")
    }
    #expect(
      try fixture.rows("t", #"{"projection":"v"}"#)
        == #"[{"v":null},{"v":1},{"v":1.5},{"v":2},{"v":"x"},{"v":3}]"#)
  }

  @Test func aRefusedWriteTeachesNothing() throws {
    let fixture = try Self.fixture()
    #expect(fixture.apply(.insert, "t", "a", #"{"v":1}"#) == "-")
    let version = fixture.engine.catalog.version
    #expect(fixture.apply(.insert, "t", "a", #"{"v":"x","new":1}"#) == "LOCAL_CONSTRAINT/23505")
    #expect(fixture.apply(.delete, "t", "a", #"{"carried":1}"#) == "-")
    #expect(fixture.engine.catalog.version == version)
    #expect(Self.type(fixture, "v") == "integer")
    #expect(Self.type(fixture, "new") == "?")
    #expect(Self.type(fixture, "carried") == "?")
    #expect(fixture.apply(.insert, "t", "a", #"{"new":true}"#) == "-")
    #expect(Self.type(fixture, "new") == "boolean")
  }

  @Test func transformsTeachTheirColumns() throws {
    let fixture = try Self.fixture()
    #expect(fixture.apply(.insert, "t", "a", "{}") == "-")
    #expect(
      fixture.apply(
        .update, "t", "a",
        transforms: #"{"n":{"op":"increment","by":2},"l":{"op":"arrayUnion","values":["x"]}}"#) == "-")
    #expect(
      fixture.applyWhere(
        .update, "t", #"[{"kind":"eq","column":"id","value":"a"}]"#,
        transforms: #"{"m":{"op":"increment","by":3}}"#)
        == "a")
    #expect(try fixture.rows("t") == #"[{"id":"a","n":2,"l":["x"],"m":3}]"#)
    #expect(["n", "l", "m"].map { Self.type(fixture, $0) } == ["integer", "json", "integer"])
  }

  @Test func sevenAndItsTextAreOneKey() throws {
    let fixture = try Self.fixture()
    try fixture.insert("t", #"[{"id":7,"v":1}]"#)
    try fixture.insert("t", #"[{"id":"8","v":1}]"#)
    #expect(fixture.apply(.update, "t", "7", #"{"v":2}"#) == "-")
    #expect(fixture.apply(.update, "t", "8", #"{"v":2}"#) == "-")
    #expect(fixture.apply(.insert, "t", nil, #"{"id":"7"}"#) == "LOCAL_CONSTRAINT/23505")
    #expect(fixture.apply(.insert, "t", nil, #"{"id":8}"#) == "LOCAL_CONSTRAINT/23505")
    #expect(fixture.apply(.insert, "t", nil, #"{"id":"08"}"#) == "-")
    #expect(fixture.apply(.insert, "t", "7b", #"{"id":"7b"}"#) == "-")
    #expect(fixture.apply(.insert, "t", "9", #"{"id":9}"#) == "-")
    #expect(fixture.apply(.insert, "t", "10", #"{"id":9}"#) == "LOCAL_CONSTRAINT")
    #expect(fixture.apply(.delete, "t", "7b") == "-")
    #expect(fixture.apply(.delete, "t", "9") == "-")
    #expect(try fixture.rows("t") == #"[{"id":7,"v":2},{"id":"08","v":null},{"id":"8","v":2}]"#)
    #expect(fixture.apply(.delete, "t", "7") == "-")
    #expect(fixture.apply(.delete, "t", "8") == "-")
    #expect(try fixture.rows("t") == #"[{"id":"08","v":null}]"#)
  }

  @Test func anUnknownColumnReadsAsNull() throws {
    let fixture = try Self.fixture()
    try fixture.insert("t", #"[{"id":"a"}]"#)
    #expect(
      try fixture.rows("t", #"{"filters":[{"kind":"is","column":"w","value":null}],"projection":"id,w"}"#)
        == #"[{"id":"a","w":null}]"#)
    #expect(try fixture.rows("t", #"{"filters":[{"kind":"eq","column":"w","value":1}]}"#) == "[]")
    #expect(try fixture.rows("t", #"{"orders":[{"column":"w"}]}"#) == #"[{"id":"a"}]"#)
  }
}

@Suite struct EngineLimitTests {
  @Test func aListOf100000ValuesIsFine() throws {
    let fixture = try EngineFixture([("t", EngineFixture.table(["id": "text", "n": "integer"]))])
    try fixture.insert("t", #"[{"id":"a","n":99999},{"id":"b","n":100001}]"#)
    let schema = try #require(fixture.engine.catalog.table("t"))
    let numbers = Filter.test(ColumnPath("n"), .inList((0..<100_000).map { .literal(String($0)) }))
    let texts = Filter.test(
      ColumnPath("id"), .inList((0..<100_000).map { .literal("k\($0)") } + [.literal("b")]))
    for (filter, key) in [(numbers, "a"), (texts, "b"), (.not(numbers), "b")] {
      var plan = WritePlan(schema, .delete(filter), writeId: UUIDText.v7())
      plan.dryRun = true
      #expect(try fixture.engine.write(plan).keys == [key])
    }
  }

  @Test func aTreeOf5000NodesIsFine() throws {
    let fixture = try EngineFixture([("t", EngineFixture.table(["id": "text", "n": "integer"]))])
    try fixture.insert("t", #"[{"id":"a","n":4999},{"id":"b","n":5001}]"#)
    func tests(_ comparison: Comparison) -> [Filter] {
      (0..<5000).map { .test(ColumnPath("n"), .compare(comparison, .literal(String($0)))) }
    }
    let schema = try #require(fixture.engine.catalog.table("t"))
    for (filter, key) in [(Filter.or(tests(.eq)), "a"), (.and(tests(.neq)), "b")] {
      var plan = WritePlan(schema, .delete(filter), writeId: UUIDText.v7())
      plan.dryRun = true
      #expect(try fixture.engine.write(plan).keys == [key])
    }
    let nodes = (0..<5000).map { #"{"kind":"eq","column":"n","value":\#($0)}"# }.joined(separator: ",")
    #expect(fixture.applyWhere(.delete, "t", #"[{"kind":"or","filters":[\#(nodes)]}]"#) == "a")
  }

  @Test(arguments: [true, false]) func aTableOf1000ColumnsIsFine(learns: Bool) throws {
    let names = (1..<1000).map { "c\($0)" }
    var table = EngineConfiguration.Table()
    if !learns {
      table.columns = [(name: "id", declaration: "text")] + names.map { (name: $0, declaration: "integer") }
    }
    let fixture = try EngineFixture([("t", table)])
    let row = #"{"id":"a",\#(names.map { #""\#($0)":1"# }.joined(separator: ","))}"#
    try fixture.insert("t", "[\(row)]")
    #expect(try fixture.rows("t") == "[\(row)]")
    #expect(
      fixture.applyWhere(.update, "t", #"[{"kind":"eq","column":"c999","value":1}]"#, #"{"c999":2}"#) == "a")
    #expect(try fixture.rows("t", #"{"projection":"c999"}"#) == #"[{"c999":2}]"#)
    #expect(fixture.applyWhere(.delete, "t", #"[{"kind":"search","query":"2"}]"#) == "a")
    if learns { #expect(fixture.apply(.insert, "t", "b", #"{"c1000":1}"#) == "LOCAL_CONSTRAINT/54011") }
  }

  private static func nested(_ levels: Int, _ wrap: (Int, String) -> String) -> String {
    (0..<levels).reduce(#"{"kind":"eq","column":"id","value":"a"}"#) { wrap($1, $0) }
  }

  @Test func negationsAndChainsNestAsDeeplyAsTheyLike() throws {
    let fixture = try EngineFixture([("t", EngineFixture.table(["id": "text", "n": "integer"]))])
    let other = #"{"kind":"eq","column":"n","value":1}"#
    let filters = [
      Self.nested(100) { #"{"kind":"not","filter":\#($1)}"# },
      Self.nested(100) { #"{"kind":"and","filters":[\#(other),\#($1)]}"# },
      Self.nested(19) { level, inner in
        #"{"kind":"\#(level % 2 == 0 ? "and" : "or")","filters":[\#(other),\#(inner)]}"#
      },
    ]
    for filter in filters {
      try fixture.insert("t", #"[{"id":"a","n":1}]"#)
      #expect(fixture.applyWhere(.delete, "t", "[\(filter)]") == "a")
      _ = try fixture.engine.query(
        table: "t", plan: fixture.json(#"{"filters":[\#(filter)],"count":"exact"}"#))
    }
    let tooDeep = [
      Self.nested(200) { #"{"kind":"not","filter":\#($1)}"# },
      Self.nested(100) { level, inner in
        #"{"kind":"\#(level % 2 == 0 ? "and" : "or")","filters":[\#(other),\#(inner)]}"#
      },
    ]
    for filter in tooDeep {
      #expect(fixture.applyWhere(.delete, "t", "[\(filter)]").hasPrefix("LOCAL_UNSUPPORTED"))
    }
  }

  @Test func theDeepestNestingHoldsEveryKindOfTest() throws {
    let typed = EngineFixture.table(["id": "text", "n": "integer", "e": "enum('a','b')", "gone": "text"]) {
      $0.softDeleteColumn = "gone"
    }
    var learning = EngineConfiguration.Table()
    learning.softDeleteColumn = "gone"
    let tests = [
      #"{"kind":"search","query":"a"}"#, #"{"kind":"gt","column":"e","value":"a"}"#,
      #"{"kind":"search","query":"a","columns":["id","n"]}"#,
      #"{"kind":"regexMatch","column":"n","pattern":"a"}"#,
      #"{"kind":"in","column":"n","values":[\#((0..<100).map(String.init).joined(separator: ","))]}"#,
      #"{"kind":"isDistinct","column":"n","value":1}"#, #"{"kind":"is","column":"n","value":true}"#,
      #"{"kind":"textSearch","column":"id","query":"a"}"#, #"{"kind":"gt","column":"n","value":1}"#,
    ]
    for table in [typed, learning] {
      let fixture = try EngineFixture([("t", table)])
      try fixture.insert("t", #"[{"id":"a","n":1,"e":"a","gone":null}]"#)
      let schema = try #require(fixture.engine.catalog.table("t"))
      for test in tests {
        for levels in 16...24 {
          let filter = (0..<levels).reduce(#"{"kind":"not","filter":\#(test)}"#) { inner, level in
            #"{"kind":"\#(level % 2 == 0 ? "and" : "or")","filters":[{"kind":"eq","column":"n","value":1},\#(inner)]}"#
          }
          let code = EngineFixture.code {
            var plan = ReadPlan(schema)
            plan.filter = try Filter(nodes: fixture.json("[\(filter)]"), table: schema)
            plan.wantsCount = true
            let session = try fixture.engine.makeSession()
            let read = try session.prepare(plan, format: .array(stripNulls: false), matchesAnyText: true)
            try session.stream(read, timeoutSeconds: 10, start: { _ in }, write: { _ in true })
          }
          #expect(code == "-" || levels > 18 && code == "LOCAL_UNSUPPORTED/PGRST100", "\(levels) \(test)")
        }
      }
    }
  }

  @Test func aNegationKeepsTheThirdValue() throws {
    let fixture = try EngineFixture([
      ("t", EngineFixture.table(["id": "text", "n": "integer", "m": "integer"]))
    ])
    try fixture.insert(
      "t",
      #"[{"id":"a","n":1,"m":null},{"id":"b","n":2,"m":null},{"id":"c","n":1,"m":3},{"id":"d","n":2,"m":4}]"#)
    let n = #"{"kind":"eq","column":"n","value":1}"#
    let m = #"{"kind":"eq","column":"m","value":3}"#
    let rows: [(String, String)] = [
      (#"{"kind":"not","filter":{"kind":"and","filters":[\#(n),\#(m)]}}"#, "b,d"),
      (#"{"kind":"not","filter":{"kind":"or","filters":[\#(n),\#(m)]}}"#, "d"),
      (#"{"kind":"not","filter":{"kind":"not","filter":{"kind":"or","filters":[\#(n),\#(m)]}}}"#, "a,c"),
      (#"{"kind":"not","filter":{"kind":"and","filters":[{"kind":"not","filter":\#(m)},\#(n)]}}"#, "b,c,d"),
      (#"{"kind":"not","filter":{"kind":"search","query":"4"}}"#, "a,b,c"),
      (#"{"kind":"not","filter":{"kind":"in","column":"m","values":[3,null]}}"#, ""),
    ]
    for (filter, keys) in rows {
      let found = try fixture.engine.query(table: "t", plan: fixture.json(#"{"filters":[\#(filter)]}"#))
      #expect(found.elements?.compactMap { $0["id"]?.text }.joined(separator: ",") == keys, "\(filter)")
    }
  }
}
