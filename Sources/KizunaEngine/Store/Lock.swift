import CSQLite

/// A mutex with a condition, over pthread: the thread sanitizer understands it.
package final class Lock: @unchecked Sendable {
  private let raw = csqlite_lock_new()

  package init() {}
  deinit { csqlite_lock_free(raw) }

  package func locked<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    csqlite_lock_acquire(raw)
    defer { csqlite_lock_release(raw) }
    return try body()
  }

  package func acquire() { csqlite_lock_acquire(raw) }
  package func release() { csqlite_lock_release(raw) }
  package func signal() { csqlite_lock_signal(raw) }
  package func broadcast() { csqlite_lock_broadcast(raw) }
  /// Waits while held; nil waits for ever. Answers false when the time ran out.
  @discardableResult
  package func wait(milliseconds: Int? = nil) -> Bool {
    csqlite_lock_wait(raw, milliseconds.map(Int64.init) ?? -1) != 0
  }
}

/// A value behind a lock.
package final class Guarded<Value>: @unchecked Sendable {
  private let lock = Lock()
  private var value: Value

  package init(_ value: Value) { self.value = value }

  package func with<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    lock.acquire()
    defer { lock.release() }
    return try body(&value)
  }
}

/// A number that threads read and change without a lock.
package final class AtomicWord: @unchecked Sendable {
  // Opaque memory of the C side, whose functions are atomic.
  private let word = csqlite_word_new()

  package init() {}
  deinit { csqlite_word_free(word) }

  package var value: Int { csqlite_word_load(word) }
  @discardableResult
  package func add(_ amount: Int) -> Int { csqlite_word_add(word, amount) }
}
