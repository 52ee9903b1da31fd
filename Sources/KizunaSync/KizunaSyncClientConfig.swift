import KizunaEngine

/// The Supabase project that the engine syncs with.
public struct KizunaSyncRemoteConfig: Sendable, Equatable {
  /// https, or http to a host of this network.
  public var url: String
  public var publishableKey: String
  /// The user's session token, as if passed to `setAccessToken` during `create`. Kept in memory only.
  public var accessToken: String?
  /// The schema of the sync functions; nil is `kizunasync`.
  public var schema: String?
  /// Columns that stay on this device.
  public var localOnlyColumns: [String]

  public init(
    url: String, publishableKey: String, accessToken: String? = nil, schema: String? = nil,
    localOnlyColumns: [String] = []
  ) {
    self.url = url
    self.publishableKey = publishableKey
    self.accessToken = accessToken
    self.schema = schema
    self.localOnlyColumns = localOnlyColumns
  }
}

/// What a client is created with.
public struct KizunaSyncClientConfig: Sendable {
  /// A uuid that seeds a store without one; nil mints one.
  public var clientId: String?
  /// Sent with every pull and push; the server answers an outdated one with `RESET_REQUIRED`.
  public var schemaVersion: Int
  /// A table that is not listed is neither pulled nor writable.
  public var tables: [String: KizunaSyncTableConfig]
  /// nil or `":memory:"`: a store that is gone at the end. The parent directory must exist.
  public var databasePath: String?
  /// nil: nothing is ever sent, network calls answer `REMOTE`, and the outbox waits.
  public var remote: KizunaSyncRemoteConfig?
  /// Made if missing; required once a table has attachments.
  public var attachmentRoot: String?
  /// Rows a pull page; nil leaves it to the server.
  public var defaultLimit: Int?
  /// Transfer attempts an attachment has; nil is 5.
  public var attachmentAttempts: Int?

  public init(
    clientId: String? = nil, schemaVersion: Int = 1, tables: [String: KizunaSyncTableConfig],
    databasePath: String? = nil, remote: KizunaSyncRemoteConfig? = nil, attachmentRoot: String? = nil,
    defaultLimit: Int? = nil, attachmentAttempts: Int? = nil
  ) {
    self.clientId = clientId
    self.schemaVersion = schemaVersion
    self.tables = tables
    self.databasePath = databasePath
    self.remote = remote
    self.attachmentRoot = attachmentRoot
    self.defaultLimit = defaultLimit
    self.attachmentAttempts = attachmentAttempts
  }

  public var declaresAttachments: Bool { tables.values.contains { !$0.attachments.isEmpty } }

  /// The configuration under its JSON names. Values at their default are left out.
  public func jsonObject() -> [String: Any] { JSONBridge.dictionary(json.members ?? []) }

  /// The same as text; columns stand in the order of their declarations.
  public func jsonString() throws -> String { json.jsonText }
}

extension KizunaSyncClientConfig {
  /// Tables in the order of their names' bytes: of two names that SQLite would confuse, the first keeps its own.
  private var sortedTables: [(name: String, config: KizunaSyncTableConfig)] {
    tables.map { (name: $0.key, config: $0.value) }
      .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
  }

  var engineConfiguration: EngineConfiguration {
    var configuration = EngineConfiguration()
    configuration.databasePath = databasePath
    configuration.clientId = clientId
    configuration.schemaVersion = Int64(schemaVersion)
    configuration.tables = sortedTables.map { (name: $0.name, table: $0.config.engineTable) }
    configuration.remote = remote?.engineRemote
    configuration.attachmentRoot = attachmentRoot
    configuration.defaultLimit = defaultLimit
    configuration.attachmentAttempts = attachmentAttempts
    return configuration
  }

  private var json: JSONValue {
    var members: [JSONMember] = []
    if let clientId { members.append(JSONMember("client_id", .string(clientId))) }
    members.append(JSONMember("schema_version", .integer(Int64(schemaVersion))))
    members.append(JSONMember("tables", .object(sortedTables.map { JSONMember($0.name, $0.config.json) })))
    if let databasePath { members.append(JSONMember("database_path", .string(databasePath))) }
    if let remote { members.append(JSONMember("remote", remote.json)) }
    if let attachmentRoot { members.append(JSONMember("attachment_root", .string(attachmentRoot))) }
    if let defaultLimit { members.append(JSONMember("default_limit", .integer(Int64(defaultLimit)))) }
    if let attachmentAttempts {
      members.append(JSONMember("attachment_attempts", .integer(Int64(attachmentAttempts))))
    }
    return .object(members)
  }
}

extension KizunaSyncRemoteConfig {
  var engineRemote: EngineConfiguration.Remote {
    var engine = EngineConfiguration.Remote(url: url, publishableKey: publishableKey)
    engine.accessToken = accessToken
    if let schema { engine.schema = schema }
    engine.localOnlyColumns = localOnlyColumns
    return engine
  }

  var json: JSONValue {
    var members = [
      JSONMember("url", .string(url)), JSONMember("publishable_key", .string(publishableKey)),
    ]
    if let accessToken { members.append(JSONMember("access_token", .string(accessToken))) }
    if let schema { members.append(JSONMember("schema", .string(schema))) }
    if !localOnlyColumns.isEmpty {
      members.append(JSONMember("local_only_columns", .texts(localOnlyColumns)))
    }
    return .object(members)
  }
}
