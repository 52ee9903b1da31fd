extension EngineConfiguration {
  /// Gone at the end.
  var isThrowaway: Bool { databasePath == nil || databasePath == ":memory:" }

  /// SQLite's name of the level at which a commit is safe.
  var synchronous: String {
    // A memory database is gone at the end: nothing of it needs to reach a disk.
    if isThrowaway { return "OFF" }
    switch durability {
    case .full: return "FULL"
    case .normal: return "NORMAL"
    case .off: return "OFF"
    }
  }

  /// `CONFIG_INVALID` naming the field.
  package func validate() throws(KizunaError) {
    if let clientId, !RowKey.isUUIDShaped(clientId) {
      throw KizunaError("CONFIG_INVALID", "client_id: \"\(clientId)\" is no uuid")
    }
    if let remote { try remote.validate() }
    for (index, entry) in tables.enumerated()
    where tables[..<index].contains(where: { $0.name.sameBytes(as: entry.name) }) {
      throw KizunaError("CONFIG_INVALID", "tables.\(entry.name): declared twice")
    }
    for entry in tables {
      _ = try ConfiguredTable(entry.name, entry.table)
      if let column = entry.table.softDeleteColumn,
        entry.table.key.contains(where: { $0.sameBytes(as: column) })
      {
        throw KizunaError(
          "CONFIG_INVALID", "tables.\(entry.name).soft_delete_column: \(column) is part of the key")
      }
    }
    if remote != nil {
      let synced = tables.filter { $0.table.syncMode != .localOnly }
      if synced.count > 64 {
        throw KizunaError(
          "CONFIG_INVALID", "tables: \(synced.count) synced tables, and one pull carries at most 64")
      }
      for entry in synced where !Self.isWireName(entry.name) {
        throw KizunaError(
          "CONFIG_INVALID",
          "tables.\(entry.name): the wire carries names of lowercase letters, digits and _ only",
          hint: "Rename the table, or make it local-only.")
      }
    }
  }

  private static func isWireName(_ name: String) -> Bool {
    guard let first = name.utf8.first, (0x61...0x7A).contains(first) else { return false }
    return name.utf8.allSatisfy { (0x61...0x7A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
  }
}

extension EngineConfiguration.Remote {
  func validate() throws(KizunaError) {
    if url.isEmpty { throw KizunaError("CONFIG_INVALID", "remote.url is missing") }
    if publishableKey.isEmpty { throw KizunaError("CONFIG_INVALID", "remote.publishable_key is missing") }
    guard RemoteAddress.isAllowed(url) else {
      throw KizunaError(
        "CONFIG_INVALID", "remote.url: \(url) is neither https nor http to a host of this network",
        hint:
          "Use https; http is for loopback, private and link-local addresses, .local and single-label names.")
    }
  }
}
