import Gateway
import KizunaEngine

/// The codes of sysexits.h that are used, and `health`'s own 1.
enum ExitCode: Int32 {
  case success = 0
  case notReady = 1
  case usage = 64
  case unavailable = 69
  case internalFault = 70
  case inputOutput = 74
  case configuration = 78
}

/// Why a command ends: a line for standard error, and the code.
struct CommandFailure: Error {
  var code: ExitCode
  var message: String

  init(_ code: ExitCode, _ message: String) {
    self.code = code
    self.message = message
  }

  init(_ error: ConfigurationError) { self.init(.configuration, error.description) }

  /// What the engine said of a database or a configuration.
  init(_ error: KizunaError, source: String) {
    switch (error.code, error.sqlstate) {
    case ("CONFIG_INVALID", _): self.init(ConfigurationError(source, error))
    case ("STORE", "55006"):
      self.init(
        .unavailable,
        "\(error.message), perhaps a gateway that still runs; stop it, or name another file with --database")
    case ("STORE", _): self.init(.inputOutput, Self.sentence(error))
    default: self.init(.internalFault, Self.sentence(error))
    }
  }

  private static func sentence(_ error: KizunaError) -> String {
    error.hint.map { "\(error.message). \($0)" } ?? error.message
  }
}
