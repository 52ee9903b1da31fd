/// What the upstream says of one row.
enum ServerState {
  /// The row as it stands there, in the table's columns.
  case row([SQLValue])
  /// It is gone, or hidden from this user: nothing pending brings it back.
  case removed
  /// A complete transfer did not carry it. What came from the upstream goes; a row that was only ever here stays.
  case omitted
}

/// The entry that a row with pending mutations has: what the row is without them.
struct BaseEntry {
  var id: Int64
  /// nil: there is no row.
  var values: [SQLValue]?
}

extension WriteContext {
  // MARK: The upstream's rows

  /// A row of the upstream as stored values in the table's columns. A table that learns its columns learns; what a
  /// declared table does not know is left out. The key is the one under which the row travelled.
  func serverValues(
    _ row: JSONValue, pk: String, _ given: TableSchema
  ) throws(KizunaError) -> (TableSchema, [SQLValue]) {
    guard let members = row.members else {
      throw KizunaError("JSON", "a row of table \(given.name) is no object")
    }
    let table =
      given.learnsColumns ? try learn(given, members.map(\.key), [members.map { Optional($0.value) }]) : given
    var values = [SQLValue](repeating: .null, count: table.columns.count)
    var hint = 0
    for member in members {
      guard let index = table.position(of: member.key, near: &hint) else { continue }
      values[index] = try Self.serverValue(member.value, table.columns[index], table)
    }
    let key = try upstreamKey(pk, table)
    for (position, index) in table.key.enumerated()
    where values[index].isNull || RowKey.text([values[index]]) != RowKey.text([key[position]]) {
      values[index] = key[position]
    }
    return (table, values)
  }

  /// A value beyond the declared bounds is taken all the same: they may have been widened upstream, and a pull must
  /// not fail for that.
  private static func serverValue(
    _ value: JSONValue, _ column: ColumnSchema, _ table: TableSchema
  ) throws(KizunaError) -> SQLValue {
    do throws(KizunaError) {
      return try column.type.stored(json: value, zone: .utc)
    } catch {
      if let wider = column.type.unbounded, let stored = try? wider.stored(json: value, zone: .utc) {
        return stored
      }
      throw KizunaError(
        "JSON",
        "column \(column.name) of table \(table.name) is declared otherwise than upstream: \(error.message)",
        hint: "Declare the column with its upstream type.")
    }
  }

  /// The key values of a key text that the upstream sent. One that cannot be is the upstream's fault.
  func upstreamKey(_ pk: String, _ table: TableSchema) throws(KizunaError) -> [SQLValue] {
    do throws(KizunaError) { return try keyValues(pk, table) } catch {
      throw KizunaError("JSON", "the upstream sent \"\(pk)\", which is no key of table \(table.name)")
    }
  }

  // MARK: One row

  func hasPending(_ table: TableSchema, pk: String) throws(KizunaError) -> Bool {
    try baseId(table, pk) != nil
  }

  private func baseId(_ table: TableSchema, _ pk: String) throws(KizunaError) -> Int64? {
    guard
      case .integer(let id)? = try connection.value(
        "SELECT id FROM _kizunasync_base WHERE \"table\" = ? AND pk = ?", .text(table.name), .text(pk))
    else { return nil }
    return id
  }

  /// Takes the upstream's word on one row: it becomes the base, and the visible row is that with the pending
  /// mutations over it. Device-only columns keep what they hold here.
  func adopt(_ state: ServerState, pk: String, of table: TableSchema) throws(KizunaError) {
    guard let id = try baseId(table, pk) else { return try adoptIdle(state, pk, table) }
    var base = try loadBase(id, table)
    switch state {
    case .row(let values):
      base.values = keepingLocal(values, from: base.values, table)
      try setShadow(false, table, pk)
    case .removed:
      base.values = nil
      try setShadow(true, table, pk)
    case .omitted:
      if base.values == nil, try !isForAnotherScope(id, pk, table) { break }
      base.values = nil
      try setShadow(true, table, pk)
    }
    try saveBase(base, table)
    try rebuild(base, pk: pk, table, pending: try pending(on: id))
  }

  /// Nothing is pending: the upstream's word is the row.
  private func adoptIdle(_ state: ServerState, _ pk: String, _ table: TableSchema) throws(KizunaError) {
    let existing = try existing(try upstreamKey(pk, table), table)
    switch state {
    case .row(let values):
      try put(keepingLocal(values, from: existing?.values, table), over: existing, table)
      try setShadow(false, table, pk)
    case .removed, .omitted:
      guard let existing else { return }
      try remove(existing, table)
      try setShadow(true, table, pk)
    }
  }

  func pending(on base: Int64) throws(KizunaError) -> [PendingMutation] {
    let statement = try connection.cached(
      "SELECT seq, op, columns, transforms FROM _kizunasync_outbox WHERE base_id = ? ORDER BY seq")
    statement.bind([.integer(base)])
    defer { statement.reset() }
    var mutations: [PendingMutation] = []
    while try statement.step() { mutations.append(try PendingMutation(statement, first: 0)) }
    return mutations
  }

  /// Writes the visible row anew: base and pending mutations, in order.
  func rebuild(
    _ base: BaseEntry, pk: String, _ table: TableSchema, pending: [PendingMutation]
  ) throws(KizunaError) {
    let key = try keyValues(pk, table)
    var overlay = Overlay(table: table, key: key, values: base.values)
    overlay.isShadowed = try isShadowed(table, pk)
    for mutation in pending { overlay.lay(mutation) }
    let existing = try existing(key, table)
    if let values = overlay.values {
      try put(keepingLocal(values, from: existing?.values, table), over: existing, table)
    } else if let existing {
      try remove(existing, table)
    }
  }

