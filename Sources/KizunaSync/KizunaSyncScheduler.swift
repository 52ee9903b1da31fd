import Foundation
import KizunaEngine

/// Syncs a client in the background: at the start, on local writes, when the server rings, when the network or the
/// foreground comes back, by polling, and again after failures.
///
///     let scheduler = KizunaSyncScheduler(client: client, refreshSession: {
///       try? await client.setAccessToken(session.accessToken)
///       return true
///     })
///     scheduler.start()
///
/// Runs never overlap; any number of wake-ups during a run make one run behind it. A scheduler that is let go stops.
public final class KizunaSyncScheduler: Sendable {
  public typealias RefreshSession = @Sendable () async -> Bool
  public typealias Sync = @Sendable () async throws -> Void
  public typealias OnError = @Sendable (any Error) -> Void

  private let scheduler: SyncScheduler
  private let actions: SchedulerActions
  private let sources: SchedulerSources
  private let interval: Guarded<TimeInterval>

  /// - Parameters:
  ///   - pollInterval: seconds; zero or less polls never, and only failed attempts are tried again by themselves.
  ///   - monitorPath: hold every attempt while the path monitor reports no path.
  ///   - realtimeTables: the tables whose broadcasts wake; none, no subscription.
  ///   - refreshSession: asked before every run, to hand the client a fresh token; false skips the run.
  ///   - sync: what a run does; nil is the client's `sync`.
  ///   - onError: told what runs and subscriptions fail with, on a thread of the scheduler.
  ///   - jitterSource: in [0, 1): where in the upper half of a delay the next attempt falls.
  ///   - needsReset: read after every run; nil is the client's checkpoint.
  public init(
    client: KizunaSyncClient, pollInterval: TimeInterval = 15, monitorPath: Bool = true,
    pathMonitor: (any KizunaSyncPathMonitor)? = nil, observeForeground: Bool = true,
    foregroundSource: (any KizunaSyncForegroundSource)? = nil,
    realtime: (any KizunaSyncRealtimeWakeup)? = nil, realtimeTables: [String] = [],
    refreshSession: @escaping RefreshSession, sync: Sync? = nil, onError: OnError? = nil,
    jitterSource: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) },
    needsReset: (@Sendable () async -> Bool)? = nil
  ) {
    let actions = SchedulerActions(
      client: client, refreshSession: refreshSession, sync: sync, onError: onError, needsReset: needsReset)
    let sources = SchedulerSources(
      client: client, actions: actions, path: pathMonitor ?? KizunaSyncNetworkPathMonitor(),
      monitorsPath: monitorPath,
      foreground: observeForeground ? foregroundSource ?? KizunaSyncNotificationForegroundSource() : nil,
      realtime: realtime, topics: realtimeTables.map { "kizunasync:" + $0 })
    self.actions = actions
    self.sources = sources
    interval = Guarded(pollInterval)
    scheduler = SyncScheduler(
      options: .init(pollIntervalMilliseconds: Self.milliseconds(pollInterval), jitter: jitterSource),
      prepare: { actions.prepare() }, run: { actions.run() }, needsReset: { actions.needsReset() },
      attach: { sources.attach(to: $0) })
  }

  private static func milliseconds(_ seconds: TimeInterval) -> Int {
    guard seconds > 0 else { return 0 }
    return max(1, Int(min(seconds * 1000, 1e12)))
  }

  // MARK: Settings

  /// Seconds. Setting it arms a running timer anew.
  public var pollInterval: TimeInterval {
    get { interval.with { $0 } }
    set {
      interval.with { $0 = newValue }
      scheduler.setPollInterval(milliseconds: Self.milliseconds(newValue))
    }
  }

  /// False lets attempts through, whatever the monitor says; true goes by its last report again.
  public var monitorPath: Bool {
    get { sources.monitorsPath }
    set { sources.setMonitorsPath(newValue, scheduler) }
  }

  /// Setting it arms a running timer anew.
  public var refreshSession: RefreshSession {
    get { actions.settings.with { $0.refreshSession } }
    set {
      actions.settings.with { $0.refreshSession = newValue }
      scheduler.restartTimer()
    }
  }

  public var sync: Sync? {
    get { actions.settings.with { $0.sync } }
    set { actions.settings.with { $0.sync = newValue } }
  }

  public var onError: OnError? {
    get { actions.settings.with { $0.onError } }
    set { actions.settings.with { $0.onError = newValue } }
  }

  // MARK: Life

  /// Arms the timer and every source of wake-ups, and asks for one attempt. Started already, it does nothing.
  ///
  /// Local writes are those of the engine that is open now: after another `create`, stop and start.
  public func start() { scheduler.start() }

  /// Begins nothing more; a run in flight finishes.
  public func stop() { scheduler.stop() }

  /// Asks for an attempt. A hint: nothing happens while stopped or without a path.
  public func wake(reason: KizunaSyncWakeReason = .doorbell) { scheduler.wake(WakeReason(reason)) }

  public func notifyForeground() { wake(reason: .foreground) }
  public func notifyOnline() { wake(reason: .path) }

  // MARK: Health

  public func health() -> KizunaSyncSyncHealth { KizunaSyncSyncHealth(scheduler.health()) }

  /// Tells the health now and whenever it changes, in order, one at a time, on any thread. Answers the way to
  /// unsubscribe.
  @discardableResult
  public func onHealth(_ handler: @escaping @Sendable (KizunaSyncSyncHealth) -> Void) -> @Sendable () -> Void
  {
    scheduler.onHealth { handler(KizunaSyncSyncHealth($0)) }
  }
}
