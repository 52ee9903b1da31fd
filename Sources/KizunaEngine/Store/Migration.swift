/// Brings a database to its configuration, in one transaction: new tables, columns and indexes are added, a column
/// that is gone is kept and no longer shown, a type change that loses no value is made, any other refused by name.
struct Migration {
  let connection: Connection
  let configuration: EngineConfiguration

  func run() throws(KizunaError) -> Catalog {
    try connection.execute("BEGIN IMMEDIATE")
    do throws(KizunaError) {
      try prepareEngineTables()
      var taken = try takenTables()
      var tables: [TableSchema] = []
      for (name, table) in configuration.tables {
        let wanted = try ConfiguredTable(name, table)
        tables.append(try bring(wanted, &taken))
      }
      try keepScopes(of: tables)
      try connection.execute("COMMIT")
      return Catalog(version: 1, tables: tables, relations: EngineTables.relations)
    } catch {
      try? connection.execute("ROLLBACK")
      throw error
    }
  }

  private func prepareEngineTables() throws(KizunaError) {
    try connection.execute(EngineTables.ddl)
    try Staging.clear(connection)
    if let format = try Meta.text("format", connection), Int64(format) != EngineTables.format {
      throw KizunaError(
        "STORE", sqlstate: "58030", "the database was written by another release (format \(format))",
        hint: "Open it with that release, or name another database.")
    }
    try Meta.set("format", String(EngineTables.format), connection)
  }

  /// The one cursor says nothing of a table that it was not made for: one that is new to sync, or that is taken by
  /// another bucket column now, needs a pull that starts over. Rows of a table that was local-only are nowhere else:
  /// for its sake what the pull omits stays.
  private func keepScopes(of tables: [TableSchema]) throws(KizunaError) {
    let kept = try TableScopes.kept(connection)
    let scopes = TableScopes(tables, after: kept)
    try scopes.keep(connection)
    let cursor = try Meta.text("cursor", connection) ?? "0"
    guard let kept, !cursor.sameBytes(as: "0") else { return }
    let foreign = scopes.synced.filter { kept.scopes[$0.key] != $0.value }
    if foreign.contains(where: { kept.scopes[$0.key] == TableScopes.local }) {
      try Meta.set("cursor", nil, connection)
    } else if !foreign.isEmpty {
      try Meta.set("restart_pull", "1", connection)
    }
  }

  private func takenTables() throws(KizunaError) -> Set<String> {
    let statement = try connection.prepare("SELECT name FROM sqlite_schema")
    // A table of this name would hide SQLite's function, which the engine reads lists with.
    var names: Set<String> = ["json_each"]
    while try statement.step() { names.insert(SQLName.folded(statement.text(0) ?? "")) }
    return names
  }

  private func bring(
    _ wanted: ConfiguredTable, _ taken: inout Set<String>
  ) throws(KizunaError) -> TableSchema {
    let schema: TableSchema
    if let known = try SchemaRegistry.load(wanted.name, connection) {
      schema = try change(known, to: wanted)
    } else {
      schema = try create(wanted, sqlName: SchemaRegistry.freeName(wanted.name, &taken))
    }
    try TableIndexes(schema, connection).bring()
    return schema
  }

  private func create(_ wanted: ConfiguredTable, sqlName: String) throws(KizunaError) -> TableSchema {
    var taken: Set<String> = ["rowid", "oid", "_rowid_"]
    var columns = wanted.columns
    for index in columns.indices {
      columns[index].sqlName = SchemaRegistry.freeName(columns[index].name, &taken)
    }
    let schema = wanted.schema(sqlName: sqlName, columns: columns)
    try connection.execute(Self.createStatement(schema, name: sqlName))
    for index in columns.indices { try keep(schema, index) }
    return schema
  }

  private func keep(_ schema: TableSchema, _ index: Int) throws(KizunaError) {
    let column = schema.columns[index]
    try SchemaRegistry.keepColumn(
      schema.name, column.name, sqlTable: schema.sqlName, sqlColumn: column.sqlName,
      type: SchemaRegistry.text(column.type), key: schema.key.firstIndex(of: index), position: index,
      connection)
  }

  /// Only the key is constrained: a pull must never fail on anything else.
  static func createStatement(
    _ schema: TableSchema, name: String, hidden: [SchemaRegistry.Column] = []
  ) throws(KizunaError) -> String {
    var parts = schema.columns.map { "\(SQLName.quoted($0.sqlName)) \($0.type.affinity)" }
    for column in hidden {
      parts.append("\(SQLName.quoted(column.sqlName)) \(try SchemaRegistry.type(of: column.type).affinity)")
    }
    if !schema.key.isEmpty {
      let key = schema.key.map { SQLName.quoted(schema.columns[$0].sqlName) }
      parts.append("PRIMARY KEY(\(key.joined(separator: ",")))")
    }
    return "CREATE TABLE \(SQLName.quoted(name))(\(parts.joined(separator: ", ")))"
  }

  // MARK: A table that is there

