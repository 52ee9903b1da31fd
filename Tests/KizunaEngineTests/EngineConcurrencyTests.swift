import Testing

@testable import KizunaEngine

@Suite struct EngineConcurrencyTests {
  /// Every kind of call at once, on a table that grows columns meanwhile, until the engine is closed under them.
  @Test func allCallsMayComeAtOnce() throws {
    var learning = EngineConfiguration.Table()
    learning.bucket = .owner("user_id")
    let fixture = try EngineFixture([("t", learning), ("todos", EngineFixture.todos)])
    let engine = fixture.engine
    let failures = Guarded<[KizunaError]>([])
    let finished = Guarded(0)
    func run(_ name: String, _ rounds: Int, _ body: @escaping @Sendable (Int) throws(KizunaError) -> Void)
      -> Thread
    {
      Thread(name: name) {
        for round in 0..<rounds {
          do throws(KizunaError) {
            try body(round)
          } catch {
            if error.code != "ENGINE_UNAVAILABLE" { failures.with { $0.append(error) } }
          }
        }
        finished.with { $0 += 1 }
      }
    }
    let all = JSONValue.object([])
    let threads = [
      run("learner", 60) { round throws(KizunaError) in
        try engine.apply(
          Mutation(
            table: "t", pk: "k\(round)", op: .insert,
            columns: [JSONMember("c\(round % 20)", .integer(Int64(round)))]))
      },
      run("writer", 60) { round throws(KizunaError) in
        try engine.apply(
          Mutation(table: "todos", pk: "k\(round)", op: .insert, columns: [JSONMember("title", .string("t"))])
        )
        _ = try engine.applyWhere(
          table: "todos", op: .delete,
          filters: .array([
            .object([
              JSONMember("kind", .string("eq")), JSONMember("column", .string("id")),
              JSONMember("value", .string("k\(round - 1)")),
            ])
          ]))
      },
      run("reader", 60) { _ throws(KizunaError) in
        _ = try engine.query(table: "t", plan: all)
        _ = try engine.query(table: "todos", plan: all)
      },
      run("reader2", 60) { _ throws(KizunaError) in
        let session = try engine.makeSession()
        guard let table = engine.catalog.table("t") else { return }
        let read = try session.prepare(ReadPlan(table), format: .csv)
        try session.stream(read, timeoutSeconds: 30, start: { _ in }, write: { _ in true })
      },
      run("state", 60) { round throws(KizunaError) in
        try engine.setAccessToken(EngineFixture.token("ann"))
        try engine.setBucket(.object([JSONMember("user_id", .string(round % 2 == 0 ? "x" : ""))]))
        _ = try engine.status()
        _ = try engine.inspect()
        engine.pause()
        engine.resume()
        _ = try engine.rejections(includeDismissed: true)
        engine.subscribe { _ in _ = engine.isClosed }()
      },
    ]
    // Close in the middle: the rest of the calls answer ENGINE_UNAVAILABLE.
    while (try? engine.outboxDepth()) ?? 100 < 100 && finished.with({ $0 }) < threads.count {}
    engine.close()
    for thread in threads { thread.join() }
    #expect(failures.with { $0 } == [])
  }
}
