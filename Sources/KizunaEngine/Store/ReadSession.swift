import CSQLite

/// A read connection and its cache of prepared statements. Belongs to one thread at a time.
package final class ReadSession {
  /// Bounds of a read on a server thread. Beyond them `run` throws `KizunaError` with code `SLOW_READ`: hand the
  /// read to a thread that may take its time.
  package struct Budget: Sendable {
    package var milliseconds: Int
    package var bytes: Int
    package init(milliseconds: Int, bytes: Int) {
      self.milliseconds = milliseconds
      self.bytes = bytes
    }
  }

  package struct Outcome: Sendable, Equatable {
    /// Rows written.
    package var rows: Int
    /// Rows that the filter matches, when the plan wants the count.
    package var total: Int?
  }

  private static let slow = KizunaError("SLOW_READ", "the read takes longer than a server thread may give it")
  private static let timedOut = KizunaError(
    "STORE", sqlstate: "57014", "canceling statement due to statement timeout",
    hint: "Narrow the filter, add an index or a limit, or raise read_timeout_s.")
  /// Pieces of a streamed answer.
  private static let pieceSize = 64 * 1024

  private let connection: Connection
  private let clock: Deadline
  private let closing: Closing
  private let snapshot: Snapshot

  init(
    path: String, cacheKiB: Int, closing: Closing, commits: AtomicWord, keeper: SnapshotKeeper
  ) throws(KizunaError) {
    connection = try Connection(path: path, readOnly: false)
    self.closing = closing
    try connection.execute(
      "PRAGMA query_only=1; PRAGMA cache_size=-\(cacheKiB); PRAGMA temp_store=MEMORY;")
    try SQLFunctions.register(on: connection.handle)
    clock = Deadline(connection)
    snapshot = Snapshot(connection, commits: commits, keeper: keeper)
  }

  /// Compiles a plan: checks columns (`42703`), operators (`42883`), literals (`22P02` …) and casts (`42704`).
  package func prepare(
    _ plan: ReadPlan, format: RowFormat, zone: Zone = .utc, matchesAnyText: Bool = false
  ) throws(KizunaError) -> PreparedRead {
    let compiler = ReadCompiler(relation: plan.relation, zone: zone, matchesAnyText: matchesAnyText)
    let compiled = try compiler.compile(plan)
    // In a snapshot as new as the plan's relation: an older one may lack a column that has just been learnt.
    return try snapshot.read { () throws(KizunaError) -> PreparedRead in
      PreparedRead(
        compiled, statement: try connection.cached(compiled.sql),
        count: try compiled.countSQL.map { sql throws(KizunaError) in try connection.cached(sql) },
        format: format, zone: zone, limit: plan.limit, offset: plan.offset)
    }
  }

  /// Appends the answer to `buffer`. Count and rows come from one snapshot.
  package func run(
    _ read: PreparedRead, into buffer: inout ByteBuffer, budget: Budget
  ) throws(KizunaError) -> Outcome {
    guard !closing.isClosed else { throw Closing.error }
    clock.arm(milliseconds: budget.milliseconds)
    defer { clock.disarm() }
    do throws(KizunaError) {
      return try snapshot.read { () throws(KizunaError) -> Outcome in
        let total = try read.count.map { count throws(KizunaError) in try Self.total(count, read) }
        return Outcome(rows: try rows(of: read, into: &buffer, limit: budget.bytes), total: total)
      }
    } catch {
      throw error.sqlstate == "57014" ? Self.slow : error
    }
  }

  private func rows(
    of read: PreparedRead, into buffer: inout ByteBuffer, limit: Int
  ) throws(KizunaError) -> Int {
    let statement = read.statement
    read.bindWindow()
    defer { statement.reset() }
    let writer = read.writer
    let start = buffer.count
    var count = 0
    writer.begin(&buffer)
    while try statement.step() {
      try writer.row(statement, number: count, to: &buffer)
      count += 1
      if buffer.count - start > limit { throw Self.slow }
    }
    writer.end(&buffer)
    return count
  }

  private static func total(_ count: Statement, _ read: PreparedRead) throws(KizunaError) -> Int {
    count.reset()
    defer { count.reset() }
    count.bind(read.values)
    return try count.step() ? Int(count.integer(0)) : 0
  }

  private func endSnapshot() { try? connection.run("COMMIT") }

  /// A read of any size. `start` is told how many rows will come before the first byte; `write` takes the
  /// answer in pieces and answers false to end it. Interrupted (`57014`) after `timeoutSeconds`.
  package func stream(
    _ read: PreparedRead, timeoutSeconds: Int, start: (Outcome) -> Void,
    write: (consuming ByteBuffer) -> Bool
  ) throws(KizunaError) {
    guard !closing.isClosed else { throw Closing.error }
    clock.arm(milliseconds: timeoutSeconds * 1000)
    defer { clock.disarm() }
    do throws(KizunaError) {
      try snapshot.alone { () throws(KizunaError) in
        try connection.run("BEGIN")
        defer { endSnapshot() }
        let total = try read.count.map { count throws(KizunaError) in try Self.total(count, read) }
        let window = try connection.cached(read.windowSQL)
        read.bindWindow(to: window)
        let rows = try window.step() ? Int(window.integer(0)) : 0
        window.reset()
        start(Outcome(rows: rows, total: total))
        try pieces(of: read, write)
      }
    } catch {
      throw error.sqlstate == "57014" ? Self.timedOut : error
    }
  }

  private func pieces(
    of read: PreparedRead, _ write: (consuming ByteBuffer) -> Bool
  ) throws(KizunaError) {
    let statement = read.statement
    read.bindWindow()
    defer { statement.reset() }
    let writer = read.writer
    var buffer = ByteBuffer(capacity: Self.pieceSize + 4096)
    var count = 0
    writer.begin(&buffer)
    while try statement.step() {
      try writer.row(statement, number: count, to: &buffer)
      count += 1
      if buffer.count >= Self.pieceSize {
        let piece = buffer
        buffer = ByteBuffer(capacity: Self.pieceSize + 4096)
        guard write(piece) else { return }
      }
    }
    writer.end(&buffer)
    _ = write(buffer)
  }
}
