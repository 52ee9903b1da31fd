import Foundation
import Testing

@testable import KizunaEngine

private let probeRows = ProcessInfo.processInfo.environment["KIZUNA_PROBE"].flatMap { Int($0) } ?? 0

/// Speed, memory and the longest stall of a local write under large transfers. Run by hand:
/// `KIZUNA_PROBE=100000 swift test -c release -Xswiftc -enable-testing --filter PullProbe`
@Suite(.enabled(if: probeRows > 0))
struct PullProbe {

  /// Pages of generated rows, made when they are asked for.
  private final class Generator: Remote {
    let plan = Guarded<(range: Range<Int>, page: Int, version: Int, signal: String?)>((0..<0, 500, 0, nil))
    let spent = Guarded<Double>(0)

    func call(_ function: String, body: [UInt8], token: String) throws(RemoteFault) -> [UInt8] {
      let began = PullProbe.now()
      defer { spent.with { $0 += PullProbe.now() - began } }
      return Array(
        plan.with { plan -> String in
          if let signal = plan.signal {
            plan.signal = nil
            return
              #"{"cursor":"1","has_more":false,"rows":[],"tombstones":[],"signal":{"type":"\#(signal)"}}"#
          }
          let first = plan.range.lowerBound
          let end = min(first + plan.page, plan.range.upperBound)
          var text = #"{"rows":["#
          text.reserveCapacity(300 * plan.page)
          for number in first..<end {
            if number > first { text += "," }
            let id = PullProbe.id(number)
            text +=
              #"{"pk":"\#(id)","row":{"id":"\#(id)","list_id":"list\#(number % 1000)","title":"todo number \#(number) of version \#(plan.version)","done":\#(number % 2 == 0),"n":\#(number),"created_at":"2026-01-01T10:00:00.123456+00:00"},"seq":"\#(number + 1 + plan.version * 100_000_000)","table":"todos"}"#
          }
          let hasMore = end < plan.range.upperBound
          plan.range = end..<plan.range.upperBound
          return text
            + #"],"cursor":"\#(hasMore ? "0:\(end)" : "\(end)")","signal":null,"has_more":\#(hasMore),"tombstones":[]}"#
        }.utf8)
    }
    func cancel() {}
  }

  static func id(_ number: Int) -> String {
    var mixed = UInt64(number) &* 0x9E37_79B9_7F4A_7C15
    mixed ^= mixed >> 29
    let high = String(mixed, radix: 16)
    let hex = String(repeating: "0", count: 16 - high.count) + high + "0000000000000000"
    let digits = Array(hex)
    return [0..<8, 8..<12, 12..<16, 16..<20, 20..<32].map { String(digits[$0]) }.joined(separator: "-")
  }

  static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private static func memory(_ key: String) -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix(key) }
    return line.flatMap { Int($0.split(separator: " ").dropLast().last ?? "") }.map { $0 / 1024 } ?? 0
  }

  private static var todos: EngineConfiguration.Table {
    EngineFixture.table([
      "id": "uuid", "list_id": "text", "title": "text", "done": "boolean", "n": "integer",
      "created_at": "timestamptz",
    ]) { $0.indexes = [["list_id", "title"]] }
  }

  @Test func measure() throws {
    let directory = try TestDirectory()
    let drafts = EngineFixture.table(["id": "text", "body": "text"])
    var configuration = EngineFixture.configuration(
      directory.database, [("todos", Self.todos), ("drafts", drafts)])
    configuration.remote = EngineConfiguration.Remote(url: "http://127.0.0.1:9", publishableKey: "key")
    let generator = Generator()
    let engine = try Engine.open(configuration, remote: generator)
    try engine.setAccessToken(EngineFixture.token("u1"))
    let loop = try Self.plainLoop(directory.path + "/plain.sqlite")
    print("plain upsert loop: \(Int(Double(probeRows) / loop)) rows/s, RSS \(Self.memory("VmRSS")) MiB")
    func run(_ name: String, _ range: Range<Int>, page: Int, version: Int, signal: String? = nil) throws {
      generator.plan.with { $0 = (range, page, version, signal) }
      generator.spent.with { $0 = 0 }
      let began = Self.now()
      let stall = try Self.whileWriting(engine) {
        try engine.turnstile.pass { () throws(KizunaError) in try PullRun(engine: engine).pullAll() }
      }
      let spent = Self.now() - began - generator.spent.with { $0 }
      print(
        "\(name): \(Int(Double(range.count) / spent)) rows/s (\(String(format: "%.2f", spent / (loop * Double(range.count) / Double(probeRows)))) of the loop's time), longest write \(Int(stall.longest * 1000)) ms of \(stall.count), RSS \(Self.memory("VmRSS")) peak \(Self.memory("VmHWM")) MiB"
      )
    }
    try run("bootstrap, pages of 500", 0..<probeRows, page: 500, version: 0)
    try run("rehydration, pages of 5000", 0..<probeRows, page: 5000, version: 1, signal: "CHECKPOINT_EXPIRED")
    try run("increment of a tenth", 0..<probeRows / 10, page: 5000, version: 2)
    try run("increment of all", 0..<probeRows, page: 5000, version: 3)
    try run("polls of 500", 0..<500, page: 500, version: 4)
    let count = try engine.query(
      table: "todos",
      plan: .object([JSONMember("count", .string("exact")), JSONMember("limit", .integer(1))]))
    print(count.jsonText.prefix(200))
    engine.close()
  }

  /// Local writes, one after another, for as long as `body` runs.
  private static func whileWriting(
    _ engine: Engine, _ body: () throws -> Void
  ) throws -> (longest: Double, count: Int) {
    let state = Guarded<(stop: Bool, longest: Double, count: Int)>((false, 0, 0))
    let thread = KizunaEngine.Thread(name: "probe") {
      while !state.with({ $0.stop }) {
        let began = now()
        try? engine.apply(
          Mutation(
            table: "drafts", pk: UUIDText.v7(), op: .insert, columns: [JSONMember("body", .string("x"))]))
        let took = now() - began
        state.with { state in
          state.longest = max(state.longest, took)
          state.count += 1
        }
        usleep(2000)
      }
    }
    defer { thread.join() }
    defer { state.with { $0.stop = true } }
    try body()
    return state.with { ($0.longest, $0.count) }
  }

  /// The same rows through one prepared statement, bound from values at hand, 5,000 a transaction.
  private static func plainLoop(_ path: String) throws -> Double {
    let connection = try Connection(path: path, readOnly: false)
    try connection.execute(
      """
      PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=10000; PRAGMA cache_size=-16384;
      CREATE TABLE todos(id TEXT, list_id TEXT, title TEXT, done INTEGER, n INTEGER, created_at TEXT, PRIMARY KEY(id));
      CREATE INDEX i ON todos(list_id, title);
      """)
    let statement = try connection.prepare(
      """
      INSERT INTO todos VALUES(?,?,?,?,?,?) ON CONFLICT(id) DO UPDATE SET list_id=excluded.list_id,
      title=excluded.title, done=excluded.done, n=excluded.n, created_at=excluded.created_at
      """)
    let began = now()
    var number = 0
    while number < probeRows {
      try connection.execute("BEGIN")
      for _ in 0..<5000 where number < probeRows {
        statement.bind([
          .text(id(number)), .text("list\(number % 1000)"), .text("todo number \(number) of version 0"),
          .integer(Int64(number % 2)), .integer(Int64(number)), .text("2026-01-01 10:00:00.123456"),
        ])
        _ = try statement.step()
        statement.reset()
        number += 1
      }
      try connection.execute("COMMIT")
    }
    return now() - began
  }
}
