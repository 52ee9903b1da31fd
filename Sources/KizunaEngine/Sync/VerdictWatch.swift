/// Waits for mutations to leave the outbox: those of one call, or all.
///
/// What has left is never counted here. A watch is told that something it waits for has moved, and looks at the outbox
/// itself; since it is entered by the job that looked first, on the writer thread, nothing can leave unseen between.
final class VerdictWatch: @unchecked Sendable {
  /// A watch that goes on. Each ends once, with one call of `end`, which must not block.
  struct Watch: Sendable {
    /// nil: any call.
    var writeId: String?
    /// By the monotonic clock.
    var deadline: Int64
    /// Looks at the outbox again; must not block.
    var look: @Sendable (_ id: Int) -> Void
    /// Time ran out, or nothing will be judged any more.
    var end: @Sendable () -> Void
  }

  private let lock = Lock()
  // All below under the lock.
  private var watches: [Int: Watch] = [:]
  private var next = 0
  private var isClosed = false
  private var thread: Thread?

  /// Mutations of these calls (by write id) have left the outbox, durably.
  func settled(_ counts: [String: Int]) {
    let moved = lock.locked {
      watches.filter { _, watch in watch.writeId.map { counts[$0] != nil } ?? true }
    }
    for (id, watch) in moved { watch.look(id) }
  }

  /// The outbox was emptied: nothing will be judged any more.
  func settleAll() { endAll() }

  /// Enters a watch; nil once closed.
  func add(_ watch: Watch) -> Int? {
    lock.locked {
      guard !isClosed else { return nil }
      next += 1
      watches[next] = watch
      if thread == nil { thread = Thread(name: "kizuna-verdicts") { [self] in expire() } }
      lock.signal()
      return next
    }
  }

  /// Takes a watch out, for the one who ends it; false when it has ended already.
  func take(_ id: Int) -> Bool { lock.locked { watches.removeValue(forKey: id) != nil } }

  /// Ends every watch; later ones do not begin.
  func close() {
    let ending = lock.locked {
      isClosed = true
      lock.signal()
      defer { thread = nil }
      return thread
    }
    endAll()
    ending?.join()
  }

  private func endAll() {
    let left = lock.locked {
      defer { watches = [:] }
      return watches
    }
    for watch in left.values { watch.end() }
  }

  /// The watches' own thread: ends those whose time has come.
  private func expire() {
    lock.acquire()
    while !isClosed {
      let now = monotonicMilliseconds()
      let due = watches.filter { $0.value.deadline <= now }
      if due.isEmpty {
        let first = watches.values.lazy.map(\.deadline).min()
        lock.wait(milliseconds: first.map { Int($0 - now) })
        continue
      }
      for id in due.keys { watches[id] = nil }
      lock.release()
      for watch in due.values { watch.end() }
      lock.acquire()
    }
    lock.release()
  }
}

extension Engine {
  /// Calls back once the upstream has judged every mutation of a call that has been committed: with the call's
  /// rejections, oldest first, as the relation shows them; none when all were applied. nil: not judged in time, or
  /// nobody is there to judge. The completion runs on a thread of the engine and must not block. May be called from
  /// any thread, and does not block itself.
  package func awaitVerdicts(
    writeId: String, milliseconds: Int,
    completion: @escaping @Sendable (Result<[JSONValue]?, KizunaError>) -> Void
  ) {
    watch(
      writeId, milliseconds, read: { context throws(KizunaError) in try context.rejections(ofCall: writeId) },
      completion)
  }

  /// Calls back once the outbox is empty, with nothing in flight: true; or false when the time has run out or nobody
  /// is there to empty it. Otherwise as `awaitVerdicts`.
  package func awaitDrained(
    milliseconds: Int, completion: @escaping @Sendable (Result<Bool, KizunaError>) -> Void
  ) {
    watch(nil, milliseconds, read: { _ in true }, { completion($0.map { $0 ?? false }) })
  }

  /// For a stop: ends all that waits for verdicts as if its time had run out, and the call in flight with a fault.
  /// Nothing waits for the upstream any more, nor reaches it.
  package func stopAwaiting() {
    verdicts.close()
    tokenSource.with { $0 }?.cancel()
    remote?.cancel()
  }

  /// Whether anything in the outbox may be judged as things are.
  private var mayBeJudged: Bool {
    remote != nil && !session.with({ $0.isPaused }) && shared.identity.softBlockReason == nil
  }

