/// The pull half of a run: pages until the sequence closes. A page with more to come is staged where nobody reads
/// it; the last one brings everything into sight in one transaction.
struct PullRun {
  let engine: Engine
  private let maximumPages: Int

  /// A single page up to this many entries is applied at once.
  private static let atOnce = 2000

  init(engine: Engine, maximumPages: Int = 100_000) {
    self.engine = engine
    self.maximumPages = maximumPages
  }

  /// Until the sequence closes. A checkpoint that has expired on the way is followed by the transfer from the
  /// start that replaces it.
  func pullAll() throws(KizunaError) {
    for _ in 0..<maximumPages {
      if try pullPage() { return }
    }
    throw KizunaError(
      "REMOTE", "the pull did not come to its last page within \(maximumPages) pages",
      hint: "What has come is kept; the next pull goes on.")
  }

  /// Asks for one page. Answers whether there is nothing left to ask for now.
  func pullPage() throws(KizunaError) -> Bool {
    guard let request = try request() else { return true }
    let answer: [UInt8]?
    do throws(KizunaError) {
      answer = try engine.callRemote("pull", request.body)
    } catch {
      try? dropTransfer()
      throw error
    }
    guard let answer else { return true }
    let page = try PullPage(answer, catalog: engine.catalog)
    switch page.signal {
    case .resetRequired?:
      try requireReset()
      return true
    case .checkpointExpired?: return try startOver(request)
    case nil: return try land(page, request)
    }
  }

  // MARK: Asking

  /// nil: the store is blocked.
  private func request() throws(KizunaError) -> PullRequest? {
    try refillOwnerBuckets()
    let session = engine.session.with { $0 }
    let identity = engine.shared.identity
    guard identity.softBlockReason == nil else { return nil }
    if let transfer = session.transfer, !isUsable(transfer, identity, session) { try dropTransfer() }
    let transfer = engine.session.with { $0.transfer }
    return try PullRequest(
      cursor: transfer?.pageCursor ?? (identity.restartsPull ? "0" : identity.cursor), session: session,
      identity: identity, tables: engine.catalog.tables, configuration: engine.configuration)
  }

  private func isUsable(
    _ transfer: StagedTransfer, _ identity: Identity, _ session: Engine.SessionState
  ) -> Bool {
    transfer.clientId.sameBytes(as: identity.clientId) && transfer.scope == session.scope
      && transfer.isReplacing == identity.restartsPull
  }

  private func refillOwnerBuckets() throws(KizunaError) {
    try engine.scopeChanges.pass { () throws(KizunaError) in try refillAlone() }
  }

  private func refillAlone() throws(KizunaError) {
    guard let owner = engine.shared.identity.owner else { return }
    let values = engine.session.with { $0.buckets }
    var unset: [(table: String, column: String)] = []
    for table in engine.catalog.tables where table.syncMode != .localOnly {
      if case .owner(let column) = table.bucket, values[table.name]?.isEmpty ?? true {
        unset.append((table.name, column))
      }
    }
    guard !unset.isEmpty else { return }
    let filled = unset
    let scope = try engine.writer.perform { context throws(KizunaError) -> Int in
      for (table, column) in filled { try context.keepScope(table, column, owner) }
      return context.identity.scope
    }
    engine.session.with { state in
      for (table, _) in filled { state.buckets[table] = owner }
      state.scope = max(state.scope, scope)
    }
  }

  // MARK: Signals

  private func requireReset() throws(KizunaError) {
    try engine.writer.perform { context throws(KizunaError) in
      if context.identity.softBlockReason == nil { try context.latchBlock("reset_required") }
    }
    try? dropTransfer()
  }

  /// The checkpoint is older than what the upstream remembers: the next page is the first of all.
  private func startOver(_ request: PullRequest) throws(KizunaError) -> Bool {
    let isCurrent = try engine.writer.perform { context throws(KizunaError) -> Bool in
      guard context.accepts(request) else { return false }
      try Meta.set("restart_pull", "1", context.connection)
      context.identity.restartsPull = true
      context.change.events.append(.checkpointExpired)
      return true
    }
    try? dropTransfer()
    return !isCurrent
  }

  // MARK: Pages

  /// Answers whether the run ends here: the sequence has closed, or the answer was to another store's question.
  private func land(_ page: PullPage, _ request: PullRequest) throws(KizunaError) -> Bool {
    let isSmall = page.rows.count + page.tombstones.count <= Self.atOnce
    if !page.hasMore, isSmall, engine.session.with({ $0.transfer }) == nil,
      let isDone = try closeAtOnce(page, request)
    {
      return isDone
    }
    guard let transfer = try transfer(for: request), try stage(page, request, transfer) else {
      try dropTransfer()
      return true
    }
    if page.hasMore {
      transfer.pageCursor = page.cursor
      return false
    }
    return try close(page, request, transfer)
  }

