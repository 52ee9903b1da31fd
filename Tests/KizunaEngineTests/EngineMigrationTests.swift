import Foundation
import Testing

@testable import KizunaEngine

@Suite struct EngineMigrationTests {
  /// Opens the same file again under other tables.
  private final class Store {
    let directory: TestDirectory
    private(set) var engine: Engine

    init(_ tables: [(String, EngineConfiguration.Table)]) throws {
      directory = try TestDirectory()
      engine = try Engine.open(EngineFixture.configuration(directory.database, tables))
    }

    deinit { engine.close() }

    func reopen(_ tables: [(String, EngineConfiguration.Table)]) throws {
      engine.close()
      engine = try Engine.open(EngineFixture.configuration(directory.database, tables))
    }

    func insert(_ table: String, _ columns: String) throws {
      let members = try JSONParser.parse(columns).members ?? []
      try engine.apply(Mutation(table: table, pk: nil, op: .insert, columns: members))
    }

    func rows(_ table: String) throws -> String {
      try engine.query(table: table, plan: .object([])).jsonText
    }

    func names(_ type: String) throws -> [String] {
      let box = Guarded<[String]>([])
      try engine.writer.perform { context throws(KizunaError) in
        let statement = try context.connection.prepare(
          "SELECT name FROM sqlite_schema WHERE type = '\(type)' ORDER BY name")
        while try statement.step() { box.with { $0.append(statement.text(0) ?? "") } }
      }
      return box.with { $0 }
    }
  }

  private static func table(
    _ columns: KeyValuePairs<String, String>, key: [String] = ["id"],
    _ change: (inout EngineConfiguration.Table) -> Void = { _ in }
  ) -> EngineConfiguration.Table { EngineFixture.table(columns, key: key, change) }

  private static var learning: EngineConfiguration.Table { EngineConfiguration.Table() }

