import RESTDialect

/// Who may call: hosts against rebinding, origins against writing web pages, and the key.
struct AccessPolicy: Sendable {
  private let apiKey: [UInt8]?
  private let origins: [String]
  private let allowsAnyOrigin: Bool
  private let hosts: [String]

  init(apiKey: String?, corsOrigins: [String], allowedHosts: [String]) {
    self.apiKey = apiKey.map { Array($0.utf8) }
    origins = corsOrigins
    allowsAnyOrigin = corsOrigins.contains("*")
    hosts = ["localhost", "127.0.0.1", "[::1]"] + allowedHosts.map { $0.lowercased() }
  }

  // MARK: Host

  /// Without a key, only the machine's own names are answered to. No `Host` at all is no browser.
  func checkHost(_ host: String?) throws(Failure) {
    guard apiKey == nil, let host, !host.isEmpty else { return }
    let name = host.lowercased()
    if hosts.contains(name) || hosts.contains(Self.withoutPort(name)) { return }
    throw Failure(
      "42501", "The host '\(host)' is not served here",
      hint: "Add it to allowed_hosts, or call localhost or 127.0.0.1.")
  }

  private static func withoutPort(_ host: String) -> String {
    guard let colon = host.utf8.lastIndex(of: UInt8(ascii: ":")) else { return host }
    let port = host.utf8[host.utf8.index(after: colon)...]
    return port.allSatisfy { $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }
      ? String(host[..<colon]) : host
  }

  // MARK: Origin

  func grant(_ origin: String?) -> CrossOrigin {
    guard let origin else { return .none }
    if allowsAnyOrigin { return .any }
    return origins.contains(origin) ? .origin(origin) : .none
  }

  /// A plain OPTIONS tells of the grant even to a caller that names no origin.
  func grantToAnyone() -> CrossOrigin { allowsAnyOrigin ? .any : .none }

  /// A web page must not be able to write, unless it is the gateway's own or its origin is listed.
  func checkWriter(origin: String?, host: String?, grant: CrossOrigin) throws(Failure) {
    guard let origin, grant == .none else { return }
    if let host, origin == "http://\(host)" || origin == "https://\(host)" { return }
    throw Failure(
      "42501", "The origin '\(origin)' may not write here", hint: "Add it to cors_origins to allow it.")
  }

  // MARK: Key

  var needsKey: Bool { apiKey != nil }

  /// The key may come in three places; each that holds one is tried. The texts are those that clients of the
  /// hosted gateway know.
  func checkKey(
    header: UnsafeBufferPointer<UInt8>?, authorization: UnsafeBufferPointer<UInt8>?,
    query: UnsafeBufferPointer<UInt8>
  ) throws(Failure) {
    guard let apiKey else { return }
    let inQuery = QueryKey.value(of: "apikey", in: query)
    let token = authorization.flatMap(Self.bearerToken)
    var matches = false
    if let header { matches = Self.isSame(header, apiKey) || matches }
    if let token { matches = Self.isSame(token, apiKey) || matches }
    if let inQuery { matches = Self.isSame(inQuery, apiKey) || matches }
    if matches { return }
    if header == nil, token == nil, inQuery == nil {
      throw Failure(
        "PGRST301", "No API key found in request", hint: "No `apikey` request header or url param was found.")
    }
    throw Failure(
      "PGRST301", "Invalid API key", hint: "Double check your Supabase `anon` or `service_role` API key.")
  }

  private static func bearerToken(_ value: UnsafeBufferPointer<UInt8>) -> Slice<UnsafeBufferPointer<UInt8>>? {
    let scheme: StaticString = "bearer "
    guard value.count > scheme.utf8CodeUnitCount else { return nil }
    for index in 0..<scheme.utf8CodeUnitCount where value[index] | 0x20 != scheme.utf8Start[index] {
      return nil
    }
    return value[scheme.utf8CodeUnitCount...].drop { $0 == 0x20 }
  }

  /// Takes as long for a near miss as for any other wrong key of the length.
  private static func isSame(_ given: some Collection<UInt8>, _ wanted: [UInt8]) -> Bool {
    var difference = given.count ^ wanted.count
    for (index, byte) in given.enumerated() { difference |= Int(byte ^ wanted[index % max(wanted.count, 1)]) }
    return difference == 0
  }
}
