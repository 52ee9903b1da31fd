import Foundation
import KizunaSync
import Testing

/// Listing rejections through the Swift API, with a real upstream behind it.
struct SeedRejectionSyncTests {
  private let world: SeedWorld

  init() throws { world = try SeedWorld() }

  private func kitchen() async throws -> SeedClient {
    let opened = try await world.client()
    try await opened.exchange()
    return opened
  }

  private func refuse(_ opened: SeedClient, _ key: String, id: String? = nil) async throws {
    try await opened.client.apply(
      table: "todos", pk: key, op: .update, columns: ["title": "forbidden"], mutationId: id)
    try await opened.client.sync()
  }

  @Test func everyFieldOfAnEntry() async throws {
    let ana = try await kitchen()
    let id = UUID().uuidString.lowercased()
    let began = Int64(Date().timeIntervalSince1970 * 1000)
    try await refuse(ana, "milk", id: id)
    let entry = try #require(try await ana.client.rejections().first)
    #expect(entry.mutationId == id)
    #expect(entry.table == "todos" && entry.pk == "milk")
    #expect(entry.kind == "REJECTED" && entry.reason == "CONSTRAINT")
    #expect(entry.changedColumns == ["title"])
    #expect(entry.at >= began - 1000 && entry.at <= began + 60_000)
    #expect(!entry.dismissed)
    let data = try #require(entry.serverRowJson.data(using: .utf8))
    let serverRow = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    #expect(serverRow["title"] as? String == "Buy milk")
    #expect(try await ana.row("milk")?["title"] as? String == "Buy milk")
  }

  @Test func theNewestComesFirstAndDismissedOnesOnlyWhenAskedFor() async throws {
    let ana = try await kitchen()
    try await refuse(ana, "milk")
    try await refuse(ana, "bread")
    let entries = try await ana.client.rejections()
    #expect(entries.map(\.pk) == ["bread", "milk"])
    #expect(try await ana.client.dismissRejection(entries[0].mutationId))
    #expect(try await ana.client.rejections().map(\.pk) == ["milk"])
    let all = try await ana.client.rejections(includeDismissed: true)
    #expect(all.map(\.pk) == ["bread", "milk"] && all.map(\.dismissed) == [true, false])
    #expect(try await !ana.client.dismissRejection(UUID().uuidString))
  }

  @Test func theSameIdJournalledAgainClearsItsDismissal() async throws {
    let ana = try await kitchen()
    let id = UUID().uuidString.lowercased()
    try await refuse(ana, "milk", id: id)
    #expect(try await ana.client.dismissRejection(id))
    try await refuse(ana, "milk", id: id)
    #expect(try await ana.client.rejections().map(\.mutationId) == [id])
  }

  @Test func aHiddenRowLeavesTheServerRowEmpty() async throws {
    let ana = try await kitchen()
    try await ana.client.from("todos").insert(["id": "loft", "team_id": "attic", "title": "Not hers"])
    try await ana.client.sync()
    let entry = try #require(try await ana.client.rejections().first)
    #expect(entry.reason == "RLS_DENIED" && entry.serverRowJson == "")
    #expect(entry.changedColumns.sorted() == ["id", "team_id", "title"])
    #expect(try await ana.row("loft") == nil)
  }

  @Test func theEventComesOnceTheEntryIsThereAndTheRowIsBack() async throws {
    let ana = try await kitchen()
    let (events, sink) = AsyncStream<KizunaSyncEngineEvent>.makeStream()
    let end = try await ana.client.on { sink.yield($0) }
    try await refuse(ana, "milk")
    for await event in events {
      guard case .mutationRejected(let id, let reason) = event else { continue }
      let entry = try #require(try await ana.client.rejections().first)
      #expect(entry.mutationId == id && entry.reason == reason)
      #expect(try await ana.row("milk")?["title"] as? String == "Buy milk")
      break
    }
    end()
  }

  @Test func anAbortedBatchNamesItsOffenderAlone() async throws {
    let ana = try await kitchen()
    try await ana.client.batch { batch in
      try batch.update("todos", pk: "bread", ["priority": 9])
      try batch.update("todos", pk: "milk", ["title": "forbidden"])
    }
    try await ana.client.sync()
    let entries = try await ana.client.rejections()
    #expect(entries.map(\.kind) == ["BATCH_ABORTED"] && entries.map(\.pk) == ["milk"])
    #expect(try await ana.row("bread")?["priority"] as? Int == 1)
  }

  @Test func aWriteThatTheBudgetDropsIsADeadLetter() async throws {
    let ana = try await kitchen()
    try world.fail([
      "kind": "error", "times": NSNull(), "function": "push", "code": "22023", "message": "no such thing",
    ])
    try await ana.client.from("todos").update(["priority": 9]).eq("id", "milk").execute()
    for _ in 0..<4 {
      let refused = await refusal { try await ana.client.sync() }
      #expect(refused?.code == "PERMANENT_TRANSPORT" && refused?.transportCode == "22023")
    }
    try await ana.client.sync()
    let entry = try #require(try await ana.client.rejections().first)
    #expect(entry.kind == "DEAD_LETTER" && entry.reason == "PERMANENT_TRANSPORT" && entry.serverRowJson == "")
    #expect(try await ana.row("milk")?["priority"] as? Int == 2)
    #expect(try await ana.client.outboxDepth() == 0)
  }

  @Test func aBatchTooLargeCarriesTheServersWords() async throws {
    let ana = try await kitchen()
    try world.fail(["kind": "error", "function": "push", "code": "KZP02", "message": "at most 1 a batch"])
    try await ana.client.batch { batch in
      try batch.update("todos", pk: "bread", ["priority": 9])
      try batch.delete("todos", pk: "milk")
    }
    try await ana.client.sync()
    let entries = try await ana.client.rejections()
    #expect(entries.map(\.reason) == ["at most 1 a batch", "at most 1 a batch"])
    #expect(entries.map(\.kind) == ["DEAD_LETTER", "DEAD_LETTER"])
    #expect(try await ana.ids() == ["bread", "milk", "oven"])
  }

  @Test func beforeAnOpenThereIsNoEngine() async throws {
    let refused = await refusal { _ = try await KizunaSyncClient().rejections() }
    #expect(refused?.code == "ENGINE_UNAVAILABLE")
  }
}
