import Foundation
import Testing

@testable import KizunaSync

struct DeleteTests {
  private static let plain = ["todos": KizunaSyncTableConfig()]
  private static let soft = ["todos": KizunaSyncTableConfig(softDeleteColumn: "deleted_at")]

  private func open(_ tables: [String: KizunaSyncTableConfig] = plain) async throws -> LiveClient {
    let live = try await LiveClient.open(tables)
    try await live.client.from("todos").insert([
      ["id": "b", "list_id": "7", "done": true], ["id": "a", "list_id": "7", "done": false],
      ["id": "c", "list_id": "8", "done": true],
    ])
    return live
  }

  @Test func aDeleteByFilterAnswersTheKeysInKeyOrder() async throws {
    let live = try await open()
    let keys = try await live.client.from("todos").delete().eq("list_id", "7").execute()
    #expect(keys == ["a", "b"])
    #expect(try await live.rows("todos").map { $0["id"] as? String } == ["c"])
    let queue = try await live.queue()
    #expect(queue.suffix(2).map { $0["op"] as? String } == ["delete", "delete"])
    #expect(queue.suffix(2).map { $0["pk"] as? String } == ["a", "b"])
  }

  @Test func aDeleteOfNothingAnswersNoKeyAndQueuesNothing() async throws {
    let live = try await open()
    #expect(try await live.client.from("todos").delete().eq("list_id", "9").execute().isEmpty)
    #expect(try await live.client.outboxDepth() == 3)
  }

  @Test func theDeletedRowComesBackAsItWas() async throws {
    let live = try await open()
    let removed = try await live.client.from("todos").delete().eq("id", "b").select().maybeSingle()
    let row = try #require(removed as? [String: Any])
    #expect(row["done"] as? Bool == true)
    #expect(row["list_id"] as? String == "7")
    let missing = try await live.client.from("todos").delete().eq("id", "b").select().maybeSingle()
    #expect(missing is NSNull)
  }

  @Test func aDeleteByKeyRemovesTheRowAndQueuesItsPrecondition() async throws {
    let live = try await open()
    try await live.client.apply(table: "todos", pk: "b", op: .delete, precondition: ["done": true])
    #expect(try await live.rows("todos").count == 2)
    let entry = try #require(try await live.queue().last)
    #expect(entry["op"] as? String == "delete")
    #expect((entry["precondition"] as? [String: Any])?["done"] as? Bool == true)
  }

  @Test func eachRowOfAFilteredDeleteCarriesThePrecondition() async throws {
    let live = try await open()
    let keys = try await live.client.from("todos").delete(precondition: ["done": true]).eq("list_id", "7")
      .execute()
    #expect(keys.count == 2)
    for entry in try await live.queue().suffix(2) {
      #expect((entry["precondition"] as? [String: Any])?["done"] as? Bool == true)
    }
  }

  @Test func deletingARowThatIsNotThereStillQueues() async throws {
    let live = try await open()
    try await live.client.apply(table: "todos", pk: "zz", op: .delete)
    #expect(try await live.client.outboxDepth() == 4)
  }

  @Test func aFilteredDeleteOfASoftDeleteTableStampsTheColumnOnceForTheCall() async throws {
    let live = try await open(Self.soft)
    let keys = try await live.client.from("todos").delete().eq("list_id", "7").execute()
    #expect(keys == ["a", "b"])
    #expect(try await live.rows("todos").map { $0["id"] as? String } == ["c"])
    let all = try await live.client.from("todos").select().in("id", ["a", "b"]).includeDeleted().execute()
    let stamps = try #require(all as? [[String: Any]]).map { $0["deleted_at"] as? String }
    #expect(stamps.count == 2 && stamps[0] != nil && stamps[0] == stamps[1])
    let queue = try await live.queue().suffix(2)
    #expect(queue.map { $0["op"] as? String } == ["update", "update"])
    #expect(queue.allSatisfy { ($0["columns"] as? [String: Any])?.keys.sorted() == ["deleted_at"] })
  }

  @Test func aSoftDeletedRowIsAnsweredWithoutItsStamp() async throws {
    let live = try await open(Self.soft)
    let row = try await live.client.from("todos").delete().eq("id", "a").select("id,deleted_at").single()
    #expect((row as? [String: Any])?["deleted_at"] is NSNull)
  }

  @Test func aDeleteByKeyOfASoftDeleteTableIsRefused() async throws {
    let live = try await open(Self.soft)
    for key in ["a", "not here"] {
      let error = await refusal { try await live.client.apply(table: "todos", pk: key, op: .delete) }
      #expect(error?.code == "SOFT_DELETE_VIOLATION")
    }
    #expect(try await live.client.outboxDepth() == 3)
  }

  @Test(arguments: [("", "a"), ("todos", ""), ("", "")])
  func applyNeedsTableAndKey(_ table: String, _ pk: String) async throws {
    let expected = KizunaSyncError.engine(
      code: "LOCAL_UNSUPPORTED", message: "apply requires table and pk")
    let live = try await open()
    #expect(await refusal { try await live.client.apply(table: table, pk: pk, op: .delete) } == expected)
    let unopened = KizunaSyncClient()
    #expect(await refusal { try await unopened.apply(table: table, pk: pk, op: .delete) } == expected)
  }

  @Test func aFilterThatNamesNoRowsIsRefused() async throws {
    let live = try await open()
    let todos = try live.client.from("todos")
    let builders: [KizunaSyncWriteBuilder] = [
      todos.delete(), todos.delete().match([:]), todos.delete().likeAnyOf("id", patterns: []),
      todos.delete().eq("id", "a").and([]), todos.delete().notIn("id", values: []),
    ]
    for builder in builders {
      #expect(await refusal { try await builder.execute() }?.code == "LOCAL_UNSUPPORTED")
    }
    #expect(try await live.rows("todos").count == 3)
    #expect(try await todos.delete().in("id", []).execute().isEmpty)
  }

  @Test func cardinalityAndCapAreCheckedBeforeAnythingIsWritten() async throws {
    let live = try await open()
    let todos = try live.client.from("todos")
    let single = await refusal { try await todos.delete().eq("list_id", "7").select().single() }
    let maybe = await refusal { try await todos.delete().eq("list_id", "7").select().maybeSingle() }
    let none = await refusal { try await todos.delete().eq("list_id", "9").select().single() }
    let capped = await refusal { try await todos.delete().eq("list_id", "7").maxAffected(1).execute() }
    for error in [single, maybe, none, capped] { #expect(error?.code == "LOCAL_CONSTRAINT") }
    #expect(single?.message.contains("2 rows") == true)
    #expect(capped?.message.contains("2 rows") == true)
    #expect(try await live.rows("todos").count == 3)
    #expect(try await live.client.outboxDepth() == 3)
    for count in [-1, 4_294_967_296] {
      let error = await refusal { try await todos.delete().eq("id", "a").maxAffected(count).execute() }
      #expect(error?.code == "LOCAL_UNSUPPORTED")
    }
    #expect(try await todos.delete().eq("list_id", "7").maxAffected(2).execute().count == 2)
  }

  @Test func aPullOnlyTableTakesNoWrite() async throws {
    let live = try await LiveClient.open(["todos": KizunaSyncTableConfig(syncMode: .pullOnly)])
    let client = live.client
    let errors = [
      await refusal { try await client.apply(table: "todos", pk: "a", op: .delete) },
      await refusal { try await client.from("todos").insert(["id": "a"]) },
      await refusal { try await client.from("todos").delete().eq("id", "a").execute() },
    ]
    for error in errors { #expect(error?.code == "LOCAL_UNSUPPORTED") }
  }
}
