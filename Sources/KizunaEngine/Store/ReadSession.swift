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
    return PreparedRead(
      compiled, statement: try connection.cached(compiled.sql),
      count: try compiled.countSQL.map { sql throws(KizunaError) in try connection.cached(sql) },
      format: format, zone: zone, limit: plan.limit, offset: plan.offset)
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

/// A compiled read with its values, for the session that made it.
package final class PreparedRead {
  let statement: Statement
  let count: Statement?
  let writer: RowWriter
  private let sql: String
  private var parameters: [Parameter]
  private let zone: Zone
  private var limit: Int64
  private var offset: Int64

  init(
    _ compiled: CompiledRead, statement: Statement, count: Statement?, format: RowFormat, zone: Zone,
    limit: Int?, offset: Int?
  ) {
    self.statement = statement
    self.count = count
    self.zone = zone
    writer = RowWriter(columns: compiled.outputs, format: format, zone: zone)
    sql = compiled.windowSQL
    parameters = compiled.parameters
    self.limit = Int64(limit ?? -1)
    self.offset = Int64(offset ?? 0)
  }

  var windowSQL: String { sql }
  var values: [SQLValue] { parameters.map(\.value) }

  package var wantsCount: Bool { count != nil }

  /// Whether the parameters are just this many literals of the request, in the order of the filters.
  package func takesLiterals(_ count: Int) -> Bool {
    parameters.count == count && parameters.allSatisfy { $0.reader != nil }
  }

  /// Replaces a literal of the filter. Each must be given anew before the next run.
  package func rebind(literal: String, at position: Int) throws(KizunaError) {
    guard let reader = parameters[position].reader else { return }
    parameters[position].value = try reader.value(of: literal, zone: zone)
  }

  package func rebind(limit: Int?, offset: Int?) {
    self.limit = Int64(limit ?? -1)
    self.offset = Int64(offset ?? 0)
  }

  func bindWindow() { bindWindow(to: statement) }

  func bindWindow(to statement: Statement) {
    statement.reset()
    for index in parameters.indices { statement.bind(Int32(index + 1), parameters[index].value) }
    statement.bind(Int32(parameters.count + 1), .integer(limit))
    statement.bind(Int32(parameters.count + 2), .integer(offset))
  }
}

/// Interrupts a connection's statement once a moment has passed. SQLite asks every few thousand steps of its
/// machine, on the thread that runs the statement.
final class Deadline {
  private let moment = UnsafeMutablePointer<Int64>.allocate(capacity: 1)
  private let connection: Connection

  init(_ connection: Connection) {
    self.connection = connection
    moment.initialize(to: 0)
    sqlite3_progress_handler(
      connection.handle, 4000,
      { context in
        guard let moment = context?.assumingMemoryBound(to: Int64.self).pointee, moment != 0 else { return 0 }
        return monotonicMilliseconds() > moment ? 1 : 0
      }, moment)
  }

  deinit {
    sqlite3_progress_handler(connection.handle, 0, nil, nil)
    moment.deallocate()
  }

  func arm(milliseconds: Int) { moment.pointee = monotonicMilliseconds() + Int64(milliseconds) }
  func disarm() { moment.pointee = 0 }
}

/// Whether the engine has been closed.
final class Closing: Sendable {
  static let error = KizunaError("ENGINE_UNAVAILABLE", "the engine is closed")
  private let flag = AtomicWord()
  var isClosed: Bool { flag.value != 0 }
  func close() { flag.add(1) }
}
