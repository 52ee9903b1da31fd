import KizunaEngine

extension GatewayServer {
  /// `/sync/v1/rpc/{name}`
  func serveFunction(name: String, exchange: HTTPExchange, context: RequestContext) {
    exchange.send(
      Failure("PGRST202", "Could not find the function kizunasync.\(name) in the schema cache"), context)
  }
}
