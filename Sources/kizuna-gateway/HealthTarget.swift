import Gateway

/// Where a gateway is asked for its health.
struct HealthTarget {
  let url: String
  let socket: String?
  let shown: String
  /// An address of the configuration: asked as localhost, which every gateway answers to.
  let isConfigured: Bool

  /// An address that is listened on. Of all interfaces, loopback is asked.
  init(_ address: ServerConfiguration.Address) throws(CommandFailure) {
    isConfigured = true
    shown = address.display
    switch address {
    case .unix(let path):
      socket = path
      url = "http://localhost/ready"
    case .tcp(_, port: 0):
      throw CommandFailure(.usage, "\(shown) has a port chosen at the start; name the gateway with --url")
    case .tcp(let host, let port):
      socket = nil
      let reached = host == "0.0.0.0" ? "127.0.0.1" : host == "::" ? "::1" : host
      url = ServerConfiguration.Address.tcp(host: reached, port: port).display + "/ready"
    }
  }

  private init(url: String, shown: String) {
    self.url = url
    self.shown = shown
    socket = nil
    isConfigured = false
  }

  /// What `--url` says: the gateway's address, with or without `/ready`, or `unix:PATH`.
  static func named(_ text: String) throws(CommandFailure) -> HealthTarget {
    if text.hasPrefix("unix:"), let address = try? ServerConfiguration.Address(parsing: text) {
      return try HealthTarget(address)
    }
    guard text.hasPrefix("http://") || text.hasPrefix("https://") else {
      throw CommandFailure(.usage, "--url \(text): write http://host:port, https://host:port or unix:PATH")
    }
    var base = text[...]
    while base.hasSuffix("/") { base = base.dropLast() }
    return HealthTarget(url: base.hasSuffix("/ready") ? String(base) : "\(base)/ready", shown: String(base))
  }
}
