/// A pull of several pages, or of one large page, that has not closed. Its rows wait in side tables that nobody
/// reads; this is what the process remembers beside them. It does not outlive the process: a store that is opened
/// starts over at its durable cursor.
///
/// Used by the one run that has its turn, and by the writer jobs that this run waits for: never by two threads at
/// once.
final class StagedTransfer: @unchecked Sendable {
  /// A reset makes another store of this one.
  let clientId: String
  let scope: Int
  /// What the transfer does not carry goes when it closes.
  let isReplacing: Bool
  /// Where the next page begins.
  var pageCursor: String
  /// One for each table of the catalog.
  var sides: [SideTable?]
  /// The highest number of the pages staged so far.
  var highest: PullSequence?
  /// A page has come out of order: the number of every key is looked at from then on.
  var tracksSequences = false
  var hasTombstones = false
  var hasConflicts = false

  /// How many rows the next step takes.
  private(set) var stepRows = 1000

  /// A step has taken so many milliseconds.
  func adapt(took: Int64) {
    let aim: Int64 = 50
    if took > aim {
      stepRows = max(stepRows / (took > 2 * aim ? 2 : 1) - 100, 100)
    } else {
      stepRows = min(stepRows + 200, 5000)
    }
  }

  init(_ identity: Identity, cursor: String, tables: Int) {
    clientId = identity.clientId
    scope = identity.scope
    isReplacing = identity.restartsPull
    pageCursor = cursor
    sides = Array(repeating: nil, count: tables)
  }

  /// A job was undone: the side tables that it made are gone, and what it did to others is looked up anew.
  func undo(to known: [SideTable?]) {
    sides = known
    for side in sides {
      side?.source = nil
      side?.filling = nil
    }
  }
}

/// A table of the same shape as a synced one, under another name.
final class SideTable {
  /// The catalog's table whose columns it is known to have.
  var source: TableSchema?
  private(set) var schema: TableSchema
  private(set) var replace: String
  /// Whether it has the indexes of the table that it may replace.
  let isIndexed: Bool
  /// Rows that came, a row that came twice counted twice.
  var staged = 0
  /// The table as it will be, being made beside this one: when a table would take too long to be brought up to
  /// date within one transaction.
  var filling: Filling?

  struct Filling {
    let table: SideTable
    /// The table's own rows come first, then the staged ones.
    var isTakingStaged = false
    var after = Int64.min
    var isComplete = false
  }

  init(_ table: TableSchema, named name: String, isIndexed: Bool) {
    self.isIndexed = isIndexed
    source = table
    schema = table.beside(name)
    replace = Self.replace(schema)
  }

  func follow(_ table: TableSchema) {
    source = table
    schema = table.beside(schema.sqlName)
    replace = Self.replace(schema)
  }

  /// Not an upsert: SQLite would keep a journal for that statement.
  private static func replace(_ schema: TableSchema) -> String {
    let columns = schema.columns.map { SQLName.quoted($0.sqlName) }
    return
      "INSERT OR REPLACE INTO \(SQLName.quoted(schema.sqlName))(\(columns.joined(separator: ","))) "
      + "VALUES(\(columns.map { _ in "?" }.joined(separator: ",")))"
  }
}

extension TableSchema {
  fileprivate func beside(_ sqlName: String) -> TableSchema {
    TableSchema(
      name: name, sqlName: sqlName, columns: columns, key: key, bucket: bucket,
      syncMode: syncMode, conflictMode: conflictMode, learnsColumns: learnsColumns)
  }
}
