/// What the store remembers of which tables its cursor was made for.
struct TableScopes {
  /// table → its bucket column, null without one; or how else it stands.
  let scopes: JSONValue
  /// This device's alone.
  static let local = JSONValue.bool(false)
  /// Was synced, and is configured no more: its rows stay in the file, and nobody brings them up to date.
  static let left = JSONValue.bool(true)

  private static let key = "table_scopes"

  init(_ tables: [TableSchema], after kept: TableScopes?) {
    var members = tables.map { table in
      let column = table.bucket.columnName.map { JSONValue.string($0) } ?? .null
      return JSONMember(table.name, table.syncMode == .localOnly ? Self.local : column)
    }
    for old in kept?.scopes.members ?? [] where !members.contains(where: { $0.key.sameBytes(as: old.key) }) {
      members.append(JSONMember(old.key, old.value == Self.local ? Self.local : Self.left))
    }
    scopes = .object(members)
  }

  private init(scopes: JSONValue) { self.scopes = scopes }

  /// nil: nothing was ever kept.
  static func kept(_ connection: Connection) throws(KizunaError) -> TableScopes? {
    guard let text = try Meta.text(key, connection), let scopes = try? JSONParser.parse(text) else {
      return nil
    }
    return TableScopes(scopes: scopes)
  }

  func keep(_ connection: Connection) throws(KizunaError) {
    try Meta.set(Self.key, scopes.jsonText, connection)
  }

  var synced: [JSONMember] {
    (scopes.members ?? []).filter { $0.value != Self.local && $0.value != Self.left }
  }

  var left: [String] { (scopes.members ?? []).filter { $0.value == Self.left }.map(\.key) }
}
