import Testing

@testable import KizunaEngine

/// A scheduler's core and the time that passes for it. The moment of every run's begin is noted; the test ends runs.
private struct Clockwork {
  private(set) var core: SchedulerCore
  private(set) var now: Int64 = 0
  private(set) var runs: [Int64] = []

  static let epoch: Int64 = 1_700_000_000_000
  static let failure = SyncRunFailure(code: "REMOTE", message: "down")

  /// Jitter 1 makes every delay its whole length.
  init(poll: Int64 = 15_000, jitter: Double = 1, started: Bool = true) {
    core = SchedulerCore(
      options: .init(pollMilliseconds: poll, debounceMilliseconds: 250, jitter: { jitter }))
    if started { change { $0.start(at: $1) } }
  }

  private var time: SchedulerTime { SchedulerTime(monotonic: now, epoch: Self.epoch + now) }
  var health: SyncHealth { core.health }
  /// How far away the next attempt is.
  var wait: Int64? { core.health.nextAttemptAt.map { $0 - Self.epoch - now } }

  mutating func change(_ body: (inout SchedulerCore, SchedulerTime) -> Void) {
    body(&core, time)
    settle()
  }

  private mutating func settle() {
    if core.advance(to: time) { runs.append(now) }
  }

  mutating func pass(_ milliseconds: Int64) {
    let end = now + milliseconds
    while let due = core.nextDue, due.monotonic <= end {
      now = max(now, due.monotonic)
      settle()
    }
    now = end
    settle()
  }

  mutating func finish(_ outcome: SchedulerCore.Outcome = .succeeded, needsReset: Bool = false) {
    change { $0.finish(outcome, needsReset: needsReset, at: $1) }
  }

  mutating func stop() { change { core, _ in core.stop() } }
  mutating func fail() { finish(.failed(Self.failure)) }
  mutating func wake(_ reason: WakeReason, immediately: Bool = false) {
    change { $0.wake(reason, immediately: immediately, at: $1) }
  }
}

@Suite struct SyncSchedulerRulesTests {
  @Test func theStartAsksForOneAttempt() {
    var clock = Clockwork(started: false)
    clock.wake(.localWrite)
    clock.pass(60_000)
    #expect(clock.runs.isEmpty)
    clock.change { $0.start(at: $1) }
    clock.change { $0.start(at: $1) }
    #expect(clock.runs == [60_000])
    #expect(clock.health.phase == .syncing)
    #expect(clock.health.attemptStartedAt == Clockwork.epoch + 60_000)
    clock.finish()
    #expect(clock.health.phase == .idle)
    #expect(clock.health.lastSuccessAt == Clockwork.epoch + 60_000)
    #expect(clock.wait == 15_000)
  }

  @Test(arguments: [
    (WakeReason.localWrite, false, Int64(250)), (.doorbell, false, 250), (.foreground, false, 0),
    (.path, false, 0),
    (.poll, false, 0), (.start, false, 0), (.localWrite, true, 0), (.doorbell, true, 0),
  ])
  func aWakeUpIsFollowedByAnAttempt(reason: WakeReason, immediately: Bool, delay: Int64) {
    var clock = Clockwork()
    clock.finish()
    clock.pass(1000)
    clock.wake(reason, immediately: immediately)
    #expect(delay == 0 || clock.runs.count == 1)
    clock.pass(delay)
    #expect(clock.runs == [0, 1000 + delay])
  }

  @Test func aBurstMakesOneAttemptAndCannotPutItOff() {
    var clock = Clockwork()
    clock.finish()
    for _ in 0..<5 {
      clock.wake(.localWrite)
      clock.pass(50)
    }
    #expect(clock.runs == [0, 250])
  }

  @Test func wakeUpsDuringARunMakeOneRunBehindIt() {
    var clock = Clockwork()
    clock.pass(1000)
    for reason in WakeReason.allCases where reason != .poll { clock.wake(reason) }
    clock.pass(1000)
    #expect(clock.runs == [0])
    clock.finish()
    #expect(clock.runs == [0, 2000])
    clock.finish()
    #expect(clock.runs.count == 2)
    #expect(clock.health.phase == .idle)
  }

  @Test func theRunBehindAFailedOneIsNotImmediate() {
    var clock = Clockwork()
    clock.pass(1000)
    clock.wake(.foreground)
    clock.fail()
    #expect(clock.wait == 250)
    clock.pass(250)
    #expect(clock.runs == [0, 1250])
  }

