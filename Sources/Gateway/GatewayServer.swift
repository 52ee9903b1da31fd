import KizunaEngine
import RESTDialect

package enum GatewayStartError: Error, Sendable {
  case addressInUse(String)
  case cannotBind(String, reason: String)
}

/// The gateway on one open engine: the HTTP server, and who answers what. Requests run on the server's threads;
/// writes are answered by the engine's writer thread, long reads and functions by lanes of their own.
package final class GatewayServer: @unchecked Sendable {
  let configuration: GatewayConfiguration
  let engine: Engine
  let workers: Workers
  let slowLane: SlowLane
  let functionLane: SlowLane
  let process: ProcessFacts
  let ring: EventRing
  let monitor: SyncMonitor
  let listeners = EventListeners()
  let startedAt = monotonicMilliseconds()
  private let access: AccessPolicy
  /// Set once by `start`, before the first request.
  private var http: HTTPServer?

  /// `process` is what the functions tell of the process and ask of it.
  package init(configuration: GatewayConfiguration, engine: Engine, process: ProcessFacts) {
    self.process = process
    ring = EventRing(engine: engine)
    monitor = SyncMonitor(engine: engine, scheduler: process.scheduler)
    self.configuration = configuration
    self.engine = engine
    workers = Workers(engine: engine, maxRows: configuration.maxRows)
    slowLane = SlowLane(engine: engine)
    functionLane = SlowLane(engine: engine)
    access = AccessPolicy(
      apiKey: configuration.apiKey, corsOrigins: configuration.corsOrigins,
      allowedHosts: configuration.allowedHosts)
  }

  /// Answers the addresses bound, as they are shown.
  package func start() throws(GatewayStartError) -> [String] {
    guard slowLane.start(), functionLane.start() else {
      throw .cannotBind("", reason: "no thread could be started")
    }
    // The HTTP server is owned by self and has stopped its threads before self goes.
    let server = HTTPServer(
      configuration: ServerConfiguration(configuration),
      answered: { [workers] method, status in workers.ofThisThread().counts.add(method, status) },
      handler: { [unowned self] exchange in self.handle(exchange) })
    http = server
    listeners.start()
    do throws(ServerError) {
      return try server.start().map(\.display)
    } catch {
      slowLane.stop()
      functionLane.stop()
      throw GatewayStartError(error)
    }
  }

  /// Stops accepting, answers what is in flight, and ends the threads. The engine stays open. When an answer is
  /// still owed at the deadline, the threads stay: what they hold must stay valid until the process ends.
  package func stop(deadlineSeconds: Int) {
    listeners.close()
    ring.close()
    monitor.close()
    process.scheduler?.stop()
    // Whoever waits for a verdict is told that there is none yet, and no call of the upstream holds up the end.
    engine.stopAwaiting()
    if let http, !http.stop(deadlineSeconds: deadlineSeconds) { return }
    slowLane.stop()
    functionLane.stop()
    workers.removeAll()
  }

  // MARK: One request

  func handle(_ exchange: HTTPExchange) {
    var context = RequestContext()
    if case .head = exchange.method { context.isHead = true }
    let (path, query) = Target.split(exchange.target)
    switch lookFast(exchange, path, query) {
    case .answered: return
    case .newShape: context.hasNewShape = true
    case .noShape: break
    }
    let host = exchange.text("Host")
    let origin = exchange.text("Origin")
    do throws(Failure) {
      try access.checkHost(host)
      workers.ofThisThread().accepted(host: host)
      context.crossOrigin = access.grant(origin)
      if answersPreflight(exchange, context) { return }
      if !exchange.isSafe { try access.checkWriter(origin: origin, host: host, grant: context.crossOrigin) }
      let place = Self.place(path)
      if access.needsKey, !Self.isOpen(place, exchange) {
        try access.checkKey(
          header: exchange.header("apikey"), authorization: exchange.header("Authorization"), query: query)
      }
      if case .tooLarge = exchange.bodyState {
        throw Failure(
          "PGRST102", status: 413, "The body is larger than \(configuration.maxBodyBytes) bytes",
          hint: "Send it in parts, or raise max_body_bytes.")
      }
      try dispatch(try place.get(), query: query, exchange, context)
    } catch {
      exchange.send(error, context)
    }
  }

  /// A read of a shape that this thread has met, from a caller like those before: every check of `handle` holds for
  /// it too. Anything else is left to the general path.
  private func lookFast(
    _ exchange: HTTPExchange, _ path: UnsafeBufferPointer<UInt8>, _ query: UnsafeBufferPointer<UInt8>
  ) -> FastReads.Look {
    guard exchange.method == .get, exchange.header("Origin") == nil, exchange.header("Range") == nil,
      exchange.header("Prefer") == nil
    else { return .noShape }
    let worker = workers.ofThisThread()
    guard worker.accepts(host: exchange.header("Host")), let reader = try? worker.reader() else {
      return .noShape
    }
    if access.needsKey {
      do throws(Failure) {
        try access.checkKey(
          header: exchange.header("apikey"), authorization: exchange.header("Authorization"), query: query)
      } catch {
        return .noShape
      }
    }
    let variant = FastReads.Variant(
      accept: exchange.header("Accept"), profile: exchange.header("Accept-Profile"))
    return reader.fast.serve(exchange, path: path, query: query, variant, reader.session)
  }

  private func dispatch(
    _ place: Route.Place, query: UnsafeBufferPointer<UInt8>, _ exchange: HTTPExchange,
    _ context: RequestContext
  ) throws(Failure) {
    var context = context
    let schema: Route.Schema
    if let fixed = place.schema {
      schema = fixed
    } else {
      context.profile = exchange.text(exchange.isSafe ? "Accept-Profile" : "Content-Profile")
      schema = try Route.schema(named: context.profile)
    }
    switch place.route {
    case .table("events") where schema == .kizunasync: try serveEvents(exchange: exchange, context: context)
    case .table(let name):
      let request = TableRequest(
        name: name, schema: schema, method: try exchange.dialectMethod(), query: query, exchange: exchange,
        context: context)
      try serveTable(request)
    case .function(let name) where schema == .kizunasync:
      try serveFunction(name: name, query: query, exchange: exchange, context: context)
    case .function(let name):
      throw Failure(
        "PGRST202", "Could not find the function public.\(name) in the schema cache",
        hint: "The gateway's functions are in the schema kizunasync.")
    case .root, .live, .ready, .metrics, .index:
      try servePlain(place.route, schema: schema, exchange: exchange, context: context)
    }
  }

  /// Preflights of listed origins are answered before the path is looked at, and need no key.
  private func answersPreflight(_ exchange: HTTPExchange, _ context: RequestContext) -> Bool {
    guard case .options = exchange.method, context.crossOrigin != .none,
      exchange.header("Access-Control-Request-Method") != nil
    else { return false }
    let headers = context.crossOrigin.preflight(
      requested: exchange.text("Access-Control-Request-Headers"),
      privateNetwork: exchange.text("Access-Control-Request-Private-Network") == "true")
    // The preflight's headers are complete in themselves.
    exchange.send(Answer(status: 200, headers: headers), RequestContext())
    return true
  }

  /// The grant of a plain OPTIONS, which tells of it even to a caller without an origin.
  func grantToAnyone() -> CrossOrigin { access.grantToAnyone() }

  private static func place(_ path: UnsafeBufferPointer<UInt8>) -> Result<Route.Place, Failure> {
    do throws(DialectError) {
      let segments = try Target.segments(path)
      do throws(Failure) { return .success(try Route.place(segments)) } catch { return .failure(error) }
    } catch {
      return .failure(Failure(error))
    }
  }

  /// Health and the static page need no key.
  private static func isOpen(_ place: Result<Route.Place, Failure>, _ exchange: HTTPExchange) -> Bool {
    guard exchange.isSafe, case .success(let place) = place else { return false }
    switch place.route {
    case .live, .ready, .index: return true
    default: return false
    }
  }
}

extension GatewayStartError {
  init(_ error: ServerError) {
    switch error {
    case .inUse(let address): self = .addressInUse(address)
    case .cannotBind(let address, let reason): self = .cannotBind(address, reason: reason)
    case .cannotStart(let reason): self = .cannotBind("", reason: reason)
    }
  }
}

extension ServerConfiguration {
  init(_ configuration: GatewayConfiguration) {
    self.init(addresses: configuration.listen)
    maxHeaderBytes = configuration.maxHeaderBytes
    maxBodyBytes = configuration.maxBodyBytes
    idleTimeoutSeconds = configuration.idleTimeoutS
  }
}
