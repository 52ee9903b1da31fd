import Testing

@testable import Gateway

@Suite struct CommandLineArgumentsTests {
  private func parse(_ line: String) throws -> CommandLineArguments {
    try CommandLineArguments(parsing: line.split(separator: " ").map(String.init))
  }

  private func refusal(_ line: String) -> String? {
    do {
      _ = try parse(line)
      return nil
    } catch {
      return (error as? CommandLineArguments.UsageError)?.message
    }
  }

  @Test(arguments: [
    ("", CommandLineArguments.Command.serve), ("serve", .serve), ("check", .check), ("sql", .sql),
    ("health", .health(url: nil)),
    ("health --url http://h:1", .health(url: "http://h:1")),
    ("backup a.sqlite", .backup(destination: "a.sqlite")),
    ("backup -- -odd", .backup(destination: "-odd")), ("reset", .reset(isConfirmed: false)),
    ("reset --yes", .reset(isConfirmed: true)), ("--help", .help), ("serve -h", .help), ("help", .help),
    ("--version", .version), ("--offline", .serve), ("--config c check", .check),
  ])
  func aCommandIsRead(_ line: String, _ command: CommandLineArguments.Command) throws {
    #expect(try parse(line).command == command)
  }

  @Test func optionsAreTakenWithABlankOrAnEqualsSign() throws {
    let arguments = try parse(
      "--config=k.json --listen localhost:1 --listen=unix:a=b serve --database d --offline --log-level debug --log-format json"
    )
    #expect(arguments.command == .serve)
    #expect(arguments.configurationFile == "k.json")
    var overrides = ConfigurationOverrides()
    overrides.listen = ["localhost:1", "unix:a=b"]
    overrides.database = "d"
    overrides.offline = true
    overrides.logLevel = "debug"
    overrides.logFormat = "json"
    #expect(arguments.overrides == overrides)
  }

  @Test(arguments: [
    ("serv", #"unknown command "serv"; did you mean "serve"?"#),
    ("xyz", #"unknown command "xyz"; known are serve, check, sql, health, backup, reset"#),
    ("sql todos", #"sql takes no argument "todos""#),
    ("sql --offline", "sql takes no --offline; it takes --config"),
    ("--lisen a", #"unknown option --lisen; did you mean "--listen"?"#),
    ("--config", "--config needs a value"),
    ("--offline=yes", "--offline takes no value"),
    ("check --yes", "check takes no --yes; it takes --config, --listen"),
    ("backup", "backup takes one destination"),
    ("backup a b", "backup takes one destination"),
    ("serve now", #"serve takes no argument "now""#),
  ])
  func misuseIsNamed(_ line: String, _ message: String) throws {
    let refused = try #require(refusal(line), "accepted")
    #expect(refused.hasPrefix(message), "\(refused)")
  }
}
