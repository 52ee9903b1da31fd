/// Tells whether the network can be reached.
public protocol KizunaSyncPathMonitor: Sendable {
  /// Reports from now on: at once or later, from any thread, and at every change. Before the first report the path
  /// counts as satisfied.
  func start(onSatisfied: @escaping @Sendable (Bool) -> Void)
  func cancel()
}

/// Tells when the program comes to the foreground.
public protocol KizunaSyncForegroundSource: Sendable {
  func start(onForeground: @escaping @Sendable () -> Void)
  func stop()
}

/// Tells when the server has news. The broadcasts carry nothing: each is a hint to sync.
public protocol KizunaSyncRealtimeWakeup: Sendable {
  /// One topic per table, `kizunasync:<table>`.
  func subscribe(
    topics: [String], onWake: @escaping @Sendable () -> Void
  ) throws -> any KizunaSyncRealtimeSubscription
}

public protocol KizunaSyncRealtimeSubscription: Sendable {
  /// A second call does nothing.
  func cancel()
}

/// The monitor that a scheduler has when none is given. On this platform the path always counts as satisfied: a
/// failed attempt is tried again with backoff, which needs no report.
public final class KizunaSyncNetworkPathMonitor: KizunaSyncPathMonitor {
  public init() {}
  public func start(onSatisfied: @escaping @Sendable (Bool) -> Void) { onSatisfied(true) }
  public func cancel() {}
}

/// The source that a scheduler has when none is given. On this platform nothing comes to the foreground, so it never
/// fires; call `notifyForeground` where the program knows better.
public final class KizunaSyncNotificationForegroundSource: KizunaSyncForegroundSource {
  public init() {}
  public func start(onForeground: @escaping @Sendable () -> Void) {}
  public func stop() {}
}
