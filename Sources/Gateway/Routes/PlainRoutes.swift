import KizunaEngine

extension GatewayServer {
  /// The addresses that are no table: health, and the index of what is served.
  func servePlain(path: String, exchange: HTTPExchange, context: RequestContext) {
    guard exchange.isSafe else {
      return exchange.send(Failure("PGRST117", "Unsupported HTTP method: \(exchange.methodName)"), context)
    }
    switch path {
    case "/live": exchange.send(Answer(json: .object([JSONMember("status", .string("live"))])), context)
    case "/ready": exchange.send(Answer(json: .object([JSONMember("status", .string("ready"))])), context)
    case "/": exchange.send(Answer(json: .object(Self.addresses)), context)
    case "/metrics": exchange.send(Failure("PGRST127", "Feature not implemented"), context)
    default: exchange.send(Failure("PGRST126", "Root endpoint metadata is disabled"), context)
    }
  }

  private static let addresses = [
    JSONMember("tables", .string("/rest/v1/{table}")),
    JSONMember("relations", .string("/sync/v1/{relation}")),
    JSONMember("functions", .string("/sync/v1/rpc/{function}")),
    JSONMember("events", .string("/sync/v1/events")),
    JSONMember("live", .string("/live")),
    JSONMember("ready", .string("/ready")),
    JSONMember("metrics", .string("/metrics")),
  ]
}
