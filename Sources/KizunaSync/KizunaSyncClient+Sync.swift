import KizunaEngine

extension KizunaSyncClient {
  /// Pushes until nothing waits, then pulls until the sequence closes.
  nonisolated(nonsending) public func sync() async throws {
    try await inTurn { engine throws(KizunaError) in try engine.sync() }
  }

  /// Sends one slice of the outbox.
  nonisolated(nonsending) public func pushOnce() async throws {
    try await inTurn { engine throws(KizunaError) in try engine.pushOnce() }
  }

  /// Fetches one page.
  nonisolated(nonsending) public func pullOnce() async throws {
    try await inTurn { engine throws(KizunaError) in try engine.pullOnce() }
  }

  /// Writes that are queued and not in flight.
  nonisolated(nonsending) public func outboxDepth() async throws -> Int {
    try await call { engine throws(KizunaError) in try engine.outboxDepth() }
  }

  nonisolated(nonsending) public func checkpoint() async throws -> KizunaSyncCheckpoint {
    try await call { engine throws(KizunaError) in KizunaSyncCheckpoint(try engine.checkpoint()) }
  }

  /// Sets the cursor and nothing else: the next pull starts there.
  nonisolated(nonsending) public func seedCheckpoint(_ cursor: String) async throws {
    try await inTurn { engine throws(KizunaError) in try engine.seedCheckpoint(cursor) }
  }

  /// Takes the session's token for this process. The first readable subject becomes the store's owner; another one
  /// blocks sync until `reset`.
  nonisolated(nonsending) public func setAccessToken(_ token: String?) async throws {
    try await call { engine throws(KizunaError) in try engine.setAccessToken(token) }
  }

  /// Sets bucket values for this process, each on every table with that bucket column. A key that is none is
  /// `BUCKET_UNSET`, and nothing changes.
  nonisolated(nonsending) public func setBucket(_ values: [String: Any]) async throws {
    let values = JSONValue.object(try JSONBridge.members(values, at: "bucket"))
    try await call { engine throws(KizunaError) in try engine.setBucket(values) }
  }

  /// Empties rows, outbox, journals and owner, and mints a new client identity. Answers the attachment files that the
  /// caller must delete.
  nonisolated(nonsending) public func reset() async throws -> [String] {
    try await inTurn { engine throws(KizunaError) in try engine.reset() }
  }

  // MARK: Journals

  /// The writes that did not survive, newest first.
  nonisolated(nonsending) public func rejections(
    includeDismissed: Bool = false
  ) async throws -> [KizunaSyncRejection] {
    try await call { engine throws(KizunaError) in
      try engine.rejections(includeDismissed: includeDismissed).map { KizunaSyncRejection($0) }
    }
  }

  /// Acknowledges an entry; false only for an unknown mutation id.
  @discardableResult
  nonisolated(nonsending) public func dismissRejection(_ mutationId: String) async throws -> Bool {
    try await call { engine throws(KizunaError) in try engine.dismissRejection(mutationId) }
  }

  /// The values that lost against newer ones, newest first.
  nonisolated(nonsending) public func overwrites(
    includeDismissed: Bool = false
  ) async throws -> [KizunaSyncOverwrite] {
    try await call { engine throws(KizunaError) in
      try engine.overwrites(includeDismissed: includeDismissed).map { KizunaSyncOverwrite($0) }
    }
  }

  /// Acknowledges an entry; false only for an unknown id.
  @discardableResult
  nonisolated(nonsending) public func dismissOverwrite(_ id: Int64) async throws -> Bool {
    try await call { engine throws(KizunaError) in try engine.dismissOverwrite(id) }
  }

  // MARK: Events

  /// Subscribes to the open engine's events. Answers the way to unsubscribe, which any thread may call.
  nonisolated(nonsending) public func on(
    _ handler: @escaping @Sendable (KizunaSyncEngineEvent) -> Void
  ) async throws -> @Sendable () -> Void {
    try liveEngine().subscribe { handler(KizunaSyncEngineEvent($0)) }
  }

  /// `queued` (the head of the outbox, oldest first), `depth`, `last_mutation_id`, `cursor` and `client_id`.
  nonisolated(nonsending) public func inspect() async throws -> sending [String: Any] {
    try await call { engine throws(KizunaError) in
      guard let members = try engine.inspect().members else {
        throw KizunaError("ENGINE_UNAVAILABLE", "the engine's answer is no object")
      }
      return JSONBridge.dictionary(members)
    }
  }
}
