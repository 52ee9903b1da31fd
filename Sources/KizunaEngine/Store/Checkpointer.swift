import CSQLite

/// Carries the write-ahead log over into the database file, on a thread and a connection of its own, so that no
/// commit pays for it. Only what is written during a round is left to the writer, and only when the log would
/// never be empty otherwise: SQLite begins it anew when all of it has been carried over.
/// https://sqlite.org/wal.html#ckpt
final class Checkpointer: @unchecked Sendable {
  /// Pages that have been added to the log since the last round. Small, because a commit that needs the disk
  /// meanwhile waits for what the round sends there.
  private static let roundPages = 4000
  /// A log of so many pages is to be brought to its end.
  private static let longPages = 3 * roundPages

  /// The thread's own.
  private let connection: Connection
  private let lock = Lock()
  private var thread: Thread?
  // Under the lock.
  private var isClosed = false
  private var isWanted = false
  private var rounds = 0
  /// A round has ended, and the writer has not yet looked at what it has left.
  private var hasEnded = false
  /// Pages in the log, and how many of them the database file has.
  private var logged = 0
  private var carried = 0

  /// `synchronous`: as the writer's.
  init(path: String, synchronous: String) throws(KizunaError) {
    let connection = try Connection(path: path, readOnly: false)
    try connection.execute(
      "PRAGMA synchronous=\(synchronous); PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-64;")
    // A connection that has never read knows of no log.
    _ = try connection.value("SELECT 1 FROM sqlite_schema LIMIT 1")
    self.connection = connection
  }

  func start() {
    thread = Thread(name: "kizuna-checkpt") { [self] in
      while awaitRound() { endRound(Self.carry(connection)) }
    }
  }

  private static func carry(_ connection: Connection) -> (logged: Int, carried: Int)? {
    var pages = (logged: Int32(0), carried: Int32(0))
    let code = sqlite3_wal_checkpoint_v2(
      connection.handle, nil, SQLITE_CHECKPOINT_PASSIVE, &pages.logged, &pages.carried)
    return code == SQLITE_OK ? (Int(pages.logged), Int(pages.carried)) : nil
  }

  // MARK: The thread

  private func awaitRound() -> Bool {
    lock.locked {
      while !isClosed && !isWanted { lock.wait() }
      return !isClosed
    }
  }

  private func endRound(_ pages: (logged: Int, carried: Int)?) {
    lock.locked {
      isWanted = false
      rounds += 1
      // Even where a reader or a fault has kept the round from its end, the next one waits for more pages.
      carried = max(pages?.logged ?? logged, 0)
      hasEnded = true
      lock.broadcast()
    }
  }

  // MARK: The writer

  /// Has SQLite tell of every commit of this connection. It must be closed before the checkpointer goes.
  func watch(_ connection: Connection) {
    sqlite3_wal_hook(
      connection.handle,
      { context, _, _, pages in
        // Runs on the writer's thread, within COMMIT.
        if let context {
          Unmanaged<Checkpointer>.fromOpaque(context).takeUnretainedValue().committed(Int(pages))
        }
        return SQLITE_OK
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  private func committed(_ pages: Int) {
    lock.locked {
      if pages < logged { carried = 0 }
      logged = pages
      guard !isWanted, logged - carried >= Self.roundPages else { return }
      isWanted = true
      lock.broadcast()
    }
  }

  /// Between two transactions of the writer: brings a long log to its end when little of it is left.
  func finish(_ connection: Connection) {
    let isDue = lock.locked {
      guard hasEnded, !isWanted else { return false }
      hasEnded = false
      return logged >= Self.longPages
    }
    if isDue, let pages = Self.carry(connection) { lock.locked { carried = pages.logged } }
  }

  // MARK: Those who write much

  /// Waits while a round is due or on its way: whoever writes on meanwhile would lengthen the log for ever.
  func settle() {
    lock.locked {
      let round = rounds
      while isWanted, rounds == round, !isClosed { lock.wait() }
    }
  }

  func close() {
    lock.locked {
      isClosed = true
      lock.broadcast()
    }
    thread?.join()
    thread = nil
  }
}
