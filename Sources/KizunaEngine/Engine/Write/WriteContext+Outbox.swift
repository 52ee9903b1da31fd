/// One entry of the outbox, to be.
struct QueuedMutation {
  var op: Mutation.Op
  var pk: String
  /// JSON object in the form in which values travel.
  var columns = "{}"
  var transforms: String?
  var precondition: String?
  var mutationId: String?
  var batchId: String?
}

extension WriteContext {
  /// What all mutations of one call share.
  struct Call {
    var writeId: String
    /// Stored form; one moment for the whole call.
    var at = Timestamp.now()
    var precondition: String?
    var batchId: String?
    init(writeId: String) { self.writeId = writeId }
  }

  /// Appends a mutation to the outbox and remembers what the row was before the first pending one: visible row =
  /// base + pending mutations, in order. `before` makes that image; nil means there was no row.
  func enqueue(
    _ mutation: QueuedMutation, of table: TableSchema, _ call: Call, before: () -> String?
  ) throws(KizunaError) {
    change.isWrite = true
    guard table.syncMode == .readWrite, !isOfThisDevice(mutation) else { return }
    let base = try keepBase(table, mutation, call, before)
    let statement = try connection.cached(
      """
      INSERT INTO _kizunasync_outbox(mutation_id, write_id, "table", pk, op, columns, transforms, precondition,
        created_at, batch_id, hlc, base_id) VALUES(?,?,?,?,?,?,?,?,?,?,?,?)
      """)
    let hlc: SQLValue = table.conflictMode == .hlc ? .text(identity.clock.tick()) : .null
    statement.bind([
      .text(mutation.mutationId ?? UUIDText.v7()), .text(call.writeId), .text(table.name),
      .text(mutation.pk), .text(mutation.op.rawValue), .text(mutation.columns),
      Self.optional(mutation.transforms), Self.optional(mutation.precondition ?? call.precondition),
      .text(call.at), Self.optional(mutation.batchId ?? call.batchId), hlc, .integer(base),
    ])
    defer { statement.reset() }
    _ = try statement.step()
    change.queued += 1
    if table.conflictMode == .hlc { try saveClock() }
  }

  /// An update of nothing but device-only columns: there would be nothing to send.
  private func isOfThisDevice(_ mutation: QueuedMutation) -> Bool {
    guard mutation.op == .update, let names = configuration.remote?.localOnlyColumns, !names.isEmpty,
      let columns = try? JSONParser.parse(mutation.columns).members
    else { return false }
    let transforms = mutation.transforms.flatMap { try? JSONParser.parse($0).members } ?? []
    let members = columns + transforms
    return !members.isEmpty && members.allSatisfy { isOfThisDevice($0.key) }
  }

  /// The number of the row's base entry, made if this is its first pending write. A delete marks it, which is the
  /// row's local tombstone; an insert clears the mark; an update leaves it, so that it revives nothing.
  ///
  /// In steps, not as one upsert: SQLite would keep a statement journal for that, and truncating it costs time that
  /// grows with the transaction.
  private func keepBase(
    _ table: TableSchema, _ mutation: QueuedMutation, _ call: Call, _ before: () -> String?
  ) throws(KizunaError) -> Int64 {
    let mark: SQLValue = mutation.op == .delete ? .text(call.at) : .null
    let known = try connection.cached("SELECT id FROM _kizunasync_base WHERE \"table\" = ? AND pk = ?")
    known.bind([.text(table.name), .text(mutation.pk)])
    let id = try known.step() ? known.integer(0) : nil
    known.reset()
    guard let id else {
      try connection.run(
        "INSERT INTO _kizunasync_base(\"table\", pk, row, deleted_at) VALUES(?,?,?,?)", .text(table.name),
        .text(mutation.pk), Self.optional(before()), mark)
      return connection.lastInsertedRow
    }
    if mutation.op != .update {
      try connection.run("UPDATE _kizunasync_base SET deleted_at = ? WHERE id = ?", mark, .integer(id))
    }
    return id
  }

  static func optional(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }

  /// The columns of a mutation as they travel.
  func wireColumns(_ columns: [Int], _ values: [SQLValue], _ table: TableSchema) -> String {
    var buffer = ByteBuffer(capacity: 128)
    buffer.append(UInt8(ascii: "{"))
    for (position, index) in columns.enumerated() {
      if position > 0 { buffer.append(UInt8(ascii: ",")) }
      buffer.appendJSON(string: table.columns[index].name)
      buffer.append(UInt8(ascii: ":"))
      RowText.appendWire(values[index], table.columns[index].type, to: &buffer)
    }
    buffer.append(UInt8(ascii: "}"))
    return buffer.string
  }

  /// A precondition's values as they travel; throws what their types refuse.
  func wirePrecondition(_ precondition: JSONValue?, _ table: TableSchema) throws(KizunaError) -> String? {
    guard let precondition, !precondition.isNull else { return nil }
    if table.syncMode == .localOnly {
      throw KizunaError(
        "LOCAL_UNSUPPORTED", "a precondition is compared upstream, and table \(table.name) is local-only")
    }
    guard let members = precondition.members else {
      throw KizunaError("JSON", "a precondition is an object of column and value")
    }
    var buffer = ByteBuffer(capacity: 64)
    buffer.append(UInt8(ascii: "{"))
    for (position, member) in members.enumerated() {
      if position > 0 { buffer.append(UInt8(ascii: ",")) }
      if isOfThisDevice(member.key) {
        throw KizunaError(
          "LOCAL_UNSUPPORTED",
          "a precondition is compared upstream, and column \(member.key) never leaves this device")
      }
      buffer.appendJSON(string: member.key)
      buffer.append(UInt8(ascii: ":"))
      if let column = table.column(member.key) {
        let value = try column.type.stored(json: member.value, zone: .utc)
        RowText.appendWire(value, column.type, to: &buffer)
      } else if table.learnsColumns {
        buffer.append(json: member.value)
      } else {
        throw Self.unknownColumn(member.key, table)
      }
    }
    buffer.append(UInt8(ascii: "}"))
    return buffer.string
  }

  static func unknownColumn(_ name: String, _ table: TableSchema) -> KizunaError {
    .refused(
      "PGRST204", "Could not find the '\(name)' column of '\(table.name)' in the schema cache")
  }
}
