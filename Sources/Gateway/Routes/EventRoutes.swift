import KizunaEngine

extension GatewayServer {
  /// `/sync/v1/events`
  func serveEvents(exchange: HTTPExchange, context: RequestContext) {
    exchange.send(Failure("PGRST127", "Feature not implemented"), context)
  }
}
