import CSQLite
import KizunaEngine

/// What one server thread keeps between requests: its reader. Only that thread touches it, but for the counts, which
/// others may read.
final class Worker: @unchecked Sendable {
  /// The answers that this thread has sent.
  let counts = AnswerCounts()
  private let engine: Engine
  private let maxRows: Int?
  private var current: (session: ReadSession, fast: FastReads, catalogVersion: Int)?
  /// The last `Host` that was let in: most requests of a thread name the same.
  private var acceptedHost: [UInt8] = []

  init(engine: Engine, maxRows: Int?) {
    self.engine = engine
    self.maxRows = maxRows
  }

  /// The thread's reader, made anew when a column was learnt since.
  func session() throws(KizunaError) -> ReadSession { try reader().session }

  /// The reader, with the shapes it has met.
  func reader() throws(KizunaError) -> (session: ReadSession, fast: FastReads) {
    let version = engine.catalogVersion
    if let current, current.catalogVersion == version { return (current.session, current.fast) }
    current = nil
    let session = try engine.makeSession()
    let fast = FastReads(maxRows: maxRows)
    current = (session, fast, version)
    return (session, fast)
  }

  func accepts(host: UnsafeBufferPointer<UInt8>?) -> Bool {
    guard let host else { return true }
    return host.elementsEqual(acceptedHost)
  }

  func accepted(host: String?) { if let host { acceptedHost = Array(host.utf8) } }
}

/// The workers of a server, one for each thread that has answered a read. They are owned here, so that the readers
/// close with the server and not with the threads; a thread finds its own by its thread-local pointer.
final class Workers: @unchecked Sendable {
  private let engine: Engine
  private let maxRows: Int?
  private let lock = csqlite_lock_new()
  private var all: [Worker] = []

  init(engine: Engine, maxRows: Int?) {
    self.engine = engine
    self.maxRows = maxRows
  }

  deinit { csqlite_lock_free(lock) }

  /// The calling thread's worker. Only threads that the HTTP server made may call: they end before the workers do,
  /// so the pointer never outlives what it points to.
  func ofThisThread() -> Worker {
    if let worker = ThreadLocal.current(as: Worker.self) { return worker }
    let worker = Worker(engine: engine, maxRows: maxRows)
    csqlite_lock_acquire(lock)
    all.append(worker)
    csqlite_lock_release(lock)
    ThreadLocal.set(worker)
    return worker
  }

  /// The answers that all server threads have sent.
  func answerCounts() -> [AnswerCounts.Entry] {
    csqlite_lock_acquire(lock)
    let current = all
    csqlite_lock_release(lock)
    return AnswerCounts.total(current.map(\.counts))
  }

  /// Closes every reader. The server's threads must have ended.
  func removeAll() {
    csqlite_lock_acquire(lock)
    all.removeAll()
    csqlite_lock_release(lock)
  }
}
