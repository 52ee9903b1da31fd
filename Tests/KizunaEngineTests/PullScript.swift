import Foundation

@testable import KizunaEngine

/// An upstream that answers pulls by a script, and keeps what was asked of it. Pushes are refused as by a broken line.
final class PullScript: Remote {
  typealias Answer = @Sendable (_ body: JSONValue) throws(RemoteFault) -> String

  private let answers = Guarded<[Answer]>([])
  private let asked = Guarded<[JSONValue]>([])

  func then(_ answer: @escaping Answer) { answers.with { $0.append(answer) } }
  func then(_ text: String) { then { _ in text } }
  func fail(_ code: String?) {
    then { (_: JSONValue) throws(RemoteFault) -> String in throw RemoteFault(code: code, "refused") }
  }

  /// A page: rows as `table pk seq {row}`, removed keys as `table pk seq`.
  func page(_ cursor: String, more: Bool = false, _ entries: String..., conflicts: String? = nil) {
    then(Self.text(cursor, more: more, entries, conflicts: conflicts))
  }

  static func text(
    _ cursor: String, more: Bool = false, _ entries: [String], conflicts: String? = nil
  ) -> String {
    var rows: [String] = []
    var tombstones: [String] = []
    for entry in entries {
      let parts = entry.split(separator: " ", maxSplits: 3).map(String.init)
      let head = #""pk":"\#(parts[1])","seq":"\#(parts[2])","table":"\#(parts[0])""#
      if parts.count > 3 {
        rows.append(#"{"row":\#(parts[3]),\#(head)}"#)
      } else {
        tombstones.append(#"{\#(head),"deleted_at":"2026-04-02T08:15:30.114+00:00"}"#)
      }
    }
    return """
      {"rows":[\(rows.joined(separator: ","))],"cursor":"\(cursor)","signal":null,"has_more":\(more),
       \(conflicts.map { "\"conflicts\":\($0)," } ?? "")"tombstones":[\(tombstones.joined(separator: ","))]}
      """
  }

  func signal(_ type: String) {
    then { body in
      #"{"rows":[],"tombstones":[],"has_more":false,"cursor":\#((body["cursor"] ?? .null).jsonText),"signal":{"type":"\#(type)"}}"#
    }
  }

  func call(_ function: String, body: [UInt8], token: String) throws(RemoteFault) -> [UInt8] {
    guard function == "pull" else { throw RemoteFault("the line is down") }
    let parsed = (try? JSONParser.parse(String(decoding: body, as: UTF8.self))) ?? .null
    asked.with { $0.append(parsed) }
    guard let next = answers.with({ $0.isEmpty ? nil : $0.removeFirst() }) else {
      return Array(Self.text(parsed["cursor"]?.text ?? "", []).utf8)
    }
    return Array(try next(parsed).utf8)
  }

  func cancel() {}

  var bodies: [JSONValue] { asked.with { $0 } }
  var cursors: [String] { bodies.map { $0["cursor"]?.text ?? "?" } }
  var waiting: Int { answers.with { $0.count } }
}

/// An engine with a scripted upstream, signed in as `u1`.
final class PullFixture {
  private(set) var engine: Engine
  let script = PullScript()
  private let directory: TestDirectory
  private var configuration: EngineConfiguration

  init(
    _ tables: [(String, EngineConfiguration.Table)], token: String? = "u1",
    _ change: (inout EngineConfiguration) -> Void = { _ in }
  ) throws {
    directory = try TestDirectory()
    configuration = EngineFixture.configuration(directory.database, tables)
    configuration.remote = EngineConfiguration.Remote(url: "http://127.0.0.1:9", publishableKey: "key")
    change(&configuration)
    engine = try Engine.open(configuration, remote: script)
    if let token { try engine.setAccessToken(EngineFixture.token(token)) }
  }

  deinit { engine.close() }

  /// Closes the store and opens it again.
  func reopen(_ change: (inout EngineConfiguration) -> Void = { _ in }) throws {
    engine.close()
    change(&configuration)
    engine = try Engine.open(configuration, remote: script)
    try engine.setAccessToken(EngineFixture.token("u1"))
  }

  /// One page; "-" or the code that it fails with.
  @discardableResult
  func pull() -> String { EngineFixture.code { try engine.pullOnce() } }
  /// Pages until the sequence closes.
  @discardableResult
  func pullAll() -> String {
    EngineFixture.code {
      try engine.turnstile.pass { () throws(KizunaError) in try PullRun(engine: engine).pullAll() }
    }
  }

  func json(_ text: String) -> JSONValue { (try? JSONParser.parse(text)) ?? .null }

  @discardableResult
  func apply(
    _ op: Mutation.Op, _ table: String, _ pk: String?, _ columns: String = "{}", transforms: String? = nil
  )
    -> String
  {
    EngineFixture.code {
      try engine.apply(
        Mutation(
          table: table, pk: pk, op: op, columns: json(columns).members ?? [],
          transforms: transforms.map { json($0) }))
    }
  }

  func rows(_ table: String) -> String {
    (try? engine.query(table: table, plan: .object([])).jsonText) ?? "?"
  }

  /// The keys of a table's rows by their column `id`, in key order.
  func keys(_ table: String) -> String {
    let rows = (try? engine.query(table: table, plan: .object([])))?.elements ?? []
    return rows.map { $0["id"]?.text ?? $0["id"]?.jsonText ?? "?" }.joined(separator: ",")
  }

  func sql(_ text: String) -> [String] {
    (try? engine.writer.perform { context throws(KizunaError) in
      let statement = try context.connection.prepare(text)
      var lines: [String] = []
      while try statement.step() {
        lines.append(
          (0..<statement.columnCount).map { RowText.shown(statement.value($0), .text) }.joined(separator: "|")
        )
      }
      return lines
    }) ?? ["?"]
  }

  var cursor: String { (try? engine.checkpoint().cursor) ?? "?" }
  var depth: Int { (try? engine.outboxDepth()) ?? -1 }
  /// What is left of transfers in the database.
  var leftovers: [String] {
    sql(
      "SELECT name FROM sqlite_schema WHERE name LIKE '\\_kizunasync\\_staged%' ESCAPE '\\' OR name LIKE '\\_kizunasync\\_retired%' ESCAPE '\\' OR name LIKE '\\_kizunasync\\_filled%' ESCAPE '\\'"
    )
      + sql("SELECT 'log' FROM _kizunasync_pull_log") + sql("SELECT pk FROM _kizunasync_pull_tombstones")
  }
}
