package enum SyncPhase: String, Sendable { case idle, syncing, backoff, stalled, offline }
package enum WakeReason: String, Sendable { case poll, foreground, path, doorbell, localWrite, start }
package struct SyncHealth: Sendable {
  package struct Fault: Sendable {
    package var code: String?
    package var message: String
    package var at: Int64
    package init(code: String?, message: String, at: Int64) {
      self.code = code
      self.message = message
      self.at = at
    }
  }
  package var phase: SyncPhase = .idle
  package var consecutiveFailures = 0
  package var nextAttemptAt: Int64?
  package var attemptStartedAt: Int64?
  package var lastSuccessAt: Int64?
  package var lastError: Fault?
  package var needsReset = false
  package init() {}
}
package final class SyncScheduler: Sendable {
  package static func forEngine(_ engine: Engine, pollIntervalSeconds: Int) -> SyncScheduler { SyncScheduler() }
  package func start() {}
  package func stop() {}
  package func wake(_ reason: WakeReason, immediately: Bool) {}
  package func pause() {}
  package func resume() {}
  package func health() -> SyncHealth { SyncHealth() }
}
