import Glibc
import KizunaEngine

/// What the command line sets; it beats the environment, which beats the file.
package struct ConfigurationOverrides: Sendable, Equatable {
  package var listen: [String] = []
  package var database: String?
  package var offline = false
  package var logLevel: String?
  package var logFormat: String?
  package init() {}
}

extension GatewayConfiguration {
  /// The variables that are read. An empty one counts as unset.
  package static let environmentNames = [
    "KIZUNA_CONFIG", "KIZUNA_LISTEN", "KIZUNA_DATABASE", "KIZUNA_API_KEY", "KIZUNA_REMOTE_URL",
    "KIZUNA_PUBLISHABLE_KEY", "KIZUNA_ACCESS_TOKEN", "KIZUNA_ACCESS_TOKEN_FILE", "KIZUNA_LOG_LEVEL",
  ]
  package static let defaultFile = "kizuna.json"

  /// Reads the file (`file`, else `KIZUNA_CONFIG`, else `./kizuna.json` if it exists, else the built-in demo), then
  /// the environment, then the command line, and checks the whole.
  package static func load(
    file: String?, environment: [String: String], overrides: ConfigurationOverrides
  ) throws(ConfigurationError) -> GatewayConfiguration {
    let environment = environment.filter { !$0.value.isEmpty }
    var configuration: GatewayConfiguration
    if let path = file ?? environment["KIZUNA_CONFIG"] ?? (access(defaultFile, F_OK) == 0 ? defaultFile : nil)
    {
      configuration = try parse(try TextFile.read(path), source: path)
    } else {
      configuration = demo
    }
    try configuration.apply(environment)
    try configuration.apply(overrides)
    try configuration.checkExposure(environment, overrides)
    try configuration.checkTables()
    return configuration
  }

  /// A configuration file's text.
  package static func parse(
    _ text: [UInt8], source: String
  ) throws(ConfigurationError) -> GatewayConfiguration {
    let parsed: Result<JSONValue, JSONParser.Failure> = text.withUnsafeBufferPointer { bytes in
      do throws(JSONParser.Failure) { return .success(try JSONParser.parse(bytes)) } catch {
        return .failure(error)
      }
    }
    let json: JSONValue
    do throws(JSONParser.Failure) {
      json = try parsed.get()
    } catch {
      let lines = text.prefix(error.offset).split(separator: 0x0A, omittingEmptySubsequences: false)
      let place = "line \(lines.count), column \((lines.last?.count ?? 0) + 1)"
      throw ConfigurationError(source, place, "is no JSON: \(error.reason)")
    }
    var configuration = GatewayConfiguration()
    configuration.source = source
    try configuration.read(ConfigurationValue(source: source, path: "", json: json))
    return configuration
  }

  private mutating func apply(_ environment: [String: String]) throws(ConfigurationError) {
    if let text = environment["KIZUNA_LISTEN"] {
      let addresses = text.split(separator: ",").map { String($0.drop { $0 == " " }) }
      listen = try Self.addresses(addresses, source: "KIZUNA_LISTEN")
    }
    if let path = environment["KIZUNA_DATABASE"] { database = path }
    if let key = environment["KIZUNA_API_KEY"] {
      if let reason = Self.fault(ofKey: key) { throw ConfigurationError("KIZUNA_API_KEY", "", reason) }
      apiKey = key
    }
    if let name = environment["KIZUNA_LOG_LEVEL"] { logLevel = try Self.level(name, "KIZUNA_LOG_LEVEL") }
    try applyRemote(environment)
  }