  private func change(
    _ known: SchemaRegistry.Table, to wanted: ConfiguredTable
  ) throws(KizunaError) -> TableSchema {
    try checkKey(known, wanted)
    var columns = wanted.columns
    var taken = try SchemaRegistry.takenColumns(wanted.name, connection)
    var changes: [(index: Int, from: ColumnType)] = []
    var added: [Int] = []
    for index in columns.indices {
      guard let old = known.columns.first(where: { $0.name.sameBytes(as: columns[index].name) }) else {
        columns[index].sqlName = SchemaRegistry.freeName(columns[index].name, &taken)
        added.append(index)
        continue
      }
      columns[index].sqlName = old.sqlName
      let type = try SchemaRegistry.type(of: old.type)
      if type.isLearnt && columns[index].type.isLearnt {
        columns[index].type = type
      } else if type != columns[index].type {
        changes.append((index, type))
      }
    }
    if wanted.learnsColumns {
      for old in known.columns where !columns.contains(where: { $0.name.sameBytes(as: old.name) }) {
        let type = try SchemaRegistry.type(of: old.type)
        var column = ColumnSchema(
          name: old.name, sqlName: old.sqlName, type: type.isLearnt ? type : .learnt(nil))
        if !type.isLearnt { changes.append((columns.count, type)) }
        column.isNotNull = false
        columns.append(column)
      }
    }
    let schema = wanted.schema(sqlName: known.sqlName, columns: columns)
    for index in added {
      let column = columns[index]
      try connection.execute(
        "ALTER TABLE \(SQLName.quoted(known.sqlName)) ADD COLUMN \(SQLName.quoted(column.sqlName)) "
          + column.type.affinity)
      // As upstream, rows that are there get the default.
      if case .literal(let literal)? = column.defaultValue {
        let value = try column.type.stored(literal: literal, zone: .utc)
        try connection.run(
          "UPDATE \(SQLName.quoted(known.sqlName)) SET \(SQLName.quoted(column.sqlName)) = ?", value)
      }
    }
    if !changes.isEmpty { try rebuild(schema, known, changes) }
    for index in columns.indices { try keep(schema, index) }
    return schema
  }

  private func checkKey(
    _ known: SchemaRegistry.Table, _ wanted: ConfiguredTable
  ) throws(KizunaError) {
    let old = known.key
    guard old.count != wanted.key.count || !zip(old, wanted.key).allSatisfy({ $0.sameBytes(as: $1) }) else {
      return
    }
    throw KizunaError(
      "CONFIG_INVALID",
      "tables.\(wanted.name).key: the database keeps this table under the key (\(old.joined(separator: ", ")))",
      hint: "Keep that key, or start with another database.")
  }

  /// Writes the table anew with its changed types. Each changed value must come back unchanged when it is cast the
  /// other way.
  private func rebuild(
    _ schema: TableSchema, _ known: SchemaRegistry.Table, _ changes: [(index: Int, from: ColumnType)]
  ) throws(KizunaError) {
    let scratch = EngineTables.prefix + "rebuild"
    let hidden = known.columns.filter { old in
      !schema.columns.contains { $0.sqlName.sameBytes(as: old.sqlName) }
    }
    try connection.execute(try Self.createStatement(schema, name: scratch, hidden: hidden))
    let names = (schema.columns.map(\.sqlName) + hidden.map(\.sqlName)).map(SQLName.quoted).joined(
      separator: ",")
    let marks = Array(repeating: "?", count: schema.columns.count + hidden.count + 1).joined(separator: ",")
    let read = try connection.prepare("SELECT rowid,\(names) FROM \(SQLName.quoted(schema.sqlName))")
    let write = try connection.prepare("INSERT INTO \(scratch)(rowid,\(names)) VALUES(\(marks))")
    while try read.step() {
      var values = (0..<read.columnCount).map { read.value($0) }
      for (index, from) in changes {
        values[index + 1] = try Self.convert(values[index + 1], from, schema, index)
      }
      write.reset()
      write.bind(values)
      _ = try write.step()
    }
    read.reset()
    write.reset()
    try connection.execute("DROP TABLE \(SQLName.quoted(schema.sqlName))")
    try connection.execute("ALTER TABLE \(scratch) RENAME TO \(SQLName.quoted(schema.sqlName))")
  }

  private static func convert(
    _ value: SQLValue, _ from: ColumnType, _ schema: TableSchema, _ index: Int
  ) throws(KizunaError) -> SQLValue {
    if value.isNull { return .null }
    let to = schema.columns[index].type
    do throws(KizunaError) {
      if from.isLearnt || to.isLearnt {
        var json = ByteBuffer(capacity: 64)
        RowText.appendJSON(value, from, to: &json)
        guard let parsed = try? JSONParser.parse(json.bytes) else { return value }
        return try to.stored(json: parsed, zone: .utc)
      }
      let cast = try value.withRaw { raw throws(KizunaError) in try from.cast(raw, to: to, zone: .utc) }
      let back = try cast.withRaw { raw throws(KizunaError) in try to.cast(raw, to: from, zone: .utc) }
      if back == value { return cast }
    } catch {
      // Between some types there is no cast, as between two enums: then the text may do.
      let text = RowText.shown(value, from)
      if let read = try? to.stored(literal: text, zone: .utc), RowText.shown(read, to).sameBytes(as: text) {
        return read
      }
    }
    throw KizunaError(
      "CONFIG_INVALID",
      "tables.\(schema.name).columns.\(schema.columns[index].name): the change from \(from.postgresName) to "
        + "\(to.postgresName) would lose the value \(RowText.shown(value, from))",
      hint: "Keep the old type, or add a column of another name.")
  }
}
