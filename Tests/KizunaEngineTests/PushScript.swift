@testable import KizunaEngine

/// An upstream that answers pushes by a script, and keeps what was asked of it.
final class PushScript: Remote {
  typealias Answer = @Sendable (_ body: JSONValue) throws(RemoteFault) -> String

  private let answers = Guarded<[Answer]>([])
  private let asked = Guarded<[(function: String, body: JSONValue, token: String)]>([])

  /// Answers in order; behind the last of them every mutation is applied.
  func then(_ answer: @escaping Answer) { answers.with { $0.append(answer) } }
  func then(_ text: String) { then { _ in text } }
  func fail(_ code: String?, _ message: String = "refused", times: Int = 1) {
    for _ in 0..<times {
      then { (_: JSONValue) throws(RemoteFault) -> String in throw RemoteFault(code: code, message) }
    }
  }

  func call(_ function: String, body: [UInt8], token: String) throws(RemoteFault) -> [UInt8] {
    let parsed = (try? JSONParser.parse(String(decoding: body, as: UTF8.self))) ?? .null
    asked.with { $0.append((function, parsed, token)) }
    guard function == "push" else {
      return Array(
        #"{"cursor":"1","has_more":false,"rows":[],"tombstones":[],"signal":null}"#.utf8)
    }
    let next = answers.with { $0.isEmpty ? nil : $0.removeFirst() }
    return Array(try (next ?? Self.applied)(parsed).utf8)
  }

  func cancel() {}

  @Sendable
  static func applied(_ body: JSONValue) -> String {
    let ids = mutations(body).compactMap { $0["mutation_id"]?.text }
    let verdicts = ids.map { #"{"mutation_id":"\#($0)","verdict":"applied"}"# }
    return #"{"verdicts":[\#(verdicts.joined(separator: ","))]}"#
  }

  /// One verdict a mutation, in order: `applied`, `applied {row}`, `REASON null` or `REASON {row}`.
  func verdicts(_ list: String...) {
    then { body in
      let texts = zip(Self.mutations(body), list).map { mutation, verdict in
        let parts = verdict.split(separator: " ", maxSplits: 1).map(String.init)
        let row = parts.count > 1 ? #","server_row":\#(parts[1])"# : ""
        let id = mutation["mutation_id"]?.text ?? ""
        return parts[0] == "applied"
          ? #"{"mutation_id":"\#(id)","verdict":"applied"\#(row)}"#
          : #"{"mutation_id":"\#(id)","verdict":"rejected","reason":"\#(parts[0])"\#(row)}"#
      }
      return #"{"verdicts":[\#(texts.joined(separator: ","))]}"#
    }
  }

  func abort(offender: Int, _ reason: String, _ row: String) {
    then { body in
      let id = Self.mutations(body)[offender]["mutation_id"]?.text ?? ""
      return
        #"{"batch":{"outcome":"aborted","offender_mutation_id":"\#(id)","reason":"\#(reason)","server_row":\#(row)}}"#
    }
  }

  static func mutations(_ body: JSONValue) -> [JSONValue] { body["batch"]?["mutations"]?.elements ?? [] }

  var pushes: [JSONValue] { asked.with { $0.filter { $0.function == "push" }.map(\.body) } }
  /// How many mutations each push carried.
  var sizes: [Int] { pushes.map { Self.mutations($0).count } }
  var functions: [String] { asked.with { $0.map(\.function) } }
}

extension EngineFixture {
  /// An engine with an upstream of a script, signed in as `u1`.
  static func scripted(
    _ tables: [(String, EngineConfiguration.Table)], localOnly: [String] = [], token: String? = "u1"
  ) throws -> (EngineFixture, PushScript) {
    let script = PushScript()
    let fixture = try EngineFixture(tables, remote: script, localOnly: localOnly)
    if let token { try fixture.engine.setAccessToken(Self.token(token)) }
    return (fixture, script)
  }

  /// The store at `path` under these tables, with an upstream of a script, signed in as `u1`.
  static func reopened(
    _ path: String, _ tables: [(String, EngineConfiguration.Table)]
  ) throws -> (EngineFixture, PushScript) {
    let script = PushScript()
    let fixture = try EngineFixture(tables, at: path, remote: script)
    try fixture.engine.setAccessToken(token("u1"))
    return (fixture, script)
  }
}
