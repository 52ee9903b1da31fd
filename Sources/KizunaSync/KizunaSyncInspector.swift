import Foundation
import KizunaEngine

/// What a debug screen shows of the engine at one moment.
public struct KizunaSyncInspectorSnapshot {
  /// The head of the outbox, oldest first.
  public let queued: [[String: Any]]
  public let depth: Int
  /// The last write that the server applied; nil until one was.
  public let lastMutationId: String?
  public let cursor: String
  public let clientId: String
}

/// One verdict that the inspector saw.
public struct KizunaSyncInspectorVerdict: Sendable, Equatable {
  public let mutationId: String
  /// `rejected`, `aborted` or `overwritten`.
  public let kind: String
  /// The server's reason; for `overwritten`, `<table>.<column>`.
  public let reason: String
  public let at: Date
}

/// Watches one engine: a snapshot on demand, and the last 50 verdicts, which stay readable after `dispose`.
public final class KizunaSyncInspector: @unchecked Sendable {
  // `verdictRing`, `listeners`, `nextListener` and `unsubscribe` are guarded by the lock.
  private static let capacity = 50
  private let engine: Engine
  private let queue = DispatchQueue(label: "kizunasync.inspector")
  private let lock = NSLock()
  private var verdictRing: [KizunaSyncInspectorVerdict] = []
  private var listeners: [(id: Int, call: @Sendable () -> Void)] = []
  private var nextListener = 0
  private var unsubscribe: (@Sendable () -> Void)?

  init(watching engine: Engine) {
    self.engine = engine
    unsubscribe = engine.subscribe { [weak self] event in self?.met(KizunaSyncEngineEvent(event)) }
  }

  nonisolated(nonsending) public func snapshot() async throws -> sending KizunaSyncInspectorSnapshot {
    let engine = engine
    return try await withCheckedThrowingContinuation { continuation in
      queue.async {
        do throws(KizunaError) {
          continuation.resume(returning: KizunaSyncInspectorSnapshot(try engine.inspect()))
        } catch {
          continuation.resume(throwing: KizunaSyncError(error))
        }
      }
    }
  }

  /// A copy, oldest first.
  public func verdicts() -> [KizunaSyncInspectorVerdict] { lock.withLock { verdictRing } }

  /// Calls back after every engine event and after `clear`. Answers the way to end that.
  @discardableResult
  public func subscribe(_ listener: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
    let id = lock.withLock {
      nextListener += 1
      listeners.append((nextListener, listener))
      return nextListener
    }
    return { [weak self] in
      guard let self else { return }
      lock.withLock { listeners.removeAll { $0.id == id } }
    }
  }

  /// Forgets the verdicts.
  public func clear() {
    lock.withLock { verdictRing.removeAll() }
    tell()
  }

  /// The ring stays as it is now.
  func detach() {
    let unsubscribe = lock.withLock {
      defer { self.unsubscribe = nil }
      return self.unsubscribe
    }
    unsubscribe?()
  }

  func met(_ event: KizunaSyncEngineEvent) {
    lock.withLock { record(event) }
    tell()
  }

  private func tell() {
    for listener in lock.withLock({ listeners }) { listener.call() }
  }

  private func record(_ event: KizunaSyncEngineEvent) {
    switch event {
    case .mutationRejected(let id, let reason):
      // The refusal of a batch has been told already, as its abort.
      if let last = verdictRing.last, last.kind == "aborted", last.mutationId == id { return }
      append(id, "rejected", reason)
    case .batchAborted(let id, let reason): append(id, "aborted", reason)
    case .columnOverwritten(let table, _, let column, _, let winner, _):
      append(winner, "overwritten", "\(table).\(column)")
    case .localChanged, .queueDepth, .deadLetter, .checkpointExpired, .resetRequired: break
    }
  }

  private func append(_ id: String, _ kind: String, _ reason: String) {
    if verdictRing.count == Self.capacity { verdictRing.removeFirst() }
    verdictRing.append(KizunaSyncInspectorVerdict(mutationId: id, kind: kind, reason: reason, at: Date()))
  }
}

extension KizunaSyncInspectorSnapshot {
  init(_ answer: JSONValue) {
    self.init(
      queued: (answer["queued"]?.elements ?? []).compactMap(\.members).map { JSONBridge.dictionary($0) },
      depth: Int(answer["depth"]?.int64 ?? 0), lastMutationId: answer["last_mutation_id"]?.text,
      cursor: answer["cursor"]?.text ?? "0", clientId: answer["client_id"]?.text ?? "")
  }
}
