/// The tables of transfers as a whole.
enum Staging {
  /// Drops what a transfer, finished or not, has left behind.
  static func clear(_ connection: Connection) throws(KizunaError) {
    for name in try leftovers(connection) { try connection.execute("DROP TABLE \(SQLName.quoted(name))") }
    try empty(connection)
  }

  static func empty(_ connection: Connection) throws(KizunaError) {
    for name in EngineTables.stagingTables { try connection.run("DELETE FROM \(EngineTables.prefix)\(name)") }
  }

  /// Side tables, and tables that side tables have replaced.
  static func leftovers(_ connection: Connection) throws(KizunaError) -> [String] {
    let statement = try connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
    let prefixes = [EngineTables.sideName(""), EngineTables.filledName(""), EngineTables.retiredName("")]
    var names: [String] = []
    while try statement.step() {
      guard let name = statement.text(0), prefixes.contains(where: { name.hasPrefix($0) }) else { continue }
      names.append(name)
    }
    return names
  }

  /// Rows that one step removes.
  private static let stepRows = 2000
  /// So many go with their table at once: SQLite reads every page that it frees.
  private static let droppedRows = 60_000

  /// Takes a share of a table's rows away, and then the table. Answers whether it is gone. A large table goes in
  /// many small steps, so that no local write waits for all of it.
  static func shrink(_ name: String, _ connection: Connection) throws(KizunaError) -> Bool {
    let quoted = SQLName.quoted(name)
    // Indexes first, one a step: without them a row costs little.
    let index = try connection.value(
      """
      SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? COLLATE NOCASE AND sql IS NOT NULL
      """, .text(name))
    if case .text(let index)? = index {
      try connection.execute("DROP INDEX \(SQLName.quoted(index))")
      return false
    }
    let isLarge = try connection.prepare("SELECT 1 FROM \(quoted) LIMIT 1 OFFSET \(droppedRows)")
    if try isLarge.step() {
      isLarge.reset()
      try connection.execute(
        "DELETE FROM \(quoted) WHERE rowid IN (SELECT rowid FROM \(quoted) ORDER BY rowid LIMIT \(stepRows))")
      return false
    }
    isLarge.reset()
    try connection.execute("DROP TABLE \(quoted)")
    return true
  }
}

extension WriteContext {
  func clearStaging() throws(KizunaError) { try Staging.clear(connection) }
}
