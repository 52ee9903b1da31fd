import KizunaEngine

/// The keys of the configuration file, one by one.
extension GatewayConfiguration {
  private static let keys = [
    "listen", "database", "durability", "api_key", "cors_origins", "allowed_hosts", "max_rows", "aggregates",
    "max_header_bytes", "idle_timeout_s", "read_timeout_s", "max_body_bytes", "write_return",
    "unsafe_filesystem", "remote", "sync", "tables",
  ]

  mutating func read(_ root: ConfigurationValue) throws(ConfigurationError) {
    let file = try root.object(Self.keys)
    if let value = file["listen"] {
      var texts: [String] = []
      for element in try value.list() { texts.append(try element.text()) }
      listen = try Self.addresses(texts, source: source, path: value.path)
    }
    if let value = file["database"] { database = try value.name() }
    if let value = file["durability"] {
      durability = try value.choice([("full", .full), ("normal", .normal), ("off", .off)])
    }
    try readAccess(file)
    try readBounds(file)
    if let value = file["aggregates"] { aggregates = try value.boolean() }
    if let value = file["write_return"] {
      writeReturn = try value.choice([("keys", .keys), ("minimal", .minimal)])
    }
    if let value = file["unsafe_filesystem"] { unsafeFilesystem = try value.boolean() }
    if let value = file.unlessNull("remote") { remote = try Self.remote(value) }
    if let value = file["sync"] { try readSync(value) }
    if let value = file["tables"] { tables = try Self.tables(value) }
  }

  private mutating func readAccess(_ file: ConfigurationObject) throws(ConfigurationError) {
    if let value = file.unlessNull("api_key") {
      let key = try value.text()
      if let reason = Self.fault(ofKey: key) { throw value.failure(reason) }
      apiKey = key
    }
    if let value = file["cors_origins"] {
      corsOrigins = try value.names()
      for (origin, element) in zip(corsOrigins, try value.list()) where !Self.isOrigin(origin) {
        throw element.failure("\"\(origin)\" is no origin; write scheme://host or scheme://host:port, or *")
      }
    }
    if let value = file["allowed_hosts"] {
      allowedHosts = try value.names()
      for (host, element) in zip(allowedHosts, try value.list())
      where host.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 <= 0x20 }) {
        throw element.failure("\"\(host)\" is no host name; write it as in a Host header, without http://")
      }
    }
  }

  private mutating func readBounds(_ file: ConfigurationObject) throws(ConfigurationError) {
    if let value = file.unlessNull("max_rows") { maxRows = try value.integer(in: 1...Int(Int32.max)) }
    if let value = file["max_header_bytes"] { maxHeaderBytes = try value.integer(in: 1024...1_048_576) }
    if let value = file["idle_timeout_s"] { idleTimeoutS = try value.integer(in: 1...86400) }
    if let value = file["read_timeout_s"] { readTimeoutS = try value.integer(in: 1...86400) }
    if let value = file["max_body_bytes"] { maxBodyBytes = try value.integer(in: 1...Int(Int32.max)) }
  }

  private mutating func readSync(_ value: ConfigurationValue) throws(ConfigurationError) {
    let sync = try value.object(["poll_interval_s", "page_limit"])
    if let value = sync["poll_interval_s"] { pollIntervalS = try value.integer(in: 1...86400) }
    if let value = sync.unlessNull("page_limit") { pageLimit = try value.integer(in: 1...1_000_000) }
  }

  // MARK: The upstream

  private static func remote(_ value: ConfigurationValue) throws(ConfigurationError) -> Remote {
    let object = try value.object([
      "url", "publishable_key", "access_token", "access_token_file", "session", "rest_path", "schema",
      "local_only_columns",
    ])
    var remote = Remote(
      url: try checkedURL(try object.required("url")),
      publishableKey: try object.required("publishable_key").name())
    remote.session = try session(object)
    if let value = object["rest_path"] {
      remote.restPath = try value.text()
      if !remote.restPath.isEmpty, !remote.restPath.hasPrefix("/") || remote.restPath.hasSuffix("/") {
        throw value.failure("\"\(remote.restPath)\" must start with / and not end with one, or be empty")
      }
    }
    if let value = object["schema"] { remote.schema = try value.name() }
    if let value = object["local_only_columns"] { remote.localOnlyColumns = try value.names() }
    return remote
  }

  /// A user name or key in the URL would end up in logs.
  static func checkedURL(_ value: ConfigurationValue) throws(ConfigurationError) -> String {
    let url = try value.name()
    let bytes = url.utf8
    if bytes.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") || $0 <= 0x20 }) {
      throw value.failure("must be a plain address, without a query, a fragment or white space")
    }
    if bytes.contains(UInt8(ascii: "@")) {
      throw value.failure("must not carry a user name; keys have keys of their own")
    }
    guard RemoteAddress.isAllowed(url) else {
      throw value.failure(
        "\"\(url)\" must be https; http is for loopback, private and link-local addresses, .local names and single-label host names"
      )
    }
    return url
  }

  private static func session(_ remote: ConfigurationObject) throws(ConfigurationError) -> Remote.Session? {
    let given = ["access_token", "access_token_file", "session"].filter { remote.unlessNull($0) != nil }
    if given.count > 1 {
      throw remote.owner.failure("\(given.joined(separator: " and ")) exclude each other; keep one")
    }
    if let value = remote.unlessNull("access_token") { return .token(try value.name()) }
    if let value = remote.unlessNull("access_token_file") { return .tokenFile(try value.name()) }
    guard let value = remote.unlessNull("session") else { return nil }
    let object = try value.object(["email", "password_file", "refresh_token_file"])
    if let file = object["refresh_token_file"] {
      if object.entries.count > 1 {
        throw value.failure("refresh_token_file stands alone; drop email and password_file, or drop it")
      }
      return .refreshTokenFile(try file.name())
    }
    return .password(
      email: try object.required("email").name(), passwordFile: try object.required("password_file").name())
  }

  // MARK: Rules of single values

  /// The key travels in a header.
  static func fault(ofKey key: String) -> String? {
    guard !key.isEmpty else { return "must not be empty; leave it out (null) to ask for no key" }
    return key.utf8.allSatisfy { 0x21...0x7E ~= $0 }
      ? nil : "must be made of printable ASCII characters without spaces, as it travels in a header"
  }

  private static func isOrigin(_ text: String) -> Bool {
    if text == "*" || text == "null" { return true }
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, !parts[0].isEmpty, parts[1].hasPrefix("//") else { return false }
    let host = parts[1].utf8.dropFirst(2)
    return !host.isEmpty && !host.contains { $0 == UInt8(ascii: "/") || $0 <= 0x20 }
  }
}
