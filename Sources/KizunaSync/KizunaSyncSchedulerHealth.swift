import Foundation
import KizunaEngine

/// Why a scheduler is asked to sync.
public enum KizunaSyncWakeReason: String, Sendable, CaseIterable {
  case poll, foreground, path, doorbell, localWrite, start
}

/// What background sync is doing. Of several that hold, the first of: `offline`, `stalled`, `syncing`, `backoff`,
/// `idle`.
public enum KizunaSyncSyncPhase: String, Sendable, CaseIterable {
  case idle, syncing
  /// The last attempts failed; another one is armed.
  case backoff
  /// An attempt has been in flight for two ticks of the timer.
  case stalled
  /// No path to the network: every wake-up waits.
  case offline
}

/// The failure of an attempt.
public struct KizunaSyncSyncHealthError: Sendable, Equatable {
  /// The code of a `KizunaSyncError`; nil for any other error.
  public var code: String?
  public var message: String
  public var at: Date

  public init(code: String?, message: String, at: Date) {
    self.code = code
    self.message = message
    self.at = at
  }
}

/// How background sync is doing.
public struct KizunaSyncSyncHealth: Sendable, Equatable {
  public var phase: KizunaSyncSyncPhase
  public var consecutiveFailures: Int
  /// nil while nothing is armed.
  public var nextAttemptAt: Date?
  /// Of the attempt in flight.
  public var attemptStartedAt: Date?
  public var lastSuccessAt: Date?
  /// Of the running streak of failures: a success clears it.
  public var lastError: KizunaSyncSyncHealthError?
  /// Sync is blocked until `reset`, as read after the last attempt.
  public var needsReset: Bool

  public init(
    phase: KizunaSyncSyncPhase, consecutiveFailures: Int = 0, nextAttemptAt: Date? = nil,
    attemptStartedAt: Date? = nil, lastSuccessAt: Date? = nil, lastError: KizunaSyncSyncHealthError? = nil,
    needsReset: Bool = false
  ) {
    self.phase = phase
    self.consecutiveFailures = consecutiveFailures
    self.nextAttemptAt = nextAttemptAt
    self.attemptStartedAt = attemptStartedAt
    self.lastSuccessAt = lastSuccessAt
    self.lastError = lastError
    self.needsReset = needsReset
  }
}

extension KizunaSyncSyncHealth {
  init(_ health: SyncHealth) {
    self.init(
      phase: KizunaSyncSyncPhase(health.phase), consecutiveFailures: health.consecutiveFailures,
      nextAttemptAt: health.nextAttemptAt.map(Self.date),
      attemptStartedAt: health.attemptStartedAt.map(Self.date),
      lastSuccessAt: health.lastSuccessAt.map(Self.date),
      lastError: health.lastError.map {
        KizunaSyncSyncHealthError(code: $0.code, message: $0.message, at: Self.date($0.at))
      },
      needsReset: health.needsReset)
  }

  private static func date(_ milliseconds: Int64) -> Date {
    Date(timeIntervalSince1970: Double(milliseconds) / 1000)
  }
}

extension KizunaSyncSyncPhase {
  init(_ phase: SyncHealth.Phase) {
    switch phase {
    case .idle: self = .idle
    case .syncing: self = .syncing
    case .backoff: self = .backoff
    case .stalled: self = .stalled
    case .offline: self = .offline
    }
  }
}

extension WakeReason {
  init(_ reason: KizunaSyncWakeReason) {
    switch reason {
    case .poll: self = .poll
    case .foreground: self = .foreground
    case .path: self = .path
    case .doorbell: self = .doorbell
    case .localWrite: self = .localWrite
    case .start: self = .start
    }
  }
}
