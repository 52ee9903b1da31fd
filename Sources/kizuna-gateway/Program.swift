import Gateway
import Glibc
import KizunaEngine

/// From arguments to an exit code.
enum Program {
  static func run(_ arguments: [String]) -> ExitCode {
    signal(SIGPIPE, SIG_IGN)
    do throws(CommandFailure) {
      return try dispatch(try parse(arguments))
    } catch {
      OutputText.write("kizuna-gateway: \(OutputText.oneLine(error.message))\n", to: STDERR_FILENO)
      return error.code
    }
  }

  private static func parse(_ arguments: [String]) throws(CommandFailure) -> CommandLineArguments {
    do throws(CommandLineArguments.UsageError) {
      return try CommandLineArguments(parsing: arguments)
    } catch {
      throw CommandFailure(.usage, "\(error.message) (kizuna-gateway --help shows all)")
    }
  }

  private static func dispatch(_ arguments: CommandLineArguments) throws(CommandFailure) -> ExitCode {
    switch arguments.command {
    case .help: try show(HelpText.text)
    case .version: try show("kizuna-gateway \(Version.text)\n")
    case .serve: try ServeCommand(configuration: try configuration(arguments)).run()
    case .check: try show(try configuration(arguments).json.prettyText + "\n")
    case .sql: try SQLCommand.run(configuration: try configuration(arguments))
    case .health(let url): return try HealthCommand.run(url: url, arguments: arguments)
    case .backup(let destination):
      try BackupCommand.run(configuration: try configuration(arguments), destination: destination)
    case .reset(let isConfirmed):
      try ResetCommand.run(configuration: try configuration(arguments), isConfirmed: isConfirmed)
    }
    return .success
  }

  static func configuration(_ arguments: CommandLineArguments) throws(CommandFailure) -> GatewayConfiguration
  {
    var environment: [String: String] = [:]
    for name in GatewayConfiguration.environmentNames { environment[name] = Environment.value(name) }
    do throws(ConfigurationError) {
      return try GatewayConfiguration.load(
        file: arguments.configurationFile, environment: environment, overrides: arguments.overrides)
    } catch {
      throw CommandFailure(error)
    }
  }

  static func show(_ text: String) throws(CommandFailure) {
    guard OutputText.write(text, to: STDOUT_FILENO) else {
      throw CommandFailure(.inputOutput, "standard output cannot be written: \(SystemError.text)")
    }
  }
}
