extension WriteContext {
  /// One mutation of one row by its key. Answers the key.
  func apply(_ mutation: Mutation, _ given: Call) throws(KizunaError) -> String {
    guard !mutation.table.isEmpty, mutation.pk?.isEmpty != true, mutation.pk != nil || mutation.op == .insert
    else { throw Self.emptyKey }
    let named = try writable(mutation.table)
    if mutation.op == .delete, case .softDeleted(let column) = named.hidden {
      throw KizunaError(
        "SOFT_DELETE_VIOLATION", "table \(named.name) soft-deletes by its column \(column)",
        hint: "Write \(column) by an update, or delete by a filter.")
    }
    let names = mutation.columns.map(\.key)
    let values = mutation.columns.map { Optional($0.value) }
    var call = given
    switch mutation.op {
    case .insert:
      let table = try learnInserted(named, names, [values])
      call.precondition = try wirePrecondition(mutation.precondition, table)
      return try applyInsert(mutation, table, call)
    case .update:
      let table = try learnUpdated(named, names, values, transforms: mutation.transforms)
      call.precondition = try wirePrecondition(mutation.precondition, table)
      return try applyUpdate(mutation, table, call)
    case .delete:
      call.precondition = try wirePrecondition(mutation.precondition, named)
      return try applyDelete(mutation, named, call)
    }
  }

  static let emptyKey = KizunaError("LOCAL_UNSUPPORTED", "apply requires table and pk")
  static let transformedDelete = KizunaError("LOCAL_CONSTRAINT", "a delete takes no transforms")

  private func checkMutationId(_ id: String?) throws(KizunaError) {
    guard let id else { return }
    guard RowKey.isUUIDShaped(id) else {
      throw .refused("22P02", "invalid input syntax for type uuid: \"\(id)\"")
    }
    if try connection.value("SELECT 1 FROM _kizunasync_outbox WHERE mutation_id = ?", .text(id.lowercased()))
      != nil
    {
      throw KizunaError("LOCAL_CONSTRAINT", "mutation \(id) is queued already")
    }
  }

  /// The key's values as a passed `pk` names them, in the key columns' types.
  func keyValues(_ pk: String, _ table: TableSchema) throws(KizunaError) -> [SQLValue] {
    guard let parts = RowKey.components(pk, count: table.key.count), !table.key.isEmpty else {
      throw KizunaError(
        "LOCAL_CONSTRAINT", "\"\(pk)\" is no key of table \(table.name)",
        hint: "A key of several columns is a JSON array of texts, in key order.")
    }
    var values: [SQLValue] = []
    for (index, part) in zip(table.key, parts) {
      values.append(try Self.keyValue(part, table.columns[index].type))
    }
    return values
  }

  private static func keyValue(_ part: String, _ type: ColumnType) throws(KizunaError) -> SQLValue {
    guard case .learnt(let learnt) = type else { return try type.stored(literal: part, zone: .utc) }
    // What else the column has held says nothing of this key; `otherSpellings` finds the rest.
    if learnt == .integer, let value = Int64(part), String(value).sameBytes(as: part) {
      return .integer(value)
    }
    return .text(part)
  }

  func existing(_ key: [SQLValue], _ table: TableSchema) throws(KizunaError) -> StoredRow? {
    if let row = try row(under: key, table) { return row }
    for other in otherSpellings(key, table) {
      if let row = try row(under: other, table) { return row }
    }
    return nil
  }

  /// Where columns are learnt, 7 and "7" are kept apart but are one key: the same key in its other stored forms.
  func otherSpellings(_ key: [SQLValue], _ table: TableSchema) -> [[SQLValue]] {
    guard table.learnsColumns, table.syncMode != .localOnly else { return [] }
    var spellings: [[SQLValue]] = [key]
    for position in key.indices {
      let other: SQLValue
      switch key[position] {
      case .integer(let value): other = .text(String(value))
      case .text(let text):
        guard let value = Int64(text), String(value).sameBytes(as: text) else { continue }
        other = .integer(value)
      default: continue
      }
      spellings += spellings.map { spelling in
        var changed = spelling
        changed[position] = other
        return changed
      }
    }
    return Array(spellings.dropFirst())
  }

  func row(under key: [SQLValue], _ table: TableSchema) throws(KizunaError) -> StoredRow? {
    let statement = try connection.cached(shape(of: table).selectByKey)
    statement.bind(key)
    defer { statement.reset() }
    return try statement.step() ? StoredRow(statement, columns: table.columns.count) : nil
  }

