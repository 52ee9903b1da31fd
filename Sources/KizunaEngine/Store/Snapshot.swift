/// A reader's transaction, kept open from one read to the next while nothing is committed: beginning one takes three
/// system calls and a lock that all readers of the process share.
///
/// It pins the write-ahead log, so the keeper ends it from a thread of its own once it is older than
/// `SnapshotKeeper.lifetime`; ten lifetimes at most. Whoever uses the connection holds the lock.
final class Snapshot: @unchecked Sendable {
  private let connection: Connection
  private let commits: AtomicWord
  private let keeper: SnapshotKeeper
  private let lock = Lock()
  // Under the lock.
  private var isOpen = false
  private var seenCommits = -1
  private var openedAt: Int64 = 0

  init(_ connection: Connection, commits: AtomicWord, keeper: SnapshotKeeper) {
    self.connection = connection
    self.commits = commits
    self.keeper = keeper
    keeper.add(self)
  }

  /// Runs reads that see every commit made before the call, all in one state of the database.
  func read<Value>(_ body: () throws(KizunaError) -> Value) throws(KizunaError) -> Value {
    lock.acquire()
    defer { lock.release() }
    // Taken before the transaction begins: what is committed in between is seen, and looked for once more.
    let current = commits.value
    if !isOpen || seenCommits != current {
      try end()
      try connection.run("BEGIN")
      isOpen = true
      seenCommits = current
      openedAt = monotonicMilliseconds()
      keeper.wake()
    }
    do throws(KizunaError) {
      return try body()
    } catch {
      try? end()
      throw error
    }
  }

  /// Runs a read that begins and ends transactions of its own.
  func alone<Value>(_ body: () throws(KizunaError) -> Value) throws(KizunaError) -> Value {
    lock.acquire()
    defer { lock.release() }
    try end()
    return try body()
  }

  /// With the lock held.
  private func end() throws(KizunaError) {
    guard isOpen else { return }
    isOpen = false
    try connection.run("COMMIT")
  }

  /// Ends the transaction if it is older than that. Answers whether one is still open.
  func release(olderThan milliseconds: Int64) -> Bool {
    lock.acquire()
    defer { lock.release() }
    if isOpen, monotonicMilliseconds() - openedAt >= milliseconds { try? end() }
    return isOpen
  }
}

/// Ends the snapshots of idle readers.
final class SnapshotKeeper: @unchecked Sendable {
  /// Milliseconds that a snapshot may stay without being begun anew.
  static let lifetime: Int64 = 1000

  private final class Entry {
    weak var snapshot: Snapshot?
    init(_ snapshot: Snapshot) { self.snapshot = snapshot }
  }

  private let lock = Lock()
  private var entries: [Entry] = []
  private var isClosed = false
  private var thread: Thread?
  /// Not zero while the thread will look again by itself.
  private let isAwake = AtomicWord()

  func start() {
    thread = Thread(name: "kizuna-snapshot") { [self] in watch() }
  }

  func add(_ snapshot: Snapshot) {
    lock.locked {
      entries.removeAll { $0.snapshot == nil }
      entries.append(Entry(snapshot))
    }
  }

  /// A snapshot has been opened.
  func wake() {
    if isAwake.value == 0 { lock.locked { lock.signal() } }
  }

  private func watch() {
    lock.acquire()
    while !isClosed {
      // Whoever opens a snapshot while the thread is awake is looked at in the next round, and at the latest after
      // the long wait.
      isAwake.add(1)
      lock.release()
      let remain = endSnapshots(olderThan: Self.lifetime)
      lock.acquire()
      if isClosed { break }
      if remain {
        lock.wait(milliseconds: Int(Self.lifetime))
        isAwake.add(-1)
      } else {
        isAwake.add(-1)
        lock.wait(milliseconds: Int(Self.lifetime) * 10)
      }
    }
    lock.release()
  }

  /// Answers whether one is left open. A function of its own: no snapshot is held, and with it a connection, while
  /// the thread waits.
  private func endSnapshots(olderThan milliseconds: Int64) -> Bool {
    var remain = false
    for snapshot in lock.locked({ entries.compactMap(\.snapshot) })
    where snapshot.release(olderThan: milliseconds) {
      remain = true
    }
    return remain
  }

  /// Ends every snapshot: the last checkpoint waits for whoever still reads.
  func close() {
    lock.locked {
      isClosed = true
      lock.broadcast()
    }
    thread?.join()
    thread = nil
    _ = endSnapshots(olderThan: 0)
  }
}
