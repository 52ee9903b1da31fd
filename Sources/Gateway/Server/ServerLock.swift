import CSQLite

/// A mutex with a condition.
final class ServerLock: @unchecked Sendable {
  private let lock: UnsafeMutablePointer<csqlite_lock> = csqlite_lock_new()

  deinit { csqlite_lock_free(lock) }

  @inline(__always)
  func holding<Result: ~Copyable>(_ body: () -> Result) -> Result {
    csqlite_lock_acquire(lock)
    defer { csqlite_lock_release(lock) }
    return body()
  }

  /// Lets go of the lock until someone calls `wakeAll`; only while it is held. With `milliseconds`, at most so
  /// long: then the result is false.
  @discardableResult
  func wait(milliseconds: Int = -1) -> Bool { csqlite_lock_wait(lock, Int64(milliseconds)) != 0 }

  func wakeAll() { csqlite_lock_broadcast(lock) }
}
