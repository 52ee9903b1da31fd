import KizunaEngine
import RESTDialect

/// A dialect request on one table, with its body read, becomes a write plan.
struct WritePlanner {
  var table: TableSchema
  var request: Request
  var preferences: Preferences
  var type: AnswerType
  /// Whether the answer shows the rows.
  var answersRows: Bool
  var writeId: String

  // MARK: Actions

  func insert(_ payload: Payload) throws(Failure) -> WritePlan {
    try plan(.insert(columns: payload.columns, rows: payload.rows, try conflict()))
  }

  /// The body of a PUT: insert, or overwrite the columns given.
  func put(_ payload: Payload, key: PutKey) throws(Failure) -> WritePlan {
    let row = try key.select(payload)
    return try plan(.insert(columns: row.columns, rows: row.rows, .merge(target: keyColumns)))
  }

  /// nil when the body sets nothing: a harmless no-op, filtered or not. Of several rows the first is used.
  func update(_ payload: Payload) throws(Failure) -> WritePlan? {
    guard let row = payload.rows.first, !payload.columns.isEmpty else { return nil }
    try requireFilter("UPDATE requires a WHERE clause")
    let assignments = zip(payload.columns, row).map { (column: $0, value: $1) }
    return try plan(.update(FilterPlanner.filter(request.filters), assignments: assignments, transforms: nil))
  }

  func delete() throws(Failure) -> WritePlan {
    try requireFilter("DELETE requires a WHERE clause")
    return try plan(.delete(FilterPlanner.filter(request.filters)))
  }

  private func requireFilter(_ message: String) throws(Failure) {
    if request.filters.isEmpty { throw Failure("21000", message) }
  }

  private func plan(_ action: WritePlan.Action) throws(Failure) -> WritePlan {
    var plan = WritePlan(table, action, writeId: writeId)
    plan.format = try ReadPlanner.format(type)
    plan.zone = try ReadPlanner.zone(preferences.timezone)
    plan.dryRun = preferences.transaction == .rollback
    if case .object = type { plan.singular = true }
    if answersRows {
      plan.returnsRows = true
      plan.returning = FilterPlanner.outputs(request, of: table)
      plan.order = FilterPlanner.order(request.order)
    }
    switch action {
    case .insert: try refusePreconditions()
    case .update, .delete:
      if preferences.handling == .strict { plan.maxAffected = preferences.maxAffected }
      plan.precondition = try precondition()
    }
    return plan
  }

  // MARK: Upserts

  private var keyColumns: [String] { table.key.map { table.columns[$0].name } }

  /// Whether a `resolution=` has something to resolve on.
  static func hasTarget(_ request: Request, _ table: TableSchema) -> Bool {
    request.onConflict != nil || !table.key.isEmpty
  }

  private func conflict() throws(Failure) -> WritePlan.Conflict {
    guard let resolution = preferences.resolution else { return .refuse }
    let target: [String]
    if let named = request.onConflict {
      target = try checked(named)
    } else if !table.key.isEmpty {
      target = keyColumns
    } else {
      return .refuse
    }
    switch resolution {
    case .mergeDuplicates: return .merge(target: target)
    case .ignoreDuplicates: return .ignore(target: target)
    }
  }

  /// The named columns must be, in any order, the key or a list that is declared unique.
  private func checked(_ names: [String]) throws(Failure) -> [String] {
    for name in names where table.index(of: name) == nil {
      throw Failure("42703", "column \"\(name)\" does not exist")
    }
    for target in [keyColumns] + table.unique where !target.isEmpty && Self.sameNames(target, names) {
      return target
    }
    throw Failure(
      "42P10", "there is no unique or exclusion constraint matching the ON CONFLICT specification")
  }

  private static func sameNames(_ left: [String], _ right: [String]) -> Bool {
    left.allSatisfy { name in right.contains { $0.sameBytes(as: name) } }
      && right.allSatisfy { name in left.contains { $0.sameBytes(as: name) } }
  }

  // MARK: Preconditions

  private func refusePreconditions() throws(Failure) {
    if !request.preconditions.isEmpty {
      throw Failure("LOCAL_UNSUPPORTED", "A precondition goes with PATCH and DELETE only")
    }
  }

  private func precondition() throws(Failure) -> JSONValue? {
    if request.preconditions.isEmpty { return nil }
    if table.syncMode == .localOnly {
      throw Failure(
        "LOCAL_UNSUPPORTED", "The table '\(table.name)' is local-only: no upstream compares a precondition")
    }
    var members: [JSONMember] = []
    for expected in request.preconditions {
      let column = table.column(expected.column)
      if column == nil, !table.learnsColumns {
        throw Failure("42703", "column \(table.name).\(expected.column) does not exist")
      }
      members.append(JSONMember(expected.column, Self.value(expected.value, of: column?.type)))
    }
    return .object(members)
  }

  /// The upstream casts the text to the column's type; only JSON has to be sent as JSON. The word null means null,
  /// save beside a text.
  private static func value(_ text: String, of type: ColumnType?) -> JSONValue {
    switch type {
    case .json, .jsonb: return (try? JSONParser.parse(text)) ?? .string(text)
    case .text, .varchar, .char, .citext, .opaque: return .string(text)
    default: return text == "null" ? .null : .string(text)
    }
  }
}
