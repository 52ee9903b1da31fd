/// One open database. Thread-safe; every method may be called from any thread. Those that write block the
/// caller until the commit is durable, except `submit`, which calls back.
package final class Engine: Sendable {
  package let configuration: EngineConfiguration

  private init(_ configuration: EngineConfiguration) { self.configuration = configuration }

  /// Opens, creates or migrates the database. `CONFIG_INVALID` for a configuration that cannot be, `STORE` for a
  /// file that cannot be opened (sqlstate `58030`; locked by another process: `55006`; disk full: `53100`).
  package static func open(_ configuration: EngineConfiguration) throws(KizunaError) -> Engine {
    throw KizunaError("STORE", "unbuilt")
  }
  /// Finishes the jobs that wait, then closes. Later calls answer `ENGINE_UNAVAILABLE`.
  package func close() {}

  package var catalog: Catalog { Catalog(version: 0, tables: [], relations: []) }
  /// The path of the database file in use.
  package var databasePath: String { "" }

  /// A reader of its own: one for each thread that reads.
  package func makeSession() throws(KizunaError) -> ReadSession { throw KizunaError("STORE", "unbuilt") }

  /// Queues a write. The completion runs on the writer thread after the commit is durable (or the write was
  /// refused and undone): it must not block.
  package func submit(
    _ plan: WritePlan, completion: @escaping @Sendable (Result<WriteOutcome, KizunaError>) -> Void
  ) {}
  package func write(_ plan: WritePlan) throws(KizunaError) -> WriteOutcome { throw KizunaError("STORE", "unbuilt") }

  package func apply(_ mutation: Mutation, writeId: String? = nil) throws(KizunaError) {}
  /// Rows that the filters match; answers their keys in key order. `filters`: an array of nodes
  /// (`{"kind":"eq","column":…,"value":…}`).
  package func applyWhere(
    table: String, op: Mutation.Op, filters: JSONValue, columns: [JSONMember] = [],
    transforms: JSONValue? = nil, precondition: JSONValue? = nil, maxAffected: Int? = nil,
    writeId: String? = nil
  ) throws(KizunaError) -> [String] { [] }
  /// One local transaction, one atomic batch upstream.
  package func batch(_ mutations: [Mutation], writeId: String? = nil) throws(KizunaError) -> [String] { [] }

  /// A read by a plan of the Swift API (`filters`, `orders`, `limit`, `offset`, `projection`, `cardinality`,
  /// `includeDeleted`, `count`): an array, an object, null, or `{"rows","count"}`.
  package func query(table: String, plan: JSONValue) throws(KizunaError) -> JSONValue { .null }

  package func outboxDepth() throws(KizunaError) -> Int { 0 }
  package func checkpoint() throws(KizunaError) -> Checkpoint {
    Checkpoint(cursor: "0", softBlocked: false, softBlockReason: nil)
  }
  package func status() throws(KizunaError) -> EngineStatus { throw KizunaError("STORE", "unbuilt") }
  package func setBucket(_ values: JSONValue) throws(KizunaError) {}
  package func setAccessToken(_ token: String?) throws(KizunaError) {}
  /// Answers the stranded attachment paths.
  package func reset() throws(KizunaError) -> [String] { [] }
  package func seedCheckpoint(_ cursor: String) throws(KizunaError) {}
  package func rejections(includeDismissed: Bool) throws(KizunaError) -> [Rejection] { [] }
  package func dismissRejection(_ mutationId: String) throws(KizunaError) -> Bool { false }
  package func overwrites(includeDismissed: Bool) throws(KizunaError) -> [Overwrite] { [] }
  package func dismissOverwrite(_ id: Int64) throws(KizunaError) -> Bool { false }
  /// Network functions: `REMOTE` without a remote or while paused.
  package func sync() throws(KizunaError) {}
  package func pushOnce() throws(KizunaError) {}
  package func pullOnce() throws(KizunaError) {}
  package func pause() {}
  package func resume() {}
  /// `{"queued":[…],"depth":n,"last_mutation_id":…,"cursor":…,"client_id":…}`
  package func inspect() throws(KizunaError) -> JSONValue { .null }
  /// Events arrive on one thread, one at a time, in emission order. Answers the way to unsubscribe.
  package func subscribe(_ handler: @escaping @Sendable (EngineEvent) -> Void) -> @Sendable () -> Void { {} }
  /// A consistent copy of the database, while it is served.
  package func backup(to path: String) throws(KizunaError) {}
}
