/// A column, or what a JSON path finds in it, as SQL.
struct ColumnExpression {
  var sql: String
  var type: ColumnType
  /// The column itself is part of the relation's key and has no path.
  var isKey = false

  /// Throws `42703` for a column that the relation lacks, `42883` for an arrow behind `->>`.
  init(_ path: ColumnPath, in relation: TableSchema) throws(KizunaError) {
    guard let index = relation.index(of: path.column) else {
      throw .refused("42703", "column \(relation.name).\(path.column) does not exist")
    }
    let column = relation.columns[index]
    let name = SQLName.quoted(column.sqlName)
    guard !path.path.isEmpty else {
      self.init(sql: name, type: column.type, isKey: relation.isKey(index))
      return
    }
    for step in path.path.dropLast() where step.asText {
      throw .refused(
        "42883", "operator does not exist: text \(path.path.last?.asText == true ? "->>" : "->") unknown",
        hint: OperatorRules.castHint)
    }
    let asText = path.path.last?.asText == true
    let source: String
    var outcome = ColumnType.json
    switch column.type {
    case .json: source = name
    case .jsonb, .array:
      source = name
      outcome = .jsonb
    case .learnt:
      source = "kz_any_json(\(name))"
      outcome = .jsonb
    // As JSON any other value is a scalar, in which no path finds anything.
    default: source = "NULL"
    }
    let steps = JSONValue.array(
      path.path.map { step in
        switch step.operand {
        case .key(let key): .string(key)
        case .index(let index): .integer(Int64(index))
        }
      }
    ).jsonText
    self.init(
      sql: "kz_path(\(source),\(SQLName.literal(steps)),\(asText ? 1 : 0))",
      type: asText ? .text : outcome)
  }

  private init(sql: String, type: ColumnType, isKey: Bool = false) {
    self.sql = sql
    self.type = type
    self.isKey = isKey
  }

  /// The expression with the collation in which its type is compared.
  var collated: String { type.collation.map { "\(sql) COLLATE \($0)" } ?? sql }

  /// What rows are ordered by.
  func order(descending: Bool, nullsFirst: Bool?, isNotNull: Bool) -> String {
    let direction = descending ? " DESC" : ""
    // SQLite's defaults are the reverse of Postgres'. Where no null can be, naming them costs an index scan.
    let nulls = isNotNull ? "" : (nullsFirst ?? descending) ? " NULLS FIRST" : " NULLS LAST"
    switch type {
    case .enumeration(let labels): return OperatorRules.rank(sql, labels) + direction + nulls
    case .learnt:
      let rank = "kz_any_rank(\(sql))"
      return rank + direction + nulls + ", CASE WHEN \(rank) = 0 THEN \(sql) ELSE "
        + "coalesce(kz_any_text(\(sql)), '') END" + direction
    default: return collated + direction + nulls
    }
  }
}

/// Which operators a type has, in Postgres' words.
enum OperatorRules {
  static let castHint =
    "No operator matches the given name and argument types. You might need to add explicit type casts."

  static func missing(_ symbol: String, for type: ColumnType) -> KizunaError {
    .refused(
      "42883", "operator does not exist: \(type.postgresName) \(symbol) unknown", hint: castHint)
  }

  static func symbol(_ comparison: Comparison) -> String {
    switch comparison {
    case .eq: "="
    case .neq: "<>"
    case .gt: ">"
    case .gte: ">="
    case .lt: "<"
    case .lte: "<="
    }
  }

  static func symbol(_ pattern: Pattern) -> String {
    switch pattern {
    case .like: "~~"
    case .ilike: "~~*"
    case .match: "~"
    case .imatch: "~*"
    }
  }

  static func symbol(_ structure: Structure) -> String {
    switch structure {
    case .contains: "@>"
    case .containedBy: "<@"
    case .overlaps: "&&"
    }
  }

  static func rangeSymbol(_ name: String) -> String {
    ["sl": "<<", "sr": ">>", "nxr": "&<", "nxl": "&>", "adj": "-|-"][name] ?? name
  }

  static func hasOrder(_ type: ColumnType) -> Bool {
    if case .json = type { return false }
    return true
  }

  static func isTextual(_ type: ColumnType) -> Bool {
    switch type {
    case .text, .varchar, .char, .citext, .opaque: true
    default: false
    }
  }

  static func rank(_ sql: String, _ labels: [String]) -> String {
    let cases = labels.enumerated().map { " WHEN \(SQLName.literal($1)) THEN \($0)" }
    return "(CASE \(sql)" + cases.joined() + " END)"
  }
}
