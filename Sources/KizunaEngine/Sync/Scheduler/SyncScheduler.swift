/// Syncs in the background: on wake-ups, by polling, and again after failures. One thread keeps the time and one
/// runs the attempts, never two at once.
package final class SyncScheduler: Sendable {
  package struct Options: Sendable {
    /// Zero or less: no polling. A failed attempt is tried again even so.
    package var pollIntervalMilliseconds: Int
    package var debounceMilliseconds: Int
    /// In [0, 1).
    package var jitter: @Sendable () -> Double

    package init(
      pollIntervalMilliseconds: Int, debounceMilliseconds: Int = 250,
      jitter: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
      self.pollIntervalMilliseconds = pollIntervalMilliseconds
      self.debounceMilliseconds = debounceMilliseconds
      self.jitter = jitter
    }

    fileprivate var core: SchedulerCore.Options {
      SchedulerCore.Options(
        pollMilliseconds: Int64(pollIntervalMilliseconds), debounceMilliseconds: Int64(debounceMilliseconds),
        jitter: jitter)
    }
  }

  private let loop: SchedulerLoop
  /// Brings in wake-ups from the start to the stop; answers how to end that.
  private let attach: (@Sendable (SyncScheduler) -> @Sendable () -> Void)?
  private let life = Guarded(Life())

  private struct Life: Sendable {
    var isStarted = false
    var detach: (@Sendable () -> Void)?
  }

  /// All three run on the runner thread: `prepare` first, where false skips the run; `run`, which answers why it
  /// failed; and `needsReset`, whatever came of the run.
  package init(
    options: Options, prepare: @escaping @Sendable () -> Bool = { true },
    run: @escaping @Sendable () -> SyncRunFailure?, needsReset: @escaping @Sendable () -> Bool = { false },
    attach: (@Sendable (SyncScheduler) -> @Sendable () -> Void)? = nil
  ) {
    self.attach = attach
    loop = SchedulerLoop(SchedulerCore(options: options.core)) {
      let outcome: SchedulerCore.Outcome
      if prepare() {
        outcome = run().map { .failed($0) } ?? .succeeded
      } else {
        outcome = .skipped
      }
      return (outcome, needsReset())
    }
  }

  deinit { stop() }

  /// Asks for one attempt, and goes on from there. Does nothing when started already.
  package func start() {
    let isFirst = life.with { life in
      defer { life.isStarted = true }
      return !life.isStarted
    }
    guard isFirst else { return }
    // First, so that a path that is known to be missing holds the first attempt.
    if let attach {
      let detach = attach(self)
      life.with { $0.detach = detach }
    }
    loop.start()
    // A stop that came meanwhile had not everything to undo.
    if life.with({ !$0.isStarted }) { undo() }
  }

  /// Nothing begins any more; a run in flight finishes. Answers at once.
  package func stop() {
    life.with { $0.isStarted = false }
    undo()
  }

  private func undo() {
    life.with { life in
      let detach = life.detach
      life.detach = nil
      return detach
    }?()
    loop.stop()
  }

  /// Waits for the run in flight, if any. False when it was still running at the end of the time. Not from a
  /// closure of the scheduler.
  @discardableResult
  package func waitForRun(milliseconds: Int) -> Bool { loop.waitForRun(milliseconds: milliseconds) }

  /// A hint that there is something to sync: one attempt follows, a moment later for reasons that come in bursts
  /// (unless `immediately`), or behind the run in flight. Ignored while stopped.
  package func wake(_ reason: WakeReason, immediately: Bool = false) {
    loop.change { $0.wake(reason, immediately: immediately, at: $1) }
  }

  /// While unsatisfied, nothing is attempted.
  package func setPathSatisfied(_ satisfied: Bool) { setPathSatisfied { satisfied } }

  /// As `isSatisfied` answers, which is asked once and for all in the order of the calls.
  package func setPathSatisfied(_ isSatisfied: () -> Bool) {
    loop.change { $0.setSatisfied(isSatisfied(), at: $1) }
  }

  package func pause() { loop.change { $0.setPaused(true, at: $1) } }
  package func resume() { loop.change { $0.setPaused(false, at: $1) } }

  package func setPollInterval(milliseconds: Int) {
    loop.change { $0.setPoll(milliseconds: Int64(milliseconds), at: $1) }
  }

  /// Arms the timer anew, if it is running.
  package func restartTimer() { loop.change { $0.restartTimer(at: $1) } }

  package func health() -> SyncHealth { loop.health() }

  /// Tells the health now and whenever it changes, in order and one at a time, on the thread that changed it. A
  /// handler may call the scheduler. Answers the way to unsubscribe.
  package func onHealth(_ handler: @escaping @Sendable (SyncHealth) -> Void) -> @Sendable () -> Void {
    loop.subscribe(handler)
  }
}
