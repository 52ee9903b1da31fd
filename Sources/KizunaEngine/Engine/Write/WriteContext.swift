/// What jobs on the writer thread work with: the write connection, the catalog, and what the running job has
/// changed so far. Everything here belongs to the writer thread.
final class WriteContext {
  /// What a job changed, to be told once its commit is durable.
  struct Change {
    /// A local write: it tells of itself and of the queue's depth.
    var isWrite = false
    /// What entered the queue less what left it, or is on its way.
    var queued = 0
    /// What else is to be told, in order. A job of sync tells nothing but these.
    var events: [EngineEvent] = []
    var isReset = false
    /// How many mutations of a call, by its write id, have left the outbox.
    var settled: [String: Int] = [:]
  }

  struct Mark {
    var catalog: Catalog
    var identity: Identity
  }

  let connection: Connection
  let configuration: EngineConfiguration
  let shared: SharedState
  private let events: EventHub
  private let commits: AtomicWord
  private let verdicts: VerdictWatch

  /// As the running transaction sees it; published when it commits.
  var catalog: Catalog
  var identity: Identity
  var change = Change()
  /// Queued and not in flight, committed.
  private var depth: Int
  private var commitsDurably = true
  private var shapes: [ObjectIdentifier: TableShape] = [:]

  init(
    connection: Connection, configuration: EngineConfiguration, catalog: Catalog, identity: Identity,
    shared: SharedState, events: EventHub, commits: AtomicWord, verdicts: VerdictWatch
  ) throws(KizunaError) {
    self.verdicts = verdicts
    self.commits = commits
    self.connection = connection
    self.configuration = configuration
    self.catalog = catalog
    self.identity = identity
    self.shared = shared
    self.events = events
    depth = try Self.countQueue(connection)
  }

  static func countQueue(_ connection: Connection) throws(KizunaError) -> Int {
    // All less the few in flight: both counts read an index, not the entries.
    let value = try connection.value(
      """
      SELECT (SELECT count(*) FROM _kizunasync_outbox)
        - (SELECT count(*) FROM _kizunasync_outbox WHERE in_flight = 1)
      """)
    guard case .integer(let count)? = value else { return 0 }
    return Int(count)
  }

  func close() {
    shapes.removeAll()
    connection.forgetStatements()
    // Best effort: the next open replays the log otherwise.
    try? connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
  }

  // MARK: Transactions

  func beginTransaction() {}

  /// Between transactions: whether the next commit must be on the disk when it returns.
  func demandDurability(_ isDurable: Bool) throws(KizunaError) {
    guard isDurable != commitsDurably, configuration.synchronous == "FULL" else { return }
    try connection.execute("PRAGMA synchronous=\(isDurable ? "FULL" : "NORMAL")")
    commitsDurably = isDurable
  }

  func beginJob() -> Mark {
    change = Change()
    return Mark(catalog: catalog, identity: identity)
  }

  func undoJob(to mark: Mark) {
    catalog = mark.catalog
    identity = mark.identity
  }

  func committed(_ changes: [Change]) {
    commits.add(1)
    shared.publish(catalog: catalog, identity: identity)
    var told: [EngineEvent] = []
    for change in changes {
      told.append(contentsOf: change.events)
      depth = change.isReset ? 0 : depth + change.queued
      if change.isReset {
        told.append(.localChanged)
      } else if change.isWrite {
        told.append(.localChanged)
        told.append(.queueDepth(UInt32(clamping: depth)))
      }
    }
    events.emit(told)
    for change in changes {
      if change.isReset { verdicts.settleAll() }
      if !change.settled.isEmpty { verdicts.settled(change.settled) }
    }
  }

  func rolledBack() {
    (catalog, identity) = shared.published()
  }

  // MARK: Tables

  /// The table as it is now: a plan may have been made before a column was learnt.
  func current(_ table: TableSchema) throws(KizunaError) -> TableSchema {
    guard let found = catalog.table(table.name) else { throw Self.unknown(table.name) }
    return found
  }

  func writable(_ name: String) throws(KizunaError) -> TableSchema {
    guard let table = catalog.table(name) else { throw Self.unknown(name) }
    try Self.checkWritable(table)
    return table
  }

