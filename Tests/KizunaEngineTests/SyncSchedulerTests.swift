import Glibc
import Testing

@testable import KizunaEngine

/// The threads around the rules.
@Suite(.timeLimit(.minutes(1)))
struct SyncSchedulerTests {
  /// A run that can be held, and what was seen of all runs.
  private final class Work: Sendable {
    struct Seen: Sendable {
      var begun = 0
      var running = 0
      var mostAtOnce = 0
      var isHeld = false
      var failure: SyncRunFailure?
    }
    let seen = Guarded(Seen())
    var begun: Int { seen.with { $0.begun } }

    func run() -> SyncRunFailure? {
      seen.with { seen in
        seen.begun += 1
        seen.running += 1
        seen.mostAtOnce = max(seen.mostAtOnce, seen.running)
      }
      while seen.with({ $0.isHeld }) { usleep(500) }
      return seen.with { seen in
        seen.running -= 1
        return seen.failure
      }
    }
  }

  private func scheduler(_ work: Work, poll: Int = 0, prepare: Bool = true) -> SyncScheduler {
    SyncScheduler(
      options: .init(pollIntervalMilliseconds: poll, debounceMilliseconds: 5), prepare: { prepare },
      run: { work.run() }, needsReset: { work.begun > 1 })
  }

  @Test func runsNeverOverlapAndManyWakeUpsMakeOneBehind() {
    let work = Work()
    work.seen.with { $0.isHeld = true }
    let scheduler = scheduler(work)
    scheduler.start()
    #expect(comesTrue { work.begun == 1 })
    for _ in 0..<100 { scheduler.wake(.foreground) }
    work.seen.with { $0.isHeld = false }
    #expect(comesTrue { work.begun == 2 && scheduler.health().phase == .idle })
    #expect(work.seen.with { $0.mostAtOnce } == 1)
    #expect(scheduler.health().needsReset)
    scheduler.stop()
    #expect(scheduler.waitForRun(milliseconds: 1000))
  }

  @Test func pollingGoesOnByItself() {
    let work = Work()
    let scheduler = scheduler(work, poll: 10)
    scheduler.start()
    #expect(comesTrue { work.begun >= 5 })
    scheduler.stop()
  }

  @Test func aFailureIsRepeatedWithoutPolling() {
    let work = Work()
    work.seen.with { $0.failure = SyncRunFailure(code: "REMOTE", message: "down") }
    let scheduler = scheduler(work)
    scheduler.start()
    #expect(comesTrue { work.begun >= 2 })
    let health = scheduler.health()
    #expect(health.lastError?.code == "REMOTE")
    work.seen.with { $0.failure = nil }
    #expect(comesTrue { scheduler.health().phase == .idle })
    scheduler.stop()
  }

  @Test func withoutASessionNothingRuns() {
    let work = Work()
    let scheduler = scheduler(work, prepare: false)
    let told = Guarded<[SyncHealth.Phase]>([])
    let unsubscribe = scheduler.onHealth { health in told.with { $0.append(health.phase) } }
    scheduler.start()
    #expect(comesTrue { told.with { $0.contains(.syncing) && $0.last == .idle } })
    #expect(work.begun == 0)
    unsubscribe()
    scheduler.stop()
  }

  @Test func healthIsToldAtOnceAndThenEachChangeInOrder() {
    let work = Work()
    let scheduler = scheduler(work)
    let told = Guarded<[SyncHealth]>([])
    let unsubscribe = scheduler.onHealth { health in told.with { $0.append(health) } }
    #expect(told.with { $0.map(\.phase) } == [.idle])
    scheduler.start()
    #expect(comesTrue { told.with { $0.last?.lastSuccessAt != nil } })
    let phases = told.with { $0.map(\.phase) }
    #expect(phases.first == .idle && phases.contains(.syncing) && phases.last == .idle)
    unsubscribe()
    let count = told.with { $0.count }
    scheduler.pause()
    #expect(scheduler.health().phase == .offline)
    #expect(told.with { $0.count } == count)
    scheduler.stop()
  }

  @Test func aHealthHandlerMayCallTheScheduler() {
    let work = Work()
    let scheduler = scheduler(work)
    let unsubscribe = scheduler.onHealth { [weak scheduler] health in
      guard health.phase == .syncing, health.lastSuccessAt == nil, scheduler?.health() != nil else { return }
      scheduler?.wake(.foreground)
    }
    scheduler.start()
    #expect(comesTrue { work.begun >= 2 && scheduler.health().phase == .idle })
    unsubscribe()
    let another = scheduler.onHealth { [weak scheduler] health in
      if health.phase == .syncing { scheduler?.stop() }
    }
    scheduler.wake(.foreground)
    #expect(comesTrue { scheduler.waitForRun(milliseconds: 0) && scheduler.health().nextAttemptAt == nil })
    another()
  }

  @Test func aStoppedSchedulerCanStartAgainWhileItsRunIsInFlight() {
    let work = Work()
    work.seen.with { $0.isHeld = true }
    let scheduler = scheduler(work)
    scheduler.start()
    #expect(comesTrue { work.begun == 1 })
    scheduler.stop()
    #expect(!scheduler.waitForRun(milliseconds: 10))
    scheduler.start()
    work.seen.with { $0.isHeld = false }
    #expect(comesTrue { work.begun == 2 && scheduler.waitForRun(milliseconds: 0) })
    #expect(work.seen.with { $0.mostAtOnce } == 1)
    scheduler.stop()
  }

  @Test func aSchedulerThatIsLetGoEndsItsThreads() {
    final class Canary: Sendable {}
    weak var canary: Canary?
    do {
      let held = Canary()
      canary = held
      let scheduler = SyncScheduler(
        options: .init(pollIntervalMilliseconds: 5), run: { withExtendedLifetime(held) { nil } })
      scheduler.start()
    }
    #expect(comesTrue { canary == nil })
  }

  // MARK: An engine

  /// Answers every call with a fault, and counts them.
  private final class Upstream: Remote {
    let calls = Guarded<[String]>([])
    func call(_ function: String, body: [UInt8], token: String) throws(RemoteFault) -> [UInt8] {
      calls.with { $0.append(function) }
      throw RemoteFault("down")
    }
    func cancel() {}
  }

  @Test func aLocalWriteOfAnEngineIsPushed() throws {
    var configuration = EngineConfiguration()
    configuration.databasePath = ":memory:"
    var table = EngineConfiguration.Table()
    table.columns = [("id", "uuid"), ("title", "text")]
    configuration.tables = [("todos", table)]
    configuration.remote = .init(url: "http://127.0.0.1:1", publishableKey: "k")
    configuration.remote?.accessToken = "token"
    let upstream = Upstream()
    let engine = try Engine.open(configuration, remote: upstream)
    let scheduler = SyncScheduler.forEngine(engine, pollIntervalSeconds: 0)
    engine.pause()
    scheduler.start()
    #expect(comesTrue { scheduler.health().nextAttemptAt != nil })
    #expect(upstream.calls.with { $0.isEmpty })
    engine.resume()
    try engine.apply(
      Mutation(table: "todos", pk: UUIDText.v4(), op: .insert, columns: [JSONMember("title", .string("a"))]))
    #expect(comesTrue { upstream.calls.with { $0.contains("push") } })
    #expect(comesTrue { scheduler.health().phase == .backoff })
    #expect(scheduler.health().lastError?.code == "REMOTE")
    #expect(scheduler.health().nextAttemptAt != nil)
    scheduler.stop()
    engine.close()
  }
}
