import CSQLite
import Testing

@testable import KizunaEngine

/// An in-memory database with the functions registered.
final class FunctionsDatabase {
  private let db: OpaquePointer

  init() throws {
    var handle: OpaquePointer?
    try #require(sqlite3_open(":memory:", &handle) == SQLITE_OK)
    db = try #require(handle)
    try SQLFunctions.register(on: db)
  }

  deinit { sqlite3_close(db) }

  /// The values of every row's columns as text, NULL as `∅`; columns joined by `|`.
  func rows(_ sql: String, _ parameters: [SQLValue] = []) throws -> [String] {
    var prepared: OpaquePointer?
    guard sqlite3_prepare_v2(db, sql, -1, &prepared, nil) == SQLITE_OK, let statement = prepared else {
      throw KizunaError("STORE", String(cString: sqlite3_errmsg(db)))
    }
    defer { sqlite3_finalize(statement) }
    for (index, parameter) in parameters.enumerated() { bind(statement, Int32(index + 1), parameter) }
    var rows: [String] = []
    while true {
      switch sqlite3_step(statement) {
      case SQLITE_ROW:
        let columns = (0..<sqlite3_column_count(statement)).map { column in
          sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "∅"
        }
        rows.append(columns.joined(separator: "|"))
      case SQLITE_DONE: return rows
      default: throw KizunaError("STORE", String(cString: sqlite3_errmsg(db)))
      }
    }
  }

  func value(_ sql: String, _ parameters: SQLValue...) throws -> String {
    try rows(sql, parameters).first ?? "no row"
  }

  private func bind(_ statement: OpaquePointer, _ index: Int32, _ value: SQLValue) {
    switch value {
    case .null: sqlite3_bind_null(statement, index)
    case .integer(let integer): sqlite3_bind_int64(statement, index, integer)
    case .real(let double): sqlite3_bind_double(statement, index, double)
    case .text(let text): csqlite_bind_text_copy(statement, index, text, Int32(text.utf8.count))
    case .blob(let bytes): csqlite_bind_blob_copy(statement, index, bytes, Int32(bytes.count))
    }
  }
}

/// A blob of JSON text, as untyped columns keep what SQLite has no class for.
func json(_ text: String) -> SQLValue { .blob(Array(text.utf8)) }
