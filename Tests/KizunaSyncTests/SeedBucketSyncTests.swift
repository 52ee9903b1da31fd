import Foundation
import KizunaSync
import Testing

/// Setting buckets through the Swift API, with a real upstream behind it.
struct SeedBucketSyncTests {
  private let world: SeedWorld

  init() throws { world = try SeedWorld() }

  private func kitchen() async throws -> SeedClient {
    let opened = try await world.client()
    try await opened.exchange()
    return opened
  }

  private func lastCursor() throws -> String {
    try #require(try world.calls("pull").last?["cursor"] as? String)
  }

  @Test func aPullWithoutAValueThrowsAndAsksNothing() async throws {
    let ana = try await world.client()
    let refused = await refusal { try await ana.client.pullOnce() }
    #expect(refused?.code == "BUCKET_UNSET")
    #expect(try world.calls("pull").isEmpty)
    try await ana.client.setBucket(["team_id": "kitchen"])
    try await ana.client.pullOnce()
    #expect(try await ana.ids() == ["bread", "milk", "oven"])
  }

  @Test func anUnknownKeyThrowsAndChangesNothing() async throws {
    let ana = try await kitchen()
    let cursor = try await ana.client.checkpoint().cursor
    let refused = await refusal { try await ana.client.setBucket(["team_id": "garden", "shelf": 3]) }
    #expect(refused?.code == "BUCKET_UNSET")
    #expect(refused?.description.hasPrefix("BUCKET_UNSET: ") == true)
    try await ana.client.sync()
    #expect(try lastCursor() == cursor)
    #expect(try await ana.ids() == ["bread", "milk", "oven"])
  }

  @Test func anotherValueReplacesTheScopeAndKeepsQueuedWrites() async throws {
    let ana = try await kitchen()
    try await ana.client.from("todos").update(["priority": 8]).eq("id", "milk").execute()
    try await ana.client.setBucket(["team_id": "garden"])
    #expect(try await ana.client.outboxDepth() == 1)
    try await ana.client.sync()
    #expect(try lastCursor() == "0")
    #expect(try await ana.ids() == ["roses"])
    #expect(try world.value("select priority from public.todos where id = 'milk'") as? Int == 8)
  }

  @Test func theSameValueAndAClearedOneArmNothing() async throws {
    let ana = try await kitchen()
    let cursor = try await ana.client.checkpoint().cursor
    try await ana.client.setBucket(["team_id": ""])
    #expect(await refusal { try await ana.client.pullOnce() }?.code == "BUCKET_UNSET")
    for _ in 0..<2 {
      try await ana.exchange("kitchen")
      #expect(try lastCursor() == cursor)
    }
  }

  @Test func everyOpenStartsWithoutValuesAndComparesWithTheKeptOne() async throws {
    let ana = try await kitchen()
    let cursor = try await ana.client.checkpoint().cursor
    try await ana.reopen()
    #expect(await refusal { try await ana.client.pullOnce() }?.code == "BUCKET_UNSET")
    try await ana.exchange("kitchen")
    #expect(try lastCursor() == cursor)
    try await ana.reopen()
    try await ana.exchange("garden")
    #expect(try lastCursor() == "0")
    #expect(try await ana.ids() == ["roses"])
  }

  @Test func resetKeepsColumnValuesAndMakesAnotherClient() async throws {
    let ana = try await kitchen()
    let before = try await ana.client.inspect()["client_id"] as? String
    try await ana.client.from("todos").update(["title": "forbidden"]).eq("id", "milk").execute()
    try await ana.client.sync()
    try await ana.client.from("todos").delete().eq("id", "bread").execute()
    #expect(try await ana.client.reset().isEmpty)
    #expect(try await ana.client.outboxDepth() == 0)
    #expect(try await ana.client.rejections(includeDismissed: true).isEmpty)
    #expect(try await ana.client.inspect()["client_id"] as? String != before)
    try await ana.client.pullOnce()
    #expect(try await ana.ids() == ["bread", "milk", "oven"])
  }

  @Test func anOwnerBucketIsFilledByTheToken() async throws {
    let tasks = ["tasks": KizunaSyncTableConfig(bucket: .byOwner("user_id"))]
    let ana = try await world.client(tasks)
    try await ana.client.sync()
    #expect(try await ana.ids("tasks") == ["hers"])
    try await ana.client.setBucket(["user_id": SeedWorld.ben])
    try await ana.client.sync()
    #expect(try await ana.ids("tasks").isEmpty)
    try await ana.reopen()
    try await ana.client.sync()
    #expect(try await ana.ids("tasks") == ["hers"])
  }

  @Test func resetClearsAnOwnerBucketThatWasSet() async throws {
    let ana = try await world.client(["tasks": KizunaSyncTableConfig(bucket: .byOwner("user_id"))])
    try await ana.client.setBucket(["user_id": SeedWorld.ben])
    _ = try await ana.client.reset()
    try await ana.client.sync()
    #expect(try await ana.ids("tasks") == ["hers"])
  }

  @Test func aSharedTableNeedsNoValueAndABucketedOneIsRefusedWithoutIt() async throws {
    let shared = try await world.client(["units": KizunaSyncTableConfig()], token: world.bensToken)
    try await shared.client.pullOnce()
    #expect(try await shared.ids("units") == ["g"])
    let unscoped = try await world.client(["todos": KizunaSyncTableConfig()])
    let refused = await refusal { try await unscoped.client.pullOnce() }
    #expect(refused?.code == "PERMANENT_TRANSPORT")
    #expect(refused?.transportCode == "KZL01")
  }

  @Test func aValueThatIsNoJSONFailsInTheClientAndIsNoEngineError() async throws {
    let ana = try await kitchen()
    await #expect(throws: (any Error).self) { try await ana.client.setBucket(["team_id": Double.nan]) }
    #expect(await refusal { try await ana.client.setBucket(["team_id": Date()]) } == nil)
    try await ana.client.sync()
    #expect(try await ana.ids() == ["bread", "milk", "oven"])
  }

  @Test(.timeLimit(.minutes(1))) func theSchedulerRunsAfterASwitchWhenItIsWoken() async throws {
    let ana = try await world.client()
    try await ana.client.setBucket(["team_id": "kitchen"])
    let syncScheduler = KizunaSyncScheduler(
      client: ana.client, pollInterval: 0, monitorPath: false, observeForeground: false,
      refreshSession: { true })
    let (healths, sink) = AsyncStream<KizunaSyncSyncHealth>.makeStream()
    let end = syncScheduler.onHealth { sink.yield($0) }
    syncScheduler.start()
    for await health in healths where health.phase == .idle && health.lastSuccessAt != nil { break }
    #expect(try await ana.ids() == ["bread", "milk", "oven"])
    try await ana.client.setBucket(["team_id": "garden"])
    syncScheduler.wake()
    for await _ in healths where try await ana.ids() == ["roses"] { break }
    #expect(try await ana.ids() == ["roses"])
    end()
    syncScheduler.stop()
  }
}
