/// One column of an answer.
struct OutputColumn: Sendable {
  var name: String
  var type: ColumnType
  var cast: ColumnType?
}

/// A read as SQL.
struct CompiledRead {
  var sql: String
  /// The same filter's count; nil when the plan wants none.
  var countSQL: String?
  /// How many rows the window holds.
  var windowSQL: String
  /// Of the filter. In `sql` LIMIT and OFFSET follow them.
  var parameters: [Parameter]
  var outputs: [OutputColumn]
}

/// Turns a read plan into SQL.
struct ReadCompiler {
  let relation: TableSchema
  var zone: Zone = .utc
  var matchesAnyText = false

  func compile(_ plan: ReadPlan) throws(KizunaError) -> CompiledRead {
    let outputs = try Self.outputs(plan.outputs, of: relation)
    var compiler = FilterCompiler(relation, zone: zone, matchesAnyText: matchesAnyText)
    try compileWhere(plan.filter, includeHidden: plan.includeHidden, &compiler)
    let condition = compiler.text.sql
    let order = try orderClause(plan.order)
    let source = " FROM \(SQLName.quoted(relation.sqlName))" + condition
    return CompiledRead(
      sql: "SELECT \(outputs.list)\(source)\(order) LIMIT ? OFFSET ?",
      countSQL: plan.wantsCount ? "SELECT count(*)\(source)" : nil,
      windowSQL: "SELECT count(*) FROM (SELECT 1\(source) LIMIT ? OFFSET ?)",
      parameters: compiler.text.parameters, outputs: outputs.columns)
  }

  /// ` WHERE …`, or nothing.
  func compileWhere(
    _ filter: Filter?, includeHidden: Bool, _ compiler: inout FilterCompiler
  ) throws(KizunaError) {
    let hidden = includeHidden ? nil : Self.hiddenCondition(relation)
    guard filter != nil || hidden != nil else { return }
    compiler.text.append(" WHERE ")
    if let hidden { compiler.text.append(hidden) }
    guard let filter else { return }
    if hidden != nil { compiler.text.append(" AND ") }
    try compiler.compile(filter)
  }

  static func hiddenCondition(_ relation: TableSchema) -> String? {
    switch relation.hidden {
    case .softDeleted(let name):
      relation.column(name).map { "\(SQLName.quoted($0.sqlName)) IS NULL" }
    case .dismissed(let name): "\(SQLName.quoted(name)) = 0"
    case nil: nil
    }
  }

  /// ` ORDER BY …`: as asked, else the relation's own order, else key order by the key columns' types.
  func orderClause(_ order: [OrderBy]) throws(KizunaError) -> String {
    var terms: [String] = []
    for term in order {
      let expression = try ColumnExpression(term.column, in: relation)
      guard OperatorRules.hasOrder(expression.type) else {
        throw .refused(
          "42883", "could not identify an ordering operator for type \(expression.type.postgresName)",
          hint: "Use an explicit ordering operator or modify the query.")
      }
      let isNotNull =
        expression.isKey && relation.syncMode != .localOnly
        || term.column.path.isEmpty && relation.column(term.column.column)?.isNotNull == true
      terms.append(
        expression.order(descending: term.descending, nullsFirst: term.nullsFirst, isNotNull: isNotNull))
    }
    return " ORDER BY " + (terms.isEmpty ? try defaultOrder() : terms.joined(separator: ", "))
  }

  func defaultOrder() throws(KizunaError) -> String {
    if let order = relation.defaultOrder { return order }
    guard !relation.key.isEmpty else { return "\(SQLName.quoted(relation.sqlName)).rowid" }
    var terms: [String] = []
    for index in relation.key {
      let column = try ColumnExpression(ColumnPath(relation.columns[index].name), in: relation)
      terms.append(column.order(descending: false, nullsFirst: nil, isNotNull: true))
    }
    return terms.joined(separator: ", ")
  }

  /// The select list; nil means every column in table order.
  static func outputs(
    _ outputs: [Output]?, of relation: TableSchema
  ) throws(KizunaError) -> (list: String, columns: [OutputColumn]) {
    let wanted = outputs ?? relation.columns.map { Output($0.name, ColumnPath($0.name)) }
    var list: [String] = []
    var columns: [OutputColumn] = []
    for output in wanted {
      let expression = try ColumnExpression(output.source, in: relation)
      var cast: ColumnType?
      if let name = output.cast {
        guard let type = ColumnType.castTarget(name) else {
          throw .refused("42704", "type \"\(name)\" does not exist")
        }
        cast = type
      }
      list.append(expression.sql)
      columns.append(OutputColumn(name: output.name, type: expression.type, cast: cast))
    }
    // A relation without columns still has rows.
    return (list.isEmpty ? "NULL" : list.joined(separator: ","), columns)
  }
}
