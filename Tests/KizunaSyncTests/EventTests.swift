import Foundation
import Testing

@testable import KizunaSync

struct EventTests {
  /// The events of `body`. `dispose` delivers what waits, so nothing is missed and nothing sleeps.
  private func events(
    _ tables: [String: KizunaSyncTableConfig] = ["todos": KizunaSyncTableConfig()],
    _ body: (KizunaSyncClient) async throws -> Void
  ) async throws -> [KizunaSyncEngineEvent] {
    let live = try await LiveClient.open(tables)
    let log = EventLog()
    _ = try await live.client.on { log.add($0) }
    try await body(live.client)
    await live.client.dispose()
    return log.all
  }

  @Test func aLocalWriteTellsItsChangeAndTheDepth() async throws {
    let events = try await events { client in
      try await client.from("todos").insert(["id": "a"])
      try await client.apply(table: "todos", pk: "a", op: .update, columns: ["n": 1])
    }
    #expect(
      events == [.localChanged, .queueDepth(depth: 1), .localChanged, .queueDepth(depth: 2)])
  }

  @Test func aFilteredWriteTellsItsPairOnce() async throws {
    let events = try await events { client in
      try await client.from("todos").insert([["id": "a"], ["id": "b"], ["id": "c"]])
      try await client.applyWhere(
        table: "todos", op: .update, filters: [KizunaSyncQuery.in("id", ["a", "b"])], columns: ["n": 1])
      try await client.from("todos").delete().neq("id", "a").execute()
    }
    #expect(
      events == [
        .localChanged, .queueDepth(depth: 3), .localChanged, .queueDepth(depth: 5), .localChanged,
        .queueDepth(depth: 7),
      ])
  }

  @Test func whatIsRefusedOrMatchesNothingTellsNothing() async throws {
    let events = try await events { client in
      _ = await refusal { try await client.from("todos").insert(["id": NSNull()]) }
      _ = await refusal { try await client.from("todos").delete().execute() }
      _ = await refusal { try await client.from("todos").delete().eq("id", "x").select().single() }
      try await client.from("todos").delete().eq("id", "x").execute()
      try await client.setBucket([:])
      try await client.seedCheckpoint("7")
    }
    #expect(events.isEmpty)
  }

  @Test func resetTellsItsChangeOnly() async throws {
    let events = try await events { client in
      try await client.from("todos").insert(["id": "a"])
      _ = try await client.reset()
      try await client.from("todos").insert(["id": "b"])
    }
    #expect(
      events == [
        .localChanged, .queueDepth(depth: 1), .localChanged, .localChanged, .queueDepth(depth: 1),
      ])
  }

  @Test func anUnsubscribedHandlerHearsNothing() async throws {
    let live = try await LiveClient.open(["todos": KizunaSyncTableConfig()])
    let log = EventLog()
    let end = try await live.client.on { log.add($0) }
    end()
    try await live.client.from("todos").insert(["id": "a"])
    await live.client.dispose()
    #expect(log.all.isEmpty)
  }

  @Test func aHandlerMayCallTheClient() async throws {
    let live = try await LiveClient.open(["todos": KizunaSyncTableConfig()])
    let client = live.client
    let (depths, found) = AsyncStream<Int>.makeStream()
    _ = try await client.on { event in
      guard event == .localChanged else { return }
      Task {
        found.yield(try await client.outboxDepth())
        found.finish()
      }
    }
    try await client.from("todos").insert(["id": "a"])
    var met: [Int] = []
    for await depth in depths { met.append(depth) }
    #expect(met == [1])
  }

  @Test(arguments: [
    (KizunaSyncEngineEvent.localChanged, "LOCAL_CHANGED"), (.queueDepth(depth: 1), "QUEUE_DEPTH"),
    (.mutationRejected(mutationId: "m", reason: "r"), "MUTATION_REJECTED"),
    (.batchAborted(offenderMutationId: "m", reason: "r"), "BATCH_ABORTED"),
    (.deadLetter(mutationId: "m", reason: "r"), "DEAD_LETTER"),
    (.checkpointExpired, "CHECKPOINT_EXPIRED"), (.resetRequired(reason: nil), "RESET_REQUIRED"),
  ])
  func eventsHaveTheirWireNames(_ event: KizunaSyncEngineEvent, _ name: String) {
    #expect(event.name == name)
  }

  @Test func theInspectorKeepsTheLastFiftyVerdicts() async throws {
    let live = try await LiveClient.open(["todos": KizunaSyncTableConfig()])
    let inspector = try await live.client.inspector()
    #expect(inspector === (try await live.client.inspector()))
    let log = EventLog()
    let end = inspector.subscribe { log.add(.localChanged) }
    for number in 0..<60 { inspector.met(.mutationRejected(mutationId: "\(number)", reason: "CONSTRAINT")) }
    #expect(inspector.verdicts().map(\.mutationId) == (10..<60).map(String.init))
    inspector.met(.batchAborted(offenderMutationId: "x", reason: "RLS_DENIED"))
    inspector.met(.mutationRejected(mutationId: "x", reason: "RLS_DENIED"))
    inspector.met(
      .columnOverwritten(
        table: "todos", pk: "a", column: "title", loserValueJson: "1", winnerMutationId: "w",
        conflictMode: "hlc"))
    #expect(inspector.verdicts().suffix(2).map(\.kind) == ["aborted", "overwritten"])
    #expect(inspector.verdicts().last?.reason == "todos.title")
    inspector.clear()
    #expect(inspector.verdicts().isEmpty)
    #expect(log.all.count == 64)
    end()
    try await live.client.from("todos").insert(["id": "a"])
    let snapshot = try await inspector.snapshot()
    #expect(snapshot.depth == 1)
    #expect(snapshot.queued.first?["pk"] as? String == "a")
    #expect(snapshot.lastMutationId == nil)
    await live.client.dispose()
    await #expect(throws: KizunaSyncError.self) { _ = try await inspector.snapshot() }
  }
}
