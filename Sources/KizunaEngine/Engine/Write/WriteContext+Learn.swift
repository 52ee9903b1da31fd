extension WriteContext {
  /// On a table that learns its columns: adds those that the rows bring and widens the types learnt. Any other
  /// table is answered as it is.
  func learn(
    _ given: TableSchema, _ names: [String], _ rows: [[JSONValue?]]
  ) throws(KizunaError) -> TableSchema {
    let table = try current(given)
    guard table.learnsColumns else { return table }
    var columns = table.columns
    var taken: Set<String>?
    var isChanged = false
    for (position, name) in names.enumerated() {
      let index: Int
      if let known = columns.firstIndex(where: { $0.name.sameBytes(as: name) }) {
        index = known
      } else {
        index = columns.count
        columns.append(try addColumn(name, to: table, beside: columns, &taken))
        isChanged = true
      }
      guard case .learnt(let type) = columns[index].type else { continue }
      var merged = type
      for row in rows {
        if let value = row[position] { merged = ColumnType.merge(merged, value) }
      }
      if merged != type {
        columns[index].type = .learnt(merged)
        try SchemaRegistry.keepType(merged, table.name, name, connection)
        isChanged = true
      }
    }
    return isChanged ? replace(table, columns) : table
  }

  /// For rows to be inserted, which get the owner besides.
  func learnInserted(
    _ given: TableSchema, _ names: [String], _ rows: [[JSONValue?]]
  ) throws(KizunaError) -> TableSchema {
    guard given.learnsColumns, case .owner(let column) = given.bucket, let owner = identity.owner,
      !names.contains(where: { $0.sameBytes(as: column) })
    else { return try learn(given, names, rows) }
    return try learn(given, names + [column], rows.map { $0 + [.string(owner)] })
  }

  /// For an update, whose transforms leave numbers and arrays in columns that may be new.
  func learnUpdated(
    _ given: TableSchema, _ names: [String], _ values: [JSONValue?], transforms: JSONValue?
  ) throws(KizunaError) -> TableSchema {
    let table = try current(given)
    guard table.learnsColumns, let members = transforms?.members else {
      return try learn(table, names, [values])
    }
    let outcomes: [JSONValue?] = members.map { member in
      switch member.value["op"]?.text {
      case "increment": .integer(0)
      case nil: nil
      default: .array([])
      }
    }
    return try learn(table, names + members.map(\.key), [values + outcomes])
  }

  private func addColumn(
    _ name: String, to table: TableSchema, beside columns: [ColumnSchema], _ known: inout Set<String>?
  ) throws(KizunaError) -> ColumnSchema {
    guard !name.isEmpty, !name.utf8.contains(0) else {
      throw .refused("42602", "a column needs a name without NUL")
    }
    guard columns.count < 1000 else { throw .refused("54011", "tables can have at most 1000 learnt columns") }
    var taken: Set<String>
    if let known { taken = known } else { taken = try SchemaRegistry.takenColumns(table.name, connection) }
    known = nil
    let sqlName = SchemaRegistry.freeName(name, &taken)
    known = taken
    try connection.execute(
      "ALTER TABLE \(SQLName.quoted(table.sqlName)) ADD COLUMN \(SQLName.quoted(sqlName))")
    try SchemaRegistry.keepColumn(
      table.name, name, sqlTable: table.sqlName, sqlColumn: sqlName, type: "learnt", key: nil,
      position: columns.count, connection)
    return ColumnSchema(name: name, sqlName: sqlName, type: .learnt(nil))
  }

  private func replace(_ table: TableSchema, _ columns: [ColumnSchema]) -> TableSchema {
    let learnt = table.with(columns: columns)
    catalog = Catalog(
      version: catalog.version + 1,
      tables: catalog.tables.map { $0 === table ? learnt : $0 }, relations: catalog.relations)
    return learnt
  }
}

extension TableSchema {
  func with(columns: [ColumnSchema]) -> TableSchema {
    TableSchema(
      name: name, sqlName: sqlName, columns: columns, key: key, bucket: bucket, syncMode: syncMode,
      conflictMode: conflictMode, hidden: hidden, unique: unique, indexes: indexes, foreignKeys: foreignKeys,
      learnsColumns: learnsColumns, defaultOrder: defaultOrder, isInternal: isInternal)
  }
}
