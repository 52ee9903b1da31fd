extension WriteContext {
  /// The side table of a table, as wide as the table is now.
  func side(_ index: Int, _ transfer: StagedTransfer) throws(KizunaError) -> SideTable {
    let table = catalog.tables[index]
    guard let side = transfer.sides[index] else {
      let side = SideTable(
        table, named: EngineTables.sideName(table.sqlName), isIndexed: try mayTakePlace(table, transfer))
      try createSide(side, of: table)
      transfer.sides[index] = side
      return side
    }
    try bring(side, to: table)
    return side
  }

  private func bring(_ side: SideTable, to table: TableSchema) throws(KizunaError) {
    if side.source !== table {
      try widen(side, to: table)
      side.follow(table)
    }
    if let filled = side.filling?.table, filled.source !== table {
      try widen(filled, to: table)
      filled.follow(table)
    }
  }

  /// Whether the side table can take the table's place as a whole when the transfer closes. Asked again then.
  func mayTakePlace(_ table: TableSchema, _ transfer: StagedTransfer) throws(KizunaError) -> Bool {
    guard try mayBeReplaced(table) else { return false }
    if transfer.isReplacing { return true }
    return try hasOnlyPendingRows(table)
  }

  /// Whether nothing would be lost with the table but its rows.
  func mayBeReplaced(_ table: TableSchema) throws(KizunaError) -> Bool {
    if table.columns.contains(where: { isOfThisDevice($0.name) }) { return false }
    return try !TableIndexes(table, connection).hasForeignCompany()
  }

  func isOfThisDevice(_ column: String) -> Bool {
    configuration.remote?.localOnlyColumns.contains { $0.sameBytes(as: column) } == true
  }

  private func hasOnlyPendingRows(_ table: TableSchema) throws(KizunaError) -> Bool {
    let pending = try pendingKeys(table)
    let statement = try connection.prepare(
      "SELECT count(*) FROM (SELECT 1 FROM \(SQLName.quoted(table.sqlName)) LIMIT \(pending.count + 1))")
    let shown = try statement.step() ? Int(statement.integer(0)) : 0
    statement.reset()
    if shown == 0 { return true }
    if shown > pending.count { return false }
    var found = 0
    for pk in pending where try existing(try keyValues(pk, table), table) != nil { found += 1 }
    return found == shown
  }

  /// The keys of rows with writes in the outbox.
  func pendingKeys(_ table: TableSchema) throws(KizunaError) -> [String] {
    let statement = try connection.cached("SELECT pk FROM _kizunasync_base WHERE \"table\" = ?")
    statement.bind([.text(table.name)])
    defer { statement.reset() }
    var keys: [String] = []
    while try statement.step() { keys.append(statement.text(0) ?? "") }
    return keys
  }

  private func createSide(_ side: SideTable, of table: TableSchema) throws(KizunaError) {
    let known = try SchemaRegistry.load(table.name, connection)?.columns ?? []
    let hidden = known.filter { old in !table.columns.contains { $0.sqlName.sameBytes(as: old.sqlName) } }
    try connection.execute("DROP TABLE IF EXISTS \(SQLName.quoted(side.schema.sqlName))")
    try connection.execute(
      try Migration.createStatement(table, name: side.schema.sqlName, hidden: hidden))
    if side.isIndexed { try TableIndexes(table, connection).create(on: side.schema.sqlName) }
  }

  /// Columns have been learnt since, or a job was undone that had made the table.
  private func widen(_ side: SideTable, to table: TableSchema) throws(KizunaError) {
    let statement = try connection.prepare("SELECT name FROM pragma_table_info(?)")
    statement.bind([.text(side.schema.sqlName)])
    var known: [String] = []
    while try statement.step() { known.append(statement.text(0) ?? "") }
    statement.reset()
    if known.isEmpty { return try createSide(side, of: table) }
    for column in table.columns where !known.contains(where: { $0.sameBytes(as: column.sqlName) }) {
      try connection.execute(
        "ALTER TABLE \(SQLName.quoted(side.schema.sqlName)) ADD COLUMN \(SQLName.quoted(column.sqlName)) "
          + column.type.affinity)
    }
  }

  func place(_ values: [SQLValue], in side: SideTable) throws(KizunaError) {
    let statement = try connection.cached(side.replace)
    statement.bind(values)
    let code = statement.stepCode()
    statement.reset()
    try StoreFault.check(code, on: connection.handle)
  }

  // MARK: Filling

  /// So many staged rows go into a table within one transaction without a stall that anyone would notice.
  private static let mergedRows = 10_000
  /// Writing a table anew pays while it is not larger than this many times what has changed.
  private static let refillFactor = 50

  /// Takes one step in making the table anew beside the old one, when so much has changed that bringing it up to
  /// date would hold local writes up. Answers whether more steps are needed.
  ///
  /// Whoever writes a row meanwhile makes it pending, and pending rows are looked at one by one when the transfer
  /// closes; what was copied of them before does not count.
  func fill(_ index: Int, limit: Int, _ transfer: StagedTransfer) throws(KizunaError) -> Bool {
    guard let known = transfer.sides[index], !known.isIndexed, known.staged > Self.mergedRows else {
      return false
    }
    let side = try side(index, transfer)
    let table = catalog.tables[index]
    guard var filling = side.filling else {
      let isLarge = try connection.value(
        "SELECT 1 FROM \(SQLName.quoted(table.sqlName)) LIMIT 1 OFFSET \(side.staged * Self.refillFactor)")
      guard isLarge == nil, try mayBeReplaced(table) else { return false }
      let filled = SideTable(table, named: EngineTables.filledName(table.sqlName), isIndexed: true)
      try createSide(filled, of: table)
      side.filling = SideTable.Filling(table: filled)
      return true
    }
    if filling.isComplete { return false }
    let reached = try copyStep(filling, side, table, limit)
    if let reached {
      filling.after = reached
    } else if filling.isTakingStaged {
      filling.isComplete = true
    } else {
      filling.isTakingStaged = true
      filling.after = .min
    }
    side.filling = filling
    return !filling.isComplete
  }

  /// Copies rows for a moment. Answers the last one; nil when there was none left.
  private func copyStep(
    _ filling: SideTable.Filling, _ side: SideTable, _ table: TableSchema, _ limit: Int
  ) throws(KizunaError) -> Int64? {
    let source = filling.isTakingStaged ? side.schema : table
    let deadline = monotonicMilliseconds() + Self.stepMilliseconds
    let statement = try connection.cached(
      "\(shape(of: source).selectAll) WHERE rowid > ? ORDER BY rowid LIMIT ?")
    statement.bind([.integer(filling.after), .integer(Int64(limit))])
    defer { statement.reset() }
    var last: Int64?
    while try statement.step() {
      let row = StoredRow(statement, columns: table.columns.count)
      last = row.rowid
      if filling.isTakingStaged {
        try place(row.values, in: filling.table)
      } else if try existing(table.key.map { row.values[$0] }, side.schema) == nil {
        try place(row.values, in: filling.table)
      }
      if row.rowid & 63 == 63, monotonicMilliseconds() > deadline { break }
    }
    return last
  }
}
