/// One mutation as `apply` and `batch` take it.
package struct Mutation: Sendable {
  package enum Op: String, Sendable { case insert, update, delete }
  package var table: String
  /// nil on an insert: derived from the key columns, or minted.
  package var pk: String?
  package var op: Op
  package var columns: [JSONMember]
  package var mutationId: String?
  package var transforms: JSONValue?
  package var precondition: JSONValue?
  package init(
    table: String, pk: String?, op: Op, columns: [JSONMember] = [], mutationId: String? = nil,
    transforms: JSONValue? = nil, precondition: JSONValue? = nil
  ) {
    self.table = table
    self.pk = pk
    self.op = op
    self.columns = columns
    self.mutationId = mutationId
    self.transforms = transforms
    self.precondition = precondition
  }
}

package struct Checkpoint: Sendable, Equatable {
  /// "0" before the first pull closed.
  package var cursor: String
  package var softBlocked: Bool
  /// `reset_required` or `identity_changed`.
  package var softBlockReason: String?
}

package struct Rejection: Sendable, Equatable {
  package var mutationId: String
  package var table: String
  package var pk: String
  package var kind: String
  package var reason: String
  package var changedColumns: [String]
  /// JSON text; empty when the server sent no row.
  package var serverRowJSON: String
  /// Milliseconds since the Unix epoch.
  package var at: Int64
  package var dismissed: Bool
}

package struct Overwrite: Sendable, Equatable {
  package var id: Int64
  package var table: String
  package var pk: String
  package var column: String
  package var loserValueJSON: String
  package var winnerMutationId: String
  package var conflictMode: String
  package var winnerSeq: String?
  package var at: Int64
  package var dismissed: Bool
}

package enum EngineEvent: Sendable, Equatable {
  case localChanged
  case queueDepth(UInt32)
  case mutationRejected(mutationId: String, reason: String)
  case batchAborted(offenderMutationId: String, reason: String)
  case deadLetter(mutationId: String, reason: String)
  case columnOverwritten(
    table: String, pk: String, column: String, loserValueJSON: String, winnerMutationId: String,
    conflictMode: String)
  case checkpointExpired
  case resetRequired(reason: String?)
}

/// What `status` answers, as far as the engine knows it.
package struct EngineStatus: Sendable, Equatable {
  package var outboxDepth: Int
  /// Stored timestamp text of the oldest queued write.
  package var oldestQueuedAt: String?
  package var checkpoint: Checkpoint
  package var clientId: String
  package var owner: String?
  /// bucket column → value, as set in this process.
  package var buckets: [JSONMember]
  package var paused: Bool
  package var hasRemote: Bool
}
