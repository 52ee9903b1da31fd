/// The push half of a run: the outbox goes upstream, slice by slice, in the order in which it was written.
struct PushRun {
  let engine: Engine

  /// What the runs of one process remember of refusals.
  struct Budget: Sendable {
    /// Entries a request; lowered when the upstream takes fewer, until the queue is empty.
    var limit: Int?
    /// The head that was refused for good, and how often in a row.
    var head: Int64?
    var refusals = 0

    mutating func charge(_ head: Int64?) -> Int {
      refusals = self.head == head ? refusals + 1 : 1
      self.head = head
      return refusals
    }
    mutating func clear() {
      head = nil
      refusals = 0
    }
  }

  private static let maximumRounds = 100_000
  private static let maximumRefusals = 5

  /// One full slice. Nothing is narrowed, charged or dropped.
  func pushOnce() throws(KizunaError) {
    _ = try send(limit: WriteContext.pushLimit).result.get()
  }

  /// Until the queue is empty or something stands in the way.
  func pushAll() throws(KizunaError) {
    var isIsolating = false
    for _ in 0..<Self.maximumRounds {
      let budget = engine.budget.with { $0 }
      let limit = isIsolating ? 1 : budget.limit ?? WriteContext.pushLimit
      let (slice, result) = try send(limit: limit)
      if slice.entries.isEmpty {
        engine.budget.with { $0 = Budget() }
        return
      }
      isIsolating = false
      switch result {
      case .success(let mayContinue):
        engine.budget.with { $0.clear() }
        if !mayContinue { return }
      case .failure(let error): isIsolating = try refused(slice, error)
      }
    }
  }

  /// Whether the head is to be sent alone next. Throws when the run ends here.
  private func refused(_ slice: PushSlice, _ error: KizunaError) throws(KizunaError) -> Bool {
    let isTooLarge = error.sqlstate == "KZP02"
    guard slice.ownsItsFailure else {
      guard isTooLarge else { return true }
      engine.budget.with { $0.limit = max(1, slice.entries.count / 2) }
      return false
    }
    if isTooLarge, slice.isAtomic {
      try drop(slice, reason: error.transportMessage)
      return false
    }
    let refusals = engine.budget.with { $0.charge(slice.head) }
    guard refusals >= Self.maximumRefusals else { throw error }
    try drop(slice, reason: "PERMANENT_TRANSPORT")
    return false
  }

  private func drop(_ slice: PushSlice, reason: String) throws(KizunaError) {
    engine.budget.with { $0.clear() }
    try engine.writer.perform { context throws(KizunaError) in
      // The failed request has put them back into the queue.
      context.change.queued -= slice.entries.count
      try context.dropDead(slice, reason: reason)
    }
  }

  /// Sends the head of the queue and lands the answer. The result is whether more may be sent, or the upstream's
  /// definite refusal; anything else that fails is thrown.
  private func send(
    limit: Int
  ) throws(KizunaError) -> (slice: PushSlice, result: Result<Bool, KizunaError>) {
    let (slice, identity) = try engine.writer.perform { context throws(KizunaError) in
      (try context.takeSlice(limit: limit), context.identity)
    }
    if slice.entries.isEmpty { return (slice, .success(false)) }
    let answer: PushAnswer
    do throws(KizunaError) {
      guard let bytes = try engine.callRemote("push", slice.body(identity, engine.configuration)) else {
        try giveBack(wasSent: false)
        return (slice, .success(false))
      }
      answer = try PushAnswer(bytes, to: slice)
    } catch {
      try giveBack(wasSent: error.sqlstate?.hasPrefix("AUTH_SESSION") != true)
      if error.code == "PERMANENT_TRANSPORT" { return (slice, .failure(error)) }
      throw error
    }
    do throws(KizunaError) {
      try engine.writer.perform { context throws(KizunaError) in try context.reconcile(answer, slice) }
    } catch {
      try giveBack()
      throw error
    }
    if case .resetRequired = answer { return (slice, .success(false)) }
    return (slice, .success(true))
  }

  private func giveBack(wasSent: Bool = true) throws(KizunaError) {
    try engine.writer.perform { context throws(KizunaError) in
      try context.returnSlice(wasSent: wasSent)
    }
  }
}

extension KizunaError {
  /// What the upstream itself said, without the code that stands before it.
  var transportMessage: String {
    guard let code = sqlstate, message.hasPrefix(code + ": ") else { return message }
    return String(message.dropFirst(code.count + 2))
  }
}
