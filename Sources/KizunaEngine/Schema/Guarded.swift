import CSQLite

/// A value behind a lock. The lock is never freed: instances are process-wide.
final class Guarded<State>: @unchecked Sendable {
  // Unchecked: `state` is only touched between acquire and release.
  private var state: State
  private let lock: UnsafeMutablePointer<csqlite_lock>

  init(_ state: State) {
    self.state = state
    lock = csqlite_lock_new()
  }

  func with<Result>(_ body: (inout State) -> Result) -> Result {
    csqlite_lock_acquire(lock)
    defer { csqlite_lock_release(lock) }
    return body(&state)
  }
}
