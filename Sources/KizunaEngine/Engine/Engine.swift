import CSQLite

/// One open database. Thread-safe; every method may be called from any thread. Those that write block the
/// caller until the commit is durable, except `submit`, which calls back.
package final class Engine: Sendable {
  package let configuration: EngineConfiguration
  /// The path of the database file in use.
  package let databasePath: String

  let writer: Writer
  let shared: SharedState
  let events: EventHub
  let closing: Closing
  /// Moves with every commit, before anyone is told of it.
  let commits: AtomicWord
  private let keeper: SnapshotKeeper
  let checkpointer: Checkpointer
  let session: Guarded<SessionState>
  /// nil: nothing is ever sent.
  let remote: (any Remote)?
  let tokenSource = Guarded<(any AccessTokenSource)?>(nil)
  /// Runs of sync, and what must not happen beside one, pass one at a time.
  let turnstile = Turnstile()
  /// A bucket's value changes in the store and then in the process: one change after the other, so that both keep
  /// the same.
  let scopeChanges = Turnstile()
  let budget = Guarded(PushRun.Budget())
  let verdicts: VerdictWatch
  private let readers: ReaderPool
  private let lock: Guarded<DatabaseLock?>
  private let temporaryDirectory: String?

  /// What one process knows and the database does not.
  struct SessionState: Sendable {
    var accessToken: String?
    /// table → the value of its bucket column.
    var buckets: [String: String] = [:]
    var isPaused = false
    /// Why the token's source gave none.
    var tokenFault: RemoteFault?
    /// The state of the store's scope that the bucket values belong to.
    var scope = 0
    /// The pull that has not come to its last page.
    var transfer: StagedTransfer?
  }

  /// Opens, creates or migrates the database. `CONFIG_INVALID` for a configuration that cannot be, `STORE` for a
  /// file that cannot be opened (sqlstate `58030`; locked by another process: `55006`; disk full: `53100`).
  ///
  /// `remote`: the upstream to call instead of the configured one.
  package static func open(
    _ configuration: EngineConfiguration, remote: (any Remote)? = nil
  ) throws(KizunaError) -> Engine {
    try configuration.validate()
    let place = try DatabasePlace(configuration.databasePath)
    let engine: Engine
    do throws(KizunaError) {
      engine = try Engine(configuration, remote, at: place)
    } catch {
      if let directory = place.temporaryDirectory { DatabasePlace.remove(directory) }
      var named = error
      if error.code == "STORE", !error.message.contains(place.path) {
        named.message = "\(place.path): \(error.message)"
      }
      throw named
    }
    if let token = configuration.remote?.accessToken { try engine.setAccessToken(token) }
    return engine
  }

  private init(
    _ configuration: EngineConfiguration, _ given: (any Remote)?, at place: DatabasePlace
  ) throws(KizunaError) {
    self.configuration = configuration
    remote = given ?? configuration.remote.map { CurlRemote($0) }
    verdicts = VerdictWatch()
    databasePath = place.path
    temporaryDirectory = place.temporaryDirectory
    let held = try DatabaseLock(database: place.path)
    lock = Guarded(held)
    try place.createFile()
    let connection = try Self.openWriter(place.path, configuration)
    let catalog = try Migration(connection: connection, configuration: configuration).run()
    try connection.execute("UPDATE _kizunasync_outbox SET in_flight = 0 WHERE in_flight = 1")
    let identity = try Meta.identity(configured: configuration.clientId, connection)
    shared = SharedState(catalog: catalog, identity: identity)
    events = EventHub()
    closing = Closing()
    session = Guarded(SessionState(buckets: Self.ownerBuckets(catalog, identity.owner)))
    commits = AtomicWord()
    keeper = SnapshotKeeper()
    readers = ReaderPool(path: place.path, closing: closing, commits: commits, keeper: keeper)
    let context = try WriteContext(
      connection: connection, configuration: configuration, catalog: catalog, identity: identity,
      shared: shared, events: events, commits: commits, verdicts: verdicts)
    checkpointer = try Checkpointer(path: place.path, synchronous: configuration.synchronous)
    checkpointer.watch(connection)
    try context.refillOwnerScope()
    let scope = context.identity.scope
    session.with { $0.scope = scope }
    shared.publish(catalog: catalog, identity: context.identity)
    writer = Writer(context: context, checkpointer: checkpointer)
    keeper.start()
    checkpointer.start()
  }

  deinit { close() }

  private static func openWriter(
    _ path: String, _ configuration: EngineConfiguration
  ) throws(KizunaError) -> Connection {
    let connection = try Connection(path: path, readOnly: false)
    try connection.execute(
      """
      PRAGMA journal_mode=WAL; PRAGMA synchronous=\(configuration.synchronous); PRAGMA wal_autocheckpoint=0;
      PRAGMA cache_size=-16384; PRAGMA temp_store=MEMORY; PRAGMA journal_size_limit=67108864;
      """)
    try SQLFunctions.register(on: connection.handle)
    return connection
  }

  /// Finishes the jobs that wait, then closes. Later calls answer `ENGINE_UNAVAILABLE`.
  package func close() {
    let held = lock.with { held in
      let taken = held
      held = nil
      return taken
    }
    guard let held else { return }
    // Nobody else may open the file before the last job is done.
    withExtendedLifetime(held) {
      closing.close()
      tokenSource.with { $0 }?.cancel()
      remote?.cancel()
      // A run that was in the middle of something leaves when its call has ended.
      try? turnstile.pass {}
      verdicts.close()
      keeper.close()
      readers.close()
      checkpointer.close()
      writer.close()
      events.close()
      if let temporaryDirectory { DatabasePlace.remove(temporaryDirectory) }
    }
  }

  package var isClosed: Bool { closing.isClosed }
  package var catalog: Catalog { shared.catalog }
  /// Another number for every catalog of this engine.
  package var catalogVersion: Int { shared.catalogVersion }

  /// A reader of its own: one for each thread that reads.
  package func makeSession() throws(KizunaError) -> ReadSession {
    guard !closing.isClosed else { throw Closing.error }
    return try ReadSession(
      path: databasePath, cacheKiB: ReaderPool.cacheKiB, closing: closing, commits: commits, keeper: keeper)
  }

  func withReader<Value>(
    _ body: (ReadSession) throws(KizunaError) -> Value
  ) throws(KizunaError) -> Value {
    guard !closing.isClosed else { throw Closing.error }
    return try readers.with(body)
  }

  // MARK: Writes

  /// Queues a write. The completion runs on the writer thread after the commit is durable (or the write was
  /// refused and undone): it must not block.
  package func submit(
    _ plan: WritePlan, completion: @escaping @Sendable (Result<WriteOutcome, KizunaError>) -> Void
  ) {
    let outcome = Box(WriteOutcome())
    writer.submit(
      Writer.Job(
        isDryRun: plan.dryRun, mayFailHalfway: plan.mayFailHalfway,
        body: { context throws(KizunaError) in outcome.value = try context.execute(plan) },
        completion: { error in completion(error.map { .failure($0) } ?? .success(outcome.value)) }))
  }

  private final class Box: @unchecked Sendable {
    // Written by the job and read by its completion, both on the writer thread.
    var value: WriteOutcome
    init(_ value: WriteOutcome) { self.value = value }
  }

  package func write(_ plan: WritePlan) throws(KizunaError) -> WriteOutcome {
    try writer.perform(isDryRun: plan.dryRun) { context throws(KizunaError) in try context.execute(plan) }
  }

  package func apply(_ mutation: Mutation, writeId: String? = nil) throws(KizunaError) {
    let call = WriteContext.Call(writeId: writeId ?? UUIDText.v7())
    _ = try writer.perform { context throws(KizunaError) in try context.apply(mutation, call) }
  }

  /// One local transaction, one atomic batch upstream. Answers the keys.
  package func batch(_ mutations: [Mutation], writeId: String? = nil) throws(KizunaError) -> [String] {
    var call = WriteContext.Call(writeId: writeId ?? UUIDText.v7())
    call.batchId = UUIDText.v7()
    return try writer.perform { context throws(KizunaError) in
      var keys: [String] = []
      for mutation in mutations { keys.append(try context.apply(mutation, call)) }
      return keys
    }
  }

  /// Writes the rows that the filters match; answers their keys in key order. `filters`: an array of nodes
  /// (`{"kind":"eq","column":…,"value":…}`).
  package func applyWhere(
    table name: String, op: Mutation.Op, filters: JSONValue, columns: [JSONMember] = [],
    transforms: JSONValue? = nil, precondition: JSONValue? = nil, maxAffected: Int? = nil,
    writeId: String? = nil
  ) throws(KizunaError) -> [String] {
    guard let table = catalog.table(name) else { throw WriteContext.unknown(name) }
    try WriteContext.checkWritable(table)
    guard op != .insert else { throw FilterNodes.unsupported("an insert has no rows to match") }
    if op == .delete, transforms?.members?.isEmpty == false { throw WriteContext.transformedDelete }
    if filters.elements?.isEmpty == true { try Filter.checkNamesRows(filters) }
    let filter = try Filter(nodes: filters, table: table)
    try Filter.checkNamesRows(filters)
    let pairs = columns.map { (column: $0.key, value: Optional($0.value)) }
    let action: WritePlan.Action =
      op == .update ? .update(filter, assignments: pairs, transforms: transforms) : .delete(filter)
    var plan = WritePlan(table, action, writeId: writeId ?? UUIDText.v7())
    plan.precondition = precondition
    plan.maxAffected = maxAffected
    plan.matchesAnyText = true
    plan.extraColumns = op == .delete ? pairs : []
    return try write(plan).keys
  }

  /// Rows as the server would have sent them: no outbox entry, replacing what is there.
  package func seed(_ name: String, rows: [[JSONMember]]) throws(KizunaError) {
    try writer.perform { context throws(KizunaError) in try context.seed(name, rows) }
  }

  // MARK: Reads

  /// A read by a plan of the Swift API: an array, an object, null, or `{"rows","count"}`.
  package func query(table name: String, plan: JSONValue) throws(KizunaError) -> JSONValue {
    guard let table = catalog.table(name) else { throw WriteContext.unknown(name) }
    var decoded = try DecodedPlan(plan, table: table)
    if decoded.cardinality != .many { decoded.read.limit = min(decoded.read.limit ?? 2, 2) }
    let (rows, total) = try withReader { session throws(KizunaError) in
      let read = try session.prepare(decoded.read, format: .array(stripNulls: false), matchesAnyText: true)
      var buffer = ByteBuffer()
      let outcome = try session.run(
        read, into: &buffer, budget: .init(milliseconds: Int(Int32.max), bytes: .max))
      return (try Self.parsed(buffer.bytes), outcome.total)
    }
    let answer = try Self.shape(Self.project(rows, decoded), decoded.cardinality)
    guard let total else { return answer }
    return .object([JSONMember("rows", answer), JSONMember("count", .integer(Int64(total)))])
  }

  private static func parsed(_ bytes: UnsafeBufferPointer<UInt8>) throws(KizunaError) -> [JSONValue] {
    do { return try JSONParser.parse(bytes).elements ?? [] } catch {
      throw KizunaError("JSON", "a stored row does not parse: \(error.reason)")
    }
  }

  private static func project(_ rows: [JSONValue], _ plan: DecodedPlan) -> [JSONValue] {
    guard let names = plan.projection, names.count != plan.read.outputs?.count else { return rows }
    return rows.map { row in
      .object(names.map { JSONMember($0, row[$0] ?? .null) })
    }
  }

  private static func shape(
    _ rows: [JSONValue], _ cardinality: DecodedPlan.Cardinality
  ) throws(KizunaError) -> JSONValue {
    switch cardinality {
    case .many: return .array(rows)
    case .single:
      guard rows.count == 1 else { throw count(rows.count, "exactly one row") }
      return rows[0]
    case .maybeSingle:
      guard rows.count <= 1 else { throw count(rows.count, "at most one row") }
      return rows.first ?? .null
    }
  }

  private static func count(_ rows: Int, _ wanted: String) -> KizunaError {
    KizunaError(
      "LOCAL_CONSTRAINT", sqlstate: "PGRST116",
      "the query matches \(rows) rows where \(wanted) was asked for",
      details: "The result contains \(rows) rows")
  }

  /// Events arrive on one thread, one at a time, in emission order. Answers the way to unsubscribe.
  package func subscribe(_ handler: @escaping @Sendable (EngineEvent) -> Void) -> @Sendable () -> Void {
    events.subscribe(handler)
  }
}
