import Foundation
import KizunaSync
import Testing

/// Deleting data through the Swift API, with a real upstream behind it.
struct SeedDeleteSyncTests {
  private let world: SeedWorld

  init() throws { world = try SeedWorld() }

  private func kitchen(_ token: String? = nil) async throws -> SeedClient {
    let opened = try await world.client(token: token)
    try await opened.exchange()
    return opened
  }

  @Test func bothPathsReachTheUpstreamWithTheNextRun() async throws {
    let ana = try await kitchen()
    try await ana.client.apply(table: "todos", pk: "bread", op: .delete)
    let keys = try await ana.client.from("todos").delete().eq("list_id", "groceries").execute()
    #expect(keys == ["milk"])
    #expect(try await ana.ids() == ["oven"])
    #expect(try await ana.client.outboxDepth() == 2)
    try await ana.client.sync()
    #expect(try world.value("select count(*) from public.todos where list_id = 'groceries'") as? Int == 0)
    #expect(try await ana.client.outboxDepth() == 0)
    #expect(try await ana.client.rejections().isEmpty)
  }

  @Test func theRowComesBackAsItWasBeforeOrAsNull() async throws {
    let ana = try await kitchen()
    let before = try #require(try await ana.row("milk"))
    let removed = try await ana.client.from("todos").delete().eq("id", "milk").select().maybeSingle()
    #expect(try #require(removed as? NSDictionary) == before as NSDictionary)
    let again = try await ana.client.from("todos").delete().eq("id", "milk").select().maybeSingle()
    #expect(again is NSNull)
  }

  @Test func aDeleteOnlyIfTheRowRemainsDoneIsJudgedUpstream() async throws {
    let ana = try await kitchen()
    try world.sql("update public.todos set done = true where id = 'milk'")
    try world.sql("update public.todos set done = false where id = 'bread'")
    for key in ["milk", "bread"] {
      try await ana.client.apply(table: "todos", pk: key, op: .delete, precondition: ["done": true])
    }
    #expect(try await ana.ids() == ["oven"])
    try await ana.client.sync()
    #expect(try await ana.ids() == ["bread", "oven"])
    let entry = try #require(try await ana.client.rejections().first)
    #expect(entry.pk == "bread" && entry.reason == "PRECONDITION")
  }

  @Test func aBuilderCarriesItsPreconditionForEveryRow() async throws {
    let ana = try await kitchen()
    let keys = try await ana.client.from("todos").delete(precondition: ["done": true])
      .in("id", ["bread", "milk"]).execute()
    #expect(keys == ["bread", "milk"])
    try await ana.client.sync()
    #expect(try await ana.ids() == ["milk", "oven"])
  }

  @Test func aRefusedDeleteRestoresTheRow() async throws {
    let ana = try await kitchen()
    let before = try #require(try await ana.row("oven"))
    try await ana.client.from("todos").delete().eq("id", "oven").execute()
    #expect(try await ana.row("oven") == nil)
    try await ana.client.sync()
    #expect(try #require(try await ana.row("oven")) as NSDictionary == before as NSDictionary)
    let entry = try #require(try await ana.client.rejections().first)
    #expect(entry.kind == "REJECTED" && entry.reason == "RLS_DENIED" && entry.changedColumns.isEmpty)
    #expect(!entry.serverRowJson.isEmpty)
  }

  @Test func aRefusedDeleteWithoutAServerRowRestoresThePreImage() async throws {
    let ana = try await kitchen()
    let before = try #require(try await ana.row("oven"))
    try world.sql("update public.todos set hidden = true where id = 'oven'")
    try await ana.client.apply(table: "todos", pk: "oven", op: .delete)
    try await ana.client.pushOnce()
    #expect(try #require(try await ana.row("oven")) as NSDictionary == before as NSDictionary)
    #expect(try await ana.client.rejections().first?.serverRowJson == "")
  }

  @Test func aTableWithoutTheDeletePrivilegeAnswersByColumn() async throws {
    let ana = try await world.client(["ledger": KizunaSyncTableConfig(bucket: .byColumn("team_id"))])
    try await ana.exchange()
    try await ana.client.from("ledger").delete().eq("id", "january").execute()
    try await ana.client.sync()
    #expect(try await ana.ids("ledger") == ["january"])
    #expect(try await ana.client.rejections().first?.reason == "COLUMN_DENIED")
  }

  @Test func aDeleteWinsOverThePeersEdit() async throws {
    let ana = try await kitchen()
    let ben = try await kitchen(world.bensToken)
    try await ana.client.apply(table: "todos", pk: "milk", op: .delete)
    try await ana.client.sync()
    try await ben.client.from("todos").update(["title": "Oat milk"]).eq("id", "milk").execute()
    try await ben.client.sync()
    let entry = try #require(try await ben.client.rejections().first)
    #expect(entry.reason == "DELETE_WINS" && entry.serverRowJson == "" && entry.changedColumns == ["title"])
    #expect(try await ben.row("milk") == nil)
    #expect(try world.value("select count(*) from public.todos where id = 'milk'") as? Int == 0)
  }

  @Test func aSoftTableIsStampedByTheBuilderAndRefusesTheLowLevelCall() async throws {
    let notes = KizunaSyncTableConfig(bucket: .byColumn("team_id"), softDeleteColumn: "deleted_at")
    let ana = try await world.client(["notes": notes])
    try await ana.exchange()
    let refused = await refusal { try await ana.client.apply(table: "notes", pk: "one", op: .delete) }
    #expect(refused?.code == "SOFT_DELETE_VIOLATION")
    let returned = try await ana.client.from("notes").delete().in("id", ["one", "two"]).select().execute()
    #expect((returned as? [[String: Any]])?.allSatisfy { $0["deleted_at"] is NSNull } == true)
    #expect(try await ana.ids("notes") == ["three"])
    let kept = try await ana.client.from("notes").select().includeDeleted().execute() as? [[String: Any]]
    #expect(kept?.count == 3)
    try await ana.client.sync()
    #expect(try world.value("select count(distinct deleted_at) from public.notes") as? Int == 1)
    #expect(try world.value("select count(deleted_at) from public.notes") as? Int == 2)
  }
}
