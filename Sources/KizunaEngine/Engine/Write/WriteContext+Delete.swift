extension WriteContext {
  /// Removes every row that the filter matches. The rows are found once: the delete itself returns what each was.
  func delete(
    _ filter: Filter?, _ table: TableSchema, zone: Zone, matchesAnyText: Bool, _ call: Call
  ) throws(KizunaError) -> [StoredRow] {
    var compiler = FilterCompiler(table, zone: zone, matchesAnyText: matchesAnyText)
    let reader = ReadCompiler(relation: table, zone: zone)
    try reader.compileWhere(filter, includeHidden: false, &compiler)
    let columns = shape(of: table).columnList
    let statement = try connection.cached(
      "DELETE FROM \(SQLName.quoted(table.sqlName))\(compiler.text.sql) RETURNING rowid"
        + (columns.isEmpty ? "" : "," + columns))
    statement.bind(compiler.text.parameters.map(\.value))
    defer { statement.reset() }
    var rows: [StoredRow] = []
    while try statement.step() { rows.append(StoredRow(statement, columns: table.columns.count)) }
    if rows.count > 1 { rows.sort { Self.precedes($0, $1, table) } }
    for row in rows { try queueDelete(row, table, call) }
    return rows
  }

  func queueDelete(
    _ row: StoredRow, _ table: TableSchema, _ call: Call, columns: String = "{}", mutationId: String? = nil
  ) throws(KizunaError) {
    change.isWrite = true
    guard table.syncMode == .readWrite else { return }
    try enqueue(
      QueuedMutation(op: .delete, pk: row.key(table), columns: columns, mutationId: mutationId), of: table,
      call,
      before: { row.image(table) })
  }

  /// Key order by the key columns' types; without a key, insertion order.
  private static func precedes(_ a: StoredRow, _ b: StoredRow, _ table: TableSchema) -> Bool {
    for index in table.key {
      switch (a.values[index], b.values[index]) {
      case (.integer(let x), .integer(let y)) where x != y: return x < y
      case (.integer, .text): return true
      case (.text, .integer): return false
      case (.text(let x), .text(let y)) where !x.sameBytes(as: y):
        if case .numeric = table.columns[index].type { return DecimalText.compare(x, y) < 0 }
        return x.utf8.lexicographicallyPrecedes(y.utf8)
      default: continue
      }
    }
    return a.rowid < b.rowid
  }

  /// What soft deletion writes: one moment for the whole call, in the column's type.
  func deletionStamp(_ table: TableSchema, _ column: String, at: String) throws(KizunaError) -> JSONValue {
    switch table.column(column)?.type {
    case .boolean: return .bool(true)
    case .bigint, .double, .numeric: return .integer(OriginClock.wallMilliseconds())
    case .smallint, .integer, .real: return .integer(1)
    case .timestamptz, .timestamp, .date, .time, .timetz: return .string(at + "+00")
    default: return .string(Timestamp.rfc3339Milliseconds())
    }
  }
}
