import Foundation
import KizunaSync
import Testing

/// The documentation's examples, as they are written there: this file proves that they compile, and runs those that
/// need no upstream.
struct SeedExamples {
  private struct Scheduler { func wake() {} }

  private let kizunasync = KizunaSyncClient()
  private let syncScheduler = Scheduler()
  private let todoId = "a"
  private let listId = "7"
  private let teamId = "t1"
  private let nextTeamId = "t2"

  private func open() async throws {
    try await kizunasync.create(
      KizunaSyncClientConfig(tables: ["todos": KizunaSyncTableConfig(bucket: .byColumn("team_id"))]))
    for id in ["a", "b", "c"] {
      try await kizunasync.from("todos").insert(["id": id, "list_id": listId, "done": true])
    }
  }

  @Test func deleteOneRowByPrimaryKey() async throws {
    try await open()
    try await kizunasync.apply(
      table: "todos",
      pk: todoId,
      op: .delete
    )
    try await kizunasync.apply(
      table: "todos",
      pk: todoId,
      op: .delete,
      precondition: ["done": true]
    )
    #expect(try await kizunasync.outboxDepth() == 5)
  }

  @Test func deleteEveryMatchingRow() async throws {
    try await open()
    let pks = try await kizunasync.from("todos")
      .delete()
      .eq("list_id", listId)
      .execute()
    #expect(pks == ["a", "b", "c"])
  }

  @Test func returnTheDeletedRow() async throws {
    try await open()
    let removed = try await kizunasync.from("todos")
      .delete()
      .eq("id", todoId)
      .select()
      .maybeSingle()
    #expect((removed as? [String: Any])?["list_id"] as? String == "7")
  }

  @Test func listRejections() async throws {
    try await open()
    let entries = try await kizunasync.rejections()
    for entry in entries {
      print("\(entry.table)/\(entry.pk) \(entry.kind) \(entry.reason)")
    }
    #expect(entries.isEmpty)
  }

  private func showTheServersVersion() async throws {
    let entries = try await kizunasync.rejections()
    guard let entry = entries.first, let data = entry.serverRowJson.data(using: .utf8) else { return }
    let serverRow = try JSONSerialization.jsonObject(with: data) as? [String: Any]
    print(serverRow ?? [:])
  }

  @Test func setBucketAfterTheOpen() async throws {
    try await open()
    try await kizunasync.setBucket(["team_id": teamId])
    try await kizunasync.setBucket(["team_id": nextTeamId])
    syncScheduler.wake()
    try await showTheServersVersion()
  }

  /// A screen calls from the main actor, with values of its own.
  @MainActor @Test func everyCallCanBeMadeFromTheMainActor() async throws {
    let client = KizunaSyncClient()
    try await client.create(KizunaSyncClientConfig(tables: ["todos": KizunaSyncTableConfig()]))
    let columns: [String: Any] = ["id": "x", "title": "Buy milk"]
    try await client.from("todos").insert(columns)
    let builder = try client.from("todos").select()
    builder.eq("title", "Buy milk")
    let rows = try await builder.execute()
    let again = try await builder.execute()
    #expect((rows as? [[String: Any]])?.count == 1)
    #expect((again as? [[String: Any]])?.count == 1)
    await client.dispose()
  }

  @Test func insertAndUpsertAnswerNothingAKeyOrARow() async throws {
    let client = KizunaSyncClient()
    let config = KizunaSyncTableConfig(unique: [["slug"]])
    try await client.create(KizunaSyncClientConfig(tables: ["todos": config]))
    let todos = try client.from("todos")
    try await todos.insert(["id": "a", "slug": "one"])
    let keys = try await todos.insert([["id": "b"], ["id": "c", "n": 1]]).execute()
    #expect(keys == ["b", "c"])
    let row = try await todos.insert(["id": "d", "n": 4]).select("id,n").single()
    #expect((row as? [String: Any])?["n"] as? Int == 4)
    try await todos.upsert(["id": "d", "n": 5])
    let changed = try await todos.upsert(["slug": "one", "n": 6], onConflict: "slug").select().single()
    #expect((changed as? [String: Any])?["id"] as? String == "a")
    let ignored = try await todos.upsert(["id": "d", "n": 9], ignoreDuplicates: true).execute()
    #expect(ignored.isEmpty)
    let d = try await todos.select().eq("id", "d").single()
    #expect((d as? [String: Any])?["n"] as? Int == 5)
  }
}
