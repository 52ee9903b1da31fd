import KizunaEngine

/// The answer of `status`: what the engine knows, and how its runs fare.
struct StatusAnswer {
  private let engine: Engine
  private let process: ProcessFacts

  init(_ engine: Engine, _ process: ProcessFacts) {
    self.engine = engine
    self.process = process
  }

  func json(_ status: EngineStatus) -> JSONValue {
    let health = process.scheduler?.health()
    return .object([
      JSONMember("phase", .string(Self.phase(status, health).rawValue)),
      JSONMember("consecutive_failures", .integer(Int64(health?.consecutiveFailures ?? 0))),
      JSONMember("next_attempt_at", Self.moment(health?.nextAttemptAt)),
      JSONMember("last_success_at", Self.moment(health?.lastSuccessAt)),
      JSONMember("last_error", health?.lastError.map(Self.error) ?? .null),
      JSONMember("needs_reset", .bool(status.checkpoint.softBlocked)),
      JSONMember("soft_block_reason", Self.optional(status.checkpoint.softBlockReason)),
      JSONMember("outbox_depth", .integer(Int64(status.outboxDepth))),
      JSONMember("oldest_queued_at", Self.optional(status.oldestQueuedAt.map(Self.shown))),
      JSONMember("cursor", .string(status.checkpoint.cursor)),
      JSONMember("client_id", .string(status.clientId)),
      JSONMember("owner", Self.optional(status.owner)), JSONMember("buckets", .object(status.buckets)),
      JSONMember("paused", .bool(status.paused)),
      JSONMember("upstream", Self.optional(engine.configuration.remote?.url)),
      JSONMember("version", .string(process.version)),
    ])
  }

  /// Without an upstream, and while paused, no run is ever due.
  private static func phase(_ status: EngineStatus, _ health: SyncHealth?) -> SyncHealth.Phase {
    status.paused || !status.hasRemote ? .offline : health?.phase ?? .idle
  }

  private static func error(_ fault: SyncHealth.Failure) -> JSONValue {
    .object([
      JSONMember("code", optional(fault.code)), JSONMember("message", .string(fault.message)),
      JSONMember("at", moment(fault.at)),
    ])
  }

  static func optional(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }

  /// Milliseconds since 1970 as the dialect shows a timestamptz.
  static func moment(_ milliseconds: Int64?) -> JSONValue {
    guard let milliseconds else { return .null }
    let moment = Moment(seconds: Int(milliseconds / 1000), micros: Int(milliseconds % 1000) * 1000)
    return .string(shown(moment.stored))
  }

  /// A stored moment as the dialect shows a timestamptz.
  private static func shown(_ stored: String) -> String {
    var buffer = ByteBuffer(capacity: 40)
    SQLValue.text(stored).withRaw { ColumnType.timestamptz.appendJSON($0, to: &buffer, zone: .utc) }
    return String(buffer.string.dropFirst().dropLast())
  }
}
