import Testing

@testable import KizunaEngine

@Suite struct EngineIdentityTests {
  private static let tables: [(String, EngineConfiguration.Table)] = [
    (
      "mine",
      EngineFixture.table(["id": "text", "user_id": "text", "v": "text"]) { $0.bucket = .owner("user_id") }
    ),
    ("notes", EngineFixture.table(["id": "text", "team": "text"]) { $0.bucket = .column("team") }),
    (
      "more",
      EngineFixture.table(["id": "text", "team": "text", "user_id": "text"]) { $0.bucket = .column("team") }
    ),
    ("todos", EngineFixture.todos),
    ("here", EngineFixture.table(["id": "text"]) { $0.syncMode = .localOnly }),
  ]

  @Test func theFirstReadableSubjectBecomesTheOwner() throws {
    let fixture = try EngineFixture(Self.tables)
    let engine = fixture.engine
    for unreadable in [
      nil, "", "x", "a.b", "a.b.c", "e30.e30.x", "e30.eyJzdWIiOjF9.x", "e30.eyJzdWIiOiIifQ.x", "e30.W10.x",
      EngineFixture.token("who") + ".y",
    ] {
      try engine.setAccessToken(unreadable)
      #expect(try engine.status().owner == nil, "\(unreadable ?? "nil")")
    }
    #expect(fixture.apply(.insert, "mine", "early", "{}") == "-")
    try engine.setAccessToken(EngineFixture.token("ann"))
    #expect(try engine.status().owner == "ann")
    #expect(try engine.status().buckets == [JSONMember("user_id", .string("ann"))])
    #expect(fixture.apply(.insert, "mine", "a", "{}") == "-")
    #expect(fixture.apply(.insert, "mine", "b", #"{"user_id":null}"#) == "-")
    #expect(fixture.apply(.insert, "mine", "c", #"{"user_id":"bob"}"#) == "-")
    #expect(fixture.apply(.update, "mine", "d", #"{"v":"x"}"#) == "-")
    try engine.setBucket(fixture.json(#"{"user_id":"team"}"#))
    #expect(fixture.apply(.insert, "mine", "e", "{}") == "-")
    #expect(
      try fixture.sql("SELECT id, user_id FROM mine ORDER BY id")
        == ["a|ann", "b|null", "c|bob", "d|null", "e|ann", "early|null"])
    #expect(
      fixture.outbox("columns") == [
        "{}", #"{"user_id":"ann"}"#, #"{"user_id":null}"#, #"{"user_id":"bob"}"#, #"{"v":"x"}"#,
        #"{"user_id":"ann"}"#,
      ])
  }

  @Test func aRowOfAPayloadWithoutTheOwnerGetsIt() throws {
    let fixture = try EngineFixture(Self.tables)
    try fixture.engine.setAccessToken(EngineFixture.token("ann"))
    let schema = try #require(fixture.engine.catalog.table("mine"))
    let plan = WritePlan(
      schema,
      .insert(columns: ["id", "user_id"], rows: [[.string("a"), .string("bob")], [nil, nil]], .refuse),
      writeId: UUIDText.v7())
    let keys = try fixture.engine.write(plan).keys
    #expect(RowKey.isUUIDShaped(keys.last ?? ""))
    #expect(try fixture.sql("SELECT user_id FROM mine ORDER BY rowid") == ["bob", "ann"])
  }