  static func checkWritable(_ table: TableSchema) throws(KizunaError) {
    guard table.syncMode == .pullOnly else { return }
    throw KizunaError(
      "LOCAL_UNSUPPORTED", "table \(table.name) is pull-only and takes no local writes",
      hint: "Set its sync_mode to read-write to write it here.")
  }

  static func unknown(_ name: String) -> KizunaError {
    KizunaError(
      "UNKNOWN_TABLE", sqlstate: "PGRST205", "Could not find the table 'public.\(name)' in the schema cache")
  }

  func shape(of table: TableSchema) -> TableShape {
    if let shape = shapes[ObjectIdentifier(table)] { return shape }
    if shapes.count > 512 { shapes.removeAll() }
    let shape = TableShape(table)
    shapes[ObjectIdentifier(table)] = shape
    return shape
  }
}

/// The SQL with which one table's rows are written.
final class TableShape {
  let table: TableSchema
  let insert: String
  /// rowid, then every column; by key.
  let selectByKey: String
  let selectByRow: String
  let selectAll: String
  let deleteByRow: String
  /// Every column, comma-joined.
  let columnList: String

  init(_ table: TableSchema) {
    self.table = table
    let name = SQLName.quoted(table.sqlName)
    let columns = table.columns.map { SQLName.quoted($0.sqlName) }
    columnList = columns.joined(separator: ",")
    let marks = columns.map { _ in "?" }.joined(separator: ",")
    insert =
      columns.isEmpty
      ? "INSERT INTO \(name) DEFAULT VALUES" : "INSERT INTO \(name)(\(columnList)) VALUES(\(marks))"
    let list = (["rowid"] + columns).joined(separator: ",")
    let key = table.key.map { "\(columns[$0]) = ?" }.joined(separator: " AND ")
    selectByKey = "SELECT \(list) FROM \(name) WHERE \(key.isEmpty ? "0" : key)"
    selectAll = "SELECT \(list) FROM \(name)"
    selectByRow = "\(selectAll) WHERE rowid = ?"
    deleteByRow = "DELETE FROM \(name) WHERE rowid = ?"
  }

  func update(_ columns: [Int]) -> String {
    let list = columns.map { "\(SQLName.quoted(table.columns[$0].sqlName)) = ?" }.joined(separator: ",")
    return "UPDATE \(SQLName.quoted(table.sqlName)) SET \(list) WHERE rowid = ?"
  }
}

/// A row as it stands, with its place in the table.
struct StoredRow {
  var rowid: Int64
  var values: [SQLValue]

  /// From a statement whose columns are the rowid and then every column.
  init(_ statement: Statement, columns: Int) {
    rowid = statement.integer(0)
    values = (0..<columns).map { statement.value(Int32($0 + 1)) }
  }

  init(rowid: Int64, values: [SQLValue]) {
    self.rowid = rowid
    self.values = values
  }

  func key(_ table: TableSchema) -> String { RowKey.text(table.key.map { values[$0] }) }

  /// The row as JSON: what a base image holds.
  func image(_ table: TableSchema) -> String {
    var buffer = ByteBuffer(capacity: 256)
    buffer.append(UInt8(ascii: "{"))
    for (index, column) in table.columns.enumerated() {
      if index > 0 { buffer.append(UInt8(ascii: ",")) }
      buffer.appendJSON(string: column.name)
      buffer.append(UInt8(ascii: ":"))
      RowText.appendJSON(values[index], column.type, to: &buffer)
    }
    buffer.append(UInt8(ascii: "}"))
    return buffer.string
  }
}

/// Stored values as text.
enum RowText {
  static func appendJSON(_ value: SQLValue, _ type: ColumnType, to buffer: inout ByteBuffer) {
    switch value {
    case .null: buffer.append("null")
    default: value.withRaw { type.appendJSON($0, to: &buffer, zone: .utc) }
    }
  }

  static func appendWire(_ value: SQLValue, _ type: ColumnType, to buffer: inout ByteBuffer) {
    switch value {
    case .null: buffer.append("null")
    default: value.withRaw { type.appendWire($0, to: &buffer) }
    }
  }

  /// Postgres' text form, as its messages show a value.
  static func shown(_ value: SQLValue, _ type: ColumnType) -> String {
    if value.isNull { return "null" }
    var buffer = ByteBuffer(capacity: 32)
    value.withRaw { type.appendText($0, to: &buffer, zone: .utc) }
    return buffer.string
  }
}
