import KizunaEngine

/// How far this store has pulled, and whether sync is blocked.
public struct KizunaSyncCheckpoint: Sendable, Equatable {
  /// `"0"` until the first pull closes.
  public let cursor: String
  public let softBlocked: Bool
  /// `reset_required` or `identity_changed`; nil when not blocked.
  public let softBlockReason: String?
}

/// A write that did not survive: refused by the server, part of an aborted batch, or dropped by the retry budget.
public struct KizunaSyncRejection: Sendable, Equatable {
  public let mutationId: String
  public let table: String
  public let pk: String
  /// `REJECTED`, `SUPERSEDED`, `BATCH_ABORTED` or `DEAD_LETTER`.
  public let kind: String
  public let reason: String
  /// The columns that the write carried.
  public let changedColumns: [String]
  /// The row as the server showed it, as JSON; empty when it sent none.
  public let serverRowJson: String
  /// Milliseconds since the Unix epoch.
  public let at: Int64
  /// True only in answers that asked for dismissed entries.
  public let dismissed: Bool
}

/// A value of this or another device that lost against a newer one.
public struct KizunaSyncOverwrite: Sendable, Equatable {
  public let id: Int64
  public let table: String
  public let pk: String
  public let column: String
  public let loserValueJson: String
  public let winnerMutationId: String
  public let conflictMode: String
  public let winnerSeq: String?
  /// Milliseconds since the Unix epoch.
  public let at: Int64
  public let dismissed: Bool
}

/// Where one attachment's bytes are.
public struct KizunaSyncAttachmentStatus: Sendable, Equatable {
  /// `queued`, `uploading`, `downloading`, `synced`, `failed`, `orphaned`, `evicted` or `missing`.
  public let state: String
  /// Bytes that the server has confirmed.
  public let progress: Int64
  public let error: String?
  public let localPath: String?
  /// Only a retry by hand leaves this failure.
  public let permanent: Bool
  public let errorCode: String?
}

/// A file taken in as an attachment.
public struct KizunaSyncFromFileResult: Sendable, Equatable {
  /// What the row's column holds.
  public let reference: String
  /// Lowercase hexadecimal.
  public let sha256: String
  /// Bytes.
  public let size: Int64
  public let mediaType: String
  public let localPath: String
}

extension KizunaSyncCheckpoint {
  init(_ checkpoint: Checkpoint) {
    self.init(
      cursor: checkpoint.cursor, softBlocked: checkpoint.softBlocked,
      softBlockReason: checkpoint.softBlockReason)
  }
}

extension KizunaSyncRejection {
  init(_ entry: Rejection) {
    self.init(
      mutationId: entry.mutationId, table: entry.table, pk: entry.pk, kind: entry.kind, reason: entry.reason,
      changedColumns: entry.changedColumns, serverRowJson: entry.serverRowJSON, at: entry.at,
      dismissed: entry.dismissed)
  }
}

extension KizunaSyncOverwrite {
  init(_ entry: Overwrite) {
    self.init(
      id: entry.id, table: entry.table, pk: entry.pk, column: entry.column,
      loserValueJson: entry.loserValueJSON, winnerMutationId: entry.winnerMutationId,
      conflictMode: entry.conflictMode, winnerSeq: entry.winnerSeq, at: entry.at, dismissed: entry.dismissed)
  }
}
