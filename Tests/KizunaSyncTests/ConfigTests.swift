import Foundation
import Testing

@testable import KizunaSync

struct ConfigTests {
  private func refusalOfCreate(_ config: KizunaSyncClientConfig) async -> KizunaSyncError? {
    let client = KizunaSyncClient()
    let error = await refusal { try await client.create(config) }
    await client.dispose()
    return error
  }

  private func table(_ config: KizunaSyncTableConfig) -> KizunaSyncClientConfig {
    KizunaSyncClientConfig(tables: ["t": config], attachmentRoot: NSTemporaryDirectory())
  }

  @Test func whatCannotBeIsNamed() async {
    let spec = KizunaSyncAttachmentSpec(storageBucket: "files", ownerColumn: "owner")
    let bad = KizunaSyncAttachmentSpec(storageBucket: "", ownerColumn: "owner")
    let worse = KizunaSyncAttachmentSpec(storageBucket: "files", ownerColumn: "")
    let plain = ["t": KizunaSyncTableConfig()]
    func remote(_ url: String, key: String = "k") -> KizunaSyncClientConfig {
      KizunaSyncClientConfig(tables: plain, remote: KizunaSyncRemoteConfig(url: url, publishableKey: key))
    }
    let cases: [(KizunaSyncClientConfig, String)] = [
      (KizunaSyncClientConfig(clientId: "no uuid", tables: plain), "client_id"),
      (KizunaSyncClientConfig(tables: plain, databasePath: "/nowhere/at/all/x.sqlite"), "database_path"),
      (KizunaSyncClientConfig(tables: plain, attachmentRoot: "/dev/null/x"), "attachment_root"),
      (remote(""), "url"), (remote("http://example.com"), "url"), (remote("ftp://example.com"), "url"),
      (remote("https://example.com", key: ""), "publishable_key"),
      (table(KizunaSyncTableConfig(attachments: ["f": bad])), "attachments"),
      (table(KizunaSyncTableConfig(attachments: ["f": worse])), "attachments"),
      (table(KizunaSyncTableConfig(attachments: ["f": spec], key: ["a", "b"])), "key"),
      (table(KizunaSyncTableConfig(bucket: .byOwner(""))), "bucket"),
      (table(KizunaSyncTableConfig(bucket: .byOwner("id"))), "bucket"),
      (table(KizunaSyncTableConfig(key: [])), "tables.t"),
      (table(KizunaSyncTableConfig(key: [""])), "tables.t"),
      (table(KizunaSyncTableConfig(key: ["a", "a"])), "tables.t"),
      (table(KizunaSyncTableConfig(columns: ["id": "no type at all"])), "columns"),
      (table(KizunaSyncTableConfig(columns: ["name": "text"])), "key"),
    ]
    for (config, field) in cases {
      let error = await refusalOfCreate(config)
      #expect(error?.code == "CONFIG_INVALID", "\(field)")
      #expect(error?.message.contains(field) == true, "\(error?.message ?? "") names \(field)")
    }
  }

  @Test func attachmentsWithoutARootAreRefusedFirst() async {
    let spec = KizunaSyncAttachmentSpec(storageBucket: "", ownerColumn: "")
    let config = KizunaSyncClientConfig(
      clientId: "no uuid", tables: ["t": KizunaSyncTableConfig(attachments: ["f": spec])])
    #expect(config.declaresAttachments)
    #expect(await refusalOfCreate(config)?.code == "ATTACHMENT_PORTS_MISSING")
  }

  @Test(arguments: [
    "https://project.supabase.co", "http://localhost:54321", "http://127.0.0.1:8000", "http://192.168.1.5",
    "http://10.0.0.1", "http://mac.local", "http://[::1]:8000",
  ])
  func plainHTTPMayStayInTheHouse(_ url: String) async {
    let remote = KizunaSyncRemoteConfig(url: url, publishableKey: "k")
    let config = KizunaSyncClientConfig(tables: ["t": KizunaSyncTableConfig()], remote: remote)
    #expect(await refusalOfCreate(config) == nil)
  }

