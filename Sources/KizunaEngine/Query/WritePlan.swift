/// A write on one table: one local transaction, all its rows and outbox entries or none.
package struct WritePlan: Sendable {
  /// What an insert does with a row that exists already.
  package enum Conflict: Sendable, Hashable {
    /// `23505`.
    case refuse
    /// Upsert on these columns (the key, or a `unique` list); merge the payload's columns.
    case merge(target: [String])
    case ignore(target: [String])
  }
  package enum Action: Sendable {
    /// The rows hold values for `columns` each, in order; nil stands for the column's default.
    case insert(columns: [String], rows: [[JSONValue?]], Conflict)
    /// `assignments` in the order given. A nil value sets the column to its default.
    case update(Filter?, assignments: [(column: String, value: JSONValue?)], transforms: JSONValue?)
    /// On a table with a soft-delete column: stamps it.
    case delete(Filter?)
  }

  package var table: TableSchema
  package var action: Action
  /// What the answer shows of the rows: after an insert or update as they are then, after a delete as a read
  /// reported them before it.
  package var returning: [Output]?
  package var returnsRows = false
  package var order: [OrderBy] = []
  package var format: RowFormat = .array(stripNulls: false)
  package var zone: Zone = .utc
  /// Refuse (`PGRST124`) when more rows match.
  package var maxAffected: Int?
  /// Refuse (`PGRST116`) unless exactly one row is affected.
  package var singular = false
  /// Swift's `maybeSingle`: refuse more than one.
  package var atMostOne = false
  /// Do everything, answer, keep nothing: no row, no outbox entry, no event.
  package var dryRun = false
  /// column → expected value, for the server to compare. Update and delete only.
  package var precondition: JSONValue?
  /// Groups the mutations of one call.
  package var writeId: String
  /// Patterns match the text of any scalar (Swift API); over HTTP only text has `LIKE`.
  package var matchesAnyText = false
  /// Columns that a filter-targeted soft delete writes beside its stamp.
  package var extraColumns: [(column: String, value: JSONValue?)] = []
  package init(_ table: TableSchema, _ action: Action, writeId: String) {
    self.table = table
    self.action = action
    self.writeId = writeId
  }
}

extension WritePlan {
  /// Whether something of it may be refused after something of it has been written.
  var mayFailHalfway: Bool {
    if maxAffected != nil || singular || atMostOne || table.learnsColumns { return true }
    switch action {
    // The statement finds and removes the rows at once; what follows only adds entries.
    case .delete: return table.hidden != nil
    // All checks stand before the row; a returned row could fail in a cast.
    case .insert(_, let rows, .refuse): return rows.count != 1 || returnsRows
    default: return true
    }
  }
}

/// What a write did.
package struct WriteOutcome: Sendable {
  /// Row-key texts: payload order for an insert, key order otherwise. Rows left alone by `ignore` are left out.
  package var keys: [String]
  /// Rows written, and how many of them are new.
  package var affected: Int
  package var inserted: Int
  /// The rows in the plan's format, when it asked for them.
  package var body: [UInt8]
  package init(keys: [String] = [], affected: Int = 0, inserted: Int = 0, body: [UInt8] = []) {
    self.keys = keys
    self.affected = affected
    self.inserted = inserted
    self.body = body
  }
}
