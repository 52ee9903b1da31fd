import KizunaEngine

/// Attachments belong to a store that keeps their files. The engine has none, so no reference names a file here: what
/// would need the store is `ATTACHMENT_PORTS_MISSING`, and what asks about a reference finds nothing.
extension KizunaSyncClient {
  private static let noStore = KizunaError(
    "ATTACHMENT_PORTS_MISSING", "this engine keeps no attachment files")

  /// Takes a file in as an attachment of a row. `UNKNOWN_TABLE`, `ATTACHMENT_PORTS_MISSING`.
  nonisolated(nonsending) public func fromFile(
    table: String, column: String, pk: String, sourcePath: String, mediaType: String? = nil
  ) async throws -> KizunaSyncFromFileResult {
    guard try liveEngine().catalog.table(table) != nil else { throw KizunaSyncError.unknownTable(table) }
    throw KizunaSyncError(Self.noStore)
  }

  /// nil for a reference that no file stands behind.
  nonisolated(nonsending) public func getStatus(
    _ reference: String
  ) async throws -> KizunaSyncAttachmentStatus? {
    _ = try liveEngine()
    return nil
  }

  /// Calls back with each status of the reference from now on. Answers the way to end that.
  nonisolated(nonsending) public func watch(
    _ reference: String, onStatus: @escaping @Sendable (KizunaSyncAttachmentStatus) -> Void
  ) async throws -> @Sendable () -> Void {
    _ = try liveEngine()
    return {}
  }

  /// The local path of a reference's file, fetched when it is not here. `ATTACHMENT_PORTS_MISSING`.
  nonisolated(nonsending) public func resolveDownload(_ reference: String) async throws -> String? {
    _ = try liveEngine()
    throw KizunaSyncError(Self.noStore)
  }

  /// Whether there was a transfer to try again.
  @discardableResult
  nonisolated(nonsending) public func attachmentRetry(_ reference: String) async throws -> Bool {
    _ = try liveEngine()
    return false
  }

  /// Whether there was a transfer to cancel.
  @discardableResult
  nonisolated(nonsending) public func attachmentCancel(_ reference: String) async throws -> Bool {
    _ = try liveEngine()
    return false
  }

  /// The path of the file that the caller must delete; nil if there is none.
  @discardableResult
  nonisolated(nonsending) public func attachmentRemove(_ reference: String) async throws -> String? {
    _ = try liveEngine()
    return nil
  }

  /// Deletes what no row names any more.
  nonisolated(nonsending) public func vacuum() async throws {
    _ = try liveEngine()
  }
}
