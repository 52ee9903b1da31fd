extension WriteContext {
  /// Runs one planned write: the rows, their outbox entries, the checks on the outcome, and the answer's rows.
  func execute(_ plan: WritePlan) throws(KizunaError) -> WriteOutcome {
    let table = try writable(plan.table.name)
    var call = Call(writeId: plan.writeId)
    call.precondition = try wirePrecondition(plan.precondition, table)
    switch plan.action {
    case .insert(let columns, let rows, let conflict):
      return try executeInsert(plan, table, columns, rows, conflict, call)
    case .update(let filter, let pairs, let transforms):
      return try executeUpdate(plan, table, filter, pairs, transforms, call)
    case .delete(let filter):
      guard case .softDeleted(let column) = table.hidden else {
        return try executeDelete(plan, table, filter, call)
      }
      return try executeSoftDelete(plan, table, filter, column, call)
    }
  }

  private func executeInsert(
    _ plan: WritePlan, _ given: TableSchema, _ columns: [String], _ rows: [[JSONValue?]],
    _ conflict: WritePlan.Conflict, _ call: Call
  ) throws(KizunaError) -> WriteOutcome {
    let touched = try insert(into: given, columns: columns, rows: rows, conflict, zone: plan.zone, call)
    try check(plan, count: touched.rowids.count)
    let table = try current(given)
    return WriteOutcome(
      keys: touched.keys, affected: touched.rowids.count, inserted: touched.inserted,
      body: try answer(plan, table, rowids: touched.rowids, inGivenOrder: true))
  }

  private func executeUpdate(
    _ plan: WritePlan, _ given: TableSchema, _ filter: Filter?,
    _ pairs: [(column: String, value: JSONValue?)], _ transforms: JSONValue?, _ call: Call
  ) throws(KizunaError) -> WriteOutcome {
    let table = try learnUpdated(given, pairs.map(\.column), pairs.map(\.value), transforms: transforms)
    let assignments = try assignments(pairs, transforms: transforms, table, zone: plan.zone, at: call.at)
    let found = try matching(filter, table, zone: plan.zone, matchesAnyText: plan.matchesAnyText)
    try check(plan, count: found.count)
    let rows = try update(found, table, assignments: assignments, call)
    return WriteOutcome(
      keys: table.key.isEmpty ? [] : rows.map { $0.key(table) }, affected: rows.count,
      body: try answer(plan, table, rowids: rows.map(\.rowid), inGivenOrder: false))
  }

  private func executeDelete(
    _ plan: WritePlan, _ table: TableSchema, _ filter: Filter?, _ call: Call
  ) throws(KizunaError) -> WriteOutcome {
    let body = try answerBefore(plan, table, filter)
    let rows = try delete(
      filter, table, zone: plan.zone, matchesAnyText: plan.matchesAnyText, call)
    try check(plan, count: rows.count)
    return WriteOutcome(
      keys: table.key.isEmpty ? [] : rows.map { $0.key(table) }, affected: rows.count, body: body)
  }

  /// The rows stay, stamped; the answer shows them as they were.
  private func executeSoftDelete(
    _ plan: WritePlan, _ table: TableSchema, _ filter: Filter?, _ column: String, _ call: Call
  ) throws(KizunaError) -> WriteOutcome {
    let stamp = try deletionStamp(table, column, at: call.at)
    let learnt = try learn(
      table, plan.extraColumns.map(\.column) + [column], [plan.extraColumns.map(\.value) + [stamp]])
    let body = try answerBefore(plan, learnt, filter)
    let rows = try matching(filter, learnt, zone: plan.zone, matchesAnyText: plan.matchesAnyText)
    try check(plan, count: rows.count)
    let assignments = try assignments(
      plan.extraColumns + [(column, stamp)], transforms: nil, learnt, zone: plan.zone, at: call.at)
    _ = try update(rows, learnt, assignments: assignments, call)
    return WriteOutcome(
      keys: table.key.isEmpty ? [] : rows.map { $0.key(learnt) }, affected: rows.count, body: body)
  }

  /// The checks on the outcome; a failure undoes the write.
  private func check(_ plan: WritePlan, count: Int) throws(KizunaError) {
    if plan.singular ? count != 1 : plan.atMostOne && count > 1 {
      throw .refused(
        "PGRST116", "Cannot coerce the result to a single JSON object",
        details: "The result contains \(count) rows")
    }
    if let limit = plan.maxAffected, count > limit {
      throw .refused(
        "PGRST124", "Query result exceeds max-affected preference constraint",
        details: "The query affects \(count) rows")
    }
  }

  // MARK: The rows of the answer

  private func answer(
    _ plan: WritePlan, _ table: TableSchema, rowids: [Int64], inGivenOrder: Bool
  ) throws(KizunaError) -> [UInt8] {
    guard plan.returnsRows else { return [] }
    let outputs = try ReadCompiler.outputs(plan.returning, of: table)
    let reader = ReadCompiler(relation: table, zone: plan.zone)
    let order =
      plan.order.isEmpty && inGivenOrder
      ? " ORDER BY _kizunasync_position" : try reader.orderClause(plan.order)
    let name = SQLName.quoted(table.sqlName)
    // json_each has columns of its own (id, key, value …), which must not stand beside the table's.
    let sql =
      "SELECT \(outputs.list) FROM (SELECT key AS _kizunasync_position, value AS _kizunasync_row FROM json_each(?)) "
      + "CROSS JOIN \(name) ON \(name).rowid = _kizunasync_row\(order)"
    let list = "[" + rowids.map(String.init).joined(separator: ",") + "]"
    return try rows(sql, [.text(list)], outputs.columns, plan.format, zone: plan.zone).array
  }

  /// The rows that a delete will take, as a read reports them before it.
  private func answerBefore(
    _ plan: WritePlan, _ table: TableSchema, _ filter: Filter?
  ) throws(KizunaError) -> [UInt8] {
    guard plan.returnsRows else { return [] }
    var read = ReadPlan(table)
    read.outputs = plan.returning
    read.filter = filter
    read.order = plan.order
    let compiled = try ReadCompiler(
      relation: table, zone: plan.zone, matchesAnyText: plan.matchesAnyText
    ).compile(read)
    let values = compiled.parameters.map(\.value) + [.integer(-1), .integer(0)]
    return try rows(compiled.sql, values, compiled.outputs, plan.format, zone: plan.zone).array
  }

  /// What a read answers, of the transaction's own state.
  func rows(
    _ sql: String, _ values: [SQLValue], _ columns: [OutputColumn], _ format: RowFormat, zone: Zone
  ) throws(KizunaError) -> ByteBuffer {
    let statement = try connection.cached(sql)
    statement.bind(values)
    defer { statement.reset() }
    let writer = RowWriter(columns: columns, format: format, zone: zone)
    var buffer = ByteBuffer()
    var count = 0
    writer.begin(&buffer)
    while try statement.step() {
      try writer.row(statement, number: count, to: &buffer)
      count += 1
    }
    writer.end(&buffer)
    return buffer
  }
}
