import KizunaEngine
import RESTDialect

extension GatewayServer {
  /// The steps follow the order in which a request with several faults is to fail.
  func serveRead(_ request: TableRequest) throws(Failure) {
    let query = try request.parsed()
    let window = try request.window(query)
    let relation = try request.relation(engine.catalog)
    try RelatedParts.check(query, table: relation, aggregates: configuration.aggregates)
    let type = try request.answerType()
    let preferences = request.exchange.preferences()
    try TableRequest.checkStrict(preferences)
    let read = TableRead(
      plan: try ReadPlanner.plan(
        query, relation: relation, window: window, maxRows: configuration.maxRows, preferences: preferences),
      format: try ReadPlanner.format(type),
      zone: try ReadPlanner.zone(preferences.timezone),
      answer: ReadAnswer(
        type: type, offset: max(window.offset, 0),
        contentLocation: request.contentLocation(query, maxHeaderBytes: configuration.maxHeaderBytes),
        preferencesApplied: preferences.applied(method: request.method, hasResolutionTarget: false),
        profile: request.context.profile))
    do throws(KizunaError) {
      try run(read, request)
    } catch {
      guard error.code == "SLOW_READ" else { throw Failure(error) }
      try runSlowly(read, request)
    }
  }

  /// On the server thread, within bounds.
  private func run(_ read: TableRead, _ request: TableRequest) throws(KizunaError) {
    let reader = try workers.ofThisThread().reader()
    var body = ByteBuffer(capacity: 1024)
    let prepared = try reader.session.prepare(read.plan, format: read.format, zone: read.zone)
    let outcome = try reader.session.run(prepared, into: &body, budget: TableRead.budget)
    if request.context.hasNewShape { reader.fast.keep(prepared, read.answer, request.query) }
    request.exchange.send(read.answer.answer(outcome, body: body), request.context)
  }

  /// On a thread that may take its time; the answer is streamed.
  private func runSlowly(_ read: TableRead, _ request: TableRequest) throws(Failure) {
    let exchange = request.exchange
    let context = request.context
    let timeout = configuration.readTimeoutS
    exchange.suspend()
    let isTaken = slowLane.submit { worker in
      read.stream(worker, timeoutSeconds: timeout, exchange, context)
    }
    if !isTaken { throw .closing }
  }
}

/// A planned read and its answer, ready to run on any thread.
struct TableRead: Sendable {
  /// What a server thread spends on one read before it hands it on.
  static let budget = ReadSession.Budget(milliseconds: 50, bytes: 1 << 20)

  var plan: ReadPlan
  var format: RowFormat
  var zone: Zone
  var answer: ReadAnswer

  func stream(_ worker: Worker, timeoutSeconds: Int, _ exchange: HTTPExchange, _ context: RequestContext) {
    var stream: ResponseStream?
    var isAnswered = false
    let deadline = monotonicMilliseconds() + Int64(timeoutSeconds) * 1000
    do throws(KizunaError) {
      let session = try worker.session()
      let prepared = try session.prepare(plan, format: format, zone: zone)
      try session.stream(
        prepared, timeoutSeconds: timeoutSeconds,
        start: { outcome in
          let opening = answer.opening(outcome)
          if opening.refusal != nil || outcome.rows == 0 || context.isHead {
            exchange.send(answer.answer(outcome, body: ByteBuffer(capacity: 256)), context)
            isAnswered = true
          } else {
            stream = exchange.openStream(opening, context)
          }
        },
        write: { piece in
          guard let stream else { return false }
          return stream.write(piece, deadline: deadline)
        })
      if let stream {
        stream.finish()
      } else if !isAnswered {
        exchange.send(Failure.unforeseen("a read ended without an outcome"), context)
      }
    } catch {
      if let stream {
        stream.fail()
      } else if !isAnswered {
        exchange.send(Failure(error), context)
      }
    }
  }
}
