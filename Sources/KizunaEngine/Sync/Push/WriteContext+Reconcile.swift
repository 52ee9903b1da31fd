extension WriteContext {
  /// What becomes of one entry of a slice.
  fileprivate enum Outcome {
    case applied(JSONValue?)
    /// Undone; the row is what the upstream says, or gone from here.
    case refused(reason: String, row: JSONValue?)
    /// Undone; the base stands.
    case dropped
  }

  /// Lands an answer, in the transaction of one job: entries leave the outbox, rows follow, journals are written.
  func reconcile(_ answer: PushAnswer, _ slice: PushSlice) throws(KizunaError) {
    switch answer {
    case .resetRequired:
      try returnSlice()
      // Another user's token, met while the answer was on its way, blocks for a weightier reason.
      if identity.softBlockReason == nil { try latchBlock("reset_required") }
    case .verdicts(let verdicts):
      var outcomes: [Outcome] = []
      for (verdict, entry) in zip(verdicts, slice.entries) {
        switch verdict {
        case .applied(let row): outcomes.append(.applied(row))
        case .rejected(let reason, let row):
          outcomes.append(.refused(reason: reason, row: row))
          let kind = reason == "SUPERSEDED" ? reason : "REJECTED"
          try journal(entry, kind: kind, reason: reason, row: row)
        }
      }
      try settle(slice, outcomes)
      try rememberApplied(slice, outcomes)
    case .aborted(let offender, let reason, let row):
      let entry = slice.entries[offender]
      change.events.append(.batchAborted(offenderMutationId: entry.mutationId, reason: reason))
      try journal(entry, kind: "BATCH_ABORTED", reason: reason, row: row)
      // Where another member touched the row too, the row the upstream showed was never committed.
      let isShared = slice.entries.count { $0.baseId == entry.baseId } > 1
      var outcomes = [Outcome](repeating: .dropped, count: slice.entries.count)
      if !isShared { outcomes[offender] = .refused(reason: reason, row: row) }
      try settle(slice, outcomes)
    }
  }

  /// Gives a slice up that the upstream has refused for good: each row becomes what it was without it.
  func dropDead(_ slice: PushSlice, reason: String) throws(KizunaError) {
    for entry in slice.entries {
      change.events.append(.deadLetter(mutationId: entry.mutationId, reason: reason))
      try journal(entry, kind: "DEAD_LETTER", reason: reason, row: nil)
    }
    try settle(slice, [Outcome](repeating: .dropped, count: slice.entries.count))
  }

  /// Nothing is sent any more until `reset`.
  func latchBlock(_ reason: String) throws(KizunaError) {
    try Meta.set("soft_block", reason, connection)
    identity.softBlockReason = reason
    change.events.append(.resetRequired(reason: reason))
  }

  // MARK: Rows

  /// The entries of a slice leave the outbox. Those on the same row are taken together, in order.
  private func settle(_ slice: PushSlice, _ outcomes: [Outcome]) throws(KizunaError) {
    guard let first = slice.entries.first, let last = slice.entries.last else { return }
    try connection.run(
      "DELETE FROM _kizunasync_outbox WHERE seq BETWEEN ? AND ?", .integer(first.mutation.seq),
      .integer(last.mutation.seq))
    var order: [Int64] = []
    var byBase: [Int64: [Int]] = [:]
    for (index, entry) in slice.entries.enumerated() {
      change.settled[entry.writeId, default: 0] += 1
      if byBase[entry.baseId] == nil { order.append(entry.baseId) }
      byBase[entry.baseId, default: []].append(index)
    }
    for base in order {
      try settleRow(base, (byBase[base] ?? []).map { (slice.entries[$0], outcomes[$0]) })
    }
    change.events.append(.localChanged)
  }

  private func settleRow(
    _ id: Int64, _ steps: [(entry: PushSlice.Entry, outcome: Outcome)]
  ) throws(KizunaError) {
    guard let first = steps.first?.entry else { return }
    let pending = try pending(on: id)
    guard var table = catalog.table(first.table), table.syncMode != .localOnly else {
      // No longer configured: nothing shows the row. Or this device's alone since: the upstream has no say in it.
      if pending.isEmpty { try connection.run("DELETE FROM _kizunasync_base WHERE id = ?", .integer(id)) }
      return
    }
    if pending.isEmpty, steps.allSatisfy({ $0.outcome.keepsVisibleRow }),
      try !beganAsUpdateOfNothing(id, first)
    {
      // The visible row is the base with these mutations over it, which is what the upstream has now.
      try connection.run("DELETE FROM _kizunasync_base WHERE id = ?", .integer(id))
      if let last = steps.last?.entry, last.mutation.op != .delete { try setShadow(false, table, last.pk) }
      return
    }
    var base = try loadBase(id, table)
    for step in steps { try follow(step.outcome, step.entry, &base, &table) }
    try saveOrDropBase(base, table, pending)
    try rebuild(base, pk: first.pk, table, pending: pending)
  }

  private func beganAsUpdateOfNothing(_ id: Int64, _ first: PushSlice.Entry) throws(KizunaError) -> Bool {
    guard first.mutation.op == .update else { return false }
    return try connection.value("SELECT row FROM _kizunasync_base WHERE id = ?", .integer(id)) == .null
  }

  /// What one outcome makes of the base.
  private func follow(
    _ outcome: Outcome, _ entry: PushSlice.Entry, _ base: inout BaseEntry, _ table: inout TableSchema
  ) throws(KizunaError) {
    switch outcome {
    case .dropped: break
    case .applied(let row?): try adopt(row, entry, &base, &table)
    case .applied(nil):
      var overlay = Overlay(table: table, key: try keyValues(entry.pk, table), values: base.values)
      // Upstream there is a row. Of one that a pull has taken away an update is not the whole: only a pull brings it
      // back, if it is of this scope. An insert is the whole, and of another scope only if it says so.
      let isShadowed = try isShadowed(table, entry.pk)
      if entry.mutation.op == .update, isShadowed {
        base.values = nil
        return
      }
      overlay.lay(entry.mutation)
      if isShadowed, let values = overlay.values, try isOutOfScope(values, table) { break }
      base.values = overlay.values
      if overlay.values != nil { try setShadow(false, table, entry.pk) }
    case .refused(_, let row?): try adopt(row, entry, &base, &table)
    case .refused(let reason, nil):
      // A refused delete brings the row back, unless the row is known to be gone.
      if entry.mutation.op == .delete, reason != "DELETE_WINS" { break }
      base.values = nil
      try setShadow(true, table, entry.pk)
    }
  }

  private func adopt(
    _ row: JSONValue, _ entry: PushSlice.Entry, _ base: inout BaseEntry, _ table: inout TableSchema
  ) throws(KizunaError) {
    let (learnt, values) = try serverValues(row, pk: entry.pk, table)
    if learnt !== table, let known = base.values {
      base.values = known + [SQLValue](repeating: .null, count: learnt.columns.count - known.count)
    }
    table = learnt
    // A row of another bucket value that no pull has brought, or that one has taken away, does not come by a verdict
    // on it: nothing would ever take it away again.
    let isShadowed = try isShadowed(table, entry.pk)
    if isShadowed || base.values == nil, try isOutOfScope(values, table) {
      base.values = nil
      return try setShadow(true, table, entry.pk)
    }
    base.values = keepingLocal(values, from: base.values, table)
    try setShadow(false, table, entry.pk)
  }

  private func saveOrDropBase(
    _ base: BaseEntry, _ table: TableSchema, _ pending: [PendingMutation]
  ) throws(KizunaError) {
    if pending.isEmpty {
      try connection.run("DELETE FROM _kizunasync_base WHERE id = ?", .integer(base.id))
      return
    }
    try saveBase(base, table)
    if !pending.contains(where: { $0.op == .delete }) {
      try connection.run("UPDATE _kizunasync_base SET deleted_at = NULL WHERE id = ?", .integer(base.id))
    }
  }

  // MARK: Journals

  private static let rememberedPushes: Int64 = 1000

  private func rememberApplied(_ slice: PushSlice, _ outcomes: [Outcome]) throws(KizunaError) {
    var last: String?
    for (entry, outcome) in zip(slice.entries, outcomes) {
      guard case .applied = outcome else { continue }
      last = entry.mutationId
      try connection.run(
        "INSERT OR IGNORE INTO _kizunasync_pushed(mutation_id) VALUES(?)", .text(entry.mutationId))
    }
    guard let last else { return }
    try connection.run(
      "DELETE FROM _kizunasync_pushed WHERE id <= (SELECT max(id) FROM _kizunasync_pushed) - ?",
      .integer(Self.rememberedPushes))
    try Meta.set("last_mutation_id", last, connection)
    identity.lastMutationId = last
  }

  /// A new entry for the same mutation replaces the old one, and is not dismissed.
  private func journal(
    _ entry: PushSlice.Entry, kind: String, reason: String, row: JSONValue?
  ) throws(KizunaError) {
    try connection.run(
      "DELETE FROM _kizunasync_rejections WHERE mutation_id = ?", .text(entry.mutationId))
    var columns = ByteBuffer(capacity: 64)
    columns.append(
      json: .array(entry.mutation.op == .delete ? [] : entry.mutation.columnNames.map { .string($0) }))
    try connection.run(
      """
      INSERT INTO _kizunasync_rejections(mutation_id, write_id, "table", pk, kind, reason, changed_columns,
        server_row, at) VALUES(?,?,?,?,?,?,?,?,?)
      """, .text(entry.mutationId), .text(entry.writeId), .text(entry.table), .text(entry.pk), .text(kind),
      .text(reason), .text(columns.string), Self.optional(row?.jsonText), .text(Timestamp.now()))
    change.events.append(.mutationRejected(mutationId: entry.mutationId, reason: reason))
  }
}

extension WriteContext.Outcome {
  fileprivate var keepsVisibleRow: Bool {
    if case .applied(nil) = self { return true }
    return false
  }
}
