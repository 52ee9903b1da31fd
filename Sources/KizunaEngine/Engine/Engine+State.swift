extension Engine {
  package func outboxDepth() throws(KizunaError) -> Int {
    try writer.perform { context throws(KizunaError) in try WriteContext.countQueue(context.connection) }
  }

  package func checkpoint() throws(KizunaError) -> Checkpoint {
    guard !closing.isClosed else { throw Closing.error }
    let identity = shared.identity
    return Checkpoint(
      cursor: identity.cursor, softBlocked: identity.softBlockReason != nil,
      softBlockReason: identity.softBlockReason)
  }

  package func status() throws(KizunaError) -> EngineStatus {
    let checkpoint = try checkpoint()
    let (depth, oldest) = try writer.perform { context throws(KizunaError) -> (Int, String?) in
      let oldest = try context.connection.value(
        "SELECT created_at FROM _kizunasync_outbox ORDER BY seq LIMIT 1")
      var text: String?
      if case .text(let value)? = oldest { text = value }
      return (try WriteContext.countQueue(context.connection), text)
    }
    let identity = shared.identity
    let state = session.with { $0 }
    return EngineStatus(
      outboxDepth: depth, oldestQueuedAt: oldest, checkpoint: checkpoint, clientId: identity.clientId,
      owner: identity.owner, buckets: bucketValues(state.buckets), paused: state.isPaused,
      hasRemote: remote != nil)
  }

  /// bucket column → value, in configuration order.
  private func bucketValues(_ values: [String: String]) -> [JSONMember] {
    var result: [JSONMember] = []
    for table in catalog.tables {
      guard let column = table.bucket.columnName, let value = values[table.name],
        !result.contains(where: { $0.key.sameBytes(as: column) })
      else { continue }
      result.append(JSONMember(column, .string(value)))
    }
    return result
  }

  package var isPaused: Bool { session.with { $0.isPaused } }
  package func pause() { session.with { $0.isPaused = true } }
  package func resume() { session.with { $0.isPaused = false } }

  /// Only the cursor is touched.
  package func seedCheckpoint(_ cursor: String) throws(KizunaError) {
    try turnstile.pass { () throws(KizunaError) in
      try writer.perform { context throws(KizunaError) in
        try Meta.set("cursor", cursor, context.connection)
        context.identity.cursor = cursor
      }
    }
  }

  /// Clears rows, queue, shadows, journals, owner and kept scope in one transaction, and mints a new client id. The
  /// token and the column buckets of this process stay, and so does the origin clock. Answers the stranded
  /// attachment paths.
  package func reset() throws(KizunaError) -> [String] {
    try turnstile.pass { () throws(KizunaError) in try resetInTurn() }
  }

  private func resetInTurn() throws(KizunaError) -> [String] {
    let catalog = shared.catalog
    try writer.perform { context throws(KizunaError) in
      for table in catalog.tables where table.syncMode != .localOnly {
        try context.connection.execute("DELETE FROM \(SQLName.quoted(table.sqlName))")
      }
      // Rows of tables that are configured no more are the old user's too.
      for name in try TableScopes.kept(context.connection)?.left ?? [] {
        guard let table = try SchemaRegistry.load(name, context.connection) else { continue }
        try context.connection.execute("DELETE FROM \(SQLName.quoted(table.sqlName))")
      }
      for name in ["outbox", "base", "server_tombstones", "rejections", "overwrites", "buckets", "pushed"] {
        try context.connection.execute("DELETE FROM \(EngineTables.prefix)\(name)")
      }
      for key in ["owner", "soft_block", "cursor", "restart_pull", "last_mutation_id"] {
        try Meta.set(key, nil, context.connection)
      }
      let clientId = UUIDText.v4()
      try Meta.set("client_id", clientId, context.connection)
      try context.clearStaging()
      context.identity = Identity(
        clientId: clientId, scope: context.identity.scope, clock: context.identity.clock)
      context.change.isReset = true
    }
    session.with { state in
      for table in catalog.tables {
        if case .owner = table.bucket { state.buckets[table.name] = nil }
      }
      state.transfer = nil
    }
    budget.with { $0 = PushRun.Budget() }
    return []
  }

  /// `{"queued":[…],"depth":n,"last_mutation_id":…,"cursor":…,"client_id":…}`: `queued` is the head of the outbox.
  package func inspect() throws(KizunaError) -> JSONValue {
    guard let outbox = catalog.relation("outbox") else { throw Closing.error }
    var plan = ReadPlan(outbox)
    plan.limit = 50
    let queued = try withReader { session throws(KizunaError) in
      let read = try session.prepare(plan, format: .array(stripNulls: false))
      var buffer = ByteBuffer()
      _ = try session.run(read, into: &buffer, budget: .init(milliseconds: 30_000, bytes: .max))
      return (try? JSONParser.parse(buffer.bytes)) ?? .array([])
    }
    let identity = shared.identity
    return .object([
      JSONMember("queued", queued), JSONMember("depth", .integer(Int64(try outboxDepth()))),
      JSONMember("last_mutation_id", identity.lastMutationId.map { .string($0) } ?? .null),
      JSONMember("cursor", .string(identity.cursor)),
      JSONMember("client_id", .string(identity.clientId)),
    ])
  }

  /// A consistent copy of the database, while it is served.
  package func backup(to path: String) throws(KizunaError) {
    guard !closing.isClosed else { throw Closing.error }
    try DatabaseFile.backup(from: databasePath, to: path)
  }
}

extension TableSchema.Bucket {
  var columnName: String? {
    switch self {
    case .none: nil
    case .owner(let name), .column(let name): name
    }
  }
}
