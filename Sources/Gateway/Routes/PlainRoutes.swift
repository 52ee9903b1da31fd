import KizunaEngine
import RESTDialect

extension GatewayServer {
  /// The addresses that are no relation: health, metrics, the descriptions, and the index of what is served.
  func servePlain(
    _ route: Route, schema: Route.Schema, exchange: HTTPExchange, context: RequestContext
  ) throws(Failure) {
    switch exchange.method {
    case .get, .head: break
    case .options: return answerPlainOptions(exchange, context)
    default:
      var refusal = Answer(Failure("PGRST117", "Unsupported HTTP method: \(exchange.methodName)"))
      refusal.headers.add("Allow", Self.plainMethods)
      return exchange.send(refusal, context)
    }
    switch route {
    case .live: exchange.send(Answer(json: ["status": "live"]), context)
    case .ready: answerReady(exchange, context)
    case .metrics: try answerMetrics(exchange, context)
    case .root: try answerDescription(schema, exchange, context)
    default: exchange.send(Answer(json: Self.index(version: process.version)), context)
    }
  }

  private static let plainMethods: StaticString = "OPTIONS,GET,HEAD"

  private func answerPlainOptions(_ exchange: HTTPExchange, _ context: RequestContext) {
    var headers = HeaderList()
    headers.add("Allow", Self.plainMethods)
    var context = context
    if context.crossOrigin == .none { context.crossOrigin = grantToAnyone() }
    exchange.send(Answer(status: 200, headers: headers), context)
  }

  // MARK: Health

  private func answerReady(_ exchange: HTTPExchange, _ context: RequestContext) {
    do throws(KizunaError) {
      try readSomething()
      exchange.send(Answer(json: ["status": "ready"]), context)
    } catch {
      exchange.send(Self.notReady(error), context)
    }
  }

  /// Opens the thread's reader if need be, and looks at the head of the outbox.
  private func readSomething() throws(KizunaError) {
    guard !engine.isClosed, let outbox = engine.catalog.relation("outbox") else {
      throw KizunaError("ENGINE_UNAVAILABLE", "the database is closed")
    }
    var plan = ReadPlan(outbox)
    plan.outputs = [Output("seq", ColumnPath("seq"))]
    plan.limit = 1
    let session = try workers.ofThisThread().session()
    var body = ByteBuffer(capacity: 64)
    let read = try session.prepare(plan, format: .array(stripNulls: false))
    _ = try session.run(read, into: &body, budget: .init(milliseconds: 1000, bytes: 1 << 20))
  }

  /// Whatever the reason, who asks is to come again later.
  static func notReady(_ error: KizunaError) -> Failure {
    if error.code == "SLOW_READ" {
      return Failure("ENGINE_UNAVAILABLE", "The database takes too long to answer")
    }
    var failure = Failure(error)
    failure.status = 503
    return failure
  }

  private func answerMetrics(_ exchange: HTTPExchange, _ context: RequestContext) throws(Failure) {
    let engine = engine
    let workers = workers
    let monitor = monitor
    let version = process.version
    let startedAt = startedAt
    exchange.suspend()
    let isTaken = functionLane.submit { _ in
      do throws(KizunaError) {
        let metrics = try Metrics(
          engine: engine, version: version, startedAt: startedAt, answers: workers.answerCounts(),
          sync: monitor.counts)
        var headers = HeaderList()
        headers.add("Content-Type", Metrics.contentType)
        headers.add("Cache-Control", "no-store")
        exchange.send(Answer(status: 200, headers: headers, body: metrics.text()), context)
      } catch {
        exchange.send(Failure(error), context)
      }
    }
    if !isTaken { throw .closing }
  }

  // MARK: Descriptions

  /// OpenAPI's own type, unless plain JSON is asked for by name, as generators and browsers do.
  private func answerDescription(
    _ schema: Route.Schema, _ exchange: HTTPExchange, _ context: RequestContext
  ) throws(Failure) {
    let description = APIDescription(
      schema: schema, version: process.version, needsKey: configuration.apiKey != nil)
    var answer = Answer(json: description.document(engine.catalog))
    var headers = HeaderList()
    headers.add("Content-Type", Self.descriptionType(accept: exchange.text("Accept")))
    headers.add("Vary", "Accept")
    if let profile = context.profile { headers.add("Content-Profile", text: profile) }
    answer.headers = headers
    exchange.send(answer, context)
  }

  static func descriptionType(accept: String?) -> StaticString {
    let types = (accept ?? "").lowercased().split(separator: ",").map { range in
      range.drop { $0 == " " }.prefix { $0 != ";" && $0 != " " }
    }
    return types.contains("application/json") && !types.contains("application/openapi+json")
      ? Answer.jsonType : "application/openapi+json; charset=utf-8"
  }

  static func index(version: String) -> JSONValue {
    func address(_ path: String, _ methods: [JSONValue], _ text: JSONValue) -> JSONMember {
      JSONMember(path, ["methods": .array(methods), "description": text])
    }
    let addresses = [
      address("/rest/v1/", ["GET"], "OpenAPI description of the configured tables"),
      address(
        "/rest/v1/{table}", ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"],
        "The configured tables, in the PostgREST dialect"),
      address("/sync/v1/", ["GET"], "OpenAPI description of the engine's relations and functions"),
      address(
        "/sync/v1/{relation}", ["GET", "HEAD", "OPTIONS"],
        "The engine's own relations, such as outbox and rejections, in the same dialect"),
      address(
        "/sync/v1/rpc/{function}", ["POST", "GET"],
        "The engine's functions, such as status and sync; GET for those that only read"),
      address("/sync/v1/events", ["GET"], "What happens, as server-sent events"),
      address("/live", ["GET"], "Whether the process answers"),
      address("/ready", ["GET"], "Whether the database is open and answers"),
      address("/metrics", ["GET"], "Numbers about the gateway, in the Prometheus text format"),
    ]
    return [
      "name": "kizuna-gateway", "version": .string(version),
      "description": "A local-first database behind a REST API that Supabase and PostgREST clients know.",
      "addresses": .object(addresses),
    ]
  }
}
