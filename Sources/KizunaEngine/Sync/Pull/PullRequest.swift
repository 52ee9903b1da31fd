/// What a pull asks for, and the state of the store that it was asked in.
struct PullRequest {
  let body: [UInt8]
  let cursor: String
  /// The answer is void once the store's scope is another.
  let scope: Int

  /// Buckets in configuration order, pull-only tables included. `BUCKET_UNSET` when a value is missing.
  init(
    cursor: String, session: Engine.SessionState, identity: Identity, tables: [TableSchema],
    configuration: EngineConfiguration
  ) throws(KizunaError) {
    self.cursor = cursor
    scope = session.scope
    var buckets: [JSONValue] = []
    for table in tables where table.syncMode != .localOnly {
      var params: [JSONMember] = []
      if let column = table.bucket.columnName {
        guard let value = session.buckets[table.name], !value.isEmpty else {
          // Who signs in gives an owner's bucket its value: that is what is missing.
          if case .owner = table.bucket, session.accessToken == nil { throw RemoteFault.sessionMissing.error }
          throw KizunaError(
            "BUCKET_UNSET", "the bucket column \(column) of table \(table.name) has no value",
            hint: "Set it with setBucket (over HTTP: set_bucket) after every start.")
        }
        params.append(JSONMember(column, .string(value)))
      }
      buckets.append(
        .object([JSONMember("table", .string(table.name)), JSONMember("params", .object(params))]))
    }
    var members = [
      JSONMember("client_id", .string(identity.clientId)),
      JSONMember("schema_version", .integer(configuration.schemaVersion)),
      JSONMember("cursor", .string(cursor)), JSONMember("buckets", .array(buckets)),
    ]
    if let limit = configuration.defaultLimit { members.append(JSONMember("limit", .integer(Int64(limit)))) }
    var buffer = ByteBuffer()
    buffer.append(json: .object(members))
    body = buffer.array
  }
}
