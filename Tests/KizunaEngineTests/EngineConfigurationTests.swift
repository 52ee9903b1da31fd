import Foundation
import Testing

@testable import KizunaEngine

@Suite struct EngineConfigurationTests {
  private static func refused(_ change: (inout EngineConfiguration) -> Void) throws -> (String, String) {
    let directory = try TestDirectory()
    var configuration = EngineFixture.configuration(directory.database, [("todos", EngineFixture.todos)])
    change(&configuration)
    var code = "-"
    let message = EngineFixture.message {
      code = EngineFixture.code { try Engine.open(configuration).close() }
    }
    guard code != "-" else { return (code, message) }
    #expect(!FileManager.default.fileExists(atPath: directory.database), "nothing is made of it")
    return (code, EngineFixture.message { try Engine.open(configuration).close() })
  }

  @Test func aConfigurationThatCannotBeIsRefusedNamingTheField() throws {
    typealias Table = EngineConfiguration.Table
    func table(
      _ columns: KeyValuePairs<String, String> = ["id": "uuid", "a": "text"], key: [String] = ["id"],
      _ change: @escaping (inout Table) -> Void = { _ in }
    ) -> (inout EngineConfiguration) -> Void {
      let table = EngineFixture.table(columns, key: key, change)
      return { $0.tables = [(name: "t", table: table)] }
    }
    let rows: [(String, (inout EngineConfiguration) -> Void)] = [
      ("client_id", { $0.clientId = "me" }),
      ("remote.url", { $0.remote = .init(url: "", publishableKey: "k") }),
      ("remote.url", { $0.remote = .init(url: "http://example.com", publishableKey: "k") }),
      ("remote.url", { $0.remote = .init(url: "ftp://localhost", publishableKey: "k") }),
      ("remote.publishable_key", { $0.remote = .init(url: "https://a.b", publishableKey: "") }),
      ("tables.todos", { $0.tables.append((name: "todos", table: EngineFixture.todos)) }),
      ("tables", { $0.tables.append((name: "", table: EngineFixture.todos)) }),
      ("tables", { $0.tables.append((name: "a\0b", table: EngineFixture.todos)) }),
      ("tables.t.columns", table([:])),
      ("tables.t.columns", table(["id": "uuid", "": "text"])),
      ("tables.t.columns.a", table(["id": "uuid", "a": "text", "a": "text"])),
      ("tables.t.columns.a", table(["id": "uuid", "a": "integer default 'x'"])),
      ("tables.t.columns.a", table(["id": "uuid", "a": "text not"])),
      ("tables.t.columns.n", table(["id": "uuid", "n": "bigserial"])),
      ("tables.t.key", table(key: [])),
      ("tables.t.key", table(key: [""])),
      ("tables.t.key", table(key: ["id", "id"])),
      ("tables.t.key", table(key: ["nope"])),
      ("tables.t.key", table(["id": "boolean"])),
      ("tables.t.key", table(["id": "timestamptz"])),
      ("tables.t.bucket", table { $0.bucket = .owner("") }),
      ("tables.t.bucket", table { $0.bucket = .owner("id") }),
      ("tables.t.bucket", table { $0.bucket = .owner("nope") }),
      ("tables.t.bucket", table { $0.bucket = .column("nope") }),
      ("tables.t.bucket", table { $0.bucket = .column("") }),
      ("tables.t.soft_delete_column", table { $0.softDeleteColumn = "nope" }),
      ("tables.t.soft_delete_column", table { $0.softDeleteColumn = "id" }),
      ("tables.t.attachments.a", table { $0.attachments = [("a", "", "o")] }),
      ("tables.t.attachments.a", table { $0.attachments = [("a", "b", "")] }),
      ("tables.t.key", table(key: ["a"]) { $0.attachments = [("id", "b", "o")] }),
      (
        "tables.Big",
        {
          $0.remote = .init(url: "https://a.b", publishableKey: "k")
          $0.tables = [(name: "Big", table: EngineFixture.todos)]
        }
      ),
      (
        "tables",
        {
          $0.remote = .init(url: "https://a.b", publishableKey: "k")
          $0.tables = (0..<65).map { (name: "t\($0)", table: EngineFixture.todos) }
        }
      ),
    ]
    for (field, change) in rows {
      let (code, message) = try Self.refused(change)
      #expect(code == "CONFIG_INVALID", "\(field)")
      #expect(message.hasPrefix(field), "\(field): \(message)")
    }
  }

  @Test func indexesAndUniqueListsMustNameColumns() throws {
    for change: (inout EngineConfiguration.Table) -> Void in [
      { $0.indexes = [["nope"]] }, { $0.unique = [["a", "nope"]] }, { $0.unique = [[]] },
    ] {
      let table = EngineFixture.table(["id": "uuid", "a": "text"], change)
      #expect(EngineFixture.code { _ = try EngineFixture([("t", table)]) } == "CONFIG_INVALID")
    }
  }

  @Test func whatIsAllowedOpens() throws {
    for url in [
      "https://a.b", "http://localhost:1", "http://127.0.0.1", "http://[::1]:9", "http://10.0.0.1",
      "http://192.168.1.2", "http://172.16.0.1", "http://169.254.1.1", "http://box.local", "http://rest:3000",
    ] {
      let (code, _) = try Self.refused { $0.remote = .init(url: url, publishableKey: "k") }
      #expect(code == "-", "\(url)")
    }
    let keyless = EngineFixture.table(["n": "integer"], key: []) { $0.syncMode = .localOnly }
    let serial = EngineFixture.table(["id": "bigserial", "n": "integer"]) { $0.syncMode = .localOnly }
    let (code, _) = try Self.refused {
      $0.tables = [(name: "k", table: keyless), (name: "Serial", table: serial)]
      $0.remote = .init(url: "https://a.b", publishableKey: "k")
    }
    #expect(code == "-")
  }

