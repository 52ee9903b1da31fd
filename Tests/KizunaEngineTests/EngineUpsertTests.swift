import Testing

@testable import KizunaEngine

@Suite struct EngineUpsertTests {
  private static let table = EngineFixture.table([
    "id": "uuid", "email": "citext", "a": "text", "b": "text", "n": "integer default 7",
  ]) { $0.unique = [["email"], ["a", "b"]] }
  private static let one = "00000000-0000-4000-8000-000000000001"
  private static let two = "00000000-0000-4000-8000-000000000002"

  private static func upsert(
    _ fixture: EngineFixture, _ rows: String, _ conflict: WritePlan.Conflict
  ) -> String {
    var outcome = WriteOutcome()
    let code = EngineFixture.code {
      let list = fixture.json(rows).elements ?? []
      let names = list.first?.members?.map(\.key) ?? []
      let schema = try #require(fixture.engine.catalog.table("t"))
      outcome = try fixture.engine.write(
        WritePlan(
          schema, .insert(columns: names, rows: list.map { row in names.map { row[$0] } }, conflict),
          writeId: UUIDText.v7()))
    }
    return code == "-" ? "\(outcome.affected)/\(outcome.inserted)/\(outcome.keys.count)" : code
  }

  @Test func mergeUpdatesWhatIsThereAndInsertsTheRest() throws {
    let fixture = try EngineFixture([("t", Self.table)])
    #expect(Self.upsert(fixture, #"[{"id":"\#(Self.one)","a":"x"}]"#, .refuse) == "1/1/1")
    #expect(
      Self.upsert(
        fixture, #"[{"id":"\#(Self.one)","a":"y"},{"id":"\#(Self.two)","a":"z"}]"#, .merge(target: ["id"]))
        == "2/1/2")
    #expect(
      fixture.outbox() == [
        #"insert|\#(Self.one)|{"id":"\#(Self.one)","a":"x","n":7}"#, #"update|\#(Self.one)|{"a":"y"}"#,
        #"insert|\#(Self.two)|{"id":"\#(Self.two)","a":"z","n":7}"#,
      ])
  }

  @Test func ignoreLeavesWhatIsThere() throws {
    let fixture = try EngineFixture([("t", Self.table)])
    #expect(Self.upsert(fixture, #"[{"id":"\#(Self.one)","a":"x"}]"#, .refuse) == "1/1/1")
    let events = EventLog(fixture.engine)
    #expect(Self.upsert(fixture, #"[{"id":"\#(Self.one)","a":"y"}]"#, .ignore(target: ["id"])) == "0/0/0")
    #expect(
      Self.upsert(
        fixture, #"[{"id":"\#(Self.two)","a":"y"},{"id":"\#(Self.two)","a":"z"}]"#, .ignore(target: ["id"]))
        == "1/1/1")
    #expect(try fixture.sql("SELECT a FROM t ORDER BY id") == ["x", "y"])
    #expect(events.finish() == [.localChanged, .queueDepth(2)])
  }

  @Test func aUniqueListIsATarget() throws {
    let fixture = try EngineFixture([("t", Self.table)])
    #expect(
      Self.upsert(fixture, #"[{"id":"\#(Self.one)","email":"A@x","a":"1","b":"2"}]"#, .refuse) == "1/1/1")
    #expect(Self.upsert(fixture, #"[{"email":"a@X","n":1}]"#, .merge(target: ["email"])) == "1/0/1")
    #expect(Self.upsert(fixture, #"[{"a":"1","b":"2","n":2}]"#, .merge(target: ["b", "a"])) == "1/0/1")
    #expect(try fixture.sql("SELECT id, email, n FROM t") == ["\(Self.one)|a@X|2"])
    // A null equals nothing.
    #expect(Self.upsert(fixture, #"[{"a":"1","b":null,"n":2}]"#, .merge(target: ["a", "b"])) == "1/1/1")
    #expect(
      Self.upsert(fixture, #"[{"id":"\#(Self.two)","email":"a@x"}]"#, .merge(target: ["email"]))
        == "LOCAL_CONSTRAINT/428C9")
    #expect(
      Self.upsert(fixture, #"[{"id":"\#(Self.two)","email":"a@x"}]"#, .refuse) == "LOCAL_CONSTRAINT/23505")
    #expect(
      Self.upsert(fixture, #"[{"id":"\#(Self.two)","email":"a@x"}]"#, .merge(target: ["id"]))
        == "LOCAL_CONSTRAINT/23505")
  }

  @Test func conflictsThatPostgresRefuses() throws {
    let fixture = try EngineFixture([("t", Self.table)])
    let twice = #"[{"id":"\#(Self.one)","a":"x"},{"id":"\#(Self.one)","a":"y"}]"#
    #expect(Self.upsert(fixture, twice, .merge(target: ["id"])) == "LOCAL_CONSTRAINT/21000")
    let row = #"[{"id":"\#(Self.one)"}]"#
    for target in [["a"], ["id", "a"], [], ["n"]] {
      #expect(Self.upsert(fixture, row, .merge(target: target)) == "LOCAL_CONSTRAINT/42P10", "\(target)")
      #expect(Self.upsert(fixture, row, .ignore(target: target)) == "LOCAL_CONSTRAINT/42P10", "\(target)")
    }
    #expect(Self.upsert(fixture, row, .merge(target: ["nope"])) == "LOCAL_CONSTRAINT/42703")
    #expect(try fixture.engine.outboxDepth() == 0)
  }

  @Test func uniqueIsCheckedOnUpdatesToo() throws {
    let fixture = try EngineFixture([("t", Self.table)])
    #expect(
      Self.upsert(fixture, #"[{"id":"\#(Self.one)","email":"a"},{"id":"\#(Self.two)","email":"b"}]"#, .refuse)
        == "2/2/2")
    #expect(fixture.apply(.update, "t", Self.two, #"{"email":"A"}"#) == "LOCAL_CONSTRAINT/23505")
    #expect(fixture.apply(.update, "t", Self.two, #"{"email":"B"}"#) == "-")
    #expect(
      fixture.apply(.update, "t", "00000000-0000-4000-8000-000000000003", #"{"email":"B"}"#)
        == "LOCAL_CONSTRAINT/23505")
  }
}
