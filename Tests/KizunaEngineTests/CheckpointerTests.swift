import Foundation
import Testing

@testable import KizunaEngine

/// The write-ahead log is carried over beside the writer, and every promise of a commit is kept all the same.
struct CheckpointerTests {
  private static func logBytes(_ fixture: EngineFixture) -> Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: fixture.engine.databasePath + "-wal")
    return attributes?[.size] as? Int ?? 0
  }

  @Test func theLogStaysShortHoweverMuchIsWritten() throws {
    let fixture = try EngineFixture([
      ("drafts", EngineFixture.table(["id": "integer", "v": "text"]) { $0.syncMode = .localOnly })
    ])
    let text = String(repeating: "x", count: 2000)
    let rows = (0..<2000).map { #"{"id":\#($0),"v":"\#(text)"}"# }
    try fixture.insert("drafts", "[" + rows.joined(separator: ",") + "]")
    var longest = 0
    for round in 0..<50 {
      _ = try fixture.sql("UPDATE drafts SET v = '\(round)' || substr(v, 3)")
      longest = max(longest, Self.logBytes(fixture))
    }
    // Fifty times four megabytes went through it.
    #expect(longest < 100 << 20)
    #expect(try fixture.sql("PRAGMA integrity_check") == ["ok"])
    #expect(try fixture.sql("SELECT count(*) FROM drafts WHERE v LIKE '49%'") == ["2000"])
  }

  @Test func onlyWhatPromisesNothingDoesWithoutTheDisk() throws {
    let fixture = try EngineFixture([("todos", EngineFixture.todos)])
    func level(isDurable: Bool) throws -> SQLValue? {
      try fixture.engine.writer.perform(isDurable: isDurable) { context throws(KizunaError) in
        try context.connection.value("PRAGMA synchronous")
      }
    }
    #expect(try level(isDurable: true) == .integer(2))
    #expect(try level(isDurable: false) == .integer(1))
    #expect(try level(isDurable: true) == .integer(2))
  }

  @Test func aCommitThatOneOfItsJobsReliesOnWaitsForTheDisk() throws {
    let fixture = try EngineFixture([("todos", EngineFixture.todos)])
    let levels = Guarded<[SQLValue?]>([])
    let writer = fixture.engine.writer
    // While the first job holds the writer, the other two come to share a transaction.
    let gate = Guarded(false)
    writer.submit(Writer.Job(body: { _ in while !gate.with({ $0 }) { usleep(1000) } }, completion: { _ in }))
    for isDurable in [false, true] {
      writer.submit(
        Writer.Job(
          isDurable: isDurable,
          body: { context throws(KizunaError) in
            let level = try context.connection.value("PRAGMA synchronous")
            levels.with { $0.append(level) }
          }, completion: { _ in }))
    }
    gate.with { $0 = true }
    _ = try fixture.engine.outboxDepth()
    #expect(levels.with { $0 } == [.integer(2), .integer(2)])
  }
}
