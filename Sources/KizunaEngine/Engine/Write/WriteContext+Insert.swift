import CSQLite

extension WriteContext {
  /// What an insert touched, for its answer.
  struct Touched {
    var rowids: [Int64] = []
    var keys: [String] = []
    var inserted = 0
  }

  func insert(
    into given: TableSchema, columns names: [String], rows: [[JSONValue?]], _ conflict: WritePlan.Conflict,
    zone: Zone, _ call: Call
  ) throws(KizunaError) -> Touched {
    let table = try learnInserted(given, names, rows)
    let builder = try RowBuilder(table, names, identity: identity, zone: zone, at: call.at)
    let target = try conflictTarget(conflict, table)
    var touched = Touched()
    var merged: Set<Int64> = []
    for row in rows {
      let built = try builder.build(row, context: self)
      if let target, let existing = try find(built.values, target, table) {
        guard case .merge = conflict else { continue }
        guard merged.insert(existing.rowid).inserted else { throw Self.secondTime }
        try merge(built, into: existing, table, call)
        touched.rowids.append(existing.rowid)
        if !table.key.isEmpty { touched.keys.append(existing.key(table)) }
      } else {
        let key = table.key.isEmpty ? nil : RowKey.text(table.key.map { built.values[$0] })
        let rowid = try insertNew(built, key: key, table, call)
        merged.insert(rowid)
        touched.rowids.append(rowid)
        if let key { touched.keys.append(key) }
        touched.inserted += 1
      }
    }
    return touched
  }

  private static let secondTime = KizunaError.refused(
    "21000", "ON CONFLICT DO UPDATE command cannot affect row a second time",
    hint:
      "Ensure that no rows proposed for insertion within the same command have duplicate constrained values.")

  private func conflictTarget(
    _ conflict: WritePlan.Conflict, _ table: TableSchema
  ) throws(KizunaError) -> [Int]? {
    let names: [String]
    switch conflict {
    case .refuse: return nil
    case .merge(let target), .ignore(let target): names = target
    }
    var target: [Int] = []
    for name in names {
      guard let index = table.index(of: name) else {
        throw .refused("42703", "column \"\(name)\" does not exist")
      }
      target.append(index)
    }
    let wanted = Set(target)
    let constraints = [Set(table.key)] + table.unique.map { Set($0.compactMap(table.index(of:))) }
    guard !wanted.isEmpty, constraints.contains(wanted) else {
      throw .refused(
        "42P10", "there is no unique or exclusion constraint matching the ON CONFLICT specification")
    }
    return target
  }

  /// The live row with the same values in these columns; a null matches none.
  func find(_ values: [SQLValue], _ columns: [Int], _ table: TableSchema) throws(KizunaError) -> StoredRow? {
    if columns.contains(where: { values[$0].isNull }) { return nil }
    let shape = shape(of: table)
    let condition = columns.map { index in
      let column = table.columns[index]
      let collation = column.type.collation.map { " COLLATE \($0)" } ?? ""
      return "\(SQLName.quoted(column.sqlName))\(collation) = ?"
    }
    let statement = try connection.cached(
      columns == table.key
        ? shape.selectByKey
        : "SELECT rowid,\(shape.columnList) FROM \(SQLName.quoted(table.sqlName)) WHERE "
          + condition.joined(separator: " AND "))
    statement.bind(columns.map { values[$0] })
    defer { statement.reset() }
    return try statement.step() ? StoredRow(statement, columns: table.columns.count) : nil
  }

  /// Inserts a row that is not there yet; `23505` if it is.
  func insertNew(
    _ built: BuiltRow, key: String?, _ table: TableSchema, _ call: Call, pk: String? = nil,
    mutationId: String? = nil
  ) throws(KizunaError) -> Int64 {
    if table.learnsColumns { try checkOtherSpellings(built.values, table) }
    try checkUnique(built.values, except: nil, table)
    let statement = try connection.cached(shape(of: table).insert)
    statement.bind(built.values)
    let code = statement.stepCode()
    statement.reset()
    if StoreFault.isConstraint(code) { throw duplicate(built.values, table.key, "\(table.name)_pkey", table) }
    try StoreFault.check(code, on: connection.handle)
    let rowid = connection.lastInsertedRow
    change.isWrite = true
    guard table.syncMode == .readWrite, let pk = pk ?? key else { return rowid }
    try enqueue(
      QueuedMutation(
        op: .insert, pk: pk, columns: wireColumns(built.mask, built.values, table), mutationId: mutationId),
      of: table, call, before: { nil })
    return rowid
  }

  private func checkOtherSpellings(_ values: [SQLValue], _ table: TableSchema) throws(KizunaError) {
    for other in otherSpellings(table.key.map { values[$0] }, table)
    where try row(under: other, table) != nil {
      throw duplicate(values, table.key, "\(table.name)_pkey", table)
    }
  }

