import KizunaEngine

/// The tables of the configuration file. What a column declares is left to the engine.
extension GatewayConfiguration {
  private typealias Table = EngineConfiguration.Table

  static func tables(
    _ value: ConfigurationValue
  ) throws(ConfigurationError) -> [(name: String, table: EngineConfiguration.Table)] {
    var tables: [(name: String, table: EngineConfiguration.Table)] = []
    for entry in try value.entries() {
      if entry.name.isEmpty { throw value.failure("a table needs a name") }
      tables.append((entry.name, try table(entry.name, entry.value)))
    }
    return tables
  }

  private static func table(
    _ name: String, _ value: ConfigurationValue
  ) throws(ConfigurationError) -> EngineConfiguration.Table {
    let object = try value.object([
      "columns", "key", "bucket", "soft_delete_column", "conflict_mode", "sync_mode", "unique", "indexes",
      "foreign_keys", "attachments",
    ])
    var table = EngineConfiguration.Table()
    if let columns = object["columns"] {
      var declared: [(name: String, declaration: String)] = []
      for entry in try columns.entries() { declared.append((entry.name, try entry.value.text())) }
      table.columns = declared
    }
    if let key = object["key"] {
      table.key = try key.names()
      try check(table.key, key, table)
    }
    if let bucket = object.unlessNull("bucket") { table.bucket = try Self.bucket(bucket, table) }
    if let column = object.unlessNull("soft_delete_column") {
      table.softDeleteColumn = try column.name()
      try check([try column.name()], column, table)
    }
    if let mode = object["conflict_mode"] {
      table.conflictMode = try mode.choice([("arrival", .arrival), ("hlc", .hlc)])
    }
    if let mode = object["sync_mode"] {
      table.syncMode = try mode.choice([
        ("read-write", .readWrite), ("pull-only", .pullOnly), ("local-only", .localOnly),
      ])
    }
    if let unique = object["unique"] { table.unique = try columnLists(unique, table) }
    if let indexes = object["indexes"] { table.indexes = try columnLists(indexes, table) }
    if let keys = object["foreign_keys"] { table.foreignKeys = try foreignKeys(keys, name, table) }
    if let attachments = object["attachments"] {
      table.attachments = try Self.attachments(attachments, table)
    }
    return table
  }

  /// A table that learns its columns may name any.
  private static func check(
    _ names: [String], _ value: ConfigurationValue, _ table: Table
  ) throws(ConfigurationError) {
    guard let columns = table.columns else { return }
    for name in names where !columns.contains(where: { $0.name.sameBytes(as: name) }) {
      throw value.failure(
        "there is no column \"\(name)\"; \(Suggestion.text(for: name, among: columns.map(\.name)))")
    }
  }

  private static func columnLists(
    _ value: ConfigurationValue, _ table: Table
  ) throws(ConfigurationError) -> [[String]] {
    let lists = try value.nameLists()
    for (list, element) in zip(lists, try value.list()) { try check(list, element, table) }
    return lists
  }

  private static func bucket(
    _ value: ConfigurationValue, _ table: Table
  ) throws(ConfigurationError) -> TableSchema.Bucket {
    let object = try value.object(["column", "owner"])
    guard object.entries.count == 1, let entry = object.entries.first else {
      throw value.failure("must be {\"column\": NAME} or {\"owner\": NAME}")
    }
    let column = try entry.value.name()
    try check([column], entry.value, table)
    return entry.name == "owner" ? .owner(column) : .column(column)
  }

  private static func foreignKeys(
    _ value: ConfigurationValue, _ name: String, _ table: Table
  ) throws(ConfigurationError) -> [ForeignKey] {
    var keys: [ForeignKey] = []
    for element in try value.list() {
      let object = try element.object(["name", "columns", "table", "references"])
      let columns = try object.required("columns").names()
      let references = try object.required("references").names()
      guard !columns.isEmpty, columns.count == references.count else {
        throw element.failure("columns and references must name equally many columns, at least one")
      }
      try check(columns, try object.required("columns"), table)
      let standard = "\(name)_\(columns.joined(separator: "_"))_fkey"
      keys.append(
        ForeignKey(
          name: try object["name"]?.name() ?? standard, columns: columns,
          table: try object.required("table").name(), references: references))
    }
    return keys
  }

  private static func attachments(
    _ value: ConfigurationValue, _ table: Table
  ) throws(ConfigurationError) -> [(column: String, storageBucket: String, ownerColumn: String)] {
    var attachments: [(column: String, storageBucket: String, ownerColumn: String)] = []
    for entry in try value.entries() {
      try check([entry.name], value, table)
      let object = try entry.value.object(["storage_bucket", "owner_column"])
      let owner = try object.required("owner_column")
      try check([try owner.name()], owner, table)
      attachments.append(
        (entry.name, try object.required("storage_bucket").name(), try owner.name()))
    }
    return attachments
  }
}
