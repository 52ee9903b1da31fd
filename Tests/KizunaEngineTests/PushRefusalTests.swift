import Foundation
import Testing

@testable import KizunaEngine

/// What becomes of a slice that the upstream refuses as such, or answers against the contract. The upstream is a script.
@Suite("Push refusals")
struct PushRefusalTests {
  // MARK: Narrowing and the budget

  @Test func aSliceThatIsTooLargeIsHalved() throws {
    let (fixture, script) = try EngineFixture.scripted([PushTests.todos])
    for index in 0..<501 { fixture.apply(.insert, "todos", "k\(index)", #"{"title":"1"}"#) }
    script.fail("KZP02", "at most 300")
    try fixture.engine.sync()
    #expect(script.sizes == [500, 250, 250, 1])
    #expect(try fixture.engine.outboxDepth() == 0)
  }

  @Test func anyOtherPermanentRefusalIsolatesTheHead() throws {
    let (fixture, script) = try EngineFixture.scripted([PushTests.todos])
    for index in 0..<10 { fixture.apply(.insert, "todos", "k\(index)", #"{"title":"1"}"#) }
    script.fail("22023", "bad key")
    try fixture.engine.sync()
    #expect(script.sizes == [10, 1, 9])
  }

  @Test func theFifthRefusalOfALoneEntryDropsIt() throws {
    let (fixture, script) = try EngineFixture.scripted([PushTests.todos])
    try fixture.engine.seed("todos", rows: [fixture.members(#"{"id":"a","title":"theirs"}"#)])
    fixture.apply(.update, "todos", "a", #"{"title":"mine"}"#)
    let log = EventLog(fixture.engine)
    script.fail("22023", "no", times: 4)
    for _ in 0..<4 {
      #expect(EngineFixture.code { try fixture.engine.sync() } == "PERMANENT_TRANSPORT/22023")
    }
    #expect(try fixture.engine.outboxDepth() == 1)
    script.fail("22023", "no")
    fixture.apply(.insert, "todos", "b", #"{"title":"next"}"#)
    // Two wait now: the wider slice is not charged, the lone head is.
    script.fail("22023", "no")
    #expect(EngineFixture.code { try fixture.engine.sync() } == "-")
    #expect(try fixture.sql("SELECT id, title FROM todos ORDER BY id") == ["a|theirs", "b|next"])
    let entries = try fixture.engine.rejections(includeDismissed: false)
    #expect(entries.map(\.kind) == ["DEAD_LETTER"] && entries[0].reason == "PERMANENT_TRANSPORT")
    #expect(entries[0].serverRowJSON == "")
    let told = log.finish()
    let drop = try #require(told.firstIndex { if case .deadLetter = $0 { true } else { false } })
    #expect(
      told[drop..<drop + 3] == [
        .deadLetter(mutationId: entries[0].mutationId, reason: "PERMANENT_TRANSPORT"),
        .mutationRejected(mutationId: entries[0].mutationId, reason: "PERMANENT_TRANSPORT"), .localChanged,
      ])
  }

  @Test func anAtomicBatchThatIsTooLargeIsDroppedAtOnce() throws {
    let (fixture, script) = try EngineFixture.scripted([PushTests.todos])
    _ = try fixture.engine.batch([
      Mutation(table: "todos", pk: "x", op: .insert, columns: fixture.members(#"{"title":"x"}"#)),
      Mutation(table: "todos", pk: "y", op: .insert, columns: fixture.members(#"{"title":"y"}"#)),
    ])
    fixture.apply(.insert, "todos", "z", #"{"title":"z"}"#)
    script.fail("KZP02", "the batch of 2 is over the limit of 1")
    try fixture.engine.sync()
    #expect(try fixture.sql("SELECT id FROM todos") == ["z"])
    let entries = try fixture.engine.rejections(includeDismissed: false)
    #expect(entries.map(\.reason) == Array(repeating: "the batch of 2 is over the limit of 1", count: 2))
  }

  @Test(arguments: ["42501", "KZP03", "PGRST301", "40P01", "57014", nil])
  func aRetryableFailureNeverCounts(code: String?) throws {
    let (fixture, script) = try EngineFixture.scripted([PushTests.todos])
    fixture.apply(.insert, "todos", "a", #"{"title":"1"}"#)
    script.fail(code, times: 100)
    for _ in 0..<100 {
      #expect(EngineFixture.code { try fixture.engine.sync() }.hasPrefix("REMOTE"))
    }
    #expect(try fixture.engine.outboxDepth() == 1)
    #expect(!script.functions.contains("pull"))
  }

  @Test func aPermanentRefusalIsReportedBehindThePull() throws {
    let (fixture, script) = try EngineFixture.scripted([PushTests.todos])
    fixture.apply(.insert, "todos", "a", #"{"title":"1"}"#)
    script.fail("0A000", "no such table")
    #expect(EngineFixture.code { try fixture.engine.sync() } == "PERMANENT_TRANSPORT/0A000")
    #expect(script.functions == ["push", "pull"])
  }

  @Test func pushOnceNeitherNarrowsNorDrops() throws {
    let (fixture, script) = try EngineFixture.scripted([PushTests.todos])
    for index in 0..<3 { fixture.apply(.insert, "todos", "k\(index)", #"{"title":"1"}"#) }
    script.fail("KZP02", times: 7)
    for _ in 0..<7 {
      #expect(EngineFixture.code { try fixture.engine.pushOnce() } == "PERMANENT_TRANSPORT/KZP02")
    }
    #expect(script.sizes == Array(repeating: 3, count: 7))
  }

  // MARK: Contract violations

  @Test(arguments: [
    (#"{"verdicts":[]}"#, "VERDICT_BIJECTION"),
    (#"{"verdicts":[{"mutation_id":"x","verdict":"applied"}]}"#, "VERDICT_BIJECTION"),
    (#"{"verdicts":[{"mutation_id":"ID","verdict":"postponed"}]}"#, "UNKNOWN_VERDICT_REASON"),
    (
      #"{"verdicts":[{"mutation_id":"ID","verdict":"rejected","reason":"BUSY","server_row":null}]}"#,
      "UNKNOWN_VERDICT_REASON"
    ),
    (
      #"{"verdicts":[{"mutation_id":"ID","verdict":"rejected","reason":"CONSTRAINT"}]}"#,
      "MALFORMED_PUSH_RESPONSE"
    ),
    (#"{"verdicts":[{"mutation_id":"ID","verdict":"applied","server_row":7}]}"#, "MALFORMED_PUSH_RESPONSE"),
    (
      #"{"batch":{"outcome":"aborted","offender_mutation_id":"ID","reason":"CONSTRAINT","server_row":null}}"#,
      "MALFORMED_PUSH_RESPONSE"
    ),
    (#"{}"#, "MALFORMED_PUSH_RESPONSE"), (#"[]"#, "MALFORMED_PUSH_RESPONSE"),
    (#"{"signal":{"type":"CHECKPOINT_EXPIRED"}}"#, "UNKNOWN_SIGNAL"), ("<html>", "REMOTE"), ("", "REMOTE"),
    (#"{"verdicts":["#, "REMOTE"), (#"{"verdicts"}"#, "JSON"),
  ])
  func aBrokenContractChangesNothing(answer: String, code: String) throws {
    let (fixture, script) = try EngineFixture.scripted([PushTests.todos])
    let id = "51f0c2aa-9d3e-4b7c-8c10-2f6a7e9b0d41"
    fixture.apply(.insert, "todos", "a", #"{"title":"1"}"#, id: id)
    for _ in 0..<6 { script.then(answer.replacingOccurrences(of: "ID", with: id)) }
    for _ in 0..<6 { #expect(EngineFixture.code { try fixture.engine.sync() } == code) }
    #expect(fixture.outbox("mutation_id, in_flight, attempts") == ["\(id)|0|6"])
    #expect(try fixture.rows("todos").contains(#""title":"1""#))
    #expect(try fixture.engine.rejections(includeDismissed: true).isEmpty)
  }

  @Test(arguments: [
    (#"{"batch":{"outcome":"postponed"}}"#, "MALFORMED_PUSH_RESPONSE"),
    (
      #"{"batch":{"outcome":"aborted","offender_mutation_id":"other","reason":"CONSTRAINT","server_row":null}}"#,
      "UNKNOWN_BATCH_OFFENDER"
    ),
  ])
  func aBrokenBatchOutcomeChangesNothing(answer: String, code: String) throws {
    let (fixture, script) = try EngineFixture.scripted([PushTests.todos])
    _ = try fixture.engine.batch([
      Mutation(table: "todos", pk: "x", op: .insert, columns: fixture.members(#"{"title":"x"}"#))
    ])
    script.then(answer)
    #expect(EngineFixture.code { try fixture.engine.pushOnce() } == code)
    #expect(try fixture.engine.outboxDepth() == 1)
  }

  // MARK: Blocks

  @Test func aResetSignalBlocksUntilReset() throws {
    let (fixture, script) = try EngineFixture.scripted([PushTests.todos])
    fixture.apply(.insert, "todos", "a", #"{"title":"1"}"#)
    script.then(#"{"signal":{"type":"RESET_REQUIRED"}}"#)
    let client = try fixture.engine.status().clientId
    try fixture.engine.sync()
    try fixture.engine.sync()
    #expect(script.functions == ["push"])
    #expect(try fixture.engine.checkpoint().softBlockReason == "reset_required")
    #expect(try fixture.engine.outboxDepth() == 1)
    _ = try fixture.engine.reset()
    #expect(try fixture.engine.checkpoint().softBlocked == false)
    #expect(try fixture.engine.status().clientId != client)
    try fixture.engine.sync()
    #expect(script.functions == ["push", "pull"])
    #expect(try fixture.engine.status().owner == "u1")
  }

  @Test func aQueueNeverTravelsUnderAnotherUsersToken() throws {
    let (fixture, script) = try EngineFixture.scripted([PushTests.todos])
    fixture.apply(.insert, "todos", "a", #"{"title":"1"}"#)
    try fixture.engine.setAccessToken(EngineFixture.token("u2"))
    try fixture.engine.sync()
    try fixture.engine.setAccessToken(EngineFixture.token("u1"))
    try fixture.engine.sync()
    #expect(script.functions == [])
    #expect(try fixture.engine.checkpoint().softBlockReason == "identity_changed")
    #expect(try fixture.engine.outboxDepth() == 1)
  }
}
