/// When to sync: the rules as a value, without clock or threads. Every change is told with the moment at which it
/// happens.
///
/// Two things may be armed. An *attempt* was asked for by a wake-up; during a run it waits and so becomes the one
/// run that trails it. The *tick* is the poll, and the backoff after a failure. While the core is started and may
/// sync, a failure always leaves one of them armed, so that sync never stops for good.
struct SchedulerCore: Sendable {
  struct Options: Sendable {
    /// Zero or less: no polling. A failed or skipped attempt is tried again even so.
    var pollMilliseconds: Int64
    var debounceMilliseconds: Int64
    /// In [0, 1).
    var jitter: @Sendable () -> Double
  }

  enum Outcome: Sendable, Equatable {
    case succeeded
    case failed(SyncRunFailure)
    /// There was no session to sync with.
    case skipped
  }

  private static let longestBackoff: Int64 = 30_000
  /// What backoff grows from when there is no poll interval.
  private static let shortestBackoff: Int64 = 500

  private(set) var options: Options
  private(set) var isStarted = false
  private var isSatisfied = true
  private var isPaused = false

  private var attempt: SchedulerTime?
  private var tick: SchedulerTime?

  private var runStarted: SchedulerTime?
  /// Ticks that the run in flight has outlived.
  private var ticksMissed = 0

  private var failures = 0
  private var lastSuccess: SchedulerTime?
  private var lastError: SyncHealth.Failure?
  private var needsReset = false

  init(options: Options) { self.options = options }

  private var isOffline: Bool { !isSatisfied || isPaused }
  private var isStalled: Bool { runStarted != nil && ticksMissed >= 2 }
  var isRunning: Bool { runStarted != nil }

  // MARK: Life

  mutating func start(at now: SchedulerTime) {
    guard !isStarted else { return }
    isStarted = true
    wake(.start, at: now)
    if isRunning { armTick(at: now) }
  }

  /// A run in flight goes on to its end.
  mutating func stop() {
    isStarted = false
    attempt = nil
    tick = nil
  }

  mutating func setPoll(milliseconds: Int64, at now: SchedulerTime) {
    options.pollMilliseconds = milliseconds
    restartTimer(at: now)
  }

  mutating func restartTimer(at now: SchedulerTime) {
    guard isStarted, !isOffline || isRunning else { return }
    armTick(at: now)
  }

  // MARK: Wake-ups

  /// Several wake-ups of a burst make one attempt, no later than the first of them asked for.
  mutating func wake(_ reason: WakeReason, immediately: Bool = false, at now: SchedulerTime) {
    guard isStarted else { return }
    if reason == .poll, isRunning { return missTick(at: now) }
    if reason != .poll { failures = 0 }
    guard !isOffline else { return }
    let delay = reason.isBursty && !immediately ? options.debounceMilliseconds : 0
    attempt = .earlier(attempt, now.adding(delay))
  }

  mutating func setSatisfied(_ satisfied: Bool, at now: SchedulerTime) {
    changeGate(at: now) { $0.isSatisfied = satisfied }
  }

  mutating func setPaused(_ paused: Bool, at now: SchedulerTime) {
    changeGate(at: now) { $0.isPaused = paused }
  }

  /// What the closed gate held back comes as one attempt when it opens.
  private mutating func changeGate(at now: SchedulerTime, _ change: (inout SchedulerCore) -> Void) {
    let wasOffline = isOffline
    change(&self)
    guard isOffline != wasOffline else { return }
    if isOffline {
      attempt = nil
      // The timer of a run in flight goes on: a run that hangs shows even so.
      if !isRunning { tick = nil }
    } else {
      wake(.path, at: now)
    }
  }

  // MARK: Time

  /// When something is due; nil waits for a change.
  var nextDue: SchedulerTime? { isRunning ? tick : .earlier(attempt, tick) }

  /// Lets what is due happen. True: a run begins now, and `finish` must follow.
  mutating func advance(to now: SchedulerTime) -> Bool {
    guard isStarted else { return false }
    if let tick, tick.isReached(at: now) {
      self.tick = nil
      wake(.poll, at: now)
    }
    guard !isRunning, !isOffline, let attempt, attempt.isReached(at: now) else { return false }
    self.attempt = nil
    runStarted = now
    ticksMissed = 0
    armTick(at: now)
    return true
  }

  /// The poll finds the attempt before it still in flight. The second time the attempt counts as failed, and one
  /// more is booked behind it.
  private mutating func missTick(at now: SchedulerTime) {
    ticksMissed += 1
    if ticksMissed == 2 {
      failures += 1
      if !isOffline { attempt = .earlier(attempt, now) }
    }
    armTick(at: now)
  }

  /// The run that `advance` began will not take place.
  mutating func abandonRun() { runStarted = nil }

  mutating func finish(_ outcome: Outcome, needsReset: Bool, at now: SchedulerTime) {
    let wasStalled = isStalled
    runStarted = nil
    ticksMissed = 0
    self.needsReset = needsReset
    switch outcome {
    case .succeeded:
      failures = 0
      lastSuccess = now
      lastError = nil
    case .failed(let failure):
      failures = max(1, wasStalled ? failures : failures + 1)
      lastError = SyncHealth.Failure(code: failure.code, message: failure.message, at: now.epoch)
      // Who writes all the time must not make an upstream that is down be asked all the time.
      if let due = attempt {
        let gentle = now.adding(options.debounceMilliseconds)
        attempt = due.isReached(at: gentle) ? gentle : due
      }
    case .skipped: break
    }
    tick = nil
    guard isStarted, !isOffline else { return }
    armTick(at: now, retrying: outcome != .succeeded)
  }

  private mutating func armTick(at now: SchedulerTime, retrying: Bool = false) {
    guard let delay = delay(retrying: retrying || failures > 0) else {
      tick = nil
      return
    }
    let share = 0.5 + min(max(options.jitter(), 0), 1) / 2
    tick = now.adding(max(1, Int64(Double(delay) * share)))
  }

  /// The whole delay before jitter. During a run it times the stall, for which polling must be on.
  private func delay(retrying: Bool) -> Int64? {
    let poll = options.pollMilliseconds
    if poll <= 0 {
      guard retrying, !isRunning else { return nil }
      return failures == 0 ? Self.longestBackoff : grown(Self.shortestBackoff)
    }
    return max(poll, grown(poll))
  }

  private func grown(_ base: Int64) -> Int64 {
    min(Self.longestBackoff, min(base, Self.longestBackoff) << Int64(min(failures, 16)))
  }

  // MARK: Health

  var health: SyncHealth {
    SyncHealth(
      phase: phase, consecutiveFailures: failures,
      nextAttemptAt: isOffline ? nil : (isRunning ? attempt : .earlier(attempt, tick))?.epoch,
      attemptStartedAt: runStarted?.epoch, lastSuccessAt: lastSuccess?.epoch, lastError: lastError,
      needsReset: needsReset)
  }

  private var phase: SyncHealth.Phase {
    if isOffline { return .offline }
    if isStalled { return .stalled }
    if isRunning { return .syncing }
    return failures > 0 ? .backoff : .idle
  }
}
