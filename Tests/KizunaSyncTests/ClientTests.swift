import Foundation
import Testing

@testable import KizunaSync

struct ClientTests {
  private static let tables = [
    "todos": KizunaSyncTableConfig(bucket: .byColumn("team_id")),
    "notes": KizunaSyncTableConfig(bucket: .byOwner("user_id")),
  ]

  /// An unsigned token whose subject is this user.
  private func token(_ subject: String) -> String {
    let payload = Data(#"{"sub":"\#(subject)"}"#.utf8).base64EncodedString()
      .replacingOccurrences(of: "=", with: "")
    return "h.\(payload).s"
  }

  // MARK: Life

  @Test func everyCallNeedsAnEngine() async throws {
    let idle = KizunaSyncClient()
    let disposed = KizunaSyncClient()
    try await disposed.create(KizunaSyncClientConfig(tables: Self.tables))
    await disposed.dispose()
    for client in [idle, disposed] {
      let errors = [
        await refusal { _ = try await client.query(table: "todos") },
        await refusal { try await client.apply(table: "todos", pk: "a", op: .delete) },
        await refusal { try await client.applyWhere(table: "todos", op: .delete, filters: []) },
        await refusal { try await client.sync() }, await refusal { try await client.pushOnce() },
        await refusal { try await client.pullOnce() }, await refusal { _ = try await client.outboxDepth() },
        await refusal { _ = try await client.checkpoint() },
        await refusal { try await client.seedCheckpoint("1") },
        await refusal { try await client.setAccessToken(nil) },
        await refusal { try await client.setBucket([:]) }, await refusal { _ = try await client.reset() },
        await refusal { _ = try await client.rejections() },
        await refusal { try await client.dismissRejection("x") },
        await refusal { _ = try await client.overwrites() },
        await refusal { try await client.dismissOverwrite(1) },
        await refusal { _ = try await client.on { _ in } }, await refusal { _ = try await client.inspect() },
        await refusal { _ = try await client.inspector() }, await refusal { try await client.vacuum() },
        await refusal { _ = try await client.getStatus("r") },
        await refusal { try await client.batch { _ in } },
      ]
      for error in errors { #expect(error?.code == "ENGINE_UNAVAILABLE") }
      #expect(await refusal { _ = try client.from("todos") }?.code == "UNKNOWN_TABLE")
    }
  }

  @Test func rowsOutliveTheClient() async throws {
    let live = try await LiveClient.open(Self.tables)
    try await live.client.from("todos").insert(["id": "a", "title": "Milk"])
    await live.client.dispose()
    try await live.reopen(Self.tables)
    #expect(try await live.rows("todos").first?["title"] as? String == "Milk")
    #expect(try await live.client.outboxDepth() == 1)
  }

  @Test func aConfigurationThatCannotBeKeepsTheOpenEngine() async throws {
    let live = try await LiveClient.open(Self.tables)
    let broken = KizunaSyncClientConfig(clientId: "no uuid", tables: Self.tables)
    #expect(await refusal { try await live.client.create(broken) }?.code == "CONFIG_INVALID")
    #expect(try await live.rows("todos").isEmpty)
  }

  @Test func aTableThatIsNotConfiguredIsUnknown() async throws {
    let live = try await LiveClient.open(Self.tables)
    let client = live.client
    let errors = [
      await refusal { _ = try client.from("none") },
      await refusal { _ = try await client.query(table: "none") },
      await refusal { try await client.apply(table: "none", pk: "a", op: .delete) },
      await refusal { try await client.applyWhere(table: "none", op: .delete, filters: []) },
      await refusal {
        _ = try await client.fromFile(table: "none", column: "c", pk: "a", sourcePath: "/dev/null")
      },
    ]
    for error in errors { #expect(error?.code == "UNKNOWN_TABLE") }
  }

  @Test func anInsertByFilterHasNoMeaning() async throws {
    let live = try await LiveClient.open(Self.tables)
    let error = await refusal {
      try await live.client.applyWhere(
        table: "todos", op: .insert, filters: [KizunaSyncQuery.eq("id", "a")])
    }
    #expect(error?.code == "LOCAL_UNSUPPORTED")
  }

  // MARK: Values

  @Test func aValueThatJSONCannotCarryNeverReachesTheEngine() async throws {
    let live = try await LiveClient.open(Self.tables)
    let client = live.client
    await #expect(throws: KizunaSyncSerializationError.self) {
      try await client.apply(table: "todos", pk: "a", op: .insert, columns: ["due": Date()])
    }
    await #expect(throws: KizunaSyncSerializationError.self) {
      try await client.from("todos").insert(["n": Double.nan])
    }
    await #expect(throws: KizunaSyncSerializationError.self) {
      try await client.from("todos").delete().eq("n", Double.infinity).execute()
    }
    await #expect(throws: KizunaSyncSerializationError.self) {
      try await client.setBucket(["team_id": Date()])
    }
    #expect(try await client.outboxDepth() == 0)
  }

  // MARK: Buckets

  @Test func aKeyThatIsNoBucketColumnRefusesTheWholeCall() async throws {
    let live = try await LiveClient.open(Self.tables)
    let error = await refusal { try await live.client.setBucket(["team_id": "1", "project": "2"]) }
    #expect(error?.code == "BUCKET_UNSET")
    #expect(error?.message.contains("project") == true)
    #expect(error?.message.contains("team_id") == true)
    #expect(error?.description == "BUCKET_UNSET: \(error?.message ?? "")")
    try await live.client.setBucket(["team_id": "1", "user_id": "u"])
    try await live.client.setBucket(["team_id": ""])
  }

  // MARK: Sync without an upstream

  @Test func withoutARemoteNothingIsSent() async throws {
    let live = try await LiveClient.open(Self.tables)
    let client = live.client
    try await client.from("todos").insert(["id": "a"])
    let errors = [
      await refusal { try await client.sync() }, await refusal { try await client.pushOnce() },
      await refusal { try await client.pullOnce() },
    ]
    for error in errors { #expect(error?.code == "REMOTE") }
    #expect(try await client.outboxDepth() == 1)
    #expect(try await client.rejections().isEmpty)
    #expect(try await client.rejections(includeDismissed: true).isEmpty)
    #expect(try await client.overwrites().isEmpty)
    #expect(try await client.dismissRejection("unknown") == false)
    #expect(try await client.dismissOverwrite(1) == false)
  }

  @Test func theCheckpointStartsAtZeroAndCanBeSeeded() async throws {
    let live = try await LiveClient.open(Self.tables)
    let start = KizunaSyncCheckpoint(cursor: "0", softBlocked: false, softBlockReason: nil)
    #expect(try await live.client.checkpoint() == start)
    try await live.client.seedCheckpoint("42")
    #expect(try await live.client.checkpoint().cursor == "42")
  }

  @Test func anotherUsersTokenBlocksSyncUntilReset() async throws {
    let live = try await LiveClient.open(Self.tables)
    let client = live.client
    try await client.setAccessToken(token("u1"))
    try await client.from("notes").insert(["id": "n"])
    try await client.setAccessToken("unreadable")
    #expect(try await client.checkpoint().softBlocked == false)
    try await client.setAccessToken(token("u2"))
    #expect(try await client.checkpoint().softBlockReason == "identity_changed")
    let before = try await client.inspect()["client_id"] as? String
    #expect(try await client.reset().isEmpty)
    let checkpoint = try await client.checkpoint()
    #expect(checkpoint == KizunaSyncCheckpoint(cursor: "0", softBlocked: false, softBlockReason: nil))
    #expect(try await live.rows("notes").isEmpty)
    #expect(try await client.outboxDepth() == 0)
    #expect(try await client.inspect()["client_id"] as? String != before)
  }

  @Test func anInsertTakesTheOwnerWhereItNamesNone() async throws {
    let config = KizunaSyncTableConfig(
      bucket: .byOwner("user_id"), columns: ["id": "text", "user_id": "text"])
    let live = try await LiveClient.open(["notes": config])
    try await live.client.setAccessToken(token("u1"))
    try await live.client.from("notes").insert(["id": "b", "user_id": NSNull()])
    try await live.client.from("notes").insert(["id": "c"])
    let rows = try await live.rows("notes")
    #expect(rows.map { $0["user_id"] as? String } == [nil, "u1"])
    #expect((try await live.queue().last?["columns"] as? [String: Any])?["user_id"] as? String == "u1")
  }

  // MARK: Attachments

  @Test func withoutAttachmentsNoReferenceNamesAFile() async throws {
    let live = try await LiveClient.open(Self.tables)
    let client = live.client
    let stored = await refusal {
      _ = try await client.fromFile(table: "todos", column: "c", pk: "a", sourcePath: "/dev/null")
    }
    #expect(stored?.code == "ATTACHMENT_PORTS_MISSING")
    let fetched = await refusal { _ = try await client.resolveDownload("o/p/u.bin") }
    #expect(fetched?.code == "ATTACHMENT_PORTS_MISSING")
    #expect(try await client.getStatus("o/p/u.bin") == nil)
    #expect(try await client.attachmentRetry("o/p/u.bin") == false)
    #expect(try await client.attachmentCancel("o/p/u.bin") == false)
    #expect(try await client.attachmentRemove("o/p/u.bin") == nil)
    try await client.vacuum()
    let unwatch = try await client.watch("o/p/u.bin") { _ in }
    unwatch()
  }

  // MARK: Batches

  @Test func aBatchIsAllOrNothing() async throws {
    let live = try await LiveClient.open(Self.tables)
    let client = live.client
    let keys = try await client.batch { batch in
      try batch.insert("todos", ["id": "a"])
      try batch.update("todos", pk: "a", ["title": "Milk"])
      try batch.insert("notes", ["id": "n"])
    }
    #expect(keys == ["a", "a", "n"])
    let refused = await refusal {
      try await client.batch { batch in
        try batch.insert("todos", ["id": "b"])
        try batch.insert("todos", ["id": "a"])
      }
    }
    #expect(refused?.code == "LOCAL_CONSTRAINT")
    #expect(refused?.transportCode == "23505")
    #expect(try await live.rows("todos").count == 1)
    #expect(try await client.outboxDepth() == 3)
    #expect(try await client.batch { _ in }.isEmpty)
    #expect(
      await refusal { try await client.batch { try $0.delete("todos", pk: "") } }?.code == "LOCAL_UNSUPPORTED"
    )
  }

  // MARK: Typed columns

  @Test func declaredColumnsCastAsPostgresWould() async throws {
    let config = KizunaSyncTableConfig(columns: ["id": "text", "n": "integer"])
    let live = try await LiveClient.open(["todos": config])
    let todos = try live.client.from("todos")
    try await todos.insert(["id": "a", "n": "12"])
    #expect(try await live.rows("todos").first?["n"] as? Int == 12)
    #expect((try await todos.select().eq("n", "12").execute() as? [Any])?.count == 1)
    let error = await refusal { try await todos.insert(["id": "b", "n": "abc"]) }
    #expect(error?.code == "LOCAL_CONSTRAINT")
    #expect(error?.transportCode == "22P02")
    let operand = await refusal { _ = try await todos.select().eq("n", "abc").execute() }
    #expect(operand?.transportCode == "22P02")
  }
}
