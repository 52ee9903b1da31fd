import Foundation
import Testing

@testable import KizunaEngine

/// A configuration that changes under a queue, or under rows that have been pulled.
@Suite("Sync configuration")
struct SyncConfigurationTests {
  @Test func theQueueOfATableThatIsConfiguredNoMoreIsJudgedAllTheSame() throws {
    let other = ("lists", EngineFixture.table(["id": "text", "name": "text"]))
    let (first, _) = try EngineFixture.scripted([SyncSafetyTests.todos, other])
    first.apply(.insert, "todos", "a", #"{"title":"1"}"#)
    first.apply(.insert, "lists", "l", #"{"name":"1"}"#)
    defer { withExtendedLifetime(first) {} }
    first.engine.close()
    let (second, script) = try EngineFixture.reopened(first.engine.databasePath, [other])
    script.fail("0A000", times: 10)
    for _ in 0..<5 { _ = EngineFixture.code { try second.engine.sync() } }
    // The fifth refusal of the head drops it, and the rest follows in the same run.
    #expect(script.sizes == [2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 1])
    #expect(try second.engine.outboxDepth() == 0)
    let journal = try second.engine.rejections(includeDismissed: false)
    #expect(journal.map { "\($0.table) \($0.kind)" } == ["todos DEAD_LETTER"])
    #expect(try second.sql("SELECT count(*) FROM _kizunasync_base") == ["0"])
  }

  @Test func aTableThatBecameLocalIsNotUndoneByAVerdict() throws {
    let (first, _) = try EngineFixture.scripted([SyncSafetyTests.todos])
    first.apply(.insert, "todos", "a", #"{"title":"1"}"#)
    defer { withExtendedLifetime(first) {} }
    first.engine.close()
    var local = EngineFixture.todos
    local.syncMode = .localOnly
    let (second, script) = try EngineFixture.reopened(first.engine.databasePath, [("todos", local)])
    second.apply(.update, "todos", "a", #"{"title":"2"}"#)
    script.verdicts("RLS_DENIED null")
    try second.engine.sync()
    #expect(try second.sql("SELECT title FROM todos") == ["2"])
    #expect(try second.engine.outboxDepth() == 0)
    #expect(try second.engine.rejections(includeDismissed: false).count == 1)
    #expect(try second.sql("SELECT count(*) FROM _kizunasync_base") == ["0"])
  }

  private static let lists = (name: "lists", table: EngineFixture.table(["id": "text", "name": "text"]))

  @Test(arguments: ["another table", "a table back from local-only", "another bucket column", "nothing"])
  func theNextPullStartsOverForWhatTheCursorWasNotMadeFor(change: String) throws {
    let isLocalAtFirst = change.hasSuffix("local-only")
    let fixture = try PullFixture([SyncSafetyTests.todos]) { configuration in
      guard isLocalAtFirst else { return }
      configuration.tables.append(Self.lists)
      configuration.tables[1].table.syncMode = .localOnly
    }
    fixture.script.page("7", #"todos a 7 {"id":"a","title":"1"}"#)
    fixture.pull()
    fixture.apply(.insert, "todos", "mine", #"{"title":"1"}"#)
    if isLocalAtFirst { fixture.apply(.insert, "lists", "own", #"{"name":"1"}"#) }
    try fixture.reopen { configuration in
      switch change {
      case "another table": configuration.tables.append(Self.lists)
      case "another bucket column":
        configuration.tables[0].table.bucket = .column("list_id")
      case "nothing": break
      default: configuration.tables[1].table.syncMode = .readWrite
      }
    }
    if change.hasSuffix("column") { try fixture.engine.setBucket(fixture.json(#"{"list_id":"x"}"#)) }
    #expect(fixture.pull() == "-")
    #expect(fixture.script.cursors == ["0", change == "nothing" ? "7" : "0"])
    #expect(fixture.keys("todos").hasSuffix("mine"))
    #expect(fixture.depth == 1)
    // Nobody else has what was written while the table was this device's alone.
    if isLocalAtFirst { #expect(fixture.keys("lists") == "own") }
    try fixture.reopen()
    if change.hasSuffix("column") { try fixture.engine.setBucket(fixture.json(#"{"list_id":"x"}"#)) }
    fixture.script.page("8")
    fixture.pull()
    #expect(fixture.cursor == "8")
    try fixture.reopen()
    if change.hasSuffix("column") { try fixture.engine.setBucket(fixture.json(#"{"list_id":"x"}"#)) }
    fixture.pull()
    #expect(fixture.script.cursors.last == "8")
  }

  @Test func aTableThatComesBackHoldsNothingOfTheTimeBefore() throws {
    let fixture = try PullFixture([SyncSafetyTests.todos, Self.lists])
    fixture.script.page("2", #"todos a 1 {"id":"a","title":"1"}"#, #"lists gone 2 {"id":"gone","name":"x"}"#)
    fixture.pull()
    try fixture.reopen { $0.tables.removeLast() }
    fixture.script.page("3")
    fixture.pull()
    try fixture.reopen { $0.tables.append(Self.lists) }
    fixture.script.page("4", #"todos a 1 {"id":"a","title":"1"}"#, #"lists new 4 {"id":"new","name":"x"}"#)
    fixture.pull()
    #expect(fixture.keys("todos") == "a")
    #expect(fixture.keys("lists") == "new")
  }

  @Test func aResetEmptiesTablesThatAreConfiguredNoMore() throws {
    let fixture = try PullFixture([SyncSafetyTests.todos, Self.lists])
    fixture.script.page("2", #"lists theirs 2 {"id":"theirs","name":"x"}"#)
    fixture.pull()
    try fixture.reopen { $0.tables.removeLast() }
    _ = try fixture.engine.reset()
    try fixture.reopen { $0.tables.append(Self.lists) }
    #expect(fixture.keys("lists") == "")
  }
}
