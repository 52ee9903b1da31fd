import Foundation
import KizunaEngine

/// A write of every row that the chained filters match: all of them and their queued mutations, or none.
public final class KizunaSyncWriteBuilder: KizunaSyncFilterBuilder {
  private var write: RowWrite

  init(
    _ table: KizunaSyncTable, _ op: KizunaSyncOp, _ columns: [String: Any], _ transforms: [String: Any]?,
    _ precondition: [String: Any]?
  ) {
    write = RowWrite(table: table.name, action: .delete)
    super.init(table)
    let transforms = transforms.map { converted($0, "transforms") }
    if op == .update {
      let columns = converted(columns, "columns").members ?? []
      write.action = .update(columns: columns, transforms: transforms)
    }
    write.precondition = precondition.map { converted($0, "precondition") }
  }

  /// Refuses the whole write with `LOCAL_CONSTRAINT` when more rows match. 0 to 4294967295.
  @discardableResult
  public func maxAffected(_ count: Int) -> Self {
    if count < 0 || count > Int(UInt32.max) {
      fail(KizunaSyncError.unsupported("maxAffected is 0 to 4294967295, not \(count)"))
    }
    write.maxAffected = count
    return self
  }

  /// The primary keys of the rows written, in key order.
  @discardableResult
  nonisolated(nonsending) public func execute() async throws -> [String] {
    let write = try complete()
    return try await table.client.call { engine throws(KizunaError) in try write.keys(engine) }
  }

  /// Answers the rows: after an update as they are then, after a delete as a read reported them before it.
  public func select(_ columns: String = "*") -> KizunaSyncWriteSelectBuilder {
    KizunaSyncWriteSelectBuilder(client: table.client, projection: columns) { try self.complete() }
  }

  private func complete() throws -> RowWrite {
    try checkChain()
    var write = write
    write.filters = filters
    return write
  }
}

/// An insert or upsert that is to answer something.
public final class KizunaSyncInsertBuilder {
  private let table: KizunaSyncTable
  private let write: Result<RowWrite, any Error>
  private var isUsed = false

  init(_ table: KizunaSyncTable, _ rows: [[String: Any]], _ conflict: RowWrite.Conflict) {
    self.table = table
    write = Result {
      let rows = try rows.enumerated().map { index, row in
        try JSONBridge.members(row, at: rows.count == 1 ? "columns" : "rows[\(index)]")
      }
      return RowWrite(table: table.name, action: .insert(rows: rows, conflict))
    }
  }

  /// In top-level code the compiler takes `insert(_:)` for this builder even where nothing follows it, and only
  /// warns of an unused result. A write must not be lost without a word.
  deinit {
    guard !isUsed else { return }
    FileHandle.standardError.write(
      Data(
        "KizunaSync: rows for \(table.name) were built and never written: add .execute(), or call from a function\n"
          .utf8))
  }

  /// The primary keys of the rows written, in the order given; rows left alone as duplicates are left out.
  @discardableResult
  nonisolated(nonsending) public func execute() async throws -> [String] {
    isUsed = true
    let write = try write.get()
    return try await table.client.call { engine throws(KizunaError) in try write.keys(engine) }
  }

  /// Answers the rows as they are then.
  public func select(_ columns: String = "*") -> KizunaSyncWriteSelectBuilder {
    isUsed = true
    let write = write
    return KizunaSyncWriteSelectBuilder(client: table.client, projection: columns) { try write.get() }
  }
}

/// A write that answers its rows. The number of rows is checked before anything is written.
public final class KizunaSyncWriteSelectBuilder {
  private let client: KizunaSyncClient
  private let projection: String
  private let write: () throws -> RowWrite
  private var stripsNulls = false

  init(client: KizunaSyncClient, projection: String, write: @escaping () throws -> RowWrite) {
    self.client = client
    self.projection = projection
    self.write = write
  }

  /// Leaves null values out of each row.
  @discardableResult
  public func stripNulls() -> Self {
    stripsNulls = true
    return self
  }

  /// A local store has nothing to try again.
  @discardableResult
  public func retry(enabled: Bool) -> Self { self }

  /// An array of rows.
  @discardableResult
  nonisolated(nonsending) public func execute() async throws -> sending Any { try await run(.many) }

  /// The one row; `LOCAL_CONSTRAINT`, and nothing written, if there is none or another.
  @discardableResult
  nonisolated(nonsending) public func single() async throws -> sending Any { try await run(.single) }

  /// The row, or `NSNull`; `LOCAL_CONSTRAINT`, and nothing written, if there is another.
  @discardableResult
  nonisolated(nonsending) public func maybeSingle() async throws -> sending Any {
    try await run(.maybeSingle)
  }

  nonisolated(nonsending) private func run(_ cardinality: RowWrite.Cardinality) async throws -> sending Any {
    let write = try write()
    let (projection, stripsNulls) = (projection, stripsNulls)
    return try await client.call { engine throws(KizunaError) in
      JSONBridge.any(
        try write.rows(engine, projection: projection, cardinality: cardinality, stripsNulls: stripsNulls))
    }
  }
}
