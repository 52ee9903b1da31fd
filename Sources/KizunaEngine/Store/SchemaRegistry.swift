/// What the database remembers of its tables: which SQLite name stands for which, and each column's type, so that
/// a changed configuration can be told from the one before.
enum SchemaRegistry {
  struct Column {
    var name: String
    var sqlName: String
    var type: String
    var keyPosition: Int?
  }

  struct Table {
    var sqlName: String
    var columns: [Column]
    var key: [String] {
      columns.filter { $0.keyPosition != nil }.sorted { ($0.keyPosition ?? 0) < ($1.keyPosition ?? 0) }.map(
        \.name)
    }
  }

  static func load(_ table: String, _ connection: Connection) throws(KizunaError) -> Table? {
    let statement = try connection.cached(
      """
      SELECT sql_table, "column", sql_column, type, key_position FROM _kizunasync_schema
      WHERE "table" = ? ORDER BY position
      """)
    statement.bind([.text(table)])
    defer { statement.reset() }
    var found: Table?
    while try statement.step() {
      var current = found ?? Table(sqlName: statement.text(0) ?? table, columns: [])
      var position: Int?
      if case .integer(let value) = statement.value(4) { position = Int(value) }
      current.columns.append(
        Column(
          name: statement.text(1) ?? "", sqlName: statement.text(2) ?? "", type: statement.text(3) ?? "text",
          keyPosition: position))
      found = current
    }
    return found
  }

  static func keepColumn(
    _ table: String, _ column: String, sqlTable: String, sqlColumn: String, type: String, key: Int?,
    position: Int, _ connection: Connection
  ) throws(KizunaError) {
    try connection.run(
      """
      INSERT INTO _kizunasync_schema("table", "column", sql_table, sql_column, type, key_position, position)
      VALUES(?,?,?,?,?,?,?) ON CONFLICT DO UPDATE SET sql_table = excluded.sql_table,
        sql_column = excluded.sql_column, type = excluded.type, key_position = excluded.key_position
      """,
      .text(table), .text(column), .text(sqlTable), .text(sqlColumn), .text(type),
      key.map { .integer(Int64($0)) } ?? .null, .integer(Int64(position)))
  }

  static func keepType(
    _ type: LearntType?, _ table: String, _ column: String, _ connection: Connection
  ) throws(KizunaError) {
    try connection.run(
      "UPDATE _kizunasync_schema SET type = ? WHERE \"table\" = ? AND \"column\" = ?",
      .text(text(.learnt(type))), .text(table), .text(column))
  }

  /// Names in use, as SQLite compares them.
  static func takenColumns(_ table: String, _ connection: Connection) throws(KizunaError) -> Set<String> {
    Set(try load(table, connection)?.columns.map { SQLName.folded($0.sqlName) } ?? [])
      .union(["rowid", "oid", "_rowid_"])
  }

  /// The name itself, or with a numeric suffix where SQLite would confuse it with another or reserves it.
  static func freeName(_ name: String, _ taken: inout Set<String>) -> String {
    let folded = SQLName.folded(name)
    let isReserved = folded.hasPrefix("sqlite_") || folded.hasPrefix(EngineTables.prefix)
    let base = isReserved ? "table_" + name : name
    var candidate = base
    var number = 2
    while taken.contains(SQLName.folded(candidate)) {
      candidate = "\(base)_\(number)"
      number += 1
    }
    taken.insert(SQLName.folded(candidate))
    return candidate
  }

  /// A type as the registry writes it; `type(of:)` reads it back.
  static func text(_ type: ColumnType) -> String {
    switch type {
    case .learnt(let learnt): learnt.map { "learnt \($0.rawValue)" } ?? "learnt"
    case .enumeration(let labels): "enum(" + labels.map(SQLName.literal).joined(separator: ",") + ")"
    case .array(let element): text(element) + "[]"
    default: type.postgresName
    }
  }

  static func type(of text: String) throws(KizunaError) -> ColumnType {
    if text == "learnt" { return .learnt(nil) }
    if text.hasPrefix("learnt ") { return .learnt(LearntType(rawValue: String(text.dropFirst(7)))) }
    return try ColumnType(parsing: text)
  }
}