  @Test func everythingIsThereAfterReopening() throws {
    let store = try Store([("t", Self.table(["id": "text", "n": "integer"]))])
    try store.insert("t", #"{"id":"a","n":1}"#)
    try store.engine.apply(Mutation(table: "t", pk: "gone", op: .delete))
    let clientId = try store.engine.status().clientId
    try store.reopen([("t", Self.table(["id": "text", "n": "integer"]))])
    #expect(try store.rows("t") == #"[{"id":"a","n":1}]"#)
    #expect(try store.engine.outboxDepth() == 2)
    #expect(try store.engine.status().clientId == clientId)
  }

  @Test func theConfiguredClientIdSeedsANewStoreOnly() throws {
    let directory = try TestDirectory()
    var configuration = EngineFixture.configuration(directory.database, [])
    configuration.clientId = "ABCDEF00-0000-4000-8000-000000000001"
    var engine = try Engine.open(configuration)
    #expect(try engine.status().clientId == "abcdef00-0000-4000-8000-000000000001")
    engine.close()
    configuration.clientId = "abcdef00-0000-4000-8000-000000000002"
    engine = try Engine.open(configuration)
    defer { engine.close() }
    #expect(try engine.status().clientId == "abcdef00-0000-4000-8000-000000000001")
  }

  @Test func columnsComeAndGoAndComeBackWithTheirValues() throws {
    let store = try Store([("t", Self.table(["id": "text", "a": "text", "b": "integer"]))])
    try store.insert("t", #"{"id":"x","a":"A","b":1}"#)
    try store.reopen([("t", Self.table(["id": "text", "b": "integer", "c": "jsonb"]))])
    #expect(try store.rows("t") == #"[{"id":"x","b":1,"c":null}]"#)
    try store.insert("t", #"{"id":"y","b":2,"c":{"k":1}}"#)
    try store.reopen([("t", Self.table(["id": "text", "c": "jsonb", "a": "text"]))])
    #expect(try store.rows("t") == #"[{"id":"x","c":null,"a":"A"},{"id":"y","c":{"k":1},"a":null}]"#)
  }

  @Test func aHiddenColumnSurvivesTheRebuildOfItsTable() throws {
    let store = try Store([("t", Self.table(["id": "text", "a": "text", "n": "integer"]))])
    try store.insert("t", #"{"id":"x","a":"A","n":7}"#)
    try store.reopen([("t", Self.table(["id": "text", "n": "text"]))])
    #expect(try store.rows("t") == #"[{"id":"x","n":"7"}]"#)
    try store.reopen([("t", Self.table(["id": "text", "a": "text", "n": "bigint"]))])
    #expect(try store.rows("t") == #"[{"id":"x","a":"A","n":7}]"#)
  }

  @Test(arguments: [
    ("integer", "bigint", "7", "7"), ("integer", "text", "7", #""7""#), ("text", "integer", #""7""#, "7"),
    ("text", "boolean", #""true""#, "true"), ("varchar(5)", "varchar(3)", #""abc""#, #""abc""#),
    ("text", "uuid", #""abcdef00-0000-4000-8000-000000000001""#, #""abcdef00-0000-4000-8000-000000000001""#),
    ("bigint", "smallint", "12", "12"), ("text", "text[]", #""{a,b}""#, #"["a","b"]"#),
    ("boolean", "text", "true", #""true""#), ("smallint", "numeric", "3", "3"),
    ("enum('a','b')", "enum('b','a','c')", #""a""#, #""a""#),
  ]) func aTypeChangeThatLosesNothingIsMade(from: String, to: String, value: String, after: String) throws {
    let store = try Store([("t", Self.table(["id": "text", "v": from]))])
    try store.insert("t", #"{"id":"x","v":\#(value)}"#)
    try store.insert("t", #"{"id":"y","v":null}"#)
    try store.reopen([("t", Self.table(["id": "text", "v": to]))])
    #expect(try store.rows("t") == #"[{"id":"x","v":\#(after)},{"id":"y","v":null}]"#)
  }

  @Test(arguments: [
    ("text", "integer", #""seven""#), ("text", "integer", #""07""#), ("bigint", "smallint", "40000"),
    ("double precision", "integer", "1.5"), ("text", "varchar(2)", #""abc""#), ("integer", "boolean", "5"),
    ("text", "uuid", #""nope""#), ("enum('a','b')", "enum('b')", #""a""#), ("text", "date", #""2024-1-1""#),
  ]) func aTypeChangeThatLosesAValueIsRefusedByName(from: String, to: String, value: String) throws {
    let store = try Store([("t", Self.table(["id": "text", "v": from]))])
    try store.insert("t", #"{"id":"x","v":\#(value)}"#)
    let before = try store.rows("t")
    var message = ""
    let code = EngineFixture.code {
      message = EngineFixture.message { try store.reopen([("t", Self.table(["id": "text", "v": to]))]) }
      try store.reopen([("t", Self.table(["id": "text", "v": to]))])
    }
    #expect(code == "CONFIG_INVALID")
    #expect(message.hasPrefix("tables.t.columns.v:"), "\(message)")
    try store.reopen([("t", Self.table(["id": "text", "v": from]))])
    #expect(try store.rows("t") == before)
  }

  @Test func theKeysTypeMayChangeToo() throws {
    let store = try Store([("t", Self.table(["id": "text", "v": "text"]))])
    for key in ["30", "7", "2", "1"] { try store.insert("t", #"{"id":"\#(key)","v":"\#(key)"}"#) }
    try store.reopen([("t", Self.table(["id": "bigint", "v": "text"]))])
    #expect(
      try store.rows("t")
        == #"[{"id":1,"v":"1"},{"id":2,"v":"2"},{"id":7,"v":"7"},{"id":30,"v":"30"}]"#)
    try store.engine.apply(
      Mutation(table: "t", pk: "7", op: .update, columns: [JSONMember("v", .string("seven"))]))
    try store.reopen([("t", Self.table(["id": "text", "v": "text"]))])
    #expect(
      try store.rows("t")
        == #"[{"id":"1","v":"1"},{"id":"2","v":"2"},{"id":"30","v":"30"},{"id":"7","v":"seven"}]"#)
  }

  @Test func anotherKeyIsRefused() throws {
    let columns: KeyValuePairs<String, String> = ["id": "text", "a": "text"]
    let store = try Store([("t", Self.table(columns))])
    for key in [["a"], ["id", "a"]] {
      let message = EngineFixture.message { try store.reopen([("t", Self.table(columns, key: key))]) }
      #expect(message.hasPrefix("tables.t.key:"), "\(message)")
    }
    try store.reopen([("t", Self.table(columns))])
  }

  @Test func aTableLeftOutIsKept() throws {
    let store = try Store([("t", Self.table(["id": "text"])), ("u", Self.table(["id": "text"]))])
    try store.insert("t", #"{"id":"x"}"#)
    try store.reopen([("u", Self.table(["id": "text"]))])
    #expect(EngineFixture.code { _ = try store.rows("t") } == "UNKNOWN_TABLE/PGRST205")
    #expect(try store.engine.outboxDepth() == 1)
    try store.reopen([("T", Self.table(["id": "text"])), ("t", Self.table(["id": "text"]))])
    #expect(try store.rows("t") == #"[{"id":"x"}]"#)
    #expect(try store.rows("T") == "[]")
  }

  @Test func indexesFollowTheConfiguration() throws {
    func table(_ indexes: [[String]], unique: [[String]] = []) -> EngineConfiguration.Table {
      Self.table(["id": "text", "a": "text", "b": "text", "a_b": "text"]) {
        $0.indexes = indexes
        $0.unique = unique
      }
    }
    let store = try Store([("t", table([["a_b"], ["a", "b"]]))])
    func count() throws -> Int {
      try store.names("index").filter { $0.hasPrefix("_kizunasync_index_") }.count
    }
    #expect(try count() == 2)
    try store.reopen([("t", table([["a"]], unique: [["b"]]))])
    #expect(try count() == 2)
    try store.reopen([("t", table([]))])
    #expect(try count() == 0)
  }

  @Test func indexesOfTwoTablesNeverShareAName() throws {
    let store = try Store([
      ("t", Self.table(["id": "text", "a_b": "text"]) { $0.indexes = [["a_b"]] }),
      ("t_a", Self.table(["id": "text", "b": "text"]) { $0.indexes = [["b"]] }),
    ])
    #expect(try store.names("index").filter { $0.hasPrefix("_kizunasync_index_") }.count == 2)
  }

  @Test func learntColumnsBecomeDeclaredOnesAndBack() throws {
    let store = try Store([("t", Self.learning)])
    try store.insert("t", #"{"id":"x","n":1,"f":true,"j":{"k":[1]}}"#)
    try store.reopen([("t", Self.learning)])
    #expect(try store.rows("t") == #"[{"id":"x","n":1,"f":true,"j":{"k":[1]}}]"#)
    try store.reopen([("t", Self.table(["id": "text", "f": "boolean", "n": "integer", "j": "jsonb"]))])
    #expect(try store.rows("t") == #"[{"id":"x","f":true,"n":1,"j":{"k":[1]}}]"#)
    try store.reopen([("t", Self.learning)])
    let back = try JSONParser.parse(try store.rows("t")).elements?.first
    #expect(back?["f"] == .bool(true))
    #expect(back?["n"] == .integer(1))
    let code = EngineFixture.code { try store.reopen([("t", Self.table(["id": "text", "f": "date"]))]) }
    #expect(code == "CONFIG_INVALID")
  }

  @Test func anUpdateIsSentAgainAfterACrash() throws {
    let tables = [("t", Self.table(["id": "text"]))]
    let store = try Store(tables)
    try store.insert("t", #"{"id":"x"}"#)
    try store.engine.writer.perform { context throws(KizunaError) in
      try context.connection.execute("UPDATE _kizunasync_outbox SET in_flight = 1")
    }
    #expect(try store.engine.outboxDepth() == 0)
    try store.reopen(tables)
    #expect(try store.engine.outboxDepth() == 1)
  }
}
