import Foundation
import Testing

@testable import KizunaSync

@Suite(.timeLimit(.minutes(1)))
struct SchedulerTests {
  /// A value behind a lock.
  private final class Shared<Value>: @unchecked Sendable {
    private let lock = NSLock()
    private var stored: Value
    init(_ value: Value) { stored = value }
    var value: Value { lock.withLock { stored } }
    func change(_ body: (inout Value) -> Void) { lock.withLock { body(&stored) } }
  }

  private func comesTrue(_ condition: @Sendable () -> Bool) async -> Bool {
    for _ in 0..<5000 {
      if condition() { return true }
      try? await Task.sleep(nanoseconds: 2_000_000)
    }
    return condition()
  }

  private final class Path: KizunaSyncPathMonitor {
    let report = Shared<(@Sendable (Bool) -> Void)?>(nil)
    let first: Bool?
    let cancelled = Shared(0)
    init(first: Bool? = nil) { self.first = first }
    func start(onSatisfied: @escaping @Sendable (Bool) -> Void) {
      report.change { $0 = onSatisfied }
      if let first { onSatisfied(first) }
    }
    func cancel() { cancelled.change { $0 += 1 } }
    func tell(_ satisfied: Bool) { report.value?(satisfied) }
  }

  private final class Foreground: KizunaSyncForegroundSource {
    let fire = Shared<(@Sendable () -> Void)?>(nil)
    func start(onForeground: @escaping @Sendable () -> Void) { fire.change { $0 = onForeground } }
    func stop() { fire.change { $0 = nil } }
  }

  private final class Broadcasts: KizunaSyncRealtimeWakeup {
    final class Subscription: KizunaSyncRealtimeSubscription {
      let cancelled = Shared(0)
      func cancel() { cancelled.change { $0 += 1 } }
    }
    struct Refused: Error {}
    let topics = Shared<[[String]]>([])
    let ring = Shared<(@Sendable () -> Void)?>(nil)
    let subscription = Subscription()
    let refuses: Bool
    init(refuses: Bool = false) { self.refuses = refuses }
    func subscribe(
      topics: [String], onWake: @escaping @Sendable () -> Void
    ) throws -> any KizunaSyncRealtimeSubscription {
      if refuses { throw Refused() }
      self.topics.change { $0.append(topics) }
      ring.change { $0 = onWake }
      return subscription
    }
  }

  /// A scheduler that never polls, and how often it ran.
  private func scheduler(
    _ client: KizunaSyncClient = KizunaSyncClient(), runs: Shared<Int>, path: Path = Path(),
    monitorPath: Bool = true, foreground: Foreground? = nil, realtime: Broadcasts? = nil,
    tables: [String] = [], onError: KizunaSyncScheduler.OnError? = nil
  ) -> KizunaSyncScheduler {
    KizunaSyncScheduler(
      client: client, pollInterval: 0, monitorPath: monitorPath, pathMonitor: path,
      foregroundSource: foreground, realtime: realtime, realtimeTables: tables, refreshSession: { true },
      sync: { runs.change { $0 += 1 } }, onError: onError, needsReset: { false })
  }

