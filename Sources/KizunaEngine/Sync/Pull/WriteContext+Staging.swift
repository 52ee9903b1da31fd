extension WriteContext {
  /// How long one job may go on staging: local writes wait behind it.
  private static let stepMilliseconds: Int64 = 20
  private static let stepRows = 2000

  /// Whether what was asked in this state of the store may still be used.
  func accepts(_ request: PullRequest) -> Bool {
    identity.softBlockReason == nil && identity.scope == request.scope
  }

  // MARK: Side tables

  /// The side table of a table, as wide as the table is now.
  func side(_ index: Int, _ transfer: StagedTransfer) throws(KizunaError) -> SideTable {
    let table = catalog.tables[index]
    guard let side = transfer.sides[index] else {
      let side = SideTable(table, isIndexed: try mayTakePlace(table, transfer))
      try createSide(side, of: table)
      transfer.sides[index] = side
      return side
    }
    if side.source !== table {
      try widen(side, to: table)
      side.follow(table)
    }
    return side
  }

  /// Whether the side table can take the table's place as a whole when the transfer closes. Asked again then.
  func mayTakePlace(_ table: TableSchema, _ transfer: StagedTransfer) throws(KizunaError) -> Bool {
    if hasDeviceColumns(table) { return false }
    if try TableIndexes(table, connection).hasForeignCompany() { return false }
    if transfer.isReplacing { return true }
    return try hasOnlyPendingRows(table)
  }

  func hasDeviceColumns(_ table: TableSchema) -> Bool {
    table.columns.contains { isOfThisDevice($0.name) }
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
    try connection.execute(
      try Migration.createStatement(table, name: side.schema.sqlName, hidden: hidden))
    if side.isIndexed { try TableIndexes(table, connection).create(on: side.schema.sqlName) }
  }

  /// Columns have been learnt since.
  private func widen(_ side: SideTable, to table: TableSchema) throws(KizunaError) {
    let statement = try connection.prepare("SELECT name FROM pragma_table_info(?)")
    statement.bind([.text(side.schema.sqlName)])
    var known: [String] = []
    while try statement.step() { known.append(statement.text(0) ?? "") }
    statement.reset()
    for column in table.columns where !known.contains(where: { $0.sameBytes(as: column.sqlName) }) {
      try connection.execute(
        "ALTER TABLE \(SQLName.quoted(side.schema.sqlName)) ADD COLUMN \(SQLName.quoted(column.sqlName)) "
          + column.type.affinity)
    }
  }

  // MARK: Entries

  /// Stages entries of a page from `start` on, rows before removed keys, for a moment. Answers where it stopped.
  func stage(
    _ page: PullPage, from start: Int, _ transfer: StagedTransfer
  ) throws(KizunaError) -> Int {
    let deadline = monotonicMilliseconds() + Self.stepMilliseconds
    let count = page.rows.count + page.tombstones.count
    var position = start
    while position < count, position - start < Self.stepRows {
      if position & 63 == 63, monotonicMilliseconds() > deadline { break }
      if position < page.rows.count {
        try stageRow(page.rows[position], page, transfer)
      } else {
        try stageTombstone(page.tombstones[position - page.rows.count], page, transfer)
      }
      position += 1
    }
    return position
  }

  private func stageRow(
    _ entry: PullPage.Entry, _ page: PullPage, _ transfer: StagedTransfer
  ) throws(KizunaError) {
    let pk = try page.key(entry)
    if transfer.tracksSequences, try isStale(entry, pk, page) { return }
    let index = Int(entry.table)
    let (_, values) = try serverValues(try page.row(entry), pk: pk, catalog.tables[index])
    let side = try side(index, transfer)
    let statement = try connection.cached(side.replace)
    statement.bind(values)
    let code = statement.stepCode()
    statement.reset()
    try StoreFault.check(code, on: connection.handle)
    if transfer.hasTombstones {
      try connection.run(
        "DELETE FROM _kizunasync_pull_tombstones WHERE \"table\" = ? AND pk = ?",
        .text(catalog.tables[index].name), .text(pk))
    }
  }

  private func stageTombstone(
    _ entry: PullPage.Entry, _ page: PullPage, _ transfer: StagedTransfer
  ) throws(KizunaError) {
    let pk = try page.key(entry)
    if transfer.tracksSequences, try isStale(entry, pk, page) { return }
    let index = Int(entry.table)
    let table = catalog.tables[index]
    let key = try keyValues(pk, table)
    if transfer.sides[index] != nil {
      let side = try side(index, transfer)
      if let row = try existing(key, side.schema) {
        try connection.run(shape(of: side.schema).deleteByRow, .integer(row.rowid))
      }
    }
    try connection.run(
      "INSERT OR IGNORE INTO _kizunasync_pull_tombstones(\"table\", pk) VALUES(?,?)", .text(table.name),
      .text(pk))
    transfer.hasTombstones = true
  }

  /// The page as a whole is staged: its conflicts and the numbers of its keys are kept, and the transfer goes on
  /// behind it.
  func stagedAll(of page: PullPage, _ transfer: StagedTransfer) throws(KizunaError) {
    for conflict in page.conflicts {
      try connection.run("INSERT INTO _kizunasync_pull_conflicts(conflict) VALUES(?)", .text(conflict.text))
      transfer.hasConflicts = true
    }
    guard let (_, highest) = page.sequences else { return }
    if !transfer.tracksSequences {
      var log = ByteBuffer(capacity: 64 * (page.rows.count + page.tombstones.count))
      for entry in page.rows + page.tombstones {
        for part in [catalog.tables[Int(entry.table)].name, try page.key(entry)] {
          log.append(part)
          log.append(0)
        }
        log.append(page.sequence(entry).digits)
        log.append(0)
      }
      try connection.run("INSERT INTO _kizunasync_pull_log(entries) VALUES(?)", .blob(log.array))
    }
    transfer.highest = max(transfer.highest ?? highest, highest)
  }

  // MARK: Numbers

  /// Pages come in the order of their numbers, so that the later entry of a key is the one that counts. Should one
  /// not, the numbers of the entries before it are laid out so that each can be compared.
  func watchOrder(of page: PullPage, _ transfer: StagedTransfer) throws(KizunaError) {
    guard !transfer.tracksSequences, let highest = transfer.highest,
      let lowest = page.sequences?.lowest, lowest <= highest
    else { return }
    let statement = try connection.prepare("SELECT entries FROM _kizunasync_pull_log ORDER BY id")
    while try statement.step() {
      guard case .blob(let bytes) = statement.value(0) else { continue }
      let parts = bytes.split(separator: 0, omittingEmptySubsequences: false)
      for first in stride(from: 0, to: parts.count - 2, by: 3) {
        let text = parts[first..<first + 3].map { String(decoding: $0, as: UTF8.self) }
        try raiseSequence(text[0], text[1], PullSequence(text[2].utf8))
      }
    }
    statement.reset()
    try connection.run("DELETE FROM _kizunasync_pull_log")
    transfer.tracksSequences = true
  }

  /// Whether a higher number of the key is staged already; otherwise this one is kept.
  private func isStale(_ entry: PullPage.Entry, _ pk: String, _ page: PullPage) throws(KizunaError) -> Bool {
    try !raiseSequence(catalog.tables[Int(entry.table)].name, pk, page.sequence(entry))
  }

  @discardableResult
  private func raiseSequence(
    _ table: String, _ pk: String, _ sequence: PullSequence
  ) throws(KizunaError) -> Bool {
    let known = try connection.value(
      "SELECT seq FROM _kizunasync_pull_sequences WHERE \"table\" = ? AND pk = ?", .text(table), .text(pk))
    if case .text(let text)? = known, PullSequence(text.utf8) > sequence { return false }
    try connection.run(
      "INSERT OR REPLACE INTO _kizunasync_pull_sequences(\"table\", pk, seq) VALUES(?,?,?)", .text(table),
      .text(pk), .text(String(decoding: sequence.digits, as: UTF8.self)))
    return true
  }
}
