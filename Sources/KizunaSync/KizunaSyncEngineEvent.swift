import KizunaEngine

/// What the engine tells, once what it tells is durable. Delivered on one thread of the client, one at a time, in the
/// order of emission; a handler may call the client.
public enum KizunaSyncEngineEvent: Sendable, Equatable {
  /// Rows may have changed. Carries nothing: read again.
  case localChanged
  /// After a local write: how many writes the next run will send.
  case queueDepth(depth: UInt32)
  /// An entry has landed in the rejection journal.
  case mutationRejected(mutationId: String, reason: String)
  case batchAborted(offenderMutationId: String, reason: String)
  case deadLetter(mutationId: String, reason: String)
  case columnOverwritten(
    table: String, pk: String, column: String, loserValueJson: String, winnerMutationId: String,
    conflictMode: String)
  /// The server has forgotten the cursor; the next pull fetches everything.
  case checkpointExpired
  /// Sync is blocked until `reset`.
  case resetRequired(reason: String?)

  /// The event's name in every Kizuna SDK.
  public var name: String {
    switch self {
    case .localChanged: "LOCAL_CHANGED"
    case .queueDepth: "QUEUE_DEPTH"
    case .mutationRejected: "MUTATION_REJECTED"
    case .batchAborted: "BATCH_ABORTED"
    case .deadLetter: "DEAD_LETTER"
    case .columnOverwritten: "COLUMN_OVERWRITTEN"
    case .checkpointExpired: "CHECKPOINT_EXPIRED"
    case .resetRequired: "RESET_REQUIRED"
    }
  }
}

extension KizunaSyncEngineEvent {
  init(_ event: EngineEvent) {
    switch event {
    case .localChanged: self = .localChanged
    case .queueDepth(let depth): self = .queueDepth(depth: depth)
    case .mutationRejected(let id, let reason): self = .mutationRejected(mutationId: id, reason: reason)
    case .batchAborted(let id, let reason): self = .batchAborted(offenderMutationId: id, reason: reason)
    case .deadLetter(let id, let reason): self = .deadLetter(mutationId: id, reason: reason)
    case .columnOverwritten(let table, let pk, let column, let loser, let winner, let mode):
      self = .columnOverwritten(
        table: table, pk: pk, column: column, loserValueJson: loser, winnerMutationId: winner,
        conflictMode: mode)
    case .checkpointExpired: self = .checkpointExpired
    case .resetRequired(let reason): self = .resetRequired(reason: reason)
    }
  }
}
