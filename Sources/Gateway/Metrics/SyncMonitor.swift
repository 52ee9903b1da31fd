import KizunaEngine

/// How the background sync fares: counted for `/metrics`, and told to the log when it changes.
final class SyncMonitor: @unchecked Sendable {
  struct Counts: Sendable, Equatable {
    var runs = 0
    /// code → runs that failed with it.
    var failures: [String: Int] = [:]
    /// reason → mutations refused for it.
    var rejections: [String: Int] = [:]
  }

  private let lock = Lock()
  // All below under the lock.
  private var current = Counts()
  private var lastSuccessAt: Int64?
  private var lastFailure: SyncHealth.Failure?
  /// The failure that the log was last told of; nil while all is well.
  private var told: (code: String?, message: String)?
  private var unsubscribes: [@Sendable () -> Void] = []

  init(engine: Engine, scheduler: SyncScheduler?) {
    let events = engine.subscribe { [weak self] event in self?.note(event) }
    let health = scheduler?.onHealth { [weak self] health in self?.note(health) }
    lock.locked { unsubscribes = [events] + (health.map { [$0] } ?? []) }
  }

  func close() {
    let ends = lock.locked {
      defer { unsubscribes = [] }
      return unsubscribes
    }
    for end in ends { end() }
  }

  var counts: Counts { lock.locked { current } }

  /// What a refusal is counted under; a reason in the upstream's own words under one name for all, so that callers
  /// cannot make up rows.
  private static let reasons: Set<String> = [
    "RLS_DENIED", "COLUMN_DENIED", "CONSTRAINT", "PRECONDITION", "DELETE_WINS", "SUPERSEDED",
    "PERMANENT_TRANSPORT",
  ]

  func note(_ event: EngineEvent) {
    guard case .mutationRejected(_, let reason) = event else { return }
    let name = Self.reasons.contains(reason) ? reason : "other"
    lock.locked { current.rejections[name, default: 0] += 1 }
  }

  /// Takes the scheduler's word, whenever it changes.
  func note(_ health: SyncHealth) {
    lock.locked {
      if let success = health.lastSuccessAt, success != lastSuccessAt {
        lastSuccessAt = success
        current.runs += 1
        if health.consecutiveFailures == 0, told != nil {
          told = nil
          Log.info("sync works again")
        }
      }
      guard let failure = health.lastError, failure.at != lastFailure?.at else { return }
      lastFailure = failure
      current.runs += 1
      current.failures[failure.code ?? "other", default: 0] += 1
      if told?.code == failure.code, told?.message == failure.message { return }
      told = (failure.code, failure.message)
      Log.warn("sync fails: \(failure.message)", ["code": failure.code ?? "-"])
    }
  }
}
