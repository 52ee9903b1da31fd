import CSQLite
import Glibc

/// One SQLite connection with its cache of prepared statements. Belongs to one thread at a time (the connection
/// is opened without SQLite's own mutex).
final class Connection {
  let handle: OpaquePointer
  private var statements: [String: Statement] = [:]
  private static let cacheLimit = 256

  static let configureOnce: Void = csqlite_configure()

  init(path: String, readOnly: Bool) throws(KizunaError) {
    _ = Self.configureOnce
    var raw: OpaquePointer?
    let flags =
      SQLITE_OPEN_NOMUTEX
      | (readOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE)
    let code = sqlite3_open_v2(path, &raw, flags, nil)
    guard code == SQLITE_OK, let raw else {
      let error = StoreFault.error(code, on: raw, doing: "open \(path)")
      sqlite3_close_v2(raw)
      throw error
    }
    handle = raw
    sqlite3_extended_result_codes(raw, 1)
    csqlite_strict_quotes(raw)
    sqlite3_busy_timeout(raw, 5000)
  }

  deinit {
    statements.removeAll()
    sqlite3_close_v2(handle)
  }

  func execute(_ sql: String) throws(KizunaError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw StoreFault.error(code, on: handle, doing: "run a statement") }
  }

  func prepare(_ sql: String) throws(KizunaError) -> Statement {
    var raw: OpaquePointer?
    var sql = sql
    let code = sql.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { text in
        sqlite3_prepare_v3(
          handle, text.baseAddress, Int32(text.count), UInt32(SQLITE_PREPARE_PERSISTENT), &raw, nil)
      }
    }
    guard code == SQLITE_OK, let raw else {
      throw StoreFault.error(code, on: handle, doing: "prepare a statement")
    }
    return Statement(raw, on: handle)
  }

  /// A prepared statement kept for the next time; it comes reset.
  func cached(_ sql: String) throws(KizunaError) -> Statement {
    if let statement = statements[sql] {
      statement.reset()
      return statement
    }
    if statements.count >= Self.cacheLimit { statements.removeAll(keepingCapacity: true) }
    let statement = try prepare(sql)
    statements[sql] = statement
    return statement
  }

  /// Runs a statement to its end.
  func run(_ sql: String, _ values: SQLValue...) throws(KizunaError) {
    let statement = try cached(sql)
    statement.bind(values)
    while try statement.step() {}
    statement.reset()
  }

  /// The first column of the first row; nil when there is no row.
  func value(_ sql: String, _ values: SQLValue...) throws(KizunaError) -> SQLValue? {
    let statement = try cached(sql)
    defer { statement.reset() }
    statement.bind(values)
    return try statement.step() ? statement.value(0) : nil
  }

  func forgetStatements() { statements.removeAll() }

  var lastInsertedRow: Int64 { sqlite3_last_insert_rowid(handle) }
  /// Rows written since the connection opened.
  var totalChanges: Int64 { Int64(sqlite3_total_changes64(handle)) }
  /// False inside a transaction.
  var isAutocommit: Bool { sqlite3_get_autocommit(handle) != 0 }
}

/// A prepared statement. It keeps no reference to its connection: it must not outlive it.
final class Statement {
  let handle: OpaquePointer
  private let connection: OpaquePointer

  init(_ handle: OpaquePointer, on connection: OpaquePointer) {
    self.handle = handle
    self.connection = connection
  }

  deinit { sqlite3_finalize(handle) }

  func bind(_ values: [SQLValue]) {
    for (index, value) in values.enumerated() { bind(Int32(index + 1), value) }
  }

  /// Positions count from 1.
  func bind(_ index: Int32, _ value: SQLValue) {
    switch value {
    case .null: sqlite3_bind_null(handle, index)
    case .integer(let integer): sqlite3_bind_int64(handle, index, integer)
    case .real(let real): sqlite3_bind_double(handle, index, real)
    case .text(var text):
      text.withUTF8 { bytes in
        bytes.withMemoryRebound(to: CChar.self) {
          _ = csqlite_bind_text_copy(handle, index, $0.baseAddress, Int32($0.count))
        }
      }
    case .blob(let bytes):
      bytes.withUnsafeBytes { _ = csqlite_bind_blob_copy(handle, index, $0.baseAddress, Int32($0.count)) }
    }
  }

  /// True: a row is there. False: the statement is done.
  @inline(__always)
  func step() throws(KizunaError) -> Bool {
    let code = sqlite3_step(handle)
    if code == SQLITE_ROW { return true }
    if code == SQLITE_DONE { return false }
    throw StoreFault.error(code, on: connection, doing: "run a statement")
  }

  func reset() { sqlite3_reset(handle) }

  var columnCount: Int32 { sqlite3_column_count(handle) }

  /// A column of the current row, counted from 0, borrowed.
  @inline(__always)
  func raw(_ column: Int32) -> RawValue {
    switch sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, column))
    case SQLITE_FLOAT: return .real(sqlite3_column_double(handle, column))
    case SQLITE_TEXT:
      let text = sqlite3_column_text(handle, column)
      return .text(UnsafeBufferPointer(start: text, count: Int(sqlite3_column_bytes(handle, column))))
    case SQLITE_BLOB:
      let bytes = sqlite3_column_blob(handle, column)?.assumingMemoryBound(to: UInt8.self)
      return .blob(UnsafeBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))))
    default: return .null
    }
  }

  func value(_ column: Int32) -> SQLValue { SQLValue(raw(column)) }
  func text(_ column: Int32) -> String? {
    if case .text(let text) = value(column) { return text }
    return nil
  }
  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }
}

/// SQLite's result codes as errors of the catalogue.
enum StoreFault {
  static func error(_ code: Int32, on connection: OpaquePointer?, doing action: String) -> KizunaError {
    let primary = code & 0xFF
    let text = connection.map { String(cString: sqlite3_errmsg($0)) } ?? String(cString: sqlite3_errstr(code))
    let systemError = connection.map { sqlite3_system_errno($0) } ?? 0
    let sqlstate: String
    let hint: String?
    switch primary {
    case SQLITE_FULL:
      (sqlstate, hint) = ("53100", "Free some space; nothing of this call was kept.")
    case SQLITE_IOERR where systemError == ENOSPC || systemError == EDQUOT:
      (sqlstate, hint) = ("53100", "Free some space; nothing of this call was kept.")
    case SQLITE_BUSY, SQLITE_LOCKED:
      (sqlstate, hint) = ("55006", "Another process holds the database.")
    case SQLITE_CORRUPT, SQLITE_NOTADB:
      (sqlstate, hint) = ("XX001", "The file is no intact database; restore a backup.")
    case SQLITE_INTERRUPT: (sqlstate, hint) = ("57014", nil)
    case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM:
      (sqlstate, hint) = ("58030", "Check that the database's directory exists and can be written.")
    default: (sqlstate, hint) = ("XX000", nil)
    }
    return KizunaError(
      "STORE", sqlstate: sqlstate, "could not \(action): \(text)", hint: hint)
  }

  /// Whether SQLite may have rolled the whole transaction back by itself.
  static func endsTransaction(_ error: KizunaError) -> Bool { error.code == "STORE" }
}
