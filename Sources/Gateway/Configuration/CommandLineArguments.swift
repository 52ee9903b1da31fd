/// A command line read: the command and what it was given.
package struct CommandLineArguments: Sendable, Equatable {
  package enum Command: Sendable, Equatable {
    case serve
    case check
    case sql
    case health(url: String?)
    case backup(destination: String)
    case reset(isConfirmed: Bool)
    case help
    case version
  }

  /// One line that says what is wrong and what may have been meant.
  package struct UsageError: Error, Sendable, Equatable {
    package var message: String
  }

  package var command = Command.serve
  package var configurationFile: String?
  package var overrides = ConfigurationOverrides()

  private static let commands = ["serve", "check", "sql", "health", "backup", "reset"]
  private static let valued = ["--config", "--listen", "--database", "--log-level", "--log-format", "--url"]
  private static let flags = ["--offline", "--yes", "--help", "--version"]

  /// What each command takes besides `--config`, `--help` and `--version`.
  private static let options: [String: [String]] = [
    "serve": ["--listen", "--database", "--offline", "--log-level", "--log-format"],
    "check": ["--listen", "--database", "--offline", "--log-level", "--log-format"],
    "sql": [], "health": ["--listen", "--url"], "backup": ["--database"], "reset": ["--database", "--yes"],
  ]

  /// `arguments` without the program's name.
  package init(parsing arguments: [String]) throws(UsageError) {
    var scan = Scan()
    try scan.read(arguments)
    if scan.given.contains("-h") || scan.given.contains("--help") {
      command = .help
      return
    }
    if scan.given.contains("--version") {
      command = .version
      return
    }
    let name = scan.words.first ?? "serve"
    if name == "help" || name == "version" {
      command = name == "help" ? .help : .version
      return
    }
    guard let allowed = Self.options[name] else { throw Self.unknownCommand(name) }
    for option in scan.given where option != "--config" && !allowed.contains(option) {
      throw UsageError(
        message: "\(name) takes no \(option); it takes \((["--config"] + allowed).joined(separator: ", "))")
    }
    configurationFile = scan.values["--config"]
    overrides = scan.overrides
    command = try Self.command(name, Array(scan.words.dropFirst()), scan)
  }

  private static func command(
    _ name: String, _ operands: [String], _ scan: Scan
  ) throws(UsageError) -> Command {
    if name == "backup" {
      guard operands.count == 1, !operands[0].isEmpty else {
        throw UsageError(message: "backup takes one destination: kizuna-gateway backup DEST")
      }
      return .backup(destination: operands[0])
    }
    if let extra = operands.first { throw UsageError(message: "\(name) takes no argument \"\(extra)\"") }
    switch name {
    case "check": return .check
    case "sql": return .sql
    case "health": return .health(url: scan.values["--url"])
    case "reset": return .reset(isConfirmed: scan.given.contains("--yes"))
    default: return .serve
    }
  }

  private static func unknownCommand(_ name: String) -> UsageError {
    UsageError(message: "unknown command \"\(name)\"; \(Suggestion.text(for: name, among: commands))")
  }

  /// The arguments sorted into options and words.
  private struct Scan {
    var given: [String] = []
    var values: [String: String] = [:]
    var words: [String] = []
    var overrides = ConfigurationOverrides()

    mutating func read(_ arguments: [String]) throws(UsageError) {
      var rest = arguments[...]
      while let argument = rest.popFirst() {
        if argument == "--" {
          words += rest
          return
        }
        guard argument.hasPrefix("-"), argument != "-" else {
          words.append(argument)
          continue
        }
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0])
        let attached = parts.count > 1 ? String(parts[1]) : nil
        if valued.contains(name) {
          guard let value = attached ?? rest.popFirst() else {
            throw UsageError(message: "\(name) needs a value: \(name) VALUE")
          }
          take(name, value)
        } else if flags.contains(name) || name == "-h" {
          if attached != nil { throw UsageError(message: "\(name) takes no value") }
          given.append(name)
          if name == "--offline" { overrides.offline = true }
        } else {
          let known = valued + flags
          throw UsageError(message: "unknown option \(name); \(Suggestion.text(for: name, among: known))")
        }
      }
    }

    private mutating func take(_ name: String, _ value: String) {
      given.append(name)
      values[name] = value
      switch name {
      case "--listen": overrides.listen.append(value)
      case "--database": overrides.database = value
      case "--log-level": overrides.logLevel = value
      case "--log-format": overrides.logFormat = value
      default: break
      }
    }
  }
}
