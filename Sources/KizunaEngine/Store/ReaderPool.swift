/// Read sessions for callers without a thread of their own.
final class ReaderPool: Sendable {
  // Pages are copied, not mapped: what a reader maps would count as its memory up to the whole file.
  static let cacheKiB = 16384

  private final class Idle: @unchecked Sendable {
    var sessions: [ReadSession] = []
  }

  private let path: String
  private let closing: Closing
  private let commits: AtomicWord
  private let keeper: SnapshotKeeper
  private let idle = Guarded(Idle())

  init(path: String, closing: Closing, commits: AtomicWord, keeper: SnapshotKeeper) {
    self.path = path
    self.closing = closing
    self.commits = commits
    self.keeper = keeper
  }

  func with<Value>(_ body: (ReadSession) throws(KizunaError) -> Value) throws(KizunaError) -> Value {
    let session: ReadSession
    if let waiting = idle.with({ $0.sessions.popLast() }) {
      session = waiting
    } else {
      session = try ReadSession(
        path: path, cacheKiB: 2048, closing: closing, commits: commits, keeper: keeper)
    }
    defer {
      idle.with { if !closing.isClosed, $0.sessions.count < 4 { $0.sessions.append(session) } }
    }
    return try body(session)
  }

  func close() { idle.with { $0.sessions.removeAll() } }
}
