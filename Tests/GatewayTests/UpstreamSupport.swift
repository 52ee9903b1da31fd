import Foundation
import KizunaEngine
import Testing

@testable import Gateway

/// An upstream that answers as a script says.
final class ScriptedRemote: Remote {
  /// What becomes of the mutations of one push, or of a pull.
  enum Step: Sendable {
    case applied
    /// Refused all, each with its row as JSON text.
    case refused(reason: String, row: String)
    case aborted(offender: Int, reason: String)
    case body(String)
    case fault(RemoteFault)
  }

  private let steps: Guarded<[Step]>
  private let calls = Guarded<[(function: String, body: JSONValue)]>([])

  init(_ steps: Step...) { self.steps = Guarded(steps) }

  /// The functions called so far.
  var called: [String] { calls.with { $0.map(\.function) } }

  func call(_ function: String, body: [UInt8], token: String) throws(RemoteFault) -> [UInt8] {
    let request = (try? body.withUnsafeBufferPointer { try JSONParser.parse($0) }) ?? .null
    calls.with { $0.append((function, request)) }
    if function == "pull" {
      let cursor = request["cursor"]?.text ?? "0"
      return Array(#"{"rows":[],"tombstones":[],"cursor":"\#(cursor)","has_more":false}"#.utf8)
    }
    let step = steps.with { $0.isEmpty ? Step.applied : $0.removeFirst() }
    let ids = (request["batch"]?["mutations"]?.elements ?? []).map { $0["mutation_id"]?.text ?? "" }
    switch step {
    case .applied: return Self.verdicts(ids.map { #"{"mutation_id":"\#($0)","verdict":"applied"}"# })
    case .refused(let reason, let row):
      return Self.verdicts(
        ids.map {
          #"{"mutation_id":"\#($0)","verdict":"rejected","reason":"\#(reason)","server_row":\#(row)}"#
        })
    case .aborted(let offender, let reason):
      let batch =
        #""outcome":"aborted","offender_mutation_id":"\#(ids[offender])","reason":"\#(reason)","server_row":null"#
      return Array("{\"batch\":{\(batch)}}".utf8)
    case .body(let text): return Array(text.utf8)
    case .fault(let fault): throw fault
    }
  }

  func cancel() {}

  private static func verdicts(_ items: [String]) -> [UInt8] {
    Array("{\"verdicts\":[\(items.joined(separator: ","))]}".utf8)
  }
}

/// A gateway in this process, before an upstream that follows a script.
final class SyncedGateway {
  let engine: Engine
  let remote: ScriptedRemote
  private let server: GatewayServer
  private var base = ""

  init(_ remote: ScriptedRemote, scheduler: ((Engine) -> SyncScheduler)? = nil) throws {
    self.remote = remote
    var configuration = GatewayConfiguration()
    configuration.database = ":memory:"
    configuration.listen = [.tcp(host: "127.0.0.1", port: 0)]
    // Shorter than any wait below.
    configuration.idleTimeoutS = 1
    configuration.tables = [("todos", Self.table(.readWrite)), ("notes", Self.table(.localOnly))]
    engine = try Engine.open(configuration.engineConfiguration(), remote: remote)
    try engine.setAccessToken("token")
    server = GatewayServer(
      configuration: configuration, engine: engine,
      process: ProcessFacts(version: "9", scheduler: scheduler?(engine), stop: {}))
    base = try #require(try server.start().first)
  }

  deinit {
    server.stop(deadlineSeconds: 5)
    engine.close()
  }

  /// Ends the server as the process does.
  func stop() { server.stop(deadlineSeconds: 5) }

  private static func table(_ mode: TableSchema.SyncMode) -> EngineConfiguration.Table {
    var table = EngineConfiguration.Table()
    table.columns = [("id", "text"), ("title", "text")]
    table.syncMode = mode
    return table
  }

  func ask(_ method: String, _ path: String, _ body: String? = nil, _ headers: String...) -> CurlClient.Answer
  {
    Self.ask(base, method, path, body, headers)
  }

  private static func ask(
    _ base: String, _ method: String, _ path: String, _ body: String?, _ headers: [String]
  ) -> CurlClient.Answer {
    let client = CurlClient(base)
    return (try? client.request(method, path, body: body, headers: ["Expect:"] + headers))
      ?? CurlClient.Answer()
  }

  /// Asks on a thread of its own; the answer comes by `Pending.answer`.
  func begin(_ method: String, _ path: String, _ body: String? = nil, _ headers: String...) -> Pending {
    let pending = Pending()
    let base = base
    pending.thread = KizunaEngine.Thread(name: "asker") {
      pending.take(Self.ask(base, method, path, body, headers))
    }
    return pending
  }

  /// Waits until mutations are queued.
  func waitForQueue(_ depth: Int) throws {
    let end = monotonicMilliseconds() + 10_000
    while try engine.outboxDepth() < depth {
      try #require(monotonicMilliseconds() < end, "nothing was queued")
      usleep(2000)
    }
  }

  func raw() throws -> RawClient {
    let port = try #require(base.split(separator: ":").last.flatMap { UInt16($0) })
    return try RawClient(BoundAddress(address: .tcp(host: "127.0.0.1", port: port)))
  }
}

/// A request whose answer is awaited elsewhere.
final class Pending: @unchecked Sendable {
  private let lock = Lock()
  // Under the lock, but for the thread, which only its maker touches.
  private var answered: CurlClient.Answer?
  fileprivate var thread: KizunaEngine.Thread?

  var isAnswered: Bool { lock.locked { answered != nil } }

  fileprivate func take(_ answer: CurlClient.Answer) {
    lock.locked {
      answered = answer
      lock.signal()
    }
  }

  func answer() -> CurlClient.Answer {
    thread?.join()
    thread = nil
    return lock.locked { answered ?? CurlClient.Answer() }
  }
}

extension CurlClient.Answer {
  var json: JSONValue {
    (try? Array(body.utf8).withUnsafeBufferPointer { try JSONParser.parse($0) }) ?? .null
  }
}
