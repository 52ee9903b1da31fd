import Foundation
import KizunaEngine

/// One local store and what syncs it. Every call runs the engine on a queue of the client's own, so that none blocks
/// the caller's thread; all fail with `ENGINE_UNAVAILABLE` before `create` and after `dispose`, and may fail with
/// `STORE` when the database does.
public final class KizunaSyncClient: Sendable {
  private let state = State()
  /// Calls on the database. They may block while they wait for its writer, each on a thread of the queue.
  private let calls = DispatchQueue(label: "kizunasync.calls", attributes: .concurrent)
  /// Calls that run one at a time, in arrival order, and may wait for the network.
  private let runs = DispatchQueue(label: "kizunasync.runs")
  /// Opening and closing.
  private let lifecycle = DispatchQueue(label: "kizunasync.lifecycle")

  public init() {}

  /// Opens the store; touches no network. On a live client it replaces the engine and ends its subscriptions.
  ///
  /// Throws `ATTACHMENT_PORTS_MISSING` when a table has attachments and no `attachmentRoot` is given, and
  /// `CONFIG_INVALID`, whose message names the field, when the configuration cannot be.
  nonisolated(nonsending) public func create(_ config: KizunaSyncClientConfig) async throws {
    if config.declaresAttachments, config.attachmentRoot == nil {
      throw KizunaSyncError.engine(
        code: "ATTACHMENT_PORTS_MISSING",
        message: "tables declare attachments, and attachment_root is not set")
    }
    let configuration = config.engineConfiguration
    let state = state
    try await Self.hop(to: lifecycle) { () throws(KizunaSyncError) in
      try Self.check(configuration)
      // A database may be open once only, so the old engine goes first.
      state.replace(by: nil)
      state.replace(by: try Self.open(configuration))
    }
  }

  /// What a broken configuration must not cost: the engine that is open already.
  private static func check(_ configuration: EngineConfiguration) throws(KizunaSyncError) {
    do throws(KizunaError) { try configuration.validate() } catch { throw KizunaSyncError(error) }
    guard let root = configuration.attachmentRoot else { return }
    do {
      try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: true)
    } catch {
      throw .engine(code: "CONFIG_INVALID", message: "attachment_root: could not make \(root)")
    }
  }

  private static func open(_ configuration: EngineConfiguration) throws(KizunaSyncError) -> Engine {
    do throws(KizunaError) { return try Engine.open(configuration) } catch {
      var error = error
      if error.code == "STORE" {
        error.code = "CONFIG_INVALID"
        error.message = "database_path: " + error.message
      }
      throw KizunaSyncError(error)
    }
  }

  /// Closes the store. The client can be created again.
  nonisolated(nonsending) public func dispose() async {
    let state = state
    await withCheckedContinuation { continuation in
      lifecycle.async {
        state.replace(by: nil)
        continuation.resume()
      }
    }
  }

  /// The named table; `UNKNOWN_TABLE` if it is not configured, or no engine is open.
  public func from(_ table: String) throws -> KizunaSyncTable {
    guard let engine = state.engine, engine.catalog.table(table) != nil else {
      throw KizunaSyncError.unknownTable(table)
    }
    return KizunaSyncTable(client: self, name: table)
  }

  /// The live engine's inspector: the same one on every call.
  nonisolated(nonsending) public func inspector() async throws -> KizunaSyncInspector {
    try state.inspector()
  }

  func liveEngine() throws(KizunaSyncError) -> Engine {
    guard let engine = state.engine else { throw .noEngine }
    return engine
  }

  // MARK: Hopping

  /// Runs a call on the database off the caller's thread.
  nonisolated(nonsending) func call<Answer>(
    _ body: @escaping @Sendable (Engine) throws(KizunaError) -> sending Answer
  ) async throws -> sending Answer {
    try await run(on: calls, body)
  }

  /// Runs a call that must wait for its turn.
  nonisolated(nonsending) func inTurn<Answer>(
    _ body: @escaping @Sendable (Engine) throws(KizunaError) -> sending Answer
  ) async throws -> sending Answer {
    try await run(on: runs, body)
  }

  nonisolated(nonsending) private func run<Answer>(
    on queue: DispatchQueue, _ body: @escaping @Sendable (Engine) throws(KizunaError) -> sending Answer
  ) async throws -> sending Answer {
    let engine = try liveEngine()
    return try await Self.hop(to: queue) { () throws(KizunaSyncError) in
      do throws(KizunaError) { return try body(engine) } catch { throw KizunaSyncError(error) }
    }
  }

  nonisolated(nonsending) private static func hop<Answer>(
    to queue: DispatchQueue, _ body: @escaping @Sendable () throws(KizunaSyncError) -> sending Answer
  ) async throws -> sending Answer {
    try await withCheckedThrowingContinuation { continuation in
      queue.async {
        do throws(KizunaSyncError) {
          continuation.resume(returning: try body())
        } catch {
          continuation.resume(throwing: error)
        }
      }
    }
  }
}

extension KizunaSyncClient {
  /// The engine that is open, and its inspector. Guarded by the lock.
  private final class State: @unchecked Sendable {
    private let lock = NSLock()
    private var current: Engine?
    private var currentInspector: KizunaSyncInspector?

    var engine: Engine? { lock.withLock { current } }

    func inspector() throws(KizunaSyncError) -> KizunaSyncInspector {
      lock.lock()
      defer { lock.unlock() }
      guard let current else { throw .noEngine }
      if let currentInspector { return currentInspector }
      let inspector = KizunaSyncInspector(watching: current)
      currentInspector = inspector
      return inspector
    }

    /// The engine that goes is closed outside the lock: handlers that still run may call the client.
    func replace(by engine: Engine?) {
      let (old, inspector) = lock.withLock {
        let old = (current, currentInspector)
        current = engine
        currentInspector = nil
        return old
      }
      inspector?.detach()
      old?.close()
    }

    deinit { current?.close() }
  }
}