  // MARK: Base entries

  func loadBase(_ id: Int64, _ table: TableSchema) throws(KizunaError) -> BaseEntry {
    guard
      case .text(let image)? = try connection.value(
        "SELECT row FROM _kizunasync_base WHERE id = ?", .integer(id))
    else { return BaseEntry(id: id, values: nil) }
    guard let members = try? JSONParser.parse(image).members else {
      throw KizunaError("JSON", "the base image \(id) of table \(table.name) does not parse")
    }
    var values = [SQLValue](repeating: .null, count: table.columns.count)
    var hint = 0
    for member in members {
      guard let index = table.position(of: member.key, near: &hint) else { continue }
      // Null where the column's type has changed so that it refuses what it once held.
      values[index] = (try? table.columns[index].type.stored(json: member.value, zone: .utc)) ?? .null
    }
    return BaseEntry(id: id, values: values)
  }

  func saveBase(_ base: BaseEntry, _ table: TableSchema) throws(KizunaError) {
    let image = base.values.map { StoredRow(rowid: 0, values: $0).image(table) }
    try connection.run(
      "UPDATE _kizunasync_base SET row = ? WHERE id = ?", Self.optional(image), .integer(base.id))
  }

  // MARK: Scopes

  /// Whether the row's bucket column holds another value than the one that this store keeps for the table.
  func isOutOfScope(_ values: [SQLValue], _ table: TableSchema) throws(KizunaError) -> Bool {
    guard let column = table.bucket.columnName, let index = table.index(of: column),
      case .text(let kept)? = try connection.value(
        "SELECT value FROM _kizunasync_buckets WHERE \"table\" = ? AND key = ?", .text(table.name),
        .text(column))
    else { return false }
    switch (table.columns[index].type, values[index]) {
    case (.learnt, .integer(let number)): return !String(number).sameBytes(as: kept)
    case (.learnt, .text(let text)): return !RowKey.canonical(text).sameBytes(as: RowKey.canonical(kept))
    case (let type, let value):
      return (try? type.stored(literal: kept, zone: .utc)).map { $0 != value } ?? false
    }
  }

  /// Whether a row that is only here was written for another bucket value than the one that a complete transfer has
  /// just brought. It travels like every queued write, but it is not of this scope, and no later pull would say so.
  private func isForAnotherScope(
    _ base: Int64, _ pk: String, _ table: TableSchema
  ) throws(KizunaError) -> Bool {
    var overlay = Overlay(table: table, key: try keyValues(pk, table), values: nil)
    for mutation in try pending(on: base) { overlay.lay(mutation) }
    guard let values = overlay.values, let column = table.bucket.columnName,
      let index = table.index(of: column), !values[index].isNull
    else { return false }
    return try isOutOfScope(values, table)
  }

  // MARK: Visible rows

  /// Sets a row to these values; writes nothing where they stand already.
  func put(_ values: [SQLValue], over existing: StoredRow?, _ table: TableSchema) throws(KizunaError) {
    let statement: Statement
    if let existing {
      let changed = values.indices.filter { existing.values[$0] != values[$0] }
      if changed.isEmpty { return }
      statement = try connection.cached(shape(of: table).update(changed))
      statement.bind(changed.map { values[$0] } + [.integer(existing.rowid)])
    } else {
      statement = try connection.cached(shape(of: table).insert)
      statement.bind(values)
    }
    let code = statement.stepCode()
    statement.reset()
    try StoreFault.check(code, on: connection.handle)
  }

  private func remove(_ row: StoredRow, _ table: TableSchema) throws(KizunaError) {
    try connection.run(shape(of: table).deleteByRow, .integer(row.rowid))
  }

  /// Columns that never leave this device keep their value when the upstream's row replaces one.
  func keepingLocal(
    _ values: [SQLValue], from known: [SQLValue]?, _ table: TableSchema
  ) -> [SQLValue] {
    guard let known, let names = configuration.remote?.localOnlyColumns, !names.isEmpty else { return values }
    var merged = values
    for (index, column) in table.columns.enumerated()
    where index < known.count && names.contains(where: { $0.sameBytes(as: column.name) }) {
      merged[index] = known[index]
    }
    return merged
  }

  // MARK: Shadows

  /// A shadow says that the upstream removed a row that was here.
  func setShadow(_ isShadowed: Bool, _ table: TableSchema, _ pk: String) throws(KizunaError) {
    if isShadowed {
      try connection.run(
        "INSERT OR REPLACE INTO _kizunasync_server_tombstones(\"table\", pk, at) VALUES(?,?,?)",
        .text(table.name), .text(pk), .text(Timestamp.now()))
    } else {
      try connection.run(
        "DELETE FROM _kizunasync_server_tombstones WHERE \"table\" = ? AND pk = ?", .text(table.name),
        .text(pk))
    }
  }

  func isShadowed(_ table: TableSchema, _ pk: String) throws(KizunaError) -> Bool {
    try connection.value(
      "SELECT 1 FROM _kizunasync_server_tombstones WHERE \"table\" = ? AND pk = ?", .text(table.name),
      .text(pk))
      != nil
  }
}

extension TableSchema {
  /// The position of a column; rows name their columns in a steady order, so the search starts behind the last find.
  func position(of name: String, near hint: inout Int) -> Int? {
    if hint < columns.count, columns[hint].name.sameBytes(as: name) {
      hint += 1
      return hint - 1
    }
    guard let index = index(of: name) else { return nil }
    hint = index + 1
    return index
  }
}