  @Test func aMissingDirectoryIsAnErrorAndNoFallback() throws {
    let directory = try TestDirectory()
    let configuration = EngineFixture.configuration(directory.path + "/no/such/x.sqlite", [])
    #expect(EngineFixture.code { _ = try Engine.open(configuration) } == "STORE/58030")
  }

  @Test func aDirectoryInPlaceOfTheFileIsRefused() throws {
    let directory = try TestDirectory()
    let code = EngineFixture.code { _ = try Engine.open(EngineFixture.configuration(directory.path, [])) }
    #expect(code == "STORE/58030")
  }

  @Test func aFileThatIsNoDatabaseIsRefused() throws {
    let directory = try TestDirectory()
    try String(repeating: "no database at all ", count: 500).write(
      toFile: directory.database, atomically: true, encoding: .utf8)
    let code = EngineFixture.code { _ = try Engine.open(EngineFixture.configuration(directory.database, [])) }
    #expect(code == "STORE/XX001")
    #expect(!FileManager.default.fileExists(atPath: directory.database + "-lock"))
  }

  @Test func aSecondEngineOnTheSameFileIsRefused() throws {
    let directory = try TestDirectory()
    let configuration = EngineFixture.configuration(directory.database, [("todos", EngineFixture.todos)])
    let first = try Engine.open(configuration)
    #expect(EngineFixture.code { _ = try Engine.open(configuration) } == "STORE/55006")
    let link = directory.path + "/link.sqlite"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: directory.database)
    var linked = configuration
    linked.databasePath = link
    #expect(EngineFixture.code { _ = try Engine.open(linked) } == "STORE/55006")
    first.close()
    try Engine.open(configuration).close()
    #expect(!FileManager.default.fileExists(atPath: directory.database + "-lock"))
  }

  @Test func aDatabaseOfAnotherReleaseIsRefused() throws {
    let directory = try TestDirectory()
    let configuration = EngineFixture.configuration(directory.database, [])
    let engine = try Engine.open(configuration)
    try engine.writer.perform { context throws(KizunaError) in
      try Meta.set("format", "999", context.connection)
    }
    engine.close()
    #expect(EngineFixture.code { _ = try Engine.open(configuration) } == "STORE/58030")
    #expect(EngineFixture.message { _ = try Engine.open(configuration) }.contains("999"))
  }

  @Test(arguments: [nil, ":memory:"]) func aThrowawayStoreIsGoneAtClose(path: String?) throws {
    let engine = try Engine.open(EngineFixture.configuration(path, [("todos", EngineFixture.todos)]))
    let file = engine.databasePath
    let directory = String(file.dropLast("/kizuna.sqlite".count))
    #expect(FileManager.default.fileExists(atPath: file))
    let mode = try FileManager.default.attributesOfItem(atPath: directory)[.posixPermissions] as? Int
    #expect(mode == 0o700)
    engine.close()
    #expect(!FileManager.default.fileExists(atPath: directory))
  }

  @Test func aRefusedThrowawayStoreLeavesNoDirectory() throws {
    func directories() throws -> Set<String> {
      Set(try FileManager.default.contentsOfDirectory(atPath: "/tmp").filter { $0.hasPrefix("kizuna-") })
    }
    var table = EngineFixture.todos
    table.indexes = [["nope"]]
    // Other suites make directories meanwhile: only one that stays with its database inside would be ours.
    let before = try directories()
    let code = EngineFixture.code {
      _ = try Engine.open(EngineFixture.configuration(nil, [("only_here", table)]))
    }
    #expect(code == "CONFIG_INVALID")
    for name in try directories().subtracting(before) {
      let path = "/tmp/\(name)/kizuna.sqlite"
      let bytes = (try? Data(contentsOf: URL(fileURLWithPath: path))) ?? Data()
      #expect(bytes.range(of: Data("only_here".utf8)) == nil)
    }
  }

  @Test func theFileIsForItsOwnerAlone() throws {
    let directory = try TestDirectory()
    let engine = try Engine.open(EngineFixture.configuration(directory.database, []))
    defer { engine.close() }
    let mode = try FileManager.default.attributesOfItem(atPath: directory.database)[.posixPermissions] as? Int
    #expect(mode == 0o600)
  }

  @Test func aClosedEngineAnswersUnavailable() throws {
    let fixture = try EngineFixture([("todos", EngineFixture.todos)])
    let engine = fixture.engine
    engine.close()
    engine.close()
    let calls: [() throws -> Void] = [
      { try engine.apply(Mutation(table: "todos", pk: "a", op: .delete)) },
      { _ = try engine.query(table: "todos", plan: .object([])) }, { _ = try engine.outboxDepth() },
      { _ = try engine.checkpoint() }, { try engine.setAccessToken(nil) },
      { try engine.setBucket(.object([])) },
      { _ = try engine.reset() }, { _ = try engine.rejections(includeDismissed: true) },
      { try engine.sync() }, { _ = try engine.inspect() }, { _ = try engine.makeSession() },
    ]
    for (index, call) in calls.enumerated() {
      #expect(EngineFixture.code(call) == "ENGINE_UNAVAILABLE", "\(index)")
    }
  }

  @Test func networkFunctionsWithoutARemoteAnswerRemote() throws {
    let engine = try EngineFixture([("todos", EngineFixture.todos)])
    for call in [engine.engine.sync, engine.engine.pushOnce, engine.engine.pullOnce] {
      #expect(EngineFixture.code { try call() } == "REMOTE")
    }
  }
}
