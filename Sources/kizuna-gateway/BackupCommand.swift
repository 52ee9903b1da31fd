import Gateway
import KizunaEngine

/// Copies the database file, whoever serves it.
enum BackupCommand {
  static func run(configuration: GatewayConfiguration, destination: String) throws(CommandFailure) {
    try DatabaseOpening.requireFile(configuration, to: "copy one")
    do throws(KizunaError) {
      try DatabaseFile.backup(from: configuration.database, to: destination)
    } catch {
      throw CommandFailure(error, source: configuration.source)
    }
  }
}
