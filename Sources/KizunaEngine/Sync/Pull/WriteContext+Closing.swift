extension WriteContext {
  /// The last page of a sequence, whatever came before it: called in one job with the rows' own changes.
  private func close(cursor: String, conflicts: [PullConflict]) throws(KizunaError) {
    change.events.append(.localChanged)
    for conflict in conflicts { try journal(conflict) }
    if !identity.cursor.sameBytes(as: cursor) {
      try Meta.set("cursor", cursor, connection)
      identity.cursor = cursor
    }
    if identity.restartsPull {
      try Meta.set("restart_pull", nil, connection)
      identity.restartsPull = false
    }
  }

  /// A loss to a write of this device's own is no news to it.
  private func journal(_ conflict: PullConflict) throws(KizunaError) {
    let isOwn = try connection.value(
      "SELECT 1 FROM _kizunasync_pushed WHERE mutation_id = ?", .text(conflict.winnerMutationId))
    if isOwn != nil { return }
    try connection.run(
      """
      INSERT INTO _kizunasync_overwrites("table", pk, "column", loser_value, winner_mutation_id, conflict_mode,
        winner_seq, at) VALUES(?,?,?,?,?,?,?,?)
      """,
      .text(conflict.table), .text(conflict.pk), .text(conflict.column), .text(conflict.loserValueJSON),
      .text(conflict.winnerMutationId), .text(conflict.mode), Self.optional(conflict.winnerSequence),
      .text(Timestamp.now()))
    change.events.append(
      .columnOverwritten(
        table: conflict.table, pk: conflict.pk, column: conflict.column,
        loserValueJSON: conflict.loserValueJSON, winnerMutationId: conflict.winnerMutationId,
        conflictMode: conflict.mode))
  }

  /// A sequence of one page, which was never staged.
  func closeAtOnce(_ page: PullPage) throws(KizunaError) {
    var ways: [Int32: String?] = [:]
    for entry in page.rows {
      let pk = try page.key(entry)
      let (table, values) = try serverValues(try page.row(entry), pk: pk, catalog.tables[Int(entry.table)])
      let way: String?
      if let known = ways[entry.table] {
        way = known
      } else {
        way = try plainUpsert(table)
        ways[entry.table] = .some(way)
      }
      guard let way else {
        try adopt(.row(values), pk: pk, of: table)
        continue
      }
      let statement = try connection.cached(way)
      statement.bind(values)
      let code = statement.stepCode()
      statement.reset()
      try StoreFault.check(code, on: connection.handle)
    }
    for entry in page.tombstones {
      try adopt(.removed, pk: try page.key(entry), of: catalog.tables[Int(entry.table)])
    }
    try close(cursor: page.cursor, conflicts: page.conflicts)
  }

  /// The statement with which rows of this table come in; nil while some of it are pending or shadowed, or where one
  /// key has two stored forms.
  private func plainUpsert(_ table: TableSchema) throws(KizunaError) -> String? {
    if table.learnsColumns { return nil }
    for name in ["base", "server_tombstones"] {
      let entry = try connection.value(
        "SELECT 1 FROM \(EngineTables.prefix)\(name) WHERE \"table\" = ? LIMIT 1", .text(table.name))
      if entry != nil { return nil }
    }
    return shape(of: table).insert + " " + overwriting(table)
  }

  /// Everything of the sequence is staged.
  func close(_ transfer: StagedTransfer, cursor: String) throws(KizunaError) {
    for index in catalog.tables.indices where catalog.tables[index].syncMode != .localOnly {
      guard transfer.isReplacing || transfer.sides[index] != nil else { continue }
      let side = try side(index, transfer)
      let table = catalog.tables[index]
      if let filling = side.filling, filling.isComplete, try mayBeReplaced(table) {
        try takePlace(filling.table, of: table, staged: side, transfer)
      } else if side.isIndexed, try mayTakePlace(table, transfer) {
        try takePlace(side, of: table, staged: side, transfer)
      } else {
        try merge(side, into: table, transfer)
      }
    }
    if transfer.hasTombstones { try removeStaged() }
    try close(cursor: cursor, conflicts: transfer.hasConflicts ? try stagedConflicts() : [])
  }

  private func stagedConflicts() throws(KizunaError) -> [PullConflict] {
    let statement = try connection.cached("SELECT conflict FROM _kizunasync_pull_conflicts ORDER BY id")
    defer { statement.reset() }
    var conflicts: [PullConflict] = []
    while try statement.step() { conflicts.append(try PullConflict(text: statement.text(0) ?? "")) }
    return conflicts
  }

  private func removeStaged() throws(KizunaError) {
    let statement = try connection.prepare("SELECT \"table\", pk FROM _kizunasync_pull_tombstones")
    while try statement.step() {
      guard let name = statement.text(0), let pk = statement.text(1), let table = catalog.table(name) else {
        continue
      }
      try adopt(.removed, pk: pk, of: table)
    }
  }

  private func isStagedRemoved(_ pk: String, _ table: TableSchema) throws(KizunaError) -> Bool {
    try connection.value(
      "SELECT 1 FROM _kizunasync_pull_tombstones WHERE \"table\" = ? AND pk = ?", .text(table.name),
      .text(pk)) != nil
  }

  /// What the transfer says of a key with pending writes; nil when it says nothing.
  private func word(
    on pk: String, _ staged: StoredRow?, _ table: TableSchema, _ transfer: StagedTransfer
  ) throws(KizunaError) -> ServerState? {
    if let staged { return .row(staged.values) }
    if transfer.hasTombstones, try isStagedRemoved(pk, table) { return .removed }
    return transfer.isReplacing ? .omitted : nil
  }

  /// A row that comes again is not gone any more.
  private func clearShadows(_ side: SideTable, _ table: TableSchema) throws(KizunaError) {
    let statement = try connection.prepare(
      "SELECT pk FROM _kizunasync_server_tombstones WHERE \"table\" = ?")
    statement.bind([.text(table.name)])
    var back: [String] = []
    while try statement.step() {
      guard let pk = statement.text(0) else { continue }
      if try existing(try keyValues(pk, table), side.schema) != nil { back.append(pk) }
    }
    statement.reset()
    for pk in back { try setShadow(false, table, pk) }
  }

  // MARK: The side table instead of the table

  /// Renames the side table into the table's place. Rows with pending writes are carried over as they are shown,
  /// and then take the upstream's word one by one.
  private func takePlace(
    _ heir: SideTable, of table: TableSchema, staged side: SideTable, _ transfer: StagedTransfer
  ) throws(KizunaError) {
    try clearShadows(side, table)
    var words: [(pk: String, state: ServerState)] = []
    for pk in try pendingKeys(table) {
      let key = try keyValues(pk, table)
      let staged = try existing(key, side.schema)
      if let state = try word(on: pk, staged, table, transfer) { words.append((pk, state)) }
      let placed = try existing(key, heir.schema)
      if let shown = try existing(key, table) {
        try put(shown.values, over: placed, heir.schema)
      } else if let placed {
        try connection.run(shape(of: heir.schema).deleteByRow, .integer(placed.rowid))
      }
    }
    // Views of others that name the table must go on naming it, not follow it out.
    try connection.execute("PRAGMA legacy_alter_table = ON")
    defer { try? connection.execute("PRAGMA legacy_alter_table = OFF") }
    let name = SQLName.quoted(table.sqlName)
    let retired = SQLName.quoted(EngineTables.retiredName(table.sqlName))
    try connection.execute("ALTER TABLE \(name) RENAME TO \(retired)")
    try connection.execute("ALTER TABLE \(SQLName.quoted(heir.schema.sqlName)) RENAME TO \(name)")
    for (pk, state) in words { try adopt(state, pk: pk, of: table) }
  }

  // MARK: The side table's rows into the table

  private func merge(
    _ side: SideTable, into table: TableSchema, _ transfer: StagedTransfer
  ) throws(KizunaError) {
    try clearShadows(side, table)
    if table.learnsColumns { return try mergeEach(side, into: table, transfer) }
    let names = (own: SQLName.quoted(table.sqlName), side: SQLName.quoted(side.schema.sqlName))
    let key = table.key.map { SQLName.quoted(table.columns[$0].sqlName) }
    if transfer.isReplacing {
      let same = key.map { "s.\($0) = \(names.own).\($0)" }.joined(separator: " AND ")
      // Rows with pending writes stay as they are shown: their device-only columns stand nowhere else.
      var shown: [StoredRow] = []
      for pk in try pendingKeys(table) {
        if let row = try existing(try keyValues(pk, table), table) { shown.append(row) }
      }
      try connection.execute(
        "DELETE FROM \(names.own) WHERE NOT EXISTS (SELECT 1 FROM \(names.side) AS s WHERE \(same))")
      for kept in shown {
        try put(kept.values, over: try row(under: table.key.map { kept.values[$0] }, table), table)
      }
    }
    for pk in try pendingKeys(table) {
      let staged = try existing(try keyValues(pk, table), side.schema)
      guard let state = try word(on: pk, staged, table, transfer) else { continue }
      try adopt(state, pk: pk, of: table)
      if let staged { try connection.run(shape(of: side.schema).deleteByRow, .integer(staged.rowid)) }
    }
    let columns = shape(of: table).columnList
    try connection.execute(
      "INSERT INTO \(names.own)(\(columns)) SELECT \(columns) FROM \(names.side) WHERE true "
        + overwriting(table))
  }

  /// How a row of the upstream replaces one that is here, in SQL: not when they are the same, and not in the columns
  /// of this device.
  private func overwriting(_ table: TableSchema) -> String {
    let own = SQLName.quoted(table.sqlName)
    let columns = table.columns.map { SQLName.quoted($0.sqlName) }
    let key = table.key.map { columns[$0] }
    let changing = table.columns.indices.filter {
      !table.isKey($0) && !isOfThisDevice(table.columns[$0].name)
    }
    .map { columns[$0] }
    let conflict = "ON CONFLICT(\(key.joined(separator: ","))) DO "
    if changing.isEmpty { return conflict + "NOTHING" }
    return conflict + "UPDATE SET \(changing.map { "\($0) = excluded.\($0)" }.joined(separator: ",")) WHERE "
      + "(\(changing.map { "\(own).\($0)" }.joined(separator: ","))) IS NOT "
      + "(\(changing.map { "excluded.\($0)" }.joined(separator: ",")))"
  }

  /// Where columns are learnt, one key has two stored forms, which only a look-up by key finds.
  private func mergeEach(
    _ side: SideTable, into table: TableSchema, _ transfer: StagedTransfer
  ) throws(KizunaError) {
    if transfer.isReplacing {
      let shown = try connection.prepare(shape(of: table).selectAll)
      var gone: [String] = []
      while try shown.step() {
        let pk = StoredRow(shown, columns: table.columns.count).key(table)
        if try existing(try keyValues(pk, table), side.schema) != nil { continue }
        if try !hasPending(table, pk: pk) { gone.append(pk) }
      }
      shown.reset()
      for pk in gone { try adopt(.omitted, pk: pk, of: table) }
      for pk in try pendingKeys(table)
      where try existing(try keyValues(pk, table), side.schema) == nil {
        if let state = try word(on: pk, nil, table, transfer) { try adopt(state, pk: pk, of: table) }
      }
    }
    let staged = try connection.prepare(shape(of: side.schema).selectAll)
    while try staged.step() {
      let row = StoredRow(staged, columns: table.columns.count)
      try adopt(.row(row.values), pk: row.key(table), of: table)
    }
  }
}
