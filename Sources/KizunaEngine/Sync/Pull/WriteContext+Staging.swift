extension WriteContext {
  /// How long one job may go on staging: local writes wait behind it.
  static let stepMilliseconds: Int64 = 20
  static let stepRows = 2000

  /// Whether what was asked in this state of the store may still be used.
  func accepts(_ request: PullRequest) -> Bool {
    identity.softBlockReason == nil && identity.scope == request.scope
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
    try place(values, in: side)
    if let filled = side.filling?.table { try place(values, in: filled) }
    side.staged += 1
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
    let key = try upstreamKey(pk, table)
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
        log.append(catalog.tables[Int(entry.table)].name)
        log.append(0)
        page.append(entry.pk, to: &log)
        log.append(0)
        page.append(entry.seq, to: &log)
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
        let text = parts[first..<first + 2].map { String(decoding: $0, as: UTF8.self) }
        guard let pk = try? JSONParser.parse(text[1]).text else { continue }
        try raiseSequence(text[0], pk, PullSequence(parts[first + 2]))
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