  @Test func anOwnerColumnNobodyHasYetIsFilledToo() throws {
    var table = EngineConfiguration.Table()
    table.bucket = .owner("user_id")
    let fixture = try EngineFixture([("t", table)])
    try fixture.engine.setAccessToken(EngineFixture.token("ann"))
    #expect(fixture.apply(.insert, "t", "a", #"{"v":1}"#) == "-")
    try fixture.insert("t", #"[{"id":"b"}]"#)
    #expect(
      try fixture.rows("t") == #"[{"id":"a","v":1,"user_id":"ann"},{"id":"b","v":null,"user_id":"ann"}]"#)
  }

  @Test func anotherSubjectBlocksUntilReset() throws {
    let fixture = try EngineFixture(Self.tables)
    let engine = fixture.engine
    try engine.setAccessToken(EngineFixture.token("ann"))
    let events = EventLog(engine)
    try engine.setAccessToken(EngineFixture.token("ann"))
    #expect(try engine.checkpoint().softBlocked == false)
    try engine.setAccessToken(EngineFixture.token("bob"))
    try engine.setAccessToken(EngineFixture.token("bob"))
    try engine.setAccessToken(EngineFixture.token("ann"))
    #expect(
      try engine.checkpoint()
        == Checkpoint(cursor: "0", softBlocked: true, softBlockReason: "identity_changed"))
    #expect(try engine.status().owner == "ann")
    #expect(fixture.apply(.insert, "todos", "a", #"{"title":"t"}"#) == "-")
    _ = try engine.reset()
    #expect(try engine.checkpoint() == Checkpoint(cursor: "0", softBlocked: false, softBlockReason: nil))
    #expect(
      events.finish()
        == [.resetRequired(reason: "identity_changed"), .localChanged, .queueDepth(1), .localChanged])
  }

  @Test func bucketsFollowTheirRules() throws {
    let fixture = try EngineFixture(Self.tables)
    let engine = fixture.engine
    let events = EventLog(engine)
    func set(_ values: String) -> String { EngineFixture.code { try engine.setBucket(fixture.json(values)) } }
    func kept() throws -> [String] {
      try fixture.sql("SELECT \"table\", key, value FROM _kizunasync_buckets ORDER BY 1")
    }
    func restarts() -> Bool { engine.shared.identity.restartsPull }
    #expect(set("[]") == "JSON")
    #expect(set(#"{"team":"red","nope":"x"}"#) == "BUCKET_UNSET")
    let message = EngineFixture.message { try engine.setBucket(fixture.json(#"{"nope":"x"}"#)) }
    #expect(message.contains("nope"))
    #expect(try kept() == [])
    #expect(set(#"{"team":{"a":1}}"#) == "JSON")
    #expect(set(#"{"team":"red"}"#) == "-")
    #expect(try kept() == ["more|team|red", "notes|team|red"])
    #expect(!restarts())
    #expect(set(#"{"team":""}"#) == "-")
    #expect(set(#"{"team":"red"}"#) == "-")
    #expect(!restarts())
    #expect(set(#"{"team":7}"#) == "-")
    #expect(restarts())
    #expect(try kept() == ["more|team|7", "notes|team|7"])
    #expect(try engine.status().buckets == [JSONMember("team", .string("7"))])
    #expect(events.finish() == [])
  }

  @Test func theKeptScopeOutlivesTheProcessAndTheValuesDoNot() throws {
    let directory = try TestDirectory()
    let configuration = EngineFixture.configuration(directory.database, Self.tables)
    var engine = try Engine.open(configuration)
    try engine.setAccessToken(EngineFixture.token("ann"))
    try engine.setBucket(.object([JSONMember("team", .string("red"))]))
    engine.close()
    engine = try Engine.open(configuration)
    defer { engine.close() }
    #expect(try engine.status().buckets == [JSONMember("user_id", .string("ann"))])
    #expect(try engine.status().owner == "ann")
    try engine.setBucket(.object([JSONMember("team", .string("blue"))]))
    #expect(engine.shared.identity.restartsPull)
  }

  @Test func anOwnerThatReplacesASetBucketStartsOver() throws {
    let fixture = try EngineFixture(Self.tables)
    try fixture.engine.setBucket(fixture.json(#"{"user_id":"earlier"}"#))
    #expect(!fixture.engine.shared.identity.restartsPull)
    try fixture.engine.setAccessToken(EngineFixture.token("ann"))
    #expect(fixture.engine.shared.identity.restartsPull)
    #expect(try fixture.engine.status().buckets == [JSONMember("user_id", .string("ann"))])
  }

  @Test func aTokenOfTheConfigurationIsAToken() throws {
    let directory = try TestDirectory()
    var configuration = EngineFixture.configuration(directory.database, Self.tables)
    var remote = EngineConfiguration.Remote(url: "https://a.b", publishableKey: "k")
    remote.accessToken = EngineFixture.token("ann")
    configuration.remote = remote
    let engine = try Engine.open(configuration)
    defer { engine.close() }
    #expect(try engine.status().owner == "ann")
  }

  @Test func resetClearsTheUserAndKeepsTheClock() throws {
    let hlc = EngineFixture.table(["id": "text"]) { $0.conflictMode = .hlc }
    let fixture = try EngineFixture(Self.tables + [("clocked", hlc)])
    let engine = fixture.engine
    try engine.setAccessToken(EngineFixture.token("ann"))
    try engine.setBucket(fixture.json(#"{"team":"red"}"#))
    try engine.setBucket(fixture.json(#"{"team":"blue"}"#))
    try engine.seedCheckpoint("42")
    for table in ["todos", "clocked", "mine"] {
      #expect(fixture.apply(.insert, table, "a", table == "todos" ? #"{"title":"t"}"# : "{}") == "-")
      #expect(fixture.apply(.delete, table, "a") == "-")
      #expect(fixture.apply(.insert, table, "b", table == "todos" ? #"{"title":"t"}"# : "{}") == "-")
    }
    #expect(fixture.apply(.insert, "here", "a", "{}") == "-")
    try EngineJournalTests.journal(fixture)
    let clientId = try engine.status().clientId
    let before = try fixture.sql("SELECT key, value FROM _kizunasync_meta WHERE key LIKE 'hlc%'")
    #expect(before.count == 3)
    #expect(try engine.reset() == [])
    for name in ["outbox", "base", "tombstones", "rejections", "overwrites", "buckets"] {
      #expect(try fixture.sql("SELECT count(*) FROM _kizunasync_\(name)") == ["0"], "\(name)")
    }
    for table in ["todos", "clocked", "mine"] { #expect(try fixture.rows(table) == "[]") }
    #expect(try fixture.rows("here") == #"[{"id":"a"}]"#)
    let status = try engine.status()
    #expect(status.clientId != clientId && RowKey.isUUIDShaped(status.clientId))
    #expect(status.owner == nil && status.outboxDepth == 0 && status.checkpoint.cursor == "0")
    #expect(status.buckets == [JSONMember("team", .string("blue"))])
    #expect(!engine.shared.identity.restartsPull)
    #expect(try fixture.sql("SELECT key, value FROM _kizunasync_meta WHERE key LIKE 'hlc%'") == before)
    let events = EventLog(engine)
    #expect(fixture.apply(.insert, "todos", "c", #"{"title":"t"}"#) == "-")
    #expect(events.finish() == [.localChanged, .queueDepth(1)])
  }

  @Test func stampsNeverGoBack() throws {
    let hlc = EngineFixture.table(["id": "text", "v": "text"]) { $0.conflictMode = .hlc }
    let directory = try TestDirectory()
    let configuration = EngineFixture.configuration(
      directory.database, [("t", hlc), ("todos", EngineFixture.todos)])
    var stamps: [String] = []
    for round in 0..<2 {
      let engine = try Engine.open(configuration)
      defer { engine.close() }
      for number in 0..<20 {
        try engine.apply(Mutation(table: "t", pk: "\(round)-\(number)", op: .insert))
      }
      try engine.apply(
        Mutation(table: "todos", pk: "\(round)", op: .insert, columns: [JSONMember("title", .string("t"))]))
      let keys = try engine.applyWhere(
        table: "t", op: .update,
        filters: try JSONParser.parse(#"[{"kind":"neq","column":"id","value":"x"}]"#),
        columns: [JSONMember("v", .string("x"))])
      #expect(keys.count == 20 * (round + 1))
      if round == 1 {
        let outbox = try engine.query(table: "t", plan: .object([]))
        #expect(outbox.elements?.count == 40)
        let box = Guarded<[String]>([])
        try engine.writer.perform { context throws(KizunaError) in
          let statement = try context.connection.prepare(
            "SELECT hlc, \"table\" FROM _kizunasync_outbox ORDER BY seq")
          while try statement.step() {
            if statement.text(1) == "todos" { #expect(statement.text(0) == nil) }
            if let stamp = statement.text(0) { box.with { $0.append(stamp) } }
          }
        }
        stamps = box.with { $0 }
      }
    }
    #expect(stamps.count == 100)
    let parts = stamps.map { $0.split(separator: "|") }
    #expect(Set(parts.map { $0[2] }).count == 1)
    for (a, b) in zip(parts, parts.dropFirst()) {
      let isLater = a[0] < b[0] || a[0] == b[0] && (Int(a[1]) ?? 0) < (Int(b[1]) ?? 0)
      #expect(isLater)
    }
  }

  @Test func theClockFollowsTheLaterOfWallAndKept() {
    var clock = OriginClock(node: "n")
    #expect(clock.tick(now: 1_704_067_200_000) == "2024-01-01T00:00:00.000Z|0|n")
    #expect(clock.tick(now: 1_704_067_200_000) == "2024-01-01T00:00:00.000Z|1|n")
    #expect(clock.tick(now: 1_704_067_199_000) == "2024-01-01T00:00:00.000Z|2|n")
    #expect(clock.tick(now: 1_704_067_200_001) == "2024-01-01T00:00:00.001Z|0|n")
    var ahead = OriginClock(physical: 1_704_067_200_000 + 3_600_000, counter: 5, node: "n")
    #expect(ahead.tick(now: 1_704_067_200_000) == "2024-01-01T01:00:00.000Z|6|n")
    var tooFar = OriginClock(physical: 1_704_067_200_000 + 3_600_001, counter: 5, node: "n")
    #expect(tooFar.tick(now: 1_704_067_200_000) == "2024-01-01T00:00:00.000Z|0|n")
  }
}

@Suite struct EngineJournalTests {
  static func journal(_ fixture: EngineFixture) throws {
    for (number, kind) in ["REJECTED", "DEAD_LETTER", "BATCH_ABORTED"].enumerated() {
      _ = try fixture.sql(
        """
        INSERT INTO _kizunasync_rejections(mutation_id, write_id, "table", pk, kind, reason, changed_columns,
          server_row, at) VALUES('00000000-0000-4000-8000-00000000000\(number)', NULL, 'todos', 'k\(number)',
          '\(kind)', 'CONSTRAINT', '["title"]', \(number == 0 ? "'{\"id\":\"k0\"}'" : "NULL"),
          '2024-01-01 00:00:00.00\(number)')
        """)
      _ = try fixture.sql(
        """
        INSERT INTO _kizunasync_overwrites("table", pk, "column", loser_value, winner_mutation_id, conflict_mode,
          winner_seq, at) VALUES('todos', 'k\(number)', 'title', '"mine"', 'w\(number)', 'hlc',
          \(number == 0 ? "NULL" : "'9'"), '2024-01-01 00:00:00')
        """)
    }
  }

  @Test func rejectionsComeNewestFirstUntilDismissed() throws {
    let fixture = try EngineFixture([("todos", EngineFixture.todos)])
    let engine = fixture.engine
    #expect(try engine.rejections(includeDismissed: true) == [])
    try Self.journal(fixture)
    let all = try engine.rejections(includeDismissed: false)
    #expect(all.map(\.pk) == ["k2", "k1", "k0"])
    #expect(
      all.last
        == Rejection(
          mutationId: "00000000-0000-4000-8000-000000000000", table: "todos", pk: "k0", kind: "REJECTED",
          reason: "CONSTRAINT", changedColumns: ["title"], serverRowJSON: #"{"id":"k0"}"#,
          at: 1_704_067_200_000, dismissed: false))
    #expect(all[1].serverRowJSON == "" && all[1].at == 1_704_067_200_001)
    let id = all[1].mutationId
    #expect(try engine.dismissRejection(id))
    #expect(try engine.dismissRejection(id))
    #expect(try engine.dismissRejection("nope") == false)
    #expect(try engine.rejections(includeDismissed: false).map(\.pk) == ["k2", "k0"])
    #expect(try engine.rejections(includeDismissed: true).map(\.dismissed) == [false, true, false])
  }

  @Test func overwritesComeNewestFirstUntilDismissed() throws {
    let fixture = try EngineFixture([("todos", EngineFixture.todos)])
    let engine = fixture.engine
    try Self.journal(fixture)
    let all = try engine.overwrites(includeDismissed: false)
    #expect(all.map(\.pk) == ["k2", "k1", "k0"])
    #expect(all.map(\.winnerSeq) == ["9", "9", nil])
    #expect(all[0].loserValueJSON == "\"mine\"" && all[0].at == 1_704_067_200_000)
    #expect(try engine.dismissOverwrite(all[0].id))
    #expect(try engine.dismissOverwrite(all[0].id))
    #expect(try engine.dismissOverwrite(999) == false)
    #expect(try engine.overwrites(includeDismissed: false).count == 2)
    #expect(try engine.overwrites(includeDismissed: true).first?.dismissed == true)
  }
}