  private func applyInsert(
    _ mutation: Mutation, _ table: TableSchema, _ call: Call
  ) throws(KizunaError) -> String {
    // An insert's transforms have no effect, but they must be ones that an update could have.
    _ = try Transforms(mutation.transforms, table)
    var columns = mutation.columns
    var isKeyFilled = false
    if let pk = mutation.pk {
      let key = try keyValues(pk, table)
      for (position, index) in table.key.enumerated() {
        let name = table.columns[index].name
        guard let given = columns.first(where: { $0.key.sameBytes(as: name) }) else {
          columns.append(JSONMember(name, Self.json(key[position])))
          isKeyFilled = true
          continue
        }
        let value = try RowBuilder.stored(given.value, table.columns[index], isKey: true, zone: .utc)
        if value.isNull || RowKey.text([value]) != RowKey.text([key[position]]) {
          throw KizunaError("LOCAL_CONSTRAINT", "column \(name) disagrees with the key \(pk)")
        }
      }
    }
    let builder = try RowBuilder(table, columns.map(\.key), identity: identity, zone: .utc, at: call.at)
    var built = try builder.build(columns.map(\.value), context: self)
    if isKeyFilled {
      // The wire's server fills an absent key from the pk, so what was not given does not travel.
      let given = mutation.columns
      built.mask.removeAll { index in
        table.isKey(index) && !given.contains { $0.key.sameBytes(as: table.columns[index].name) }
      }
    }
    let key = table.key.isEmpty ? "" : RowKey.text(table.key.map { built.values[$0] })
    try checkMutationId(mutation.mutationId)
    _ = try insertNew(built, key: key, table, call, mutationId: mutation.mutationId?.lowercased())
    return key
  }

  static func json(_ value: SQLValue) -> JSONValue {
    switch value {
    case .integer(let integer): .integer(integer)
    case .text(let text): .string(text)
    default: .null
    }
  }

  private func applyUpdate(
    _ mutation: Mutation, _ table: TableSchema, _ call: Call
  ) throws(KizunaError) -> String {
    guard let pk = mutation.pk else { throw Self.emptyKey }
    let key = try keyValues(pk, table)
    let assignments = try assignments(
      mutation.columns.map { ($0.key, $0.value) }, transforms: mutation.transforms, table, zone: .utc,
      at: call.at)
    try checkMutationId(mutation.mutationId)
    let id = mutation.mutationId?.lowercased()
    guard let row = try existing(key, table) else {
      try createByUpdate(key, assignments, table, call, mutationId: id)
      return RowKey.text(key)
    }
    var values = row.values
    for (index, value) in assignments.values { values[index] = value }
    try assignments.transforms?.apply(to: &values, table)
    let columns = assignments.columns + (assignments.transforms?.columns ?? [])
    guard !columns.isEmpty else { return RowKey.text(key) }
    try write(
      columns, values, to: row, table, call, transforms: assignments.transforms?.text,
      mask: assignments.columns, mutationId: id)
    return RowKey.text(key)
  }

  /// An update of a row that is not here creates it from its columns; the shadow of a deleted one stays.
  private func createByUpdate(
    _ key: [SQLValue], _ assignments: Assignments, _ table: TableSchema, _ call: Call, mutationId: String?
  ) throws(KizunaError) {
    var values = [SQLValue](repeating: .null, count: table.columns.count)
    for (index, value) in zip(table.key, key) { values[index] = value }
    for (index, value) in assignments.values { values[index] = value }
    try assignments.transforms?.apply(to: &values, table)
    try checkUnique(values, except: nil, table)
    let statement = try connection.cached(shape(of: table).insert)
    statement.bind(values)
    let code = statement.stepCode()
    statement.reset()
    try StoreFault.check(code, on: connection.handle)
    try enqueue(
      QueuedMutation(
        op: .update, pk: RowKey.text(key), columns: wireColumns(assignments.columns, values, table),
        transforms: assignments.transforms?.text, mutationId: mutationId),
      of: table, call, before: { nil })
  }

  private func applyDelete(
    _ mutation: Mutation, _ table: TableSchema, _ call: Call
  ) throws(KizunaError) -> String {
    guard let pk = mutation.pk else { throw Self.emptyKey }
    if mutation.transforms?.members?.isEmpty == false { throw Self.transformedDelete }
    let key = try keyValues(pk, table)
    try checkMutationId(mutation.mutationId)
    let text = RowKey.text(key)
    let columns = JSONValue.object(mutation.columns).jsonText
    let id = mutation.mutationId?.lowercased()
    if let row = try existing(key, table) {
      let statement = try connection.cached(shape(of: table).deleteByRow)
      statement.bind([.integer(row.rowid)])
      let code = statement.stepCode()
      statement.reset()
      try StoreFault.check(code, on: connection.handle)
      try queueDelete(row, table, call, columns: columns, mutationId: id)
    } else if table.syncMode == .readWrite {
      try enqueue(
        QueuedMutation(op: .delete, pk: text, columns: columns, mutationId: id), of: table, call,
        before: { nil })
    }
    return text
  }
}
