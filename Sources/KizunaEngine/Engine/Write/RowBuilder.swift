/// A row about to be inserted.
struct BuiltRow {
  /// One value for each column of the table.
  var values: [SQLValue]
  /// The columns that the caller gave.
  var given: [Int]
  /// Those, and the ones filled in here: what travels, so that all replicas agree.
  var mask: [Int]
}

/// Makes rows of a payload: converts its values, fills defaults, the owner and a minted key, and checks what
/// Postgres would check on the row alone.
struct RowBuilder {
  private let table: TableSchema
  /// Columns of the payload as positions in the table.
  private let columns: [Int]
  private let zone: Zone
  private let at: String
  private let owner: (column: Int, value: SQLValue)?
  private let mintsKey: Bool

  init(
    _ table: TableSchema, _ names: [String], identity: Identity, zone: Zone, at: String
  ) throws(KizunaError) {
    self.table = table
    self.zone = zone
    self.at = at
    var columns: [Int] = []
    for name in names {
      guard let index = table.index(of: name) else { throw WriteContext.unknownColumn(name, table) }
      columns.append(index)
    }
    self.columns = columns
    if case .owner(let name) = table.bucket, let owner = identity.owner, let index = table.index(of: name) {
      self.owner = (index, try table.columns[index].type.stored(json: .string(owner), zone: .utc))
    } else {
      owner = nil
    }
    mintsKey =
      table.key.count == 1 && table.columns[table.key[0]].name.sameBytes(as: "id")
      && Self.takesUUID(table.columns[table.key[0]])
  }

  private static func takesUUID(_ column: ColumnSchema) -> Bool {
    guard column.defaultValue == nil, !column.isIdentity else { return false }
    switch column.type {
    case .uuid, .text, .learnt: return true
    case .varchar(let length): return length.map { $0 >= 36 } ?? true
    default: return false
    }
  }

  /// `row` holds one value for each payload column; nil stands for the default.
  func build(_ row: [JSONValue?], context: WriteContext) throws(KizunaError) -> BuiltRow {
    var values = [SQLValue](repeating: .null, count: table.columns.count)
    var isGiven = [Bool](repeating: false, count: table.columns.count)
    for (position, index) in columns.enumerated() {
      guard let value = row[position] else { continue }
      values[index] = try Self.stored(value, table.columns[index], isKey: table.isKey(index), zone: zone)
      isGiven[index] = true
    }
    let given = columns.filter { isGiven[$0] }
    try fillDefaults(&values, isGiven, context)
    if let owner, !isGiven[owner.column] { values[owner.column] = owner.value }
    if mintsKey, !isGiven[table.key[0]] { values[table.key[0]] = .text(UUIDText.v7()) }
    try context.checkNotNull(values, values.indices, table)
    try checkKey(values)
    let mask = table.columns.indices.filter { isGiven[$0] || !values[$0].isNull }
    return BuiltRow(values: values, given: given, mask: mask)
  }

  static func stored(
    _ value: JSONValue, _ column: ColumnSchema, isKey: Bool, zone: Zone
  ) throws(KizunaError) -> SQLValue {
    let stored = try column.type.stored(json: value, zone: zone)
    // Key components of a uuid's shape have one spelling.
    if isKey, case .text(let text) = stored, RowKey.isUUIDShaped(text) { return .text(text.lowercased()) }
    return stored
  }

  private func fillDefaults(
    _ values: inout [SQLValue], _ isGiven: [Bool], _ context: WriteContext
  ) throws(KizunaError) {
    for (index, column) in table.columns.enumerated() where !isGiven[index] {
      if column.isIdentity {
        values[index] = try context.nextIdentity(column, table)
      } else if let value = try RowBuilder.defaultValue(column, at: at) {
        values[index] = value
      }
    }
  }

  static func defaultValue(_ column: ColumnSchema, at: String) throws(KizunaError) -> SQLValue? {
    switch column.defaultValue {
    case nil: nil
    case .literal(let literal): try column.type.stored(literal: literal, zone: .utc)
    case .now: try column.type.stored(literal: at + "+00", zone: .utc)
    case .randomUUID: .text(UUIDText.v7())
    }
  }

  /// A key that travels is made of non-empty texts and integers.
  private func checkKey(_ values: [SQLValue]) throws(KizunaError) {
    guard table.syncMode != .localOnly else { return }
    var bad: [String] = []
    for index in table.key {
      switch values[index] {
      case .integer: break
      case .text(let text) where !text.isEmpty: break
      default: bad.append(table.columns[index].name)
      }
    }
    if !bad.isEmpty {
      throw KizunaError(
        "LOCAL_CONSTRAINT",
        "a key value must be a non-empty text or an integer: \(bad.joined(separator: ", "))")
    }
  }
}

extension WriteContext {
  /// One more than the highest value so far.
  func nextIdentity(_ column: ColumnSchema, _ table: TableSchema) throws(KizunaError) -> SQLValue {
    let name = SQLName.quoted(column.sqlName)
    let value = try connection.value(
      "SELECT coalesce(max(\(name)), 0) + 1 FROM \(SQLName.quoted(table.sqlName))")
    return value ?? .integer(1)
  }
}
