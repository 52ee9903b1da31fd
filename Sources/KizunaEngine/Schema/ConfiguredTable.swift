/// A table of the configuration with its declarations read and checked.
struct ConfiguredTable {
  let name: String
  let columns: [ColumnSchema]
  let key: [String]
  let learnsColumns: Bool
  private let table: EngineConfiguration.Table
  private let foreignKeys: [ForeignKey]

  init(_ name: String, _ table: EngineConfiguration.Table) throws(KizunaError) {
    self.name = name
    self.table = table
    key = table.key
    guard !name.isEmpty, !name.utf8.contains(0) else {
      throw Self.invalid("tables: a table needs a name without NUL")
    }
    learnsColumns = table.columns == nil
    try Self.checkKeyNames(table, of: name)
    var columns: [ColumnSchema] = []
    var foreignKeys = table.foreignKeys
    for (column, text) in table.columns ?? table.key.map({ ($0, "") }) {
      guard !column.isEmpty, !column.utf8.contains(0) else {
        throw Self.invalid("tables.\(name).columns: a column needs a name without NUL")
      }
      guard !columns.contains(where: { $0.name.sameBytes(as: column) }) else {
        throw Self.invalid("tables.\(name).columns.\(column): declared twice")
      }
      guard !learnsColumns else {
        columns.append(ColumnSchema(name: column, type: .learnt(nil)))
        continue
      }
      let (schema, foreignKey) = try Self.column(column, text, of: name)
      columns.append(schema)
      if let foreignKey { foreignKeys.append(foreignKey) }
    }
    self.columns = columns
    self.foreignKeys = foreignKeys
    try check()
  }

  private static func column(
    _ column: String, _ text: String, of table: String
  ) throws(KizunaError) -> (ColumnSchema, ForeignKey?) {
    let declaration: ColumnDeclaration
    do throws(KizunaError) {
      declaration = try ColumnDeclaration(parsing: text)
    } catch {
      throw invalid("tables.\(table).columns.\(column): \(error.message)", hint: error.hint)
    }
    var schema = ColumnSchema(name: column, type: declaration.type)
    schema.isNotNull = declaration.isNotNull
    schema.defaultValue = declaration.defaultValue
    schema.isIdentity = declaration.isIdentity
    let foreignKey = declaration.references.map {
      ForeignKey(name: "\(table)_\(column)_fkey", columns: [column], table: $0.table, references: [$0.column])
    }
    return (schema, foreignKey)
  }

  private static func invalid(_ message: String, hint: String? = nil) -> KizunaError {
    KizunaError("CONFIG_INVALID", message, hint: hint)
  }

  private func check() throws(KizunaError) {
    let path = "tables.\(name)"
    guard !columns.isEmpty || table.syncMode == .localOnly && learnsColumns else {
      throw Self.invalid("\(path).columns: a table needs at least one column")
    }
    for column in key {
      guard let schema = find(column) else { throw Self.invalid("\(path).key: there is no column \(column)") }
      if table.syncMode != .localOnly { try checkKeyType(schema, path) }
    }
    for column in columns where column.isIdentity && table.syncMode != .localOnly {
      throw Self.invalid(
        "\(path).columns.\(column.name): an identity column is for local-only tables",
        hint: "A synced row's key must come from its writer: declare a uuid.")
    }
    try checkBucket(path)
    if let column = table.softDeleteColumn, !learnsColumns, find(column) == nil {
      throw Self.invalid("\(path).soft_delete_column: there is no column \(column)")
    }
    try checkAttachments(path)
  }

  private static func checkKeyNames(_ table: EngineConfiguration.Table, of name: String) throws(KizunaError) {
    let path = "tables.\(name).key"
    if table.key.isEmpty, table.syncMode != .localOnly {
      throw invalid("\(path): only a local-only table may have an empty key")
    }
    for (index, column) in table.key.enumerated() {
      if column.isEmpty || column.utf8.contains(0) {
        throw invalid("\(path): a key column needs a name without NUL")
      }
      if table.key[..<index].contains(where: { $0.sameBytes(as: column) }) {
        throw invalid("\(path): \(column) stands there twice")
      }
    }
  }

  private func find(_ name: String) -> ColumnSchema? { columns.first { $0.name.sameBytes(as: name) } }

  private func checkKeyType(_ column: ColumnSchema, _ path: String) throws(KizunaError) {
    switch column.type {
    case .uuid, .text, .varchar, .smallint, .integer, .bigint, .learnt: return
    default:
      throw Self.invalid(
        "\(path).key: \(column.name) is \(column.type.postgresName), which no synced key can be",
        hint: "Key columns are uuid, text, varchar, smallint, integer or bigint.")
    }
  }

  private func checkBucket(_ path: String) throws(KizunaError) {
    let column: String
    switch table.bucket {
    case .none: return
    case .column(let name): column = name
    case .owner(let name):
      column = name
      if key.contains(where: { $0.sameBytes(as: name) }) {
        throw Self.invalid("\(path).bucket: the owner column \(name) is part of the key")
      }
    }
    if column.isEmpty { throw Self.invalid("\(path).bucket: a bucket needs a column") }
    if !learnsColumns, find(column) == nil {
      throw Self.invalid("\(path).bucket: there is no column \(column)")
    }
  }

  private func checkAttachments(_ path: String) throws(KizunaError) {
    for attachment in table.attachments {
      if attachment.storageBucket.isEmpty || attachment.ownerColumn.isEmpty {
        throw Self.invalid(
          "\(path).attachments.\(attachment.column): storage_bucket and owner_column are needed")
      }
    }
    if !table.attachments.isEmpty, key != ["id"] {
      throw Self.invalid("\(path).key: a table with attachments has the key (id)")
    }
  }

  func schema(sqlName: String, columns: [ColumnSchema]) -> TableSchema {
    let positions = key.compactMap { name in columns.firstIndex { $0.name.sameBytes(as: name) } }
    return TableSchema(
      name: name, sqlName: sqlName, columns: columns, key: positions, bucket: table.bucket,
      syncMode: table.syncMode, conflictMode: table.conflictMode,
      hidden: table.softDeleteColumn.map { .softDeleted(column: $0) }, unique: table.unique,
      indexes: table.indexes, foreignKeys: foreignKeys, learnsColumns: learnsColumns)
  }
}
