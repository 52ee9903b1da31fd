import Foundation
import Testing

@testable import KizunaSync

/// A client over a database file of its own. The files go with the process: a table or builder made from the client
/// may outlive this value.
final class LiveClient: Sendable {
  let client = KizunaSyncClient()
  let directory: String
  var path: String { directory + "/test.sqlite" }

  /// Removed when the process ends.
  private static let root: String = {
    atexit { try? FileManager.default.removeItem(atPath: LiveClient.root) }
    return NSTemporaryDirectory() + "kizunasync-test-\(ProcessInfo.processInfo.processIdentifier)"
  }()

  private init() throws {
    directory = Self.root + "/" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  }

  static func open(_ tables: [String: KizunaSyncTableConfig]) async throws -> LiveClient {
    let live = try LiveClient()
    try await live.reopen(tables)
    return live
  }

  func reopen(_ tables: [String: KizunaSyncTableConfig]) async throws {
    try await client.create(KizunaSyncClientConfig(tables: tables, databasePath: path))
  }

  func rows(_ table: String) async throws -> [[String: Any]] {
    try #require(try await client.query(table: table) as? [[String: Any]])
  }

  /// The queued mutations, oldest first.
  func queue() async throws -> [[String: Any]] {
    try #require(try await client.inspect()["queued"] as? [[String: Any]])
  }
}

/// The error of a call that must be refused.
func refusal(_ body: () async throws -> Void) async -> KizunaSyncError? {
  do {
    try await body()
    return nil
  } catch {
    return error as? KizunaSyncError
  }
}

/// The events of a client, in order.
final class EventLog: @unchecked Sendable {
  // `events` is guarded by the lock.
  private let lock = NSLock()
  private var events: [KizunaSyncEngineEvent] = []

  func add(_ event: KizunaSyncEngineEvent) { lock.withLock { events.append(event) } }
  var all: [KizunaSyncEngineEvent] { lock.withLock { events } }
}
