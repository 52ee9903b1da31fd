import Glibc
import Testing

@testable import KizunaEngine

@Suite struct EngineEventTests {
  @Test func everyWriteRaisesOnePairAndNothingElseDoes() throws {
    let fixture = try EngineFixture([("todos", EngineFixture.todos)])
    let events = EventLog(fixture.engine)
    try fixture.insert("todos", #"[{"id":"a","title":"A"},{"id":"b","title":"B"}]"#)
    #expect(fixture.apply(.insert, "todos", "a", #"{"title":"A"}"#) != "-")
    #expect(fixture.applyWhere(.delete, "todos", #"[{"kind":"eq","column":"id","value":"zz"}]"#) == "")
    let schema = try #require(fixture.engine.catalog.table("todos"))
    var dry = WritePlan(
      schema, .delete(.test(ColumnPath("id"), .compare(.eq, .literal("a")))), writeId: UUIDText.v7())
    dry.dryRun = true
    #expect(try fixture.engine.write(dry).keys == ["a"])
    try fixture.engine.seedCheckpoint("7")
    _ = try fixture.rows("todos")
    #expect(
      fixture.applyWhere(.delete, "todos", #"[{"kind":"in","column":"id","values":["a","b"]}]"#) == "a,b")
    _ = try fixture.engine.reset()
    #expect(events.finish() == [.localChanged, .queueDepth(2), .localChanged, .queueDepth(4), .localChanged])
  }

  @Test func aHandlerMayCallBackAndUnsubscribe() throws {
    let fixture = try EngineFixture([("todos", EngineFixture.todos)])
    let engine = fixture.engine
    let seen = Guarded<[String]>([])
    let stop = engine.subscribe { event in
      if case .localChanged = event {
        let rows = (try? engine.query(table: "todos", plan: .object([])).elements?.count) ?? -1
        let depth = (try? engine.outboxDepth()) ?? -1
        seen.with { $0.append("\(rows)/\(depth)") }
      }
    }
    #expect(fixture.apply(.insert, "todos", "a", #"{"title":"A"}"#) == "-")
    let log = EventLog(engine)
    while seen.with({ $0.isEmpty }) { sched_yield() }
    stop()
    stop()
    #expect(fixture.apply(.insert, "todos", "b", #"{"title":"B"}"#) == "-")
    #expect(log.finish().last == .queueDepth(2))
    #expect(seen.with { $0 } == ["1/1"])
  }
}
