import Gateway
import KizunaEngine

/// Opens the configured database, once it is clear that it lies where a database may lie.
enum DatabaseOpening {
  static func open(_ configuration: GatewayConfiguration) throws(CommandFailure) -> Engine {
    try checkFilesystem(configuration)
    do throws(KizunaError) {
      return try Engine.open(configuration.engineConfiguration())
    } catch {
      throw CommandFailure(error, source: configuration.source)
    }
  }

  private static func checkFilesystem(_ configuration: GatewayConfiguration) throws(CommandFailure) {
    guard !configuration.isThrowaway, !configuration.unsafeFilesystem,
      let mount = SharedFilesystem.mount(ofDatabase: configuration.database)
    else { return }
    throw CommandFailure(
      .configuration,
      "\(configuration.database) lies on \(mount.point), a \(mount.type) file system, where SQLite's write-ahead "
        + "log corrupts; move the database to a local disk or volume, or set \"unsafe_filesystem\": true")
  }

  /// For commands that need a database that is there already.
  static func requireFile(_ configuration: GatewayConfiguration, to action: String) throws(CommandFailure) {
    if configuration.isThrowaway {
      throw CommandFailure(
        .configuration,
        "the database is :memory:, private to the process that serves it; name a file with --database to \(action)"
      )
    }
    guard exists(configuration.database) else {
      throw CommandFailure(
        .inputOutput,
        "there is no database \(configuration.database); name it with --database or in the configuration")
    }
  }
}
