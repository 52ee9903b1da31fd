import Foundation
import Testing

@testable import KizunaSync

/// A real upstream of its own, served by a child process that all tests of this process share.
final class SeedWorld: Sendable {
  static let ana = "a0a00000-0000-4000-8000-000000000001"
  static let ben = "be000000-0000-4000-8000-000000000001"

  let number: Int
  let url: String
  let key: String
  let anasToken: String
  let bensToken: String

  init() throws {
    let made = try UpstreamProcess.ask(["do": "world"])
    number = try #require(made["world"] as? Int)
    url = try #require(made["url"] as? String)
    key = try #require(made["key"] as? String)
    anasToken = try #require(made["ana"] as? String)
    bensToken = try #require(made["ben"] as? String)
  }

  deinit { _ = try? UpstreamProcess.ask(["do": "close", "world": number]) }

  @discardableResult
  func sql(_ statement: String) throws -> [[Any]] {
    try #require(try ask("sql", ["sql": statement])["rows"] as? [[Any]])
  }

  /// The first value that a statement answers.
  func value(_ statement: String) throws -> Any? { try sql(statement).first?.first }

  func fail(_ fault: [String: Any]) throws { try ask("fail", ["fault": fault]) }
  func clear() throws { try ask("clear") }
  func offline() throws { try ask("offline") }
  func online() throws { try ask("online") }

  /// The bodies of the calls of a function so far.
  func calls(_ function: String) throws -> [[String: Any]] {
    try #require(try ask("calls", ["function": function])["calls"] as? [[String: Any]])
  }

  @discardableResult
  private func ask(_ command: String, _ more: [String: Any] = [:]) throws -> [String: Any] {
    try UpstreamProcess.ask(more.merging(["do": command, "world": number]) { first, _ in first })
  }

  /// A client of one of the two users, over a file of its own.
  func client(
    _ tables: [String: KizunaSyncTableConfig] = [
      "todos": KizunaSyncTableConfig(bucket: .byColumn("team_id"))
    ],
    token: String? = nil, limit: Int? = nil
  ) async throws -> SeedClient {
    let remote = KizunaSyncRemoteConfig(url: url, publishableKey: key, accessToken: token ?? anasToken)
    return try await SeedClient.open(tables, remote: remote, limit: limit)
  }
}

/// A client whose database file outlives a `reopen`.
final class SeedClient: Sendable {
  let client = KizunaSyncClient()
  private let live: LiveClient
  private let configuration: KizunaSyncClientConfig

  private init(_ live: LiveClient, _ configuration: KizunaSyncClientConfig) {
    self.live = live
    self.configuration = configuration
  }

  static func open(
    _ tables: [String: KizunaSyncTableConfig], remote: KizunaSyncRemoteConfig, limit: Int?
  ) async throws -> SeedClient {
    let live = try await LiveClient.open(tables)
    await live.client.dispose()
    let configuration = KizunaSyncClientConfig(
      tables: tables, databasePath: live.path, remote: remote, defaultLimit: limit)
    let opened = SeedClient(live, configuration)
    try await opened.client.create(configuration)
    return opened
  }

  /// As a new start of the app: the same file, a new engine.
  func reopen() async throws {
    await client.dispose()
    try await client.create(configuration)
  }

  /// Scopes the client and syncs it.
  func exchange(_ team: String = "kitchen") async throws {
    try await client.setBucket(["team_id": team])
    try await client.sync()
  }

  func ids(_ table: String = "todos") async throws -> [String] {
    let rows = try #require(try await client.query(table: table) as? [[String: Any]])
    return rows.compactMap { $0["id"] as? String }
  }

  func row(_ key: String, of table: String = "todos") async throws -> [String: Any]? {
    try await client.from(table).select().eq("id", key).maybeSingle() as? [String: Any]
  }
}

/// The child that serves the worlds. It ends when this process does, since its input ends then.
private final class UpstreamProcess: @unchecked Sendable {
  private static let shared = Result { try UpstreamProcess() }
  // `lock` makes a command and its answer one exchange.
  private let lock = NSLock()
  private let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private var pending = Data()

  private init() throws {
    let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/python3")
    process.arguments = [tests.appendingPathComponent("Sync/swift_upstream.py").path]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
  }

  static func ask(_ command: [String: Any]) throws -> [String: Any] {
    let answer = try shared.get().exchange(JSONSerialization.data(withJSONObject: command))
    let object = try #require(try JSONSerialization.jsonObject(with: answer) as? [String: Any])
    if let error = object["error"] as? String { throw UpstreamFailure(error: error) }
    return object
  }

  private func exchange(_ line: Data) throws -> Data {
    try lock.withLock {
      try input.fileHandleForWriting.write(contentsOf: line + Data([0x0A]))
      while true {
        if let end = pending.firstIndex(of: 0x0A) {
          let answer = Data(pending[..<end])
          pending = Data(pending[pending.index(after: end)...])
          return answer
        }
        let more = output.fileHandleForReading.availableData
        guard !more.isEmpty else { throw UpstreamFailure(error: "the upstream process ended") }
        pending += more
      }
    }
  }
}

struct UpstreamFailure: Error {
  let error: String
}
