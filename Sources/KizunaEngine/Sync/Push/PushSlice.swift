/// The head of the outbox that travels in one request.
struct PushSlice {
  struct Entry {
    var mutation: PendingMutation
    var mutationId: String
    var writeId: String
    var table: String
    var pk: String
    /// As they travel; the parsed forms are in `mutation`.
    var columns: String
    var transforms: String?
    var precondition: String?
    var hlc: String?
    var batchId: String?
    var baseId: Int64
  }

  var entries: [Entry]
  /// The members of one batch: all or none.
  var isAtomic: Bool { entries.first?.batchId != nil }
  /// Whether a refusal of the whole request must be this entry's or this batch's own.
  var ownsItsFailure: Bool { isAtomic || entries.count == 1 }
  var head: Int64? { entries.first?.mutation.seq }
}

extension WriteContext {
  static let pushLimit = 500
  /// A slice ends once its values have this many bytes, so that no request grows without bound.
  private static let pushBytes = 8 << 20

  /// Takes the head of the queue and marks it as on its way: at most `limit` single mutations, or one whole batch.
  func takeSlice(limit: Int) throws(KizunaError) -> PushSlice {
    let statement = try connection.cached(
      """
      SELECT seq, op, columns, transforms, mutation_id, write_id, "table", pk, precondition, hlc, batch_id, base_id,
        in_flight
      FROM _kizunasync_outbox ORDER BY seq
      """)
    defer { statement.reset() }
    var entries: [PushSlice.Entry] = []
    var bytes = 0
    // An entry whose return failed is on its way still, and left the queue's depth then.
    var leaving = 0
    while try statement.step() {
      let entry = try Self.entry(statement)
      if let head = entries.first {
        guard entry.batchId == head.batchId else { break }
        if head.batchId == nil, entries.count >= limit || bytes >= Self.pushBytes { break }
      }
      bytes += entry.columns.utf8.count
      if statement.integer(12) == 0 { leaving += 1 }
      entries.append(entry)
    }
    statement.reset()
    guard let first = entries.first, let last = entries.last else { return PushSlice(entries: []) }
    try connection.run(
      "UPDATE _kizunasync_outbox SET in_flight = 1, attempts = attempts + 1 WHERE seq BETWEEN ? AND ?",
      .integer(first.mutation.seq), .integer(last.mutation.seq))
    change.queued -= leaving
    return PushSlice(entries: entries)
  }

  private static func entry(_ statement: Statement) throws(KizunaError) -> PushSlice.Entry {
    PushSlice.Entry(
      mutation: try PendingMutation(statement, first: 0), mutationId: statement.text(4) ?? "",
      writeId: statement.text(5) ?? "", table: statement.text(6) ?? "", pk: statement.text(7) ?? "",
      columns: statement.text(2) ?? "{}", transforms: statement.text(3), precondition: statement.text(8),
      hlc: statement.text(9), batchId: statement.text(10), baseId: statement.integer(11))
  }

  /// The slice waits again. Only a request that left counts as an attempt.
  func returnSlice(wasSent: Bool = true) throws(KizunaError) {
    let before = connection.totalChanges
    try connection.run(
      "UPDATE _kizunasync_outbox SET in_flight = 0, attempts = attempts - ? WHERE in_flight = 1",
      .integer(wasSent ? 0 : 1))
    change.queued += Int(connection.totalChanges - before)
  }
}

extension PushSlice {
  /// The request's body.
  func body(_ identity: Identity, _ configuration: EngineConfiguration) -> [UInt8] {
    let localOnly = configuration.remote?.localOnlyColumns ?? []
    var buffer = ByteBuffer(capacity: 256 + entries.count * 256)
    buffer.append("{\"client_id\":")
    buffer.appendJSON(string: identity.clientId)
    buffer.append(",\"schema_version\":\(configuration.schemaVersion),\"last_mutation_id\":")
    if let last = identity.lastMutationId { buffer.appendJSON(string: last) } else { buffer.append("null") }
    buffer.append(",\"batch\":{\"atomic\":\(isAtomic),\"mutations\":[")
    for (position, entry) in entries.enumerated() {
      if position > 0 { buffer.append(UInt8(ascii: ",")) }
      entry.append(to: &buffer, leavingOut: localOnly)
    }
    buffer.append("]}}")
    return buffer.array
  }
}

extension PushSlice.Entry {
  fileprivate func append(to buffer: inout ByteBuffer, leavingOut localOnly: [String]) {
    func member(_ name: StaticString, text: String) {
      buffer.append(name)
      buffer.appendJSON(string: text)
    }
    member("{\"mutation_id\":", text: mutationId)
    member(",\"table\":", text: table)
    member(",\"pk\":", text: pk)
    member(",\"op\":", text: mutation.op.rawValue)
    buffer.append(",\"columns\":")
    if mutation.op == .delete {
      buffer.append("{}")
    } else if mutation.columns.contains(where: { Self.isNamed($0, localOnly) }) {
      buffer.append(json: .object(mutation.columns.filter { !Self.isNamed($0, localOnly) }))
    } else {
      buffer.append(columns)
    }
    if mutation.op == .update,
      let transforms = mutation.transforms?.members?.filter({ !Self.isNamed($0, localOnly) }),
      !transforms.isEmpty
    {
      buffer.append(",\"transforms\":")
      buffer.append(json: .object(transforms))
    }
    if let precondition {
      buffer.append(",\"precondition\":")
      buffer.append(precondition)
    }
    if let hlc { member(",\"hlc\":", text: hlc) }
    buffer.append(UInt8(ascii: "}"))
  }

  private static func isNamed(_ member: JSONMember, _ names: [String]) -> Bool {
    names.contains { $0.sameBytes(as: member.key) }
  }
}
