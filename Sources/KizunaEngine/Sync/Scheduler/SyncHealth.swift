/// How background sync is doing. Times are milliseconds since the Unix epoch.
package struct SyncHealth: Sendable, Equatable {
  package enum Phase: String, Sendable, CaseIterable { case idle, syncing, backoff, stalled, offline }

  package struct Failure: Sendable, Equatable {
    /// nil for an error that is not the engine's.
    package var code: String?
    package var message: String
    package var at: Int64
  }

  /// The first that holds: offline (no path, or paused), stalled (an attempt has outlived two ticks of the timer),
  /// syncing, backoff (the last attempts failed), idle.
  package var phase: Phase
  package var consecutiveFailures: Int
  /// nil while nothing is armed: offline, stopped, or during an attempt that none will follow.
  package var nextAttemptAt: Int64?
  /// Of the attempt in flight.
  package var attemptStartedAt: Int64?
  package var lastSuccessAt: Int64?
  /// Of the running streak: a success clears it.
  package var lastError: Failure?
  /// As read after the last attempt.
  package var needsReset: Bool
}

/// Why a run failed.
package struct SyncRunFailure: Error, Sendable, Equatable {
  /// nil for an error that is not the engine's.
  package var code: String?
  package var message: String

  package init(code: String?, message: String) {
    self.code = code
    self.message = message
  }

  package init(_ error: KizunaError) { self.init(code: error.code, message: error.message) }
}

package enum WakeReason: String, Sendable, CaseIterable {
  case poll, foreground, path, doorbell, localWrite, start

  /// Whether this reason comes in bursts, which make one attempt.
  var isBursty: Bool { self == .doorbell || self == .localWrite }
}
