import KizunaEngine

/// One configured table, and the ways to read and write its rows.
public struct KizunaSyncTable: Sendable {
  let client: KizunaSyncClient
  let name: String

  /// Starts a read. `columns` is a comma-separated list; nil or `*` is all. With `count`, the answer is a dictionary of
  /// `rows` and `count`; with `head`, its `rows` are `NSNull`.
  public func select(
    _ columns: String? = nil, head: Bool = false, count: KizunaSyncCountOption? = nil
  ) -> KizunaSyncSelectBuilder {
    KizunaSyncSelectBuilder(self, projection: columns, isHead: head, counts: head || count != nil)
  }

  /// Inserts one row; a key column `id` that is left out is minted.
  nonisolated(nonsending) public func insert(_ columns: [String: Any] = [:]) async throws {
    try await KizunaSyncInsertBuilder(self, [columns], .refuse).execute()
  }

  /// Inserts rows in one transaction.
  nonisolated(nonsending) public func insert(_ rows: [[String: Any]]) async throws {
    try await KizunaSyncInsertBuilder(self, rows, .refuse).execute()
  }

  /// The same, to be followed by `select(_:)` for the row as it is then, or `execute()` for its key:
  /// `try await table.insert(columns).select().single()`.
  public func insert(_ columns: [String: Any] = [:]) -> KizunaSyncInsertBuilder {
    KizunaSyncInsertBuilder(self, [columns], .refuse)
  }

  public func insert(_ rows: [[String: Any]]) -> KizunaSyncInsertBuilder {
    KizunaSyncInsertBuilder(self, rows, .refuse)
  }

  /// Inserts a row, or updates the one that is here already with the columns given. `onConflict` names the columns
  /// that tell, comma-separated: the key, which is the default, or one of the table's `unique` lists. With
  /// `ignoreDuplicates` a row that is here stays as it is.
  nonisolated(nonsending) public func upsert(
    _ columns: [String: Any], onConflict: String? = nil, ignoreDuplicates: Bool = false
  ) async throws {
    try await upserting([columns], onConflict, ignoreDuplicates).execute()
  }

  nonisolated(nonsending) public func upsert(
    _ rows: [[String: Any]], onConflict: String? = nil, ignoreDuplicates: Bool = false
  ) async throws {
    try await upserting(rows, onConflict, ignoreDuplicates).execute()
  }

  /// The same, to be followed by `select(_:)` or `execute()`.
  public func upsert(
    _ columns: [String: Any], onConflict: String? = nil, ignoreDuplicates: Bool = false
  ) -> KizunaSyncInsertBuilder {
    upserting([columns], onConflict, ignoreDuplicates)
  }

  public func upsert(
    _ rows: [[String: Any]], onConflict: String? = nil, ignoreDuplicates: Bool = false
  ) -> KizunaSyncInsertBuilder {
    upserting(rows, onConflict, ignoreDuplicates)
  }

  private func upserting(
    _ rows: [[String: Any]], _ target: String?, _ ignores: Bool
  ) -> KizunaSyncInsertBuilder {
    KizunaSyncInsertBuilder(self, rows, ignores ? .ignore(target: target) : .merge(target: target))
  }

  /// Starts an update of the rows that the chained filters match.
  public func update(
    _ columns: [String: Any], transforms: [String: Any]? = nil, precondition: [String: Any]? = nil
  ) -> KizunaSyncWriteBuilder {
    KizunaSyncWriteBuilder(self, .update, columns, transforms, precondition)
  }

  /// Starts a delete of the rows that the chained filters match. On a table with a soft-delete column they stay, and
  /// only that column changes.
  public func delete(precondition: [String: Any]? = nil) -> KizunaSyncWriteBuilder {
    KizunaSyncWriteBuilder(self, .delete, [:], nil, precondition)
  }
}