  @Test(arguments: [
    (0.0, Int64(7500)), (0.5, 11_250), (0.999, 14_992), (1, 15_000), (7, 15_000), (-1, 7500),
  ])
  func thePollFallsIntoTheUpperHalfOfItsInterval(jitter: Double, delay: Int64) {
    var clock = Clockwork(jitter: jitter)
    clock.finish()
    #expect(clock.wait == delay)
    clock.pass(delay)
    #expect(clock.runs == [0, delay])
  }

  static let growth: [(poll: Int64, waits: [Int64])] = [
    (1000, [2000, 4000, 8000, 16_000, 30_000, 30_000]), (15_000, [30_000, 30_000, 30_000]),
    (45_000, [45_000, 45_000, 45_000]), (0, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]),
    (-5, [1000, 2000]),
  ]

  @Test(arguments: growth)
  func failuresAreFollowedByLongerWaits(poll: Int64, waits: [Int64]) {
    var clock = Clockwork(poll: poll)
    for (index, wait) in waits.enumerated() {
      clock.fail()
      #expect(clock.health.phase == .backoff)
      #expect(clock.health.consecutiveFailures == index + 1)
      #expect(clock.wait == wait)
      clock.pass(wait - 1)
      #expect(clock.runs.count == index + 1)
      clock.pass(1)
      #expect(clock.runs.count == index + 2)
    }
  }

  @Test func aSuccessEndsTheStreak() {
    var clock = Clockwork(poll: 1000)
    clock.fail()
    let failedAt = Clockwork.epoch
    #expect(clock.health.lastError == .init(code: "REMOTE", message: "down", at: failedAt))
    clock.pass(2000)
    clock.finish()
    #expect(clock.health.consecutiveFailures == 0)
    #expect(clock.health.lastError == nil)
    #expect(clock.wait == 1000)
  }

  @Test(arguments: WakeReason.allCases)
  func everyWakeUpButThePollEndsTheStreak(reason: WakeReason) {
    var clock = Clockwork()
    clock.fail()
    clock.pass(30_000)
    clock.fail()
    #expect(clock.health.consecutiveFailures == 2)
    clock.wake(reason)
    #expect(clock.health.consecutiveFailures == (reason == .poll ? 2 : 0))
    clock.pass(250)
    clock.fail()
    #expect(clock.health.consecutiveFailures == (reason == .poll ? 3 : 1))
  }

  // MARK: Stalls

  @Test func theSecondTickDuringAnAttemptIsAStall() {
    var clock = Clockwork(poll: 1000)
    clock.pass(1000)
    #expect(clock.health.phase == .syncing)
    clock.pass(1000)
    #expect(clock.health.phase == .stalled)
    #expect(clock.health.consecutiveFailures == 1)
    clock.pass(60_000)
    #expect(clock.health.consecutiveFailures == 1)
    #expect(clock.runs == [0])
    clock.finish()
    #expect(clock.runs == [0, 62_000], "the run that was booked")
    #expect(clock.health.phase == .syncing)
    clock.finish()
    #expect(clock.runs.count == 2)
    #expect(clock.health.phase == .idle)
  }

  @Test func aStalledAttemptThatFailsCountsOnce() {
    var clock = Clockwork(poll: 1000)
    clock.pass(2000)
    clock.fail()
    #expect(clock.health.consecutiveFailures == 1)
    #expect(clock.health.phase == .backoff)
    clock.pass(250)
    #expect(clock.runs == [0, 2250])
  }

  // MARK: Gates

  enum Gate: CaseIterable, Sendable { case path, pause }

  private func close(_ gate: Gate, _ clock: inout Clockwork) {
    clock.change { gate == .path ? $0.setSatisfied(false, at: $1) : $0.setPaused(true, at: $1) }
  }

  private func open(_ gate: Gate, _ clock: inout Clockwork) {
    clock.change { gate == .path ? $0.setSatisfied(true, at: $1) : $0.setPaused(false, at: $1) }
  }

  @Test(arguments: Gate.allCases)
  func aClosedGateHoldsEveryReason(gate: Gate) {
    var clock = Clockwork()
    clock.finish()
    clock.wake(.localWrite)
    close(gate, &clock)
    for reason in WakeReason.allCases { clock.wake(reason) }
    clock.pass(600_000)
    #expect(clock.runs == [0])
    #expect(clock.health.phase == .offline)
    #expect(clock.health.nextAttemptAt == nil)
    open(gate, &clock)
    #expect(clock.runs == [0, 600_000])
    open(gate, &clock)
    clock.finish()
    #expect(clock.runs.count == 2)
    #expect(clock.wait == 15_000)
  }

  @Test func bothGatesMustBeOpen() {
    var clock = Clockwork()
    clock.finish()
    close(.path, &clock)
    close(.pause, &clock)
    open(.path, &clock)
    #expect(clock.health.phase == .offline)
    open(.pause, &clock)
    #expect(clock.runs.count == 2)
  }

  @Test func aGateThatClosesDuringARunLetsItFinish() {
    var clock = Clockwork(poll: 1000)
    close(.path, &clock)
    #expect(clock.health.phase == .offline)
    clock.pass(5000)
    clock.fail()
    #expect(clock.core.nextDue == nil)
    open(.path, &clock)
    #expect(clock.runs == [0, 5000])
  }

  // MARK: Never stuck

  @Test func withoutPollingASuccessArmsNothing() {
    var clock = Clockwork(poll: 0)
    clock.finish()
    #expect(clock.core.nextDue == nil)
    clock.pass(600_000)
    #expect(clock.runs == [0])
    clock.wake(.localWrite)
    clock.pass(250)
    #expect(clock.runs.count == 2)
  }

  @Test func aSkippedRunIsTriedAgainAndIsNoFailure() {
    var clock = Clockwork(poll: 0)
    clock.finish(.skipped)
    #expect(clock.health.phase == .idle)
    #expect(clock.wait == 30_000)
    var polling = Clockwork()
    polling.finish(.skipped)
    #expect(polling.health.consecutiveFailures == 0)
    #expect(polling.wait == 15_000)
  }

  /// Whatever comes in whatever order: runs do not overlap, and nothing that failed is left without a next attempt.
  @Test(arguments: [Int64(0), 1000, 15_000])
  func noOrderOfEventsLeavesAFailureUnattended(poll: Int64) {
    var random = Seeded(state: UInt64(bitPattern: poll) &+ 7)
    for _ in 0..<300 {
      var clock = Clockwork(poll: poll, jitter: 0.3)
      var gates = (path: true, pause: true)
      var begun = 1
      var lastFailed = false
      for _ in 0..<60 {
        switch Int.random(in: 0..<8, using: &random) {
        case 0: clock.pass(Int64.random(in: 0...40_000, using: &random))
        case 1: clock.wake(WakeReason.allCases.randomElement(using: &random) ?? .poll)
        case 2:
          gates.path.toggle()
          gates.path ? open(.path, &clock) : close(.path, &clock)
        case 3:
          gates.pause.toggle()
          gates.pause ? open(.pause, &clock) : close(.pause, &clock)
        case 4 where clock.core.isRunning:
          lastFailed = false
          clock.finish()
        case 5, 6:
          guard clock.core.isRunning else { continue }
          lastFailed = true
          clock.fail()
        case 7:
          clock.stop()
          clock.change { $0.start(at: $1) }
        default: continue
        }
        #expect(clock.runs.count >= begun)
        begun = clock.runs.count
        guard gates.path, gates.pause, !clock.core.isRunning, lastFailed else { continue }
        #expect(clock.core.nextDue != nil)
      }
    }
  }

  private struct Seeded: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return state ^ (state >> 29)
    }
  }

  // MARK: Stop and settings

  @Test func aStopDisarmsAndLetsTheRunFinish() {
    var clock = Clockwork()
    clock.wake(.foreground)
    clock.stop()
    #expect(clock.core.isRunning)
    clock.finish(needsReset: true)
    #expect(clock.health.needsReset)
    clock.wake(.foreground)
    clock.pass(600_000)
    #expect(clock.runs == [0])
    clock.change { $0.start(at: $1) }
    #expect(clock.runs == [0, 600_000])
  }

  @Test func aStartDuringTheRunThatAStopLeftBehindComesAfterIt() {
    var clock = Clockwork()
    clock.stop()
    clock.change { $0.start(at: $1) }
    clock.pass(100)
    #expect(clock.runs == [0])
    clock.finish()
    #expect(clock.runs == [0, 100])
  }

  @Test func aNewIntervalArmsTheTimerAnew() {
    var clock = Clockwork()
    clock.finish()
    clock.pass(14_000)
    clock.change { $0.setPoll(milliseconds: 2000, at: $1) }
    #expect(clock.wait == 2000)
    clock.change { $0.setPoll(milliseconds: 0, at: $1) }
    #expect(clock.wait == nil)
    clock.change { $0.setPoll(milliseconds: 1000, at: $1) }
    #expect(clock.wait == 1000)
  }
}
