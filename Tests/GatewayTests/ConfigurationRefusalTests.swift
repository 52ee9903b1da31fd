import Testing

@testable import Gateway

@Suite struct ConfigurationRefusalTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var json: String
    var line: String
    init(_ json: String, _ line: String) {
      self.json = json
      self.line = line
    }
    var testDescription: String { json }
  }

  private static let remote = #""remote": {"url": "https://a.b", "publishable_key": "k"}"#

  static let values: [Case] = [
    Case("{", #"kizuna.json: line 1, column 2: is no JSON: expected '"'"#),
    Case("{\n  \"a\": 1,\n}", #"kizuna.json: line 3, column 1: is no JSON: expected '"'"#),
    Case("[]", "kizuna.json: must be an object, not an array"),
    Case(#"{"databse": "x"}"#, #"kizuna.json: databse: unknown key; did you mean "database"?"#),
    Case(#"{"apikey": "x"}"#, #"kizuna.json: apikey: unknown key; did you mean "api_key"?"#),
    Case(#"{"maxRows": 5}"#, #"kizuna.json: maxRows: unknown key; did you mean "max_rows"?"#),
    Case(#"{"sync": {"poll": 5}}"#, #"kizuna.json: sync.poll: unknown key; did you mean "poll_interval_s"?"#),
    Case(#"{"sync": {"x": 5}}"#, "kizuna.json: sync.x: unknown key; known are poll_interval_s, page_limit"),
    Case(#"{"database": "a", "database": "b"}"#, "kizuna.json: database: stands there twice"),
    Case(#"{"a\nb": 1}"#, "kizuna.json: a\\u000ab: unknown key; known are listen"),
    Case(#"{"database": 1}"#, "kizuna.json: database: must be a text, not 1"),
    Case(#"{"database": ""}"#, "kizuna.json: database: must not be empty"),
    Case(#"{"durability": "ful"}"#, #"kizuna.json: durability: "ful" is no choice; did you mean "full"?"#),
    Case(#"{"durability": true}"#, "kizuna.json: durability: must be one of full, normal, off, not true"),
    Case(
      #"{"write_return": "rows"}"#,
      #"kizuna.json: write_return: "rows" is no choice; known are keys, minimal"#),
    Case(#"{"aggregates": 1}"#, "kizuna.json: aggregates: must be true or false, not 1"),
    Case(#"{"max_rows": 0}"#, "kizuna.json: max_rows: must be a whole number from 1 to 2147483647, not 0"),
    Case(
      #"{"max_rows": 1.5}"#, "kizuna.json: max_rows: must be a whole number from 1 to 2147483647, not 1.5"),
    Case(
      #"{"max_rows": "9"}"#, "kizuna.json: max_rows: must be a whole number from 1 to 2147483647, not a text"),
    Case(
      #"{"idle_timeout_s": null}"#,
      "kizuna.json: idle_timeout_s: must be a whole number from 1 to 86400, not null"),
    Case(
      #"{"max_header_bytes": 10}"#,
      "kizuna.json: max_header_bytes: must be a whole number from 1024 to 1048576"),
    Case(#"{"api_key": ""}"#, "kizuna.json: api_key: must not be empty"),
    Case(#"{"api_key": "a b"}"#, "kizuna.json: api_key: must be made of printable ASCII characters"),
    Case(#"{"cors_origins": "x"}"#, "kizuna.json: cors_origins: must be an array, not a text"),
    Case(
      #"{"cors_origins": ["localhost:3000"]}"#,
      #"kizuna.json: cors_origins[0]: "localhost:3000" is no origin"#),
    Case(
      #"{"cors_origins": ["https://a.b/"]}"#, #"kizuna.json: cors_origins[0]: "https://a.b/" is no origin"#),
    Case(
      #"{"allowed_hosts": ["a", "http://b"]}"#, #"kizuna.json: allowed_hosts[1]: "http://b" is no host name"#),
  ]

  static let addresses: [Case] = [
    Case(#"{"listen": []}"#, "kizuna.json: listen: must name at least one address"),
    Case(#"{"listen": "localhost:1"}"#, "kizuna.json: listen: must be an array, not a text"),
    Case(#"{"listen": ["54321"]}"#, #"kizuna.json: listen: "54321" has no host"#),
    Case(
      #"{"listen": ["localhost:65536"]}"#,
      #"kizuna.json: listen: "localhost:65536" has no port from 0 to 65535"#),
    Case(#"{"listen": ["example.com:80"]}"#, #""example.com" is neither localhost nor an IP address"#),
    Case(#"{"listen": ["::1:80"]}"#, #""::1" is neither localhost nor an IP address"#),
    Case(#"{"listen": ["unix:"]}"#, #"kizuna.json: listen: "unix:": a socket's path has 1 to 107 bytes"#),
    Case(
      #"{"listen": ["localhost:1", "localhost:1"]}"#,
      #"kizuna.json: listen: "localhost:1" stands there twice"#),
    Case(
      #"{"listen": ["0.0.0.0:1"]}"#,
      "kizuna.json: listen: 0.0.0.0:1 can be reached from other machines and needs a key"),
    Case(
      #"{"listen": ["localhost:1", "[::]:1"]}"#,
      "kizuna.json: listen: [::]:1 can be reached from other machines"),
  ]

  static let upstreams: [Case] = [
    Case(#"{"remote": {"url": "https://a.b"}}"#, "kizuna.json: remote: publishable_key is missing"),
    Case(#"{"remote": {"publishable_key": "k"}}"#, "kizuna.json: remote: url is missing"),
    Case(
      #"{"remote": {"url": "http://example.com", "publishable_key": "k"}}"#,
      #"kizuna.json: remote.url: "http://example.com" must be https"#),
    Case(
      #"{"remote": {"url": "https://u:p@a.b", "publishable_key": "k"}}"#,
      "kizuna.json: remote.url: must not carry a user name"),
    Case(
      #"{"remote": {"url": "https://a.b?x", "publishable_key": "k"}}"#,
      "kizuna.json: remote.url: must be a plain address"),
    Case(
      #"{"remote": {"url": "https://a.b", "publishable_key": "k", "rest_path": "rest"}}"#,
      #"kizuna.json: remote.rest_path: "rest" must start with /"#),
    Case(
      #"{"remote": {"url": "https://a.b", "publishable_key": "k", "access_token": "t", "access_token_file": "f"}}"#,
      "kizuna.json: remote: access_token and access_token_file exclude each other; keep one"),
    Case(
      #"{"remote": {"url": "https://a.b", "publishable_key": "k", "session": {"email": "e"}}}"#,
      "kizuna.json: remote.session: password_file is missing"),
    Case(
      #"{"remote": {"url": "https://a.b", "publishable_key": "k", "anon_key": "x"}}"#,
      "kizuna.json: remote.anon_key: unknown key"),
    Case(
      "{\(remote), \"tables\": {\"Big\": {}}}",
      "kizuna.json: tables.Big: the wire carries names of lowercase letters"),
    Case(
      "{\(remote), \"tables\": {\((0..<65).map { "\"t\($0)\": {}" }.joined(separator: ","))}}",
      "kizuna.json: tables: 65 synced tables, and one pull carries at most 64"),
  ]

  static let tables: [Case] = [
    Case(#"{"tables": []}"#, "kizuna.json: tables: must be an object, not an array"),
    Case(
      #"{"tables": {"t": {"colums": {}}}}"#,
      #"kizuna.json: tables.t.colums: unknown key; did you mean "columns"?"#),
    Case(
      #"{"tables": {"t": {"columns": {"id": 1}}}}"#, "kizuna.json: tables.t.columns.id: must be a text, not 1"
    ),
    Case(
      #"{"tables": {"t": {"columns": {"id": "uuid", "id": "uuid"}}}}"#,
      "kizuna.json: tables.t.columns.id: stands there twice"),
    Case(#"{"tables": {"t": {"columns": {"id": "uuid nott null"}}}}"#, "kizuna.json: tables.t.columns.id: "),
    Case(
      #"{"tables": {"t": {"columns": {"a": "text"}}}}"#, "kizuna.json: tables.t.key: there is no column id"),
    Case(
      #"{"tables": {"t": {"columns": {"id": "uuid"}, "key": ["idd"]}}}"#,
      #"kizuna.json: tables.t.key: there is no column "idd"; did you mean "id"?"#),
    Case(
      #"{"tables": {"t": {"columns": {"id": "uuid"}, "key": []}}}"#,
      "kizuna.json: tables.t.key: only a local-only table may have an empty key"),
    Case(#"{"tables": {"t": {"key": ["a", "a"]}}}"#, #"kizuna.json: tables.t.key: "a" stands there twice"#),
    Case(
      #"{"tables": {"t": {"bucket": {}}}}"#,
      #"kizuna.json: tables.t.bucket: must be {"column": NAME} or {"owner": NAME}"#),
    Case(
      #"{"tables": {"t": {"sync_mode": "readwrite"}}}"#,
      #"kizuna.json: tables.t.sync_mode: "readwrite" is no choice; did you mean "read-write"?"#),
    Case(
      #"{"tables": {"t": {"columns": {"id": "uuid"}, "indexes": [["x"]]}}}"#,
      #"kizuna.json: tables.t.indexes[0]: there is no column "x""#),
    Case(
      #"{"tables": {"t": {"unique": [[]]}}}"#,
      "kizuna.json: tables.t.unique[0]: must name at least one column"),
    Case(
      #"{"tables": {"t": {"foreign_keys": [{"columns": ["a"], "table": "u", "references": ["x", "y"]}]}}}"#,
      "kizuna.json: tables.t.foreign_keys[0]: columns and references must name equally many columns"),
    Case(
      #"{"tables": {"t": {"foreign_keys": [{"columns": ["a"]}]}}}"#,
      "kizuna.json: tables.t.foreign_keys[0]: references is missing"),
  ]

  @Test(arguments: values + addresses + upstreams + tables)
  func aBadFileIsRefusedWithALineThatNamesTheKey(_ bad: Case) throws {
    let line = try #require(refusal(bad.json), "accepted")
    #expect(line.contains(bad.line), "\(line)")
    #expect(line.hasPrefix("kizuna.json: "))
    #expect(!line.contains("\n"))
  }

  @Test(arguments: [
    (["KIZUNA_LISTEN": "x"], #"KIZUNA_LISTEN: "x" has no port"#),
    (["KIZUNA_LISTEN": "0.0.0.0:1"], "KIZUNA_LISTEN: 0.0.0.0:1 can be reached"),
    (["KIZUNA_API_KEY": "é"], "KIZUNA_API_KEY: must be made of"),
    (["KIZUNA_LOG_LEVEL": "warning"], #"KIZUNA_LOG_LEVEL: "warning" is no choice; did you mean "warn"?"#),
    (
      ["KIZUNA_ACCESS_TOKEN": "t"],
      "KIZUNA_ACCESS_TOKEN: there is no upstream to use it with; set KIZUNA_REMOTE_URL"
    ),
    (
      ["KIZUNA_REMOTE_URL": "https://a.b"],
      "KIZUNA_REMOTE_URL: the upstream also needs its key; set KIZUNA_PUBLISHABLE_KEY"
    ),
    (
      ["KIZUNA_REMOTE_URL": "http://a.b", "KIZUNA_PUBLISHABLE_KEY": "k"],
      #"KIZUNA_REMOTE_URL: "http://a.b" must be https"#
    ),
  ])
  func aBadVariableIsRefusedByName(_ environment: [String: String], _ expected: String) throws {
    let line = try #require(refusal("{}", environment: environment), "accepted")
    #expect(line.hasPrefix(expected), "\(line)")
  }

  @Test func aBadOptionIsRefusedByName() throws {
    var overrides = ConfigurationOverrides()
    overrides.listen = ["192.168.1.1:80"]
    #expect(refusal("{}", overrides: overrides)?.hasPrefix("--listen: 192.168.1.1:80 can be reached") == true)
    overrides.listen = []
    overrides.logFormat = "jsn"
    #expect(refusal("{}", overrides: overrides) == #"--log-format: "jsn" is no choice; did you mean "json"?"#)
  }

  @Test func aKeyOpensOtherAddresses() throws {
    let file = #"{"listen": ["0.0.0.0:1"]}"#
    #expect(refusal(file, environment: ["KIZUNA_API_KEY": "k"]) == nil)
  }

  @Test func aFileThatIsNotThereIsNamed() {
    let error = #expect(throws: ConfigurationError.self) {
      try GatewayConfiguration.load(file: "/nowhere/k.json", environment: [:], overrides: .init())
    }
    #expect(
      error?.description.hasPrefix("/nowhere/k.json: cannot be read: No such file or directory") == true)
  }

  @Test func theDemoTakesNoUpstream() {
    let error = #expect(throws: ConfigurationError.self) {
      try GatewayConfiguration.load(
        file: nil, environment: ["KIZUNA_REMOTE_URL": "https://a.b", "KIZUNA_PUBLISHABLE_KEY": "k"],
        overrides: .init())
    }
    #expect(error?.source == "KIZUNA_REMOTE_URL")
  }

  @Test func aSyncedTableMayHaveAnyNameWithoutAnUpstream() {
    #expect(refusal(#"{"tables": {"Big Table": {"columns": {"id": "uuid"}}}}"#) == nil)
    #expect(
      refusal(#"{"tables": {"log": {"columns": {"x": "text"}, "key": [], "sync_mode": "local-only"}}}"#)
        == nil)
  }
}
