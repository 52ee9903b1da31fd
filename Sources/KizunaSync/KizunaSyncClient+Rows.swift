import KizunaEngine

extension KizunaSyncClient {
  /// A read by a plan of `filters`, `orders`, `limit`, `offset`, `projection`, `cardinality`, `includeDeleted` and
  /// `count`. Answers an array of rows, one row, `NSNull`, or with `count` a dictionary of `rows` and `count`.
  nonisolated(nonsending) public func query(
    table: String, plan: [String: Any] = [:]
  ) async throws -> sending Any {
    let plan = JSONValue.object(try JSONBridge.members(plan, at: "plan"))
    return try await call { engine throws(KizunaError) in
      JSONBridge.any(try engine.query(table: table, plan: plan))
    }
  }

  /// Writes one row by its primary key and queues the mutation. An insert refuses a live row; an update of a row that
  /// is not there creates it from its columns; a delete of one succeeds.
  ///
  /// `precondition` maps columns to the values that the server must find there; it is never evaluated here. On a table
  /// with a soft-delete column a delete is `SOFT_DELETE_VIOLATION`: write the column, or delete by a filter.
  nonisolated(nonsending) public func apply(
    table: String, pk: String, op: KizunaSyncOp, columns: [String: Any] = [:], mutationId: String? = nil,
    transforms: [String: Any]? = nil, precondition: [String: Any]? = nil
  ) async throws {
    let mutation = try Mutation(
      table: table, pk: pk, op: op, columns: columns, mutationId: mutationId, transforms: transforms,
      precondition: precondition)
    try await call { engine throws(KizunaError) in try engine.apply(mutation) }
  }

  /// Writes every row that all the filter nodes match, in one transaction. Answers their primary keys in key order.
  @discardableResult
  nonisolated(nonsending) public func applyWhere(
    table: String, op: KizunaSyncOp, filters: [[String: Any]], columns: [String: Any] = [:],
    transforms: [String: Any]? = nil, precondition: [String: Any]? = nil
  ) async throws -> [String] {
    let filters = try JSONBridge.json(filters, at: "filters")
    let columns = try JSONBridge.members(columns, at: "columns")
    let transforms = try transforms.map { try JSONBridge.json($0, at: "transforms") }
    let precondition = try precondition.map { try JSONBridge.json($0, at: "precondition") }
    return try await call { engine throws(KizunaError) in
      try engine.applyWhere(
        table: table, op: op.mutationOp, filters: filters, columns: columns, transforms: transforms,
        precondition: precondition)
    }
  }

  /// Writes several rows as one: all of them here, and one atomic batch upstream. Answers their primary keys in the
  /// order of the writes. Nothing is written when the closure throws.
  ///
  ///     try await kizunasync.batch { batch in
  ///       try batch.insert("lists", ["id": listId, "name": "Groceries"])
  ///       try batch.update("todos", pk: todoId, ["list_id": listId])
  ///     }
  @discardableResult
  nonisolated(nonsending) public func batch(
    _ fill: (KizunaSyncBatch) throws -> Void
  ) async throws -> [String] {
    let batch = KizunaSyncBatch()
    try fill(batch)
    let mutations = batch.mutations
    return try await call { engine throws(KizunaError) in
      mutations.isEmpty ? [] : try engine.batch(mutations)
    }
  }
}

/// Collects the writes of one atomic batch.
public final class KizunaSyncBatch {
  private(set) var mutations: [Mutation] = []

  init() {}

  /// Inserts a row; a key column `id` that is left out is minted.
  public func insert(_ table: String, _ columns: [String: Any] = [:], mutationId: String? = nil) throws {
    mutations.append(
      try Mutation(table: table, pk: nil, op: .insert, columns: columns, mutationId: mutationId))
  }

  public func update(
    _ table: String, pk: String, _ columns: [String: Any], transforms: [String: Any]? = nil,
    precondition: [String: Any]? = nil
  ) throws {
    try apply(
      table: table, pk: pk, op: .update, columns: columns, transforms: transforms, precondition: precondition)
  }

  public func delete(_ table: String, pk: String, precondition: [String: Any]? = nil) throws {
    try apply(table: table, pk: pk, op: .delete, precondition: precondition)
  }

  /// As the client's `apply`.
  public func apply(
    table: String, pk: String, op: KizunaSyncOp, columns: [String: Any] = [:], mutationId: String? = nil,
    transforms: [String: Any]? = nil, precondition: [String: Any]? = nil
  ) throws {
    mutations.append(
      try Mutation(
        table: table, pk: pk, op: op, columns: columns, mutationId: mutationId, transforms: transforms,
        precondition: precondition))
  }
}

extension KizunaSyncOp {
  var mutationOp: Mutation.Op {
    switch self {
    case .insert: .insert
    case .update: .update
    case .delete: .delete
    }
  }
}

extension Mutation {
  fileprivate init(
    table: String, pk: String?, op: KizunaSyncOp, columns: [String: Any], mutationId: String?,
    transforms: [String: Any]? = nil, precondition: [String: Any]? = nil
  ) throws {
    guard !table.isEmpty, pk?.isEmpty != true else {
      throw KizunaSyncError.unsupported("apply requires table and pk")
    }
    self.init(
      table: table, pk: pk, op: op.mutationOp, columns: try JSONBridge.members(columns, at: "columns"),
      mutationId: mutationId, transforms: try transforms.map { try JSONBridge.json($0, at: "transforms") },
      precondition: try precondition.map { try JSONBridge.json($0, at: "precondition") })
  }
}
