import KizunaEngine
import Testing

@testable import Gateway

@Suite struct ConfigurationLoadTests {
  @Test func everyKeyOfTheFileIsRead() throws {
    let configuration = try load(
      """
      {
        "listen": ["localhost:1", "[::1]:2", "unix:/run/k.sock"], "database": "d.sqlite", "durability": "normal",
        "api_key": "secret", "cors_origins": ["http://localhost:3000"], "allowed_hosts": ["kizuna"],
        "max_rows": 100, "aggregates": false, "max_header_bytes": 8192, "idle_timeout_s": 5, "read_timeout_s": 6,
        "max_body_bytes": 1000, "write_return": "minimal", "unsafe_filesystem": true,
        "remote": {
          "url": "https://abc.supabase.co", "publishable_key": "pk", "access_token_file": "/run/token",
          "rest_path": "", "schema": "other", "local_only_columns": ["note"]
        },
        "sync": {"poll_interval_s": 3, "page_limit": 50},
        "tables": {
          "zebras": {
            "columns": {"id": "uuid", "b": "text not null", "a": "integer", "owner": "uuid", "gone": "timestamptz"},
            "bucket": {"owner": "owner"}, "soft_delete_column": "gone", "conflict_mode": "hlc",
            "sync_mode": "pull-only", "unique": [["a", "b"]], "indexes": [["b"]],
            "foreign_keys": [{"columns": ["a", "b"], "table": "ants", "references": ["x", "y"]}]
          },
          "ants": {"key": ["x", "y"]}
        }
      }
      """)
    #expect(
      configuration.listen == [
        .tcp(host: "localhost", port: 1), .tcp(host: "::1", port: 2), .unix(path: "/run/k.sock"),
      ])
    #expect(configuration.database == "d.sqlite")
    #expect(configuration.durability == .normal)
    #expect(configuration.apiKey == "secret")
    #expect(configuration.corsOrigins == ["http://localhost:3000"])
    #expect(configuration.allowedHosts == ["kizuna"])
    #expect(configuration.maxRows == 100)
    #expect(!configuration.aggregates)
    #expect(configuration.maxHeaderBytes == 8192)
    #expect(configuration.idleTimeoutS == 5)
    #expect(configuration.readTimeoutS == 6)
    #expect(configuration.maxBodyBytes == 1000)
    #expect(configuration.writeReturn == .minimal)
    #expect(configuration.unsafeFilesystem)
    #expect(configuration.pollIntervalS == 3)
    let remote = try #require(configuration.remote)
    #expect(remote.session == .tokenFile("/run/token"))
    let engine = configuration.engineConfiguration()
    #expect(engine.databasePath == "d.sqlite")
    #expect(engine.defaultLimit == 50)
    #expect(engine.remote?.restPath == "")
    #expect(engine.remote?.schema == "other")
    #expect(engine.remote?.localOnlyColumns == ["note"])
    #expect(engine.tables.map(\.name) == ["zebras", "ants"])
    let zebras = engine.tables[0].table
    #expect(zebras.columns?.map(\.name) == ["id", "b", "a", "owner", "gone"])
    #expect(zebras.bucket == .owner("owner"))
    #expect(zebras.softDeleteColumn == "gone")
    #expect(zebras.conflictMode == .hlc)
    #expect(zebras.syncMode == .pullOnly)
    #expect(zebras.unique == [["a", "b"]])
    #expect(zebras.foreignKeys.map(\.name) == ["zebras_a_b_fkey"])
    #expect(engine.tables[1].table.columns == nil)
    #expect(engine.tables[1].table.key == ["x", "y"])
  }

  @Test func commandLineBeatsEnvironmentBeatsFile() throws {
    let file = #"{"listen": ["localhost:1"], "database": "file", "api_key": "file"}"#
    let environment = [
      "KIZUNA_LISTEN": "127.0.0.1:2, [::1]:2", "KIZUNA_DATABASE": "environment",
      "KIZUNA_API_KEY": "environment",
      "KIZUNA_LOG_LEVEL": "warn",
    ]
    let second = try load(file, environment: environment)
    #expect(second.listen == [.tcp(host: "127.0.0.1", port: 2), .tcp(host: "::1", port: 2)])
    #expect(second.database == "environment")
    #expect(second.apiKey == "environment")
    #expect(second.logLevel == .warn)

    var overrides = ConfigurationOverrides()
    overrides.listen = ["unix:s"]
    overrides.database = ":memory:"
    overrides.logLevel = "debug"
    overrides.logFormat = "json"
    let third = try load(file, environment: environment, overrides: overrides)
    #expect(third.listen == [.unix(path: "s")])
    #expect(third.database == ":memory:")
    #expect(third.apiKey == "environment")
    #expect(third.logLevel == .debug)
    #expect(third.logFormat == .json)
  }

  @Test func anEmptyVariableCountsAsUnset() throws {
    let configuration = try load(
      #"{"api_key": "k"}"#, environment: ["KIZUNA_API_KEY": "", "KIZUNA_LISTEN": ""])
    #expect(configuration.apiKey == "k")
    #expect(configuration.listen == [.tcp(host: "localhost", port: 54321)])
  }

  @Test func theEnvironmentCompletesTheUpstream() throws {
    let configuration = try load(
      #"{"remote": {"url": "https://a.b", "publishable_key": "k", "access_token_file": "f"}}"#,
      environment: ["KIZUNA_REMOTE_URL": "http://rest:3000", "KIZUNA_ACCESS_TOKEN": "t"])
    #expect(configuration.remote?.url == "http://rest:3000")
    #expect(configuration.remote?.publishableKey == "k")
    #expect(configuration.remote?.session == .token("t"))
    #expect(configuration.engineConfiguration().remote?.accessToken == "t")
  }

  @Test func offlineTheEngineHasNoUpstream() throws {
    var overrides = ConfigurationOverrides()
    overrides.offline = true
    let configuration = try load(
      #"{"remote": {"url": "https://a.b", "publishable_key": "k"}}"#, overrides: overrides)
    #expect(configuration.engineConfiguration().remote == nil)
    #expect(configuration.shownUpstream == "https://a.b (offline)")
  }

  @Test func withoutAFileTheDemoIsServed() throws {
    let configuration = try GatewayConfiguration.load(file: nil, environment: [:], overrides: .init())
    #expect(configuration.isDemo)
    #expect(configuration.tables.map(\.name) == ["lists", "todos"])
    #expect(configuration.shownDatabase == "./kizuna.sqlite")
    #expect(configuration.shownUpstream == "none")
  }

  @Test func theCheckedConfigurationMasksSecretsAndReadsBack() throws {
    let configuration = try load(
      """
      {"api_key": "topsecret", "tables": {"t": {"columns": {"id": "uuid"}}},
       "remote": {"url": "https://a.b", "publishable_key": "topsecret", "access_token": "topsecret"}}
      """)
    let text = configuration.json.prettyText
    #expect(!text.contains("topsecret"))
    let again = try load(text)
    #expect(again.json == configuration.json)
  }

  @Test func aSessionIsSignedInFromFiles() throws {
    let password = try load(
      #"{"remote": {"url": "https://a.b", "publishable_key": "k", "session": {"email": "e", "password_file": "p"}}}"#
    )
    #expect(password.remote?.session == .password(email: "e", passwordFile: "p"))
    let refresh = try load(
      #"{"remote": {"url": "https://a.b", "publishable_key": "k", "session": {"refresh_token_file": "r"}}}"#)
    #expect(refresh.remote?.session == .refreshTokenFile("r"))
  }
}
