import CSQLite
import KizunaEngine

/// What one server thread keeps between requests: its reader. Only that thread touches it.
final class Worker: @unchecked Sendable {
  private let engine: Engine
  private var current: (session: ReadSession, catalogVersion: Int)?

  init(engine: Engine) { self.engine = engine }

  /// The thread's reader, made anew when a column was learnt since.
  func session() throws(KizunaError) -> ReadSession {
    let version = engine.catalog.version
    if let current, current.catalogVersion == version { return current.session }
    current = nil
    let session = try engine.makeSession()
    current = (session, version)
    return session
  }
}

/// The workers of a server, one for each thread that has answered a read. They are owned here, so that the readers
/// close with the server and not with the threads; a thread finds its own by its thread-local pointer.
final class Workers: @unchecked Sendable {
  private let engine: Engine
  private let lock = csqlite_lock_new()
  private var all: [Worker] = []

  init(engine: Engine) { self.engine = engine }

  deinit { csqlite_lock_free(lock) }

  /// The calling thread's worker. Only threads that the HTTP server made may call: they end before the workers do,
  /// so the pointer never outlives what it points to.
  func ofThisThread() -> Worker {
    if let worker = ThreadLocal.current(as: Worker.self) { return worker }
    let worker = Worker(engine: engine)
    csqlite_lock_acquire(lock)
    all.append(worker)
    csqlite_lock_release(lock)
    ThreadLocal.set(worker)
    return worker
  }

  /// Closes every reader. The server's threads must have ended.
  func removeAll() {
    csqlite_lock_acquire(lock)
    all.removeAll()
    csqlite_lock_release(lock)
  }
}
