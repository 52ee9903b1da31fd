import Gateway
import KizunaEngine

/// Wipes rows, outbox and journals. Prints the paths of attachments that are left without a row.
enum ResetCommand {
  static func run(configuration: GatewayConfiguration, isConfirmed: Bool) throws(CommandFailure) {
    guard isConfirmed else {
      throw CommandFailure(
        .usage,
        "reset wipes the rows, the outbox and the journals of \(configuration.shownDatabase); say reset --yes to do it"
      )
    }
    try DatabaseOpening.requireFile(configuration, to: "reset one")
    let engine = try DatabaseOpening.open(configuration)
    defer { engine.close() }
    do throws(KizunaError) {
      for path in try engine.reset() { try? Program.show(path + "\n") }
    } catch {
      throw CommandFailure(error, source: configuration.source)
    }
  }
}