  /// nil: the page must be staged first, since what it omits is to go.
  private func closeAtOnce(_ page: PullPage, _ request: PullRequest) throws(KizunaError) -> Bool? {
    try engine.writer.perform { context throws(KizunaError) -> Bool? in
      guard context.accepts(request) else { return true }
      if context.identity.restartsPull { return nil }
      try context.closeAtOnce(page)
      return true
    }
  }

  /// The transfer that the page belongs to, begun if it is the first. nil: the answer is void.
  private func transfer(for request: PullRequest) throws(KizunaError) -> StagedTransfer? {
    if let transfer = engine.session.with({ $0.transfer }) { return transfer }
    let transfer = try engine.writer.perform(isDurable: false) {
      context throws(KizunaError) -> StagedTransfer? in
      guard context.accepts(request) else { return nil }
      try context.clearStaging()
      return StagedTransfer(context.identity, cursor: request.cursor, tables: context.catalog.tables.count)
    }
    engine.session.with { $0.transfer = transfer }
    return transfer
  }

  /// Takes the page in steps, between which local writes go on. False: the answer is void.
  private func stage(
    _ page: PullPage, _ request: PullRequest, _ transfer: StagedTransfer
  ) throws(KizunaError) -> Bool {
    do throws(KizunaError) {
      let count = page.rows.count + page.tombstones.count
      var position = 0
      repeat {
        let start = position
        let reached = try step(transfer) { context, limit throws(KizunaError) -> Int? in
          guard context.accepts(request) else { return nil }
          if start == 0 { try context.watchOrder(of: page, transfer) }
          let reached = try context.stage(page, from: start, limit: limit, transfer)
          if reached == count { try context.stagedAll(of: page, transfer) }
          return reached
        }
        guard let reached else { return false }
        position = reached
      } while position < count
      return true
    } catch {
      // Half a page is no state to go on from.
      try? dropTransfer()
      throw error
    }
  }

  /// One job of many. It promises nothing to anyone, so no disk is waited for; and it takes so many rows as local
  /// writes can wait for, its commit included, which in a large table is what takes longest.
  private func step<Value>(
    _ transfer: StagedTransfer, _ body: @escaping (WriteContext, Int) throws(KizunaError) -> Value
  ) throws(KizunaError) -> Value {
    engine.checkpointer.settle()
    let limit = transfer.stepRows
    let began = monotonicMilliseconds()
    let value = try engine.writer.perform(isDurable: false) { context throws(KizunaError) in
      try body(context, limit)
    }
    transfer.adapt(took: monotonicMilliseconds() - began)
    return value
  }

  private func close(
    _ page: PullPage, _ request: PullRequest, _ transfer: StagedTransfer
  ) throws(KizunaError) -> Bool {
    let staged = transfer.sides
    do throws(KizunaError) {
      for index in transfer.sides.indices {
        while try step(
          transfer,
          { context, limit throws(KizunaError) -> Bool in
            guard context.accepts(request) else { return false }
            return try context.fill(index, limit: limit, transfer)
          })
        {}
      }
      try engine.writer.perform { context throws(KizunaError) in
        guard context.accepts(request) else { return }
        try context.close(transfer, cursor: page.cursor)
      }
    } catch {
      // What is staged stays, so that another try can complete it.
      transfer.undo(to: staged)
      throw error
    }
    // The sequence is closed; what cannot be cleared now goes with the next transfer, or when the store opens.
    try? dropTransfer()
    return true
  }

  // MARK: Leaving

  /// Forgets the transfer, then takes its tables away in short steps.
  private func dropTransfer() throws(KizunaError) {
    let had = engine.session.with { state in
      defer { state.transfer = nil }
      return state.transfer != nil
    }
    guard had else { return }
    let names = try engine.writer.perform { context throws(KizunaError) in
      try Staging.leftovers(context.connection)
    }
    for name in names {
      var isGone = false
      while !isGone {
        // The next opening takes away what a store that closes leaves.
        if engine.closing.isClosed { return }
        engine.checkpointer.settle()
        isGone = try engine.writer.perform(isDurable: false) { context throws(KizunaError) in
          try Staging.shrink(name, context.connection)
        }
      }
    }
    try engine.writer.perform { context throws(KizunaError) in try Staging.empty(context.connection) }
  }
}
