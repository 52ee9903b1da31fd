extension WriteContext {
  /// One mutation of one row by its key. Answers the key.
  func apply(_ mutation: Mutation, _ given: Call) throws(KizunaError) -> String {
    let named = try writable(mutation.table)
    if mutation.op == .delete, case .softDeleted(let column) = named.hidden {
      throw KizunaError(
        "SOFT_DELETE_VIOLATION", "table \(named.name) soft-deletes by its column \(column)",
        hint: "Write \(column) by an update, or delete by a filter.")
    }
    if let pk = mutation.pk, pk.isEmpty { throw Self.emptyKey }
    var table = try learn(named, mutation.columns.map(\.key), [mutation.columns.map(\.value)])
    if mutation.op == .insert { table = try learnOwner(table) }
    var call = given
    call.precondition = try wirePrecondition(mutation.precondition, table)
    try checkMutationId(mutation.mutationId)
    switch mutation.op {
    case .insert: return try applyInsert(mutation, table, call)
    case .update: return try applyUpdate(mutation, table, call)
    case .delete: return try applyDelete(mutation, table, call)
    }
  }

  static let emptyKey = KizunaError("LOCAL_UNSUPPORTED", "apply requires table and pk")

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
  private func keyValues(_ pk: String, _ table: TableSchema) throws(KizunaError) -> [SQLValue] {
    guard let parts = RowKey.components(pk, count: table.key.count), !table.key.isEmpty else {
      throw KizunaError(
        "LOCAL_CONSTRAINT", "\"\(pk)\" is no key of table \(table.name)",
        hint: "A key of several columns is a JSON array of texts, in key order.")
    }
    var values: [SQLValue] = []
    for (index, part) in zip(table.key, parts) {
      values.append(try table.columns[index].type.stored(literal: part, zone: .utc))
    }
    return values
  }

  private func existing(_ key: [SQLValue], _ table: TableSchema) throws(KizunaError) -> StoredRow? {
    let statement = try connection.cached(shape(of: table).selectByKey)
    statement.bind(key)
    defer { statement.reset() }
    return try statement.step() ? StoredRow(statement, columns: table.columns.count) : nil
  }

  private func applyInsert(
    _ mutation: Mutation, _ table: TableSchema, _ call: Call
  ) throws(KizunaError) -> String {
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
        if value != key[position] {
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
    if mutation.transforms?.members?.isEmpty == false {
      throw KizunaError("LOCAL_CONSTRAINT", "a delete takes no transforms")
    }
    let key = try keyValues(pk, table)
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