  /// What the first look at the outbox found. Written by a job and read by its completion, on the writer thread.
  private final class Look<Value>: @unchecked Sendable {
    enum Found {
      case nothingLeft(Value)
      case waiting(id: Int)
      case tooLate
    }
    var found = Found.tooLate
  }

  /// `read` runs in the transaction in which nothing of the call was left.
  private func watch<Value: Sendable>(
    _ writeId: String?, _ milliseconds: Int,
    read: @escaping @Sendable (WriteContext) throws(KizunaError) -> Value,
    _ completion: @escaping @Sendable (Result<Value?, KizunaError>) -> Void
  ) {
    let deadline = monotonicMilliseconds() + Int64(mayBeJudged ? milliseconds : 0)
    let look = Look<Value>()
    let verdicts = verdicts
    let job = Writer.Job(
      mayFailHalfway: false,
      body: { [weak self] context throws(KizunaError) in
        if try !context.hasQueued(writeId, upTo: .max) {
          look.found = .nothingLeft(try read(context))
        } else if deadline > monotonicMilliseconds() {
          // All that the call has queued stands here or before: a later look need not go further.
          let last = writeId == nil ? .max : try context.lastQueued()
          let watch = VerdictWatch.Watch(
            writeId: writeId, deadline: deadline,
            look: { [weak self] id in self?.lookAgain(id, writeId, upTo: last, read: read, completion) },
            end: { completion(.success(nil)) })
          if let id = verdicts.add(watch) { look.found = .waiting(id: id) }
        }
      },
      completion: { error in
        switch look.found {
        case .waiting(let id):
          if let error, verdicts.take(id) { completion(.failure(error)) }
        case .nothingLeft(let value): completion(error.map { .failure($0) } ?? .success(value))
        case .tooLate: completion(error.map { .failure($0) } ?? .success(nil))
        }
      })
    writer.submit(job)
  }

  private func lookAgain<Value: Sendable>(
    _ id: Int, _ writeId: String?, upTo last: Int64,
    read: @escaping @Sendable (WriteContext) throws(KizunaError) -> Value,
    _ completion: @escaping @Sendable (Result<Value?, KizunaError>) -> Void
  ) {
    let look = Look<Value>()
    let verdicts = verdicts
    let job = Writer.Job(
      mayFailHalfway: false,
      body: { context throws(KizunaError) in
        if try !context.hasQueued(writeId, upTo: last) { look.found = .nothingLeft(try read(context)) }
      },
      completion: { error in
        // A look that failed says nothing: the next move in the outbox or the deadline decides.
        guard error == nil, case .nothingLeft(let value) = look.found, verdicts.take(id) else { return }
        completion(.success(value))
      })
    writer.submit(job)
  }
}

extension WriteContext {
  /// Whether mutations of a call (nil: of any) are in the outbox, in flight or not.
  fileprivate func hasQueued(_ writeId: String?, upTo last: Int64) throws(KizunaError) -> Bool {
    let statement = try connection.cached(
      """
      SELECT EXISTS(SELECT 1 FROM _kizunasync_outbox WHERE seq <= ?\(writeId == nil ? "" : " AND write_id = ?"))
      """)
    statement.bind([.integer(last)] + (writeId.map { [.text($0)] } ?? []))
    defer { statement.reset() }
    return try statement.step() && statement.integer(0) != 0
  }

  fileprivate func lastQueued() throws(KizunaError) -> Int64 {
    guard case .integer(let last)? = try connection.value("SELECT max(seq) FROM _kizunasync_outbox") else {
      return 0
    }
    return last
  }

  /// A call's rejections, oldest first, as the relation shows them.
  fileprivate func rejections(ofCall writeId: String) throws(KizunaError) -> [JSONValue] {
    guard let relation = catalog.relation("rejections") else { return [] }
    var plan = ReadPlan(relation)
    plan.includeHidden = true
    let node = JSONValue.object([
      JSONMember("kind", .string("eq")), JSONMember("column", .string("write_id")),
      JSONMember("value", .string(writeId)),
    ])
    plan.filter = try Filter(nodes: .array([node]), table: relation)
    let read = try ReadCompiler(relation: relation).compile(plan)
    let buffer = try rows(
      read.sql, read.parameters.map(\.value) + [.integer(-1), .integer(0)], read.outputs,
      .array(stripNulls: false), zone: .utc)
    do { return (try JSONParser.parse(buffer.bytes).elements ?? []).reversed() } catch {
      throw KizunaError("JSON", "a stored rejection does not parse: \(error.reason)")
    }
  }
}
