import Testing

@testable import KizunaEngine

@Suite struct EngineApplyTests {
  private static let soft = EngineFixture.table(["id": "text", "t": "text", "gone": "timestamptz"]) {
    $0.softDeleteColumn = "gone"
  }
  private static let pulled = EngineFixture.table(["id": "text"]) { $0.syncMode = .pullOnly }
  private static let pair = EngineFixture.table(
    ["org": "uuid", "n": "integer", "v": "text"], key: ["org", "n"])
  private static let uuid = "ABCDEF00-0000-4000-8000-00000000000A"
  private static let lower = "abcdef00-0000-4000-8000-00000000000a"

  private static func fixture() throws -> EngineFixture {
    try EngineFixture([
      ("todos", EngineFixture.todos), ("soft", soft), ("pulled", pulled), ("pair", pair),
      ("items", EngineFixture.table(["id": "uuid", "v": "text"])),
    ])
  }

  @Test func theFirstFailedCheckSpeaksAndNothingIsWritten() throws {
    let fixture = try Self.fixture()
    #expect(fixture.apply(.insert, "todos", "a", #"{"title":"A"}"#, id: Self.uuid) == "-")
    let events = EventLog(fixture.engine)
    let rows: [(String, String)] = [
      ("LOCAL_UNSUPPORTED", fixture.apply(.update, "", "a")),
      ("LOCAL_UNSUPPORTED", fixture.apply(.update, "nope", "")),
      ("LOCAL_UNSUPPORTED", fixture.apply(.update, "nope", nil)),
      ("LOCAL_UNSUPPORTED", fixture.apply(.delete, "soft", "")),
      ("UNKNOWN_TABLE/PGRST205", fixture.apply(.update, "nope", "a")),
      ("LOCAL_UNSUPPORTED", fixture.apply(.insert, "pulled", "a")),
      ("LOCAL_UNSUPPORTED", fixture.apply(.delete, "pulled", "a")),
      ("SOFT_DELETE_VIOLATION", fixture.apply(.delete, "soft", "never there", id: Self.uuid)),
      ("LOCAL_CONSTRAINT/428C9", fixture.apply(.update, "todos", "a", #"{"id":"a"}"#, id: Self.uuid)),
      ("LOCAL_CONSTRAINT/428C9", fixture.apply(.update, "todos", "zz", #"{"id":"zz"}"#)),
      (
        "LOCAL_CONSTRAINT/428C9",
        fixture.apply(.update, "todos", "a", transforms: #"{"id":{"op":"increment","by":1}}"#)
      ),
      ("LOCAL_CONSTRAINT", fixture.apply(.insert, "todos", "b", #"{"id":"c","title":"x"}"#)),
      ("LOCAL_CONSTRAINT", fixture.apply(.insert, "todos", "b", #"{"id":null,"title":"x"}"#)),
      ("LOCAL_CONSTRAINT", fixture.apply(.insert, "todos", nil, #"{"id":"","title":"x"}"#)),
      ("LOCAL_CONSTRAINT/23502", fixture.apply(.insert, "todos", nil, #"{"id":null,"title":"x"}"#)),
      ("LOCAL_CONSTRAINT", fixture.apply(.delete, "pair", #"["1"]"#)),
      ("LOCAL_CONSTRAINT", fixture.apply(.delete, "pair", "1")),
      ("LOCAL_CONSTRAINT/22P02", fixture.apply(.delete, "pair", #"["no uuid", "1"]"#)),
      ("LOCAL_CONSTRAINT", fixture.apply(.update, "todos", "a", #"{"n":1}"#, id: Self.uuid)),
      ("LOCAL_CONSTRAINT", fixture.apply(.delete, "todos", "b", id: Self.lower)),
      ("LOCAL_CONSTRAINT/22P02", fixture.apply(.delete, "todos", "b", id: "no uuid")),
      ("LOCAL_CONSTRAINT/22P02", fixture.apply(.update, "todos", "a", #"{"n":"abc"}"#)),
      ("LOCAL_CONSTRAINT/22P05", fixture.apply(.update, "todos", "a", #"{"title":"a\u0000b"}"#)),
      ("LOCAL_CONSTRAINT/PGRST204", fixture.apply(.update, "todos", "a", #"{"nope":1}"#)),
      ("LOCAL_CONSTRAINT/23502", fixture.apply(.update, "todos", "a", #"{"title":null}"#)),
      ("LOCAL_CONSTRAINT/23505", fixture.apply(.insert, "todos", "a", #"{"title":"x"}"#)),
      (
        "LOCAL_CONSTRAINT",
        fixture.apply(.delete, "todos", "a", transforms: #"{"n":{"op":"increment","by":1}}"#)
      ),
      ("LOCAL_CONSTRAINT", fixture.apply(.insert, "todos", "b", #"{"title":"x"}"#, transforms: #"{"n":1}"#)),
      ("JSON", fixture.apply(.update, "todos", "a", #"{"n":1}"#, precondition: "[]")),
      (
        "LOCAL_CONSTRAINT/22P02",
        fixture.apply(.update, "todos", "a", #"{"n":1}"#, precondition: #"{"n":"x"}"#)
      ),
    ]
    for (index, row) in rows.enumerated() { #expect(row.1 == row.0, "row \(index)") }
    #expect(fixture.outbox() == [#"insert|a|{"title":"A"}"#])
    #expect(try fixture.rows("todos") == #"[{"id":"a","list_id":null,"title":"A","done":null,"n":null}]"#)
    #expect(try fixture.sql("SELECT count(*) FROM _kizunasync_tombstones") == ["0"])
    #expect(events.finish() == [])
  }

  @Test func anInsertMintsKeepsAndSpellsItsKey() throws {
    let fixture = try Self.fixture()
    #expect(fixture.apply(.insert, "items", nil, #"{"v":"minted"}"#) == "-")
    #expect(fixture.apply(.insert, "items", Self.uuid, #"{"v":"given"}"#) == "-")
    let outbox = fixture.outbox()
    let minted = try #require(try fixture.sql("SELECT pk FROM _kizunasync_outbox WHERE seq = 1").first)
    #expect(RowKey.isUUIDShaped(minted) && minted == minted.lowercased())
    #expect(outbox[0] == #"insert|\#(minted)|{"id":"\#(minted)","v":"minted"}"#)
    #expect(outbox[1] == #"insert|\#(Self.lower)|{"v":"given"}"#)
    #expect(
      fixture.apply(.insert, "items", Self.uuid, #"{"id":"\#(Self.lower)"}"#) == "LOCAL_CONSTRAINT/23505")
    #expect(
      fixture.apply(.insert, "todos", nil, #"{"id":"\#(Self.uuid)","list_id":"\#(Self.uuid)","title":"t"}"#)
        == "-")
    #expect(
      fixture.outbox()[2]
        == #"insert|\#(Self.lower)|{"id":"\#(Self.lower)","list_id":"\#(Self.uuid)","title":"t"}"#)
  }

  @Test func aCompositeKeyIsRespelt() throws {
    let fixture = try Self.fixture()
    #expect(fixture.apply(.insert, "pair", nil, #"{"org":"\#(Self.uuid)","n":7,"v":"x"}"#) == "-")
    #expect(fixture.apply(.update, "pair", #"["\#(Self.uuid)",7]"#, #"{"v":"y"}"#) == "-")
    #expect(fixture.apply(.update, "pair", #"[ "\#(Self.uuid)" , "7" ]"#, #"{"v":"z"}"#) == "-")
    #expect(try fixture.rows("pair") == #"[{"org":"\#(Self.lower)","n":7,"v":"z"}]"#)
    #expect(try fixture.sql("SELECT DISTINCT pk FROM _kizunasync_outbox") == [#"["\#(Self.lower)", "7"]"#])
    #expect(fixture.apply(.delete, "pair", #"["\#(Self.lower)", "7"]"#) == "-")
    #expect(try fixture.rows("pair") == "[]")
    #expect(fixture.apply(.insert, "pair", nil, #"{"n":7}"#) == "LOCAL_CONSTRAINT/23502")
  }

  @Test func anUpdateOfAnAbsentRowMakesItAndADeleteOfOneQueues() throws {
    let fixture = try Self.fixture()
    #expect(fixture.apply(.delete, "todos", "a") == "-")
    #expect(
      fixture.apply(.update, "todos", "a", #"{"n":1}"#, transforms: #"{"list_id":{"op":"increment","by":2}}"#)
        == "-")
    #expect(try fixture.rows("todos") == #"[{"id":"a","list_id":"2","title":null,"done":null,"n":1}]"#)
    #expect(fixture.outbox() == ["delete|a|{}", #"update|a|{"n":1}"#])
    #expect(try fixture.sql("SELECT pk, origin FROM _kizunasync_tombstones") == ["a|local"])
    #expect(try fixture.sql("SELECT pk, row FROM _kizunasync_base") == ["a|null"])
  }

  @Test func aLocalInsertClearsALocalTombstoneAndNoOther() throws {
    let fixture = try Self.fixture()
    #expect(fixture.apply(.delete, "todos", "a") == "-")
    #expect(fixture.apply(.delete, "todos", "b") == "-")
    _ = try fixture.sql("UPDATE _kizunasync_base SET deleted_at = NULL WHERE pk = 'b'")
    _ = try fixture.sql(
      "INSERT INTO _kizunasync_server_tombstones VALUES('todos', 'b', '2026-01-01 00:00:00.000000')")
    #expect(fixture.apply(.insert, "todos", "a", #"{"title":"A"}"#) == "-")
    #expect(fixture.apply(.insert, "todos", "b", #"{"title":"B"}"#) == "-")
    #expect(try fixture.sql("SELECT pk, origin FROM _kizunasync_tombstones") == ["b|server"])
    #expect(fixture.apply(.delete, "todos", "b") == "-")
    #expect(try fixture.sql("SELECT pk, origin FROM _kizunasync_tombstones") == ["b|server"])
  }

  @Test func theBaseOfARowMadeHereIsAbsentThroughTheWholeChain() throws {
    let fixture = try Self.fixture()
    #expect(fixture.apply(.insert, "todos", "a", #"{"title":"A"}"#) == "-")
    #expect(fixture.apply(.update, "todos", "a", #"{"n":1}"#) == "-")
    #expect(fixture.apply(.delete, "todos", "a") == "-")
    #expect(fixture.apply(.insert, "todos", "a", #"{"title":"again"}"#) == "-")
    #expect(try fixture.sql("SELECT pk, row FROM _kizunasync_base") == ["a|null"])
    #expect(fixture.outbox("op") == ["insert", "update", "delete", "insert"])
  }

  @Test func aPreconditionIsKeptAsItTravels() throws {
    let table = EngineFixture.table([
      "id": "text", "at": "timestamptz", "n": "numeric(10,2)", "f": "boolean", "b": "bigint", "t": "text[]",
    ])
    let fixture = try EngineFixture([("t", table)])
    #expect(
      fixture.apply(
        .update, "t", "a", #"{"f":true}"#,
        precondition:
          #"{"at":"2024-01-01 02:00:00+02","n":"1.5","f":"t","b":9007199254740993,"t":null}"#) == "-")
    #expect(
      fixture.outbox("precondition") == [
        #"{"at":"2024-01-01T00:00:00+00:00","n":"1.50","f":true,"b":"9007199254740993","t":null}"#
      ])
  }

  @Test func aLocalOnlyTableLeavesNothingForTheUpstream() throws {
    let table = EngineFixture.table(["id": "text", "v": "integer"]) { $0.syncMode = .localOnly }
    let fixture = try EngineFixture([("t", table)])
    #expect(fixture.apply(.insert, "t", "a", #"{"v":1}"#) == "-")
    #expect(fixture.apply(.update, "t", "a", #"{"v":2}"#) == "-")
    #expect(fixture.apply(.delete, "t", "a") == "-")
    #expect(fixture.apply(.update, "t", "a", #"{"v":2}"#, precondition: #"{"v":1}"#) == "LOCAL_UNSUPPORTED")
    #expect(fixture.applyWhere(.delete, "t", #"[{"kind":"eq","column":"v","value":9}]"#) == "")
    for name in ["outbox", "base", "tombstones"] {
      #expect(try fixture.sql("SELECT count(*) FROM _kizunasync_\(name)") == ["0"], "\(name)")
    }
  }

  @Test(arguments: [
    ("n", "null", #"{"op":"increment","by":2}"#, "2"), ("n", "5", #"{"op":"increment","by":"-7"}"#, "-2"),
    ("n", "5", #"{"op":"increment","by":null}"#, "5"),
    ("n", "2147483646", #"{"op":"increment","by":1}"#, "2147483647"),
    ("n", "2147483647", #"{"op":"increment","by":1}"#, "2147483648"),
    ("s", #""41""#, #"{"op":"increment","by":1}"#, #""42""#),
    ("s", #""2147483647""#, #"{"op":"increment","by":1}"#, #""2147483648""#),
    ("s", #""99999999999999999999""#, #"{"op":"increment","by":"1"}"#, #""100000000000000000000""#),
    ("s", #""word""#, #"{"op":"increment","by":1}"#, #""word""#),
    ("j", "null", #"{"op":"arrayUnion","values":[1,1,"a"]}"#, #"[1,"a"]"#),
    ("j", #"[1]"#, #"{"op":"arrayUnion","values":[1,2]}"#, "[1,2]"),
    ("j", #"[1,"1",2,1]"#, #"{"op":"arrayRemove","values":[1]}"#, #"["1",2]"#),
    ("j", "null", #"{"op":"arrayRemove","values":[1]}"#, "[]"),
    ("a", #"["x"]"#, #"{"op":"arrayUnion","values":["y"]}"#, #"["x","y"]"#),
    ("a", #"["x","y"]"#, #"{"op":"arrayRemove","values":["x"]}"#, #"["y"]"#),
  ]) func transformsWorkOnTheCell(column: String, cell: String, transform: String, after: String) throws {
    // Without a declaration the sum is a number below 2^31, else a text.
    let sums = ["2147483648": "\"2147483648\"", "\"42\"": "42"]
    let learnt = sums[after] ?? after
    let table = EngineFixture.table(["id": "text", "n": "bigint", "s": "text", "j": "jsonb", "a": "text[]"])
    var learning = EngineConfiguration.Table()
    learning.columns = nil
    for configured in [table, learning] {
      let fixture = try EngineFixture([("t", configured)])
      let insert = cell == "null" ? "{}" : #"{"\#(column)":\#(cell)}"#
      #expect(fixture.apply(.insert, "t", "x", insert) == "-")
      #expect(fixture.apply(.update, "t", "x", transforms: #"{"\#(column)":\#(transform)}"#) == "-")
      let row = try fixture.engine.query(table: "t", plan: fixture.json(#"{"cardinality":"single"}"#))
      let shown = row[column]?.jsonText ?? "absent"
      #expect(shown == (configured.columns == nil ? learnt : after))
      #expect(fixture.outbox("op, columns")[1] == "update|{}")
    }
  }

  @Test(arguments: [
    #"{"n":1}"#, #"{"n":null}"#, #"{"n":{}}"#, #"{"n":{"op":"nope","by":1}}"#, #"{"n":{"op":"increment"}}"#,
    #"{"n":{"op":"increment","by":1.5}}"#, #"{"n":{"op":"increment","by":1.0}}"#,
    #"{"n":{"op":"increment","by":"01"}}"#, #"{"n":{"op":"increment","by":"-0"}}"#,
    #"{"n":{"op":"increment","by":"+1"}}"#, #"{"n":{"op":"increment","by":""}}"#,
    #"{"n":{"op":"increment","by":true}}"#, #"{"n":{"op":"increment","by":[1]}}"#,
    #"{"j":{"op":"arrayUnion"}}"#, #"{"j":{"op":"arrayUnion","values":1}}"#,
    #"{"j":{"op":"arrayRemove","values":[]}}"#, #"{"s":{"op":"arrayUnion","values":[1]}}"#,
    #"{"o":{"op":"arrayRemove","values":[1]}}"#, #"{"s":{"op":"increment","by":1}}"#, "[]", "1",
  ]) func badTransformsAreRefusedBeforeAnythingIsWritten(transforms: String) throws {
    let table = EngineFixture.table(["id": "text", "n": "integer", "s": "text", "j": "jsonb", "o": "jsonb"])
    let fixture = try EngineFixture([("t", table)])
    #expect(fixture.apply(.insert, "t", "x", #"{"n":1,"s":"a","o":{"k":1}}"#) == "-")
    let before = try fixture.rows("t")
    // The column `s` is assigned besides, so an increment of it is one too many.
    let code = fixture.apply(.update, "t", "x", #"{"s":"b"}"#, transforms: transforms)
    #expect(code == "LOCAL_CONSTRAINT")
    #expect(try fixture.rows("t") == before)
    #expect(try fixture.engine.outboxDepth() == 1)
    #expect(
      fixture.applyWhere(
        .update, "t", #"[{"kind":"eq","column":"id","value":"x"}]"#, #"{"s":"b"}"#, transforms: transforms)
        == "LOCAL_CONSTRAINT")
  }

  @Test func transformsTravelAsDeltas() throws {
    let fixture = try EngineFixture([("t", EngineFixture.table(["id": "text", "n": "bigint", "j": "jsonb"]))])
    #expect(
      fixture.apply(
        .update, "t", "x", #"{"j":[1]}"#, transforms: #"{"n":{"op":"increment","by":9999999999}}"#) == "-")
    #expect(
      fixture.outbox("columns, transforms") == [
        #"{"j":[1]}|{"n":{"op":"increment","by":"9999999999"}}"#
      ])
  }

  @Test func oneBatchIsOneTransactionAndOneBatchUpstream() throws {
    let fixture = try Self.fixture()
    let events = EventLog(fixture.engine)
    let good = Mutation(table: "todos", pk: "a", op: .insert, columns: fixture.members(#"{"title":"A"}"#))
    let bad = Mutation(table: "todos", pk: "a", op: .insert, columns: fixture.members(#"{"title":"B"}"#))
    let absent = Mutation(table: "todos", pk: "z", op: .delete)
    #expect(EngineFixture.code { _ = try fixture.engine.batch([good, bad]) } == "LOCAL_CONSTRAINT/23505")
    #expect(try fixture.engine.outboxDepth() == 0)
    #expect(try fixture.engine.batch([good, absent]) == ["a", "z"])
    #expect(
      try fixture.sql("SELECT count(DISTINCT batch_id), count(batch_id) FROM _kizunasync_outbox") == ["1|2"])
    var twice = absent
    twice.mutationId = Self.uuid
    #expect(EngineFixture.code { _ = try fixture.engine.batch([twice, twice]) } == "LOCAL_CONSTRAINT")
    #expect(events.finish() == [.localChanged, .queueDepth(2)])
  }

  @Test func aFailingJobLeavesTheOthersOfItsBatch() throws {
    let fixture = try Self.fixture()
    let engine = fixture.engine
    let schema = try #require(engine.catalog.table("todos"))
    let outcomes = Guarded<[Int: String]>([:])
    // While this job runs the others gather, so that they share one transaction.
    let gate = Lock()
    gate.acquire()
    engine.writer.submit(
      Writer.Job(body: { _ throws(KizunaError) in gate.locked {} }, completion: { _ in }))
    for number in 0..<40 {
      let key = number % 4 == 3 ? "k\(number - 1)" : "k\(number)"
      let plan = WritePlan(
        schema, .insert(columns: ["id", "title"], rows: [[.string(key), .string("t")]], .refuse),
        writeId: UUIDText.v7())
      engine.submit(plan) { result in
        outcomes.with { outcomes in
          switch result {
          case .success(let outcome): outcomes[number] = outcome.keys.joined()
          case .failure(let error): outcomes[number] = error.sqlstate ?? "?"
          }
        }
      }
    }
    gate.release()
    #expect(try engine.outboxDepth() == 30)
    let seen = outcomes.with { $0 }
    for number in 0..<40 { #expect(seen[number] == (number % 4 == 3 ? "23505" : "k\(number)")) }
  }
}
