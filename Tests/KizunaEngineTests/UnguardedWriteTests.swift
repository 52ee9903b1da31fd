import Testing

@testable import KizunaEngine

/// Single writes run without a savepoint of their own; a refused one among them must cost no other.
@Suite struct UnguardedWriteTests {
  @Test func refusedSingleInsertsLeaveTheOthersOfTheirCommit() throws {
    let fixture = try EngineFixture([("todos", EngineFixture.todos)])
    try fixture.insert("todos", #"[{"id":"taken","title":"first"}]"#)
    let table = try #require(fixture.engine.catalog.table("todos"))
    let results = Guarded<[String]>([])
    let done = Lock()
    let count = 200
    for number in 0..<count {
      let id = number.isMultiple(of: 3) ? "taken" : "row-\(number)"
      let plan = WritePlan(
        table,
        .insert(columns: ["id", "title"], rows: [[.string(id), .string("t")]], .refuse),
        writeId: UUIDText.v7())
      #expect(!plan.mayFailHalfway)
      fixture.engine.submit(plan) { result in
        let text =
          switch result {
          case .success(let outcome): outcome.keys.joined()
          case .failure(let error): error.sqlstate ?? error.code
          }
        results.with { $0.append(text) }
        done.locked { done.signal() }
      }
    }
    done.locked { while results.with({ $0.count }) < count { done.wait(milliseconds: 20) } }
    let refused = results.with { $0.count { $0 == "23505" } }
    #expect(refused == (0..<count).count { $0.isMultiple(of: 3) })
    #expect(try fixture.sql("SELECT count(*) FROM todos") == ["\(count - refused + 1)"])
    #expect(try fixture.engine.outboxDepth() == count - refused + 1)
  }
}
