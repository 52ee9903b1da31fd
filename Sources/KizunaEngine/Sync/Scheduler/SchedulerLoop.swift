import Glibc

/// The core's clock and threads. The threads live from start to stop and hold this value, not the scheduler.
final class SchedulerLoop: @unchecked Sendable {
  // Everything mutable is guarded by the lock, which every change wakes.
  private let lock = Lock()
  private var core: SchedulerCore
  /// The threads of an earlier start leave when they see another number.
  private var generation = 0
  private var runIsDue = false
  private let outlet: HealthOutlet
  private let attempt: @Sendable () -> (SchedulerCore.Outcome, needsReset: Bool)

  init(
    _ core: SchedulerCore, attempt: @escaping @Sendable () -> (SchedulerCore.Outcome, needsReset: Bool)
  ) {
    self.core = core
    self.attempt = attempt
    outlet = HealthOutlet(core.health)
  }

  func change(_ body: (inout SchedulerCore, SchedulerTime) -> Void) {
    lock.locked {
      body(&core, .now())
      outlet.offer(core.health)
      lock.broadcast()
    }
    outlet.deliver()
  }

  func health() -> SyncHealth { lock.locked { core.health } }

  func subscribe(_ handler: @escaping @Sendable (SyncHealth) -> Void) -> @Sendable () -> Void {
    let id = lock.locked { outlet.add(handler) }
    outlet.deliver()
    return { [outlet] in outlet.remove(id) }
  }

  func start() {
    let begun: Int? = lock.locked {
      guard !core.isStarted else { return nil }
      generation += 1
      core.start(at: .now())
      outlet.offer(core.health)
      return generation
    }
    guard let begun else { return }
    spawn("kizuna-timer") { $0.keepTime(begun) }
    spawn("kizuna-sync") { $0.runAttempts(begun) }
    outlet.deliver()
  }

  /// A run that has begun goes on; one that no thread has taken yet does not take place.
  func stop() {
    change { core, _ in
      core.stop()
      if runIsDue { core.abandonRun() }
      runIsDue = false
    }
  }

  func waitForRun(milliseconds: Int) -> Bool {
    let deadline = monotonicMilliseconds() + Int64(milliseconds)
    return lock.locked {
      while core.isRunning {
        let left = deadline - monotonicMilliseconds()
        guard left > 0 else { return false }
        lock.wait(milliseconds: Int(left))
      }
      return true
    }
  }

  // MARK: Threads

  /// A thread that nobody joins: it leaves by itself.
  private func spawn(_ name: String, _ body: @escaping @Sendable (SchedulerLoop) -> Void) {
    _ = Thread(name: name) {
      pthread_detach(pthread_self())
      body(self)
    }
  }

  private func isCurrent(_ mine: Int) -> Bool { core.isStarted && generation == mine }

  private func keepTime(_ mine: Int) {
    while true {
      let goesOn: Bool = lock.locked {
        guard isCurrent(mine) else { return false }
        if core.advance(to: .now()) {
          runIsDue = true
          lock.broadcast()
        }
        outlet.offer(core.health)
        return true
      }
      outlet.deliver()
      guard goesOn else { return }
      lock.locked {
        guard isCurrent(mine) else { return }
        let now = SchedulerTime.now()
        guard let due = core.nextDue else {
          lock.wait()
          return
        }
        if !due.isReached(at: now) { lock.wait(milliseconds: Int(due.monotonic - now.monotonic)) }
      }
    }
  }

  private func runAttempts(_ mine: Int) {
    while takeRun(mine) {
      let (outcome, needsReset) = attempt()
      change { $0.finish(outcome, needsReset: needsReset, at: $1) }
    }
  }

  /// Waits for the next run; false once stopped.
  private func takeRun(_ mine: Int) -> Bool {
    lock.locked {
      while isCurrent(mine) {
        if runIsDue {
          runIsDue = false
          return true
        }
        lock.wait()
      }
      return false
    }
  }
}