  private mutating func applyRemote(_ environment: [String: String]) throws(ConfigurationError) {
    let url = environment["KIZUNA_REMOTE_URL"]
    let key = environment["KIZUNA_PUBLISHABLE_KEY"]
    let token = environment["KIZUNA_ACCESS_TOKEN"]
    let tokenFile = environment["KIZUNA_ACCESS_TOKEN_FILE"]
    guard url != nil || key != nil || token != nil || tokenFile != nil else { return }
    let named =
      url != nil ? "KIZUNA_REMOTE_URL" : key != nil ? "KIZUNA_PUBLISHABLE_KEY" : "KIZUNA_ACCESS_TOKEN"
    if isDemo {
      throw ConfigurationError(
        named, "", "an upstream needs a configuration file that declares the tables; write ./kizuna.json")
    }
    if token != nil && tokenFile != nil {
      throw ConfigurationError(
        "KIZUNA_ACCESS_TOKEN", "", "set either this or KIZUNA_ACCESS_TOKEN_FILE, not both")
    }
    guard let resolvedURL = url ?? remote?.url else {
      throw ConfigurationError(
        named, "", "there is no upstream to use it with; set KIZUNA_REMOTE_URL, or remote.url in \(source)")
    }
    guard let resolvedKey = key ?? remote?.publishableKey else {
      throw ConfigurationError(
        named, "",
        "the upstream also needs its key; set KIZUNA_PUBLISHABLE_KEY, or remote.publishable_key in \(source)")
    }
    var resolved = remote ?? Remote(url: resolvedURL, publishableKey: resolvedKey)
    resolved.url = try Self.checkedURL(
      ConfigurationValue(
        source: url == nil ? source : "KIZUNA_REMOTE_URL", path: "", json: .string(resolvedURL)))
    resolved.publishableKey = resolvedKey
    if let token { resolved.session = .token(token) }
    if let tokenFile { resolved.session = .tokenFile(tokenFile) }
    remote = resolved
  }

  private mutating func apply(_ overrides: ConfigurationOverrides) throws(ConfigurationError) {
    if !overrides.listen.isEmpty { listen = try Self.addresses(overrides.listen, source: "--listen") }
    if let path = overrides.database {
      if path.isEmpty {
        throw ConfigurationError("--database", "", "must not be empty; name a file, or :memory:")
      }
      database = path
    }
    offline = overrides.offline
    if let name = overrides.logLevel { logLevel = try Self.level(name, "--log-level") }
    if let name = overrides.logFormat {
      guard let format = Log.Format(name: name) else {
        throw ConfigurationError(
          "--log-format", "",
          "\"\(name)\" is no choice; \(Suggestion.text(for: name, among: ["text", "json"]))")
      }
      logFormat = format
    }
  }

  /// Asked when all is known: the key may come from elsewhere than the address.
  private func checkExposure(
    _ environment: [String: String], _ overrides: ConfigurationOverrides
  ) throws(ConfigurationError) {
    guard apiKey == nil, let address = listen.first(where: { !$0.isLoopback }) else { return }
    let reason =
      "\(address.text) can be reached from other machines and needs a key; set api_key or KIZUNA_API_KEY, "
      + "or listen on localhost"
    if !overrides.listen.isEmpty { throw ConfigurationError("--listen", "", reason) }
    if environment["KIZUNA_LISTEN"] != nil { throw ConfigurationError("KIZUNA_LISTEN", "", reason) }
    throw ConfigurationError(source, "listen", reason)
  }

  static func addresses(
    _ texts: [String], source: String, path: String = ""
  ) throws(ConfigurationError) -> [ServerConfiguration.Address] {
    var addresses: [ServerConfiguration.Address] = []
    for text in texts {
      do throws(ServerConfiguration.Address.Malformed) {
        let address = try ServerConfiguration.Address(parsing: text)
        if addresses.contains(address) {
          throw ServerConfiguration.Address.Malformed(reason: "\"\(text)\" stands there twice")
        }
        addresses.append(address)
      } catch {
        throw ConfigurationError(source, path, error.reason)
      }
    }
    guard !addresses.isEmpty else {
      throw ConfigurationError(source, path, "must name at least one address, such as localhost:54321")
    }
    return addresses
  }

  private static func level(_ name: String, _ source: String) throws(ConfigurationError) -> Log.Level {
    guard let level = Log.Level(name: name) else {
      let names = Log.Level.allCases.map(\.name)
      throw ConfigurationError(
        source, "", "\"\(name)\" is no choice; \(Suggestion.text(for: name, among: names))")
    }
    return level
  }

  /// What the engine will ask of the tables and the upstream is asked before it is opened, also when offline.
  private func checkTables() throws(ConfigurationError) {
    do throws(KizunaError) {
      try engineConfiguration(withRemote: true).check()
    } catch {
      throw ConfigurationError(source, error)
    }
  }
}
