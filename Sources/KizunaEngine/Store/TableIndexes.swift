/// The configured indexes of one table: its `indexes`, and one for each list of `unique`.
///
/// An index keeps its name when its table is renamed, and a transfer's side table has its indexes before it takes
/// the table's place. So there are two names for each, and a table may have either.
struct TableIndexes {
  private static let prefix = "\(EngineTables.prefix)index_"

  private let schema: TableSchema
  private let connection: Connection

  init(_ schema: TableSchema, _ connection: Connection) {
    self.schema = schema
    self.connection = connection
  }

  /// Makes what is missing and drops what is no longer wanted.
  func bring() throws(KizunaError) {
    var unwanted = try names(on: schema.sqlName).filter { $0.hasPrefix(Self.prefix) }
    for columns in try lists(isStrict: !schema.learnsColumns) {
      let both = Self.bothNames(schema.sqlName, columns).map(SQLName.folded)
      let count = unwanted.count
      unwanted.removeAll { both.contains(SQLName.folded($0)) }
      if unwanted.count == count { try create(columns, on: schema.sqlName) }
    }
    for name in unwanted { try connection.execute("DROP INDEX \(SQLName.quoted(name))") }
  }

  /// Gives a side table the same indexes.
  func create(on side: String) throws(KizunaError) {
    for columns in try lists(isStrict: false) { try create(columns, on: side) }
  }

  /// Whether somebody else has made an index or a trigger on the table, which a table in its place would lack.
  func hasForeignCompany() throws(KizunaError) -> Bool {
    try names(on: schema.sqlName, orTriggers: true).contains {
      !$0.hasPrefix(Self.prefix) && !$0.hasPrefix("sqlite_autoindex_")
    }
  }

  private func lists(isStrict: Bool) throws(KizunaError) -> [[String]] {
    var lists: [[String]] = []
    for list in schema.indexes + schema.unique {
      let columns = list.compactMap { schema.column($0)?.sqlName }
      guard columns.count == list.count, !columns.isEmpty else {
        guard isStrict else { continue }
        throw KizunaError(
          "CONFIG_INVALID",
          "tables.\(schema.name): an index or unique list names an unknown column among (\(list.joined(separator: ", ")))"
        )
      }
      if !lists.contains(where: { $0.elementsEqual(columns) { $0.sameBytes(as: $1) } }) {
        lists.append(columns)
      }
    }
    return lists
  }

  /// Quoted, so that no two lists share a name: (a_b) and (a, b).
  private static func bothNames(_ table: String, _ columns: [String]) -> [String] {
    let name = prefix + ([table] + columns).map(SQLName.quoted).joined(separator: ".")
    return [name, name + "2"]
  }

  private func create(_ columns: [String], on table: String) throws(KizunaError) {
    var free: String?
    for name in Self.bothNames(schema.sqlName, columns) where free == nil {
      let isTaken = try connection.value(
        "SELECT 1 FROM sqlite_schema WHERE name = ? COLLATE NOCASE", .text(name))
      if isTaken == nil { free = name }
    }
    guard let free else {
      throw KizunaError("STORE", "table \(schema.name) has its indexes twice")
    }
    try connection.execute(
      "CREATE INDEX \(SQLName.quoted(free)) ON \(SQLName.quoted(table))"
        + "(\(columns.map(SQLName.quoted).joined(separator: ",")))")
  }

  private func names(on table: String, orTriggers: Bool = false) throws(KizunaError) -> [String] {
    let statement = try connection.prepare(
      """
      SELECT name FROM sqlite_schema
      WHERE tbl_name = ? COLLATE NOCASE AND (type = 'index' OR ? AND type = 'trigger')
      """)
    statement.bind([.text(table), .integer(orTriggers ? 1 : 0)])
    var names: [String] = []
    while try statement.step() { names.append(statement.text(0) ?? "") }
    return names
  }
}