  @Test func theDefaultsAreThoseOfTheOtherSDKs() {
    let scheduler = KizunaSyncScheduler(client: KizunaSyncClient(), refreshSession: { true })
    #expect(scheduler.pollInterval == 15)
    #expect(scheduler.monitorPath)
    #expect(scheduler.sync == nil && scheduler.onError == nil)
    #expect(scheduler.health() == KizunaSyncSyncHealth(phase: .idle))
    #expect(
      KizunaSyncWakeReason.allCases.map(\.rawValue) == [
        "poll", "foreground", "path", "doorbell", "localWrite", "start",
      ])
  }

  @Test func everySourceWakes() async {
    let runs = Shared(0)
    let (foreground, broadcasts, path) = (Foreground(), Broadcasts(), Path(first: true))
    let scheduler = scheduler(
      runs: runs, path: path, foreground: foreground, realtime: broadcasts, tables: ["todos", "lists"])
    scheduler.start()
    scheduler.start()
    #expect(await comesTrue { runs.value == 1 && scheduler.health().phase == .idle })
    #expect(broadcasts.topics.value == [["kizunasync:todos", "kizunasync:lists"]])
    let wakeUps: [@Sendable () -> Void] = [
      { foreground.fire.value?() }, { broadcasts.ring.value?() }, { scheduler.wake() },
      { scheduler.notifyOnline() }, { scheduler.notifyForeground() },
      {
        path.tell(false)
        path.tell(true)
      },
    ]
    for (index, wake) in wakeUps.enumerated() {
      wake()
      #expect(await comesTrue { runs.value == index + 2 && scheduler.health().phase == .idle })
    }
    scheduler.stop()
    #expect(path.cancelled.value == 1)
    #expect(foreground.fire.value == nil)
    #expect(broadcasts.subscription.cancelled.value == 1)
  }

  @Test func withoutTablesNothingIsSubscribedTo() async {
    let broadcasts = Broadcasts()
    let runs = Shared(0)
    let scheduler = scheduler(runs: runs, realtime: broadcasts)
    scheduler.start()
    #expect(await comesTrue { runs.value == 1 })
    #expect(broadcasts.topics.value.isEmpty)
    scheduler.stop()
  }

  @Test func aPathThatIsMissingHoldsEvenTheFirstAttemptUnlessItIsNotMonitored() async {
    let runs = Shared(0)
    let path = Path(first: false)
    let scheduler = scheduler(runs: runs, path: path)
    scheduler.start()
    scheduler.wake(reason: .foreground)
    #expect(scheduler.health().phase == .offline)
    #expect(runs.value == 0)
    scheduler.monitorPath = false
    #expect(await comesTrue { runs.value == 1 && scheduler.health().phase == .idle })
    scheduler.monitorPath = true
    #expect(scheduler.health().phase == .offline)
    path.tell(true)
    #expect(await comesTrue { runs.value == 2 })
    scheduler.stop()
  }

  @Test func aLocalWriteWakes() async throws {
    let live = try await LiveClient.open(["todos": KizunaSyncTableConfig()])
    let runs = Shared(0)
    let scheduler = scheduler(live.client, runs: runs)
    scheduler.start()
    #expect(await comesTrue { runs.value == 1 && scheduler.health().phase == .idle })
    try await live.client.from("todos").insert(["title": "a"])
    #expect(await comesTrue { runs.value == 2 })
    scheduler.stop()
  }

  @Test func whatIsRefusedGoesToOnErrorAndTheLoopGoesOn() async {
    let errors = Shared<[String]>([])
    let runs = Shared(0)
    // No engine is open, so that there are no local writes to subscribe to either.
    let scheduler = scheduler(
      runs: runs, realtime: Broadcasts(refuses: true), tables: ["todos"],
      onError: { error in errors.change { $0.append(String(describing: type(of: error))) } })
    scheduler.start()
    #expect(await comesTrue { runs.value == 1 })
    #expect(errors.value == ["KizunaSyncError", "Refused"])
    scheduler.stop()
  }

  @Test func aRunWithoutSessionIsSkipped() async {
    let runs = Shared(0)
    let asked = Shared(0)
    let scheduler = scheduler(runs: runs)
    scheduler.refreshSession = {
      asked.change { $0 += 1 }
      return false
    }
    scheduler.start()
    #expect(await comesTrue { asked.value == 1 && scheduler.health().phase == .idle })
    #expect(runs.value == 0)
    #expect(scheduler.health().consecutiveFailures == 0)
    scheduler.refreshSession = { true }
    scheduler.wake()
    #expect(await comesTrue { runs.value == 1 })
    scheduler.stop()
  }

  private struct Foreign: LocalizedError {
    var errorDescription: String? { "not ours" }
  }

  @Test func failuresShowInTheHealthAndAreTold() async {
    let runs = Shared(0)
    let told = Shared<[String]>([])
    let scheduler = scheduler(runs: runs)
    scheduler.onError = { error in told.change { $0.append("\(error.localizedDescription)") } }
    scheduler.sync = { throw KizunaSyncError.engine(code: "REMOTE", message: "down") }
    scheduler.start()
    #expect(await comesTrue { scheduler.health().phase == .backoff })
    #expect(scheduler.health().lastError?.code == "REMOTE")
    #expect(scheduler.health().lastError?.message == "down")
    scheduler.sync = { throw Foreign() }
    scheduler.wake(reason: .foreground)
    #expect(await comesTrue { scheduler.health().lastError?.message == "not ours" })
    #expect(scheduler.health().lastError?.code == nil)
    #expect(told.value.contains("REMOTE: down") && told.value.last == "not ours")
    scheduler.stop()
  }

  @Test func withoutASyncClosureTheClientSyncs() async throws {
    let live = try await LiveClient.open(["todos": KizunaSyncTableConfig()])
    let scheduler = KizunaSyncScheduler(client: live.client, pollInterval: 0, refreshSession: { true })
    scheduler.start()
    // The client has no upstream.
    #expect(await comesTrue { scheduler.health().lastError?.code == "REMOTE" })
    #expect(!scheduler.health().needsReset)
    scheduler.stop()
  }

  @Test func healthIsToldAtOnceAndAtEveryChange() async {
    let runs = Shared(0)
    let phases = Shared<[KizunaSyncSyncPhase]>([])
    let scheduler = scheduler(runs: runs)
    let unsubscribe = scheduler.onHealth { health in phases.change { $0.append(health.phase) } }
    #expect(phases.value == [.idle])
    scheduler.start()
    #expect(
      await comesTrue { runs.value == 1 && phases.value.last == .idle && phases.value.contains(.syncing) })
    let lastSuccess = scheduler.health().lastSuccessAt
    #expect(lastSuccess.map { abs($0.timeIntervalSinceNow) < 30 } == true)
    unsubscribe()
    scheduler.stop()
  }

  @Test func aShorterIntervalTakesEffectAtOnce() async {
    let runs = Shared(0)
    let scheduler = scheduler(runs: runs)
    scheduler.pollInterval = 3600
    scheduler.start()
    #expect(await comesTrue { runs.value == 1 && scheduler.health().phase == .idle })
    scheduler.pollInterval = 0.01
    #expect(await comesTrue { runs.value >= 3 })
    scheduler.stop()
  }
}
