import KizunaEngine
import RESTDialect

extension GatewayServer {
  /// The steps follow the order in which a request with several faults is to fail.
  func serveWrite(_ request: TableRequest) throws(Failure) {
    let query = try request.parsed()
    if request.method == .put { try Self.checkPutWindow(query) } else { _ = try request.window(query) }
    var preferences = request.exchange.preferences()
    preferences.wait = preferences.wait.map { min($0, Self.longestWait) }
    let body = try Self.body(request, query, preferences)
    let table = try request.relation(engine.catalog)
    let shape = WriteAnswer.shape(preferences.return, byDefault: configuration.defaultShape, table: table)
    try RelatedParts.check(
      query, table: table, aggregates: configuration.aggregates, answersRows: shape == .representation)
    let key = request.method == .put ? try PutKey(query, table: table) : nil
    let payload = try body?.payload(for: table)
    try TableRequest.checkStrict(preferences)
    let type = try request.answerType()

    let planner = WritePlanner(
      table: table, request: query, preferences: preferences, type: type,
      answersRows: shape == .representation, writeId: UUIDText.v7())
    let answer = WriteAnswer(
      action: Self.action(request.method, query, preferences, table), shape: shape, type: type, table: table,
      isCounted: preferences.count == .exact || preferences.count == .estimated,
      preferencesApplied: preferences.applied(
        method: request.method, hasResolutionTarget: WritePlanner.hasTarget(query, table)),
      profile: request.context.profile, writeId: planner.writeId,
      wait: preferences.transaction == .rollback ? nil : preferences.wait)
    if let plan = try Self.plan(request.method, planner, payload, key) {
      submit(plan, answer, request)
    } else {
      try answerNothingDone(answer, request)
    }
  }

  private static func checkPutWindow(_ query: Request) throws(Failure) {
    do throws(DialectError) { try query.checkPutWindow() } catch { throw Failure(error) }
  }

  /// nil for a delete, whose body counts for nothing.
  private static func body(
    _ request: TableRequest, _ query: Request, _ preferences: Preferences
  ) throws(Failure) -> Body? {
    if request.method == .delete { return nil }
    let reader = BodyReader(
      columns: request.method == .put ? nil : query.columns, defaultsMissing: preferences.missing == .default)
    return try reader.read(request.exchange.body, contentType: request.exchange.header("Content-Type"))
  }

  private static func action(
    _ method: DialectMethod, _ query: Request, _ preferences: Preferences, _ table: TableSchema
  ) -> WriteAnswer.Action {
    switch method {
    case .put: .put
    case .patch: .update
    case .delete: .delete
    default:
      .insert(merges: preferences.resolution == .mergeDuplicates && WritePlanner.hasTarget(query, table))
    }
  }

  /// nil when there is nothing to do.
  private static func plan(
    _ method: DialectMethod, _ planner: WritePlanner, _ payload: Result<Payload, Failure>?, _ key: PutKey?
  ) throws(Failure) -> WritePlan? {
    guard let payload = try payload?.get() else { return try planner.delete() }
    if let key { return try planner.put(payload, key: key) }
    return method == .patch ? try planner.update(payload) : try planner.insert(payload)
  }

  /// The connection sleeps until the writer thread has committed and answers, or until the upstream has judged for a
  /// caller who waits for that.
  private func submit(_ plan: WritePlan, _ answer: WriteAnswer, _ request: TableRequest) {
    let exchange = request.exchange
    let context = request.context
    exchange.suspend()
    engine.submit(plan) { [self] result in
      switch result {
      case .success(let outcome):
        guard let seconds = answer.wait, outcome.affected > 0 else {
          return exchange.send(answer.answer(outcome), context)
        }
        hold(answer.writeId, seconds: seconds) { verdict in
          switch verdict {
          case .applied: exchange.send(answer.answer(outcome), context)
          case .refused(let failure): exchange.send(answer.refusal(failure), context)
          case .pending: exchange.send(answer.answer(outcome, isPending: true), context)
          }
        }
      case .failure(let error): exchange.send(answer.refusal(Failure(error)), context)
      }
    }
  }

  /// An update that sets nothing touches no row.
  private func answerNothingDone(_ answer: WriteAnswer, _ request: TableRequest) throws(Failure) {
    if case .object = answer.type { throw Failure.notSingular(0) }
    request.exchange.send(answer.answer(WriteOutcome()), request.context)
  }
}

extension WriteAnswer {
  /// A write that was refused and undone keeps its id, which the log and the rejections may name.
  func refusal(_ failure: Failure) -> Answer {
    var answer = Answer(failure)
    answer.headers.add("Kizuna-Write-Id", text: writeId)
    if failure.code == "KIZUNA_REJECTED", let preferencesApplied {
      answer.headers.add("Preference-Applied", text: preferencesApplied)
    }
    return answer
  }
}