  func checkUnique(
    _ values: [SQLValue], except rowid: Int64?, _ table: TableSchema, touching columns: Set<Int>? = nil
  ) throws(KizunaError) {
    for list in table.unique {
      let indexes = list.compactMap(table.index(of:))
      if let columns, columns.isDisjoint(with: indexes) { continue }
      if let found = try find(values, indexes, table), found.rowid != rowid {
        throw duplicate(
          values, indexes, "\(table.name)_\(list.joined(separator: "_"))_key", table)
      }
    }
  }

  func duplicate(
    _ values: [SQLValue], _ columns: [Int], _ constraint: String, _ table: TableSchema
  ) -> KizunaError {
    let names = columns.map { table.columns[$0].name }.joined(separator: ", ")
    let shown = columns.map { RowText.shown(values[$0], table.columns[$0].type) }.joined(separator: ", ")
    return .refused(
      "23505", "duplicate key value violates unique constraint \"\(constraint)\"",
      details: "Key (\(names))=(\(shown)) already exists.")
  }

  /// An upsert of a row that exists here is an update of the payload's columns; the key stays.
  private func merge(
    _ built: BuiltRow, into existing: StoredRow, _ table: TableSchema, _ call: Call
  ) throws(KizunaError) {
    let isLocal = table.syncMode == .localOnly
    for index in built.given
    where table.isKey(index) && !isLocal && existing.values[index] != built.values[index] {
      throw Self.keyChange(table.columns[index].name)
    }
    let columns = built.given.filter { isLocal || !table.isKey($0) }
    guard !columns.isEmpty else { return }
    try write(columns, built.values, to: existing, table, call)
  }

  static func keyChange(_ column: String) -> KizunaError {
    .refused(
      "428C9", "column \"\(column)\" is part of the row's key and cannot be changed",
      hint: "Delete the row and insert it under its new key.")
  }

  /// Sets columns of a row that exists, checked, and queues the update. Answers the row as it is then.
  @discardableResult
  func write(
    _ columns: [Int], _ values: [SQLValue], to existing: StoredRow, _ table: TableSchema, _ call: Call,
    transforms: String? = nil, mask: [Int]? = nil, mutationId: String? = nil
  ) throws(KizunaError) -> StoredRow {
    var updated = existing.values
    for index in columns { updated[index] = values[index] }
    try checkNotNull(updated, columns, table)
    try checkUnique(updated, except: existing.rowid, table, touching: Set(columns))
    let statement = try connection.cached(shape(of: table).update(columns))
    statement.bind(columns.map { updated[$0] } + [.integer(existing.rowid)])
    let code = statement.stepCode()
    statement.reset()
    if StoreFault.isConstraint(code) { throw duplicate(updated, table.key, "\(table.name)_pkey", table) }
    try StoreFault.check(code, on: connection.handle)
    try enqueue(
      QueuedMutation(
        op: .update, pk: table.key.isEmpty ? "" : existing.key(table),
        columns: wireColumns(mask ?? columns, updated, table), transforms: transforms, mutationId: mutationId),
      of: table, call, before: { existing.image(table) })
    return StoredRow(rowid: Self.rowid(of: updated, table) ?? existing.rowid, values: updated)
  }

  /// An integer key alone is the row's own number in SQLite.
  private static func rowid(of values: [SQLValue], _ table: TableSchema) -> Int64? {
    guard table.key.count == 1, table.columns[table.key[0]].type.affinity == "INTEGER",
      case .integer(let value) = values[table.key[0]]
    else { return nil }
    return value
  }

  func checkNotNull(
    _ values: [SQLValue], _ columns: some Sequence<Int>, _ table: TableSchema
  ) throws(KizunaError) {
    for index in columns where values[index].isNull {
      let column = table.columns[index]
      guard column.isNotNull || table.isKey(index) else { continue }
      let shown = table.columns.indices.map { RowText.shown(values[$0], table.columns[$0].type) }
      throw .refused(
        "23502",
        "null value in column \"\(column.name)\" of relation \"\(table.name)\" violates not-null constraint",
        details: "Failing row contains (\(shown.joined(separator: ", "))).")
    }
  }
}

extension Statement {
  /// SQLite's own result of a step, for callers that expect a refusal.
  func stepCode() -> Int32 { sqlite3_step(handle) }
}

extension StoreFault {
  static func isConstraint(_ code: Int32) -> Bool { code & 0xFF == SQLITE_CONSTRAINT }

  static func check(_ code: Int32, on connection: OpaquePointer) throws(KizunaError) {
    guard code == SQLITE_DONE || code == SQLITE_ROW else {
      throw error(code, on: connection, doing: "write a row")
    }
  }
}
