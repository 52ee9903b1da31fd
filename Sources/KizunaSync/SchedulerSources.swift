import KizunaEngine

/// What wakes a scheduler from its start to its stop.
final class SchedulerSources: Sendable {
  private let client: KizunaSyncClient
  private let actions: SchedulerActions
  private let path: any KizunaSyncPathMonitor
  private let foreground: (any KizunaSyncForegroundSource)?
  private let realtime: (any KizunaSyncRealtimeWakeup)?
  private let topics: [String]
  private let gate: Guarded<Gate>

  private struct Gate: Sendable {
    var isMonitored: Bool
    /// The monitor's last report.
    var isSatisfied = true
    var isOpen: Bool { isSatisfied || !isMonitored }
  }

  init(
    client: KizunaSyncClient, actions: SchedulerActions, path: any KizunaSyncPathMonitor, monitorsPath: Bool,
    foreground: (any KizunaSyncForegroundSource)?, realtime: (any KizunaSyncRealtimeWakeup)?, topics: [String]
  ) {
    self.client = client
    self.actions = actions
    self.path = path
    self.foreground = foreground
    self.realtime = realtime
    self.topics = topics
    gate = Guarded(Gate(isMonitored: monitorsPath))
  }

  var monitorsPath: Bool { gate.with { $0.isMonitored } }

  func setMonitorsPath(_ monitored: Bool, _ scheduler: SyncScheduler) {
    gate.with { $0.isMonitored = monitored }
    scheduler.setPathSatisfied { gate.with { $0.isOpen } }
  }

  /// Answers how to end it. A source that refuses is reported, and the others go on.
  func attach(to scheduler: SyncScheduler) -> @Sendable () -> Void {
    // What the monitor said before it was cancelled may long be over.
    gate.with { $0.isSatisfied = true }
    scheduler.setPathSatisfied(true)
    path.start { [weak scheduler, gate] satisfied in
      guard let scheduler else { return }
      gate.with { $0.isSatisfied = satisfied }
      scheduler.setPathSatisfied { gate.with { $0.isOpen } }
    }
    foreground?.start { [weak scheduler] in scheduler?.wake(.foreground) }
    let localWrites = attempt { try subscribeToLocalWrites(scheduler) }
    let doorbell = attempt { try subscribeToBroadcasts(scheduler) }
    let (path, foreground) = (path, foreground)
    return {
      path.cancel()
      foreground?.stop()
      localWrites??()
      doorbell??.cancel()
    }
  }

  private func subscribeToLocalWrites(_ scheduler: SyncScheduler) throws -> (@Sendable () -> Void)? {
    try client.liveEngine().subscribe { [weak scheduler] event in
      if case .queueDepth(let depth) = event, depth > 0 { scheduler?.wake(.localWrite) }
    }
  }

  private func subscribeToBroadcasts(
    _ scheduler: SyncScheduler
  ) throws -> (any KizunaSyncRealtimeSubscription)? {
    guard let realtime, !topics.isEmpty else { return nil }
    return try realtime.subscribe(topics: topics) { [weak scheduler] in scheduler?.wake(.doorbell) }
  }

  private func attempt<Subscription>(_ subscribe: () throws -> Subscription) -> Subscription? {
    do { return try subscribe() } catch {
      actions.report(error)
      return nil
    }
  }
}
