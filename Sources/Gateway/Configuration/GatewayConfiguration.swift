import KizunaEngine

/// All that a gateway is started with: what the file, the environment and the command line resolved to.
package struct GatewayConfiguration: Sendable {
  /// What a write answers when the request names no preference.
  package enum WriteReturn: String, Sendable { case keys, minimal }

  package struct Remote: Sendable {
    /// How the gateway comes to a user's token. nil: it waits for `set_access_token`.
    package enum Session: Sendable, Equatable {
      case token(String)
      case tokenFile(String)
      case password(email: String, passwordFile: String)
      case refreshTokenFile(String)
    }
    package var url: String
    package var publishableKey: String
    package var session: Session?
    package var restPath = "/rest/v1"
    package var schema = "kizunasync"
    package var localOnlyColumns: [String] = []
  }

  /// How errors name where the configuration comes from.
  package var source = "configuration"
  /// No configuration file was found: the built-in tables are served.
  package var isDemo = false
  package var listen: [ServerConfiguration.Address] = [.tcp(host: "localhost", port: 54321)]
  package var database = "kizuna.sqlite"
  package var durability = EngineConfiguration.Durability.full
  package var apiKey: String?
  package var corsOrigins: [String] = []
  package var allowedHosts: [String] = []
  package var maxRows: Int?
  package var aggregates = true
  package var maxHeaderBytes = 16384
  package var idleTimeoutS = 30
  package var readTimeoutS = 30
  package var maxBodyBytes = 16 << 20
  package var writeReturn = WriteReturn.keys
  package var unsafeFilesystem = false
  package var remote: Remote?
  package var pollIntervalS = 15
  package var pageLimit: Int?
  package var tables: [(name: String, table: EngineConfiguration.Table)] = []
  /// The upstream is never contacted.
  package var offline = false
  package var logLevel = Log.Level.info
  package var logFormat = Log.Format.text

  package init() {}

  package var isThrowaway: Bool { database == ":memory:" }

  /// Without a remote when offline: then nothing is sent, and the outbox waits.
  package func engineConfiguration() -> EngineConfiguration { engineConfiguration(withRemote: !offline) }

  func engineConfiguration(withRemote: Bool) -> EngineConfiguration {
    var engine = EngineConfiguration()
    engine.databasePath = database
    engine.durability = durability
    engine.tables = tables
    engine.readTimeoutSeconds = readTimeoutS
    engine.unsafeFilesystem = unsafeFilesystem
    engine.defaultLimit = pageLimit
    guard withRemote, let remote else { return engine }
    var upstream = EngineConfiguration.Remote(url: remote.url, publishableKey: remote.publishableKey)
    if case .token(let token)? = remote.session { upstream.accessToken = token }
    upstream.restPath = remote.restPath
    upstream.schema = remote.schema
    upstream.localOnlyColumns = remote.localOnlyColumns
    engine.remote = upstream
    return engine
  }

  /// The database as the ready line and messages show it.
  package var shownDatabase: String {
    isThrowaway || database.hasPrefix("/") || database.hasPrefix("./") || database.hasPrefix("../")
      ? database : "./\(database)"
  }

  package var shownUpstream: String {
    guard let remote else { return "none" }
    return offline ? "\(remote.url) (offline)" : remote.url
  }
}
