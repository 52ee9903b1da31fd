import KizunaEngine

/// What the configuration resolved to, written as a configuration file would say it; secrets are masked.
extension GatewayConfiguration {
  private static let mask = JSONValue.string("***")

  package var json: JSONValue {
    var members = [
      JSONMember("listen", Self.list(listen.map(\.text))),
      JSONMember("database", .string(database)),
      JSONMember("durability", .string(durability.rawValue)),
      JSONMember("api_key", apiKey == nil ? .null : Self.mask),
      JSONMember("cors_origins", Self.list(corsOrigins)),
      JSONMember("allowed_hosts", Self.list(allowedHosts)),
      JSONMember("max_rows", Self.number(maxRows)),
      JSONMember("aggregates", .bool(aggregates)),
      JSONMember("max_header_bytes", Self.number(maxHeaderBytes)),
      JSONMember("idle_timeout_s", Self.number(idleTimeoutS)),
      JSONMember("read_timeout_s", Self.number(readTimeoutS)),
      JSONMember("max_body_bytes", Self.number(maxBodyBytes)),
      JSONMember("write_return", .string(writeReturn.rawValue)),
      JSONMember("unsafe_filesystem", .bool(unsafeFilesystem)),
    ]
    members.append(JSONMember("remote", remote.map(Self.remote) ?? .null))
    members.append(
      JSONMember(
        "sync",
        .object([
          JSONMember("poll_interval_s", Self.number(pollIntervalS)),
          JSONMember("page_limit", Self.number(pageLimit)),
        ])))
    members.append(JSONMember("tables", .object(tables.map { JSONMember($0.name, Self.table($0.table)) })))
    return .object(members)
  }

  private static func number(_ value: Int?) -> JSONValue { value.map { .integer(Int64($0)) } ?? .null }
  private static func list(_ names: [String]) -> JSONValue { .array(names.map { .string($0) }) }

  private static func remote(_ remote: Remote) -> JSONValue {
    var members = [JSONMember("url", .string(remote.url)), JSONMember("publishable_key", mask)]
    switch remote.session {
    case nil: break
    case .token: members.append(JSONMember("access_token", mask))
    case .tokenFile(let path): members.append(JSONMember("access_token_file", .string(path)))
    case .password(let email, let file):
      members.append(
        JSONMember(
          "session",
          .object([JSONMember("email", .string(email)), JSONMember("password_file", .string(file))])))
    case .refreshTokenFile(let file):
      members.append(JSONMember("session", .object([JSONMember("refresh_token_file", .string(file))])))
    }
    members += [
      JSONMember("rest_path", .string(remote.restPath)), JSONMember("schema", .string(remote.schema)),
      JSONMember("local_only_columns", list(remote.localOnlyColumns)),
    ]
    return .object(members)
  }

  private static func table(_ table: EngineConfiguration.Table) -> JSONValue {
    var members: [JSONMember] = []
    if let columns = table.columns {
      members.append(
        JSONMember("columns", .object(columns.map { JSONMember($0.name, .string($0.declaration)) })))
    }
    members.append(JSONMember("key", list(table.key)))
    switch table.bucket {
    case .none: members.append(JSONMember("bucket", .null))
    case .owner(let column):
      members.append(JSONMember("bucket", .object([JSONMember("owner", .string(column))])))
    case .column(let column):
      members.append(JSONMember("bucket", .object([JSONMember("column", .string(column))])))
    }
    members += [
      JSONMember("soft_delete_column", table.softDeleteColumn.map { .string($0) } ?? .null),
      JSONMember("conflict_mode", .string(table.conflictMode.rawValue)),
      JSONMember("sync_mode", .string(table.syncMode.rawValue)),
      JSONMember("unique", .array(table.unique.map(list))),
      JSONMember("indexes", .array(table.indexes.map(list))),
      JSONMember("foreign_keys", .array(table.foreignKeys.map(foreignKey))),
      JSONMember(
        "attachments",
        .object(
          table.attachments.map {
            JSONMember(
              $0.column,
              .object([
                JSONMember("storage_bucket", .string($0.storageBucket)),
                JSONMember("owner_column", .string($0.ownerColumn)),
              ]))
          })),
    ]
    return .object(members)
  }

  private static func foreignKey(_ key: ForeignKey) -> JSONValue {
    .object([
      JSONMember("name", .string(key.name)), JSONMember("columns", list(key.columns)),
      JSONMember("table", .string(key.table)), JSONMember("references", list(key.references)),
    ])
  }
}

extension JSONValue {
  /// JSON text for people: a member a line, short arrays of scalars on one.
  package var prettyText: String {
    var text = ""
    write(into: &text, indent: "")
    return text
  }

  private var isScalar: Bool { members == nil && elements == nil }

  private func write(into text: inout String, indent: String) {
    let deeper = indent + "  "
    switch self {
    case .object(let members) where !members.isEmpty:
      text += "{"
      for (index, member) in members.enumerated() {
        text += "\(index > 0 ? "," : "")\n\(deeper)\(JSONValue.string(member.key).jsonText): "
        member.value.write(into: &text, indent: deeper)
      }
      text += "\n\(indent)}"
    case .array(let elements) where elements.contains { !$0.isScalar }:
      text += "["
      for (index, element) in elements.enumerated() {
        text += "\(index > 0 ? "," : "")\n\(deeper)"
        element.write(into: &text, indent: deeper)
      }
      text += "\n\(indent)]"
    case .array(let elements):
      text += "[\(elements.map(\.jsonText).joined(separator: ", "))]"
    default: text += jsonText
    }
  }
}