  @Test func theClientIdSeedsAStoreOnce() async throws {
    let live = try await LiveClient.open(["t": KizunaSyncTableConfig()])
    let kept = try await live.client.inspect()["client_id"] as? String
    #expect(kept == kept?.lowercased())
    try await live.client.create(
      KizunaSyncClientConfig(
        clientId: UUID().uuidString, tables: ["t": KizunaSyncTableConfig()], databasePath: live.path))
    #expect(try await live.client.inspect()["client_id"] as? String == kept)
  }

  @Test func aFileIsOpenOnce() async throws {
    let live = try await LiveClient.open(["t": KizunaSyncTableConfig()])
    let other = KizunaSyncClient()
    let config = KizunaSyncClientConfig(tables: ["t": KizunaSyncTableConfig()], databasePath: live.path)
    #expect(await refusal { try await other.create(config) } != nil)
    await live.client.dispose()
    try await other.create(config)
    await other.dispose()
  }

  @Test func defaultsAreLeftOutOfTheJSON() throws {
    let config = KizunaSyncClientConfig(tables: ["t": KizunaSyncTableConfig()])
    #expect(try config.jsonString() == #"{"schema_version":1,"tables":{"t":{}}}"#)
  }

  @Test func everythingElseStandsUnderItsName() throws {
    let spec = KizunaSyncAttachmentSpec(storageBucket: "files", ownerColumn: "owner")
    let config = KizunaSyncClientConfig(
      clientId: "c", schemaVersion: 2,
      tables: [
        "a": KizunaSyncTableConfig(
          bucket: .byOwner("user_id"), attachments: ["f": spec], softDeleteColumn: "deleted_at",
          conflictMode: .hlc, syncMode: .pullOnly, key: ["x", "y"],
          columns: ["y": "text", "x": "text", "user_id": "uuid"], unique: [["y"]]),
        "b": KizunaSyncTableConfig(bucket: .byColumn("team_id")),
      ],
      databasePath: "/d",
      remote: KizunaSyncRemoteConfig(
        url: "u", publishableKey: "p", accessToken: "t", schema: "s", localOnlyColumns: ["l"]),
      attachmentRoot: "/r", defaultLimit: 10, attachmentAttempts: 3)
    let text = """
      {"client_id":"c","schema_version":2,"tables":{"a":{"bucket_column":"user_id","bucket_owner":true,\
      "attachments":{"f":{"storage_bucket":"files","owner_column":"owner"}},"soft_delete_column":"deleted_at",\
      "conflict_mode":"hlc","sync_mode":"pull-only","key":["x","y"],\
      "columns":{"y":"text","x":"text","user_id":"uuid"},"unique":[["y"]]},"b":{"bucket_column":"team_id"}},\
      "database_path":"/d","remote":{"url":"u","publishable_key":"p","access_token":"t","schema":"s",\
      "local_only_columns":["l"]},"attachment_root":"/r","default_limit":10,"attachment_attempts":3}
      """
    #expect(try config.jsonString() == text)
    let object = config.jsonObject()
    #expect(object["schema_version"] as? Int == 2)
    #expect((object["remote"] as? [String: Any])?["schema"] as? String == "s")
    #expect(JSONSerialization.isValidJSONObject(object))
  }

  @Test func errorsReadAsCodeAndMessage() {
    let error = KizunaSyncError.engine(code: "REMOTE", message: "PGRST301: token expired")
    #expect(error.code == "REMOTE" && error.message == "PGRST301: token expired")
    #expect(error.transportCode == "PGRST301")
    #expect("\(error)" == "REMOTE: PGRST301: token expired")
    #expect(error.localizedDescription == "\(error)")
    #expect((error as any Error).localizedDescription == "\(error)")
    let plain = KizunaSyncError.engine(code: "LOCAL_UNSUPPORTED", message: "table: none")
    #expect(plain.transportCode == nil)
  }
}
