import KizunaEngine

extension GatewayConfiguration {
  /// The statements by which the upstream comes to know the synced tables, one a table, in configuration order.
  package var registrationSQL: String {
    var text = ""
    for (name, table) in tables where table.syncMode != .localOnly {
      text += """
        select kizunasync.register_table(
          p_table => \(Self.literal(name)),
          p_sync_mode => \(Self.literal(table.syncMode.rawValue)),
          p_bucket_column => \(Self.literal(table.bucket.column)),
          p_soft_delete_column => \(Self.literal(table.softDeleteColumn)),
          p_key_columns => array[\(table.key.map { Self.literal($0) }.joined(separator: ", "))],
          p_conflict_mode => \(Self.literal(table.conflictMode.rawValue)));

        """
    }
    return text
  }

  /// A text for Postgres, whatever `standard_conforming_strings` says.
  private static func literal(_ text: String?) -> String {
    guard let text else { return "null" }
    var quoted = "'"
    var hasBackslash = false
    for scalar in text.unicodeScalars {
      if scalar == "'" || scalar == "\\" { quoted.unicodeScalars.append(scalar) }
      if scalar == "\\" { hasBackslash = true }
      quoted.unicodeScalars.append(scalar)
    }
    return (hasBackslash ? "E" : "") + quoted + "'"
  }
}

extension TableSchema.Bucket {
  fileprivate var column: String? {
    switch self {
    case .none: nil
    case .owner(let column), .column(let column): column
    }
  }
}
