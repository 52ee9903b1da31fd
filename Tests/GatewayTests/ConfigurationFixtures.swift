import Foundation
import Testing

@testable import Gateway

/// Loads a configuration written into a file named `kizuna.json`; errors name it so.
func load(
  _ json: String, environment: [String: String] = [:], overrides: ConfigurationOverrides = .init()
) throws -> GatewayConfiguration {
  let directory = FileManager.default.temporaryDirectory.appending(path: "kizuna-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: directory) }
  let file = directory.appending(path: "kizuna.json").path
  try Data(json.utf8).write(to: URL(fileURLWithPath: file))
  do {
    return try GatewayConfiguration.load(file: file, environment: environment, overrides: overrides)
  } catch let error {
    var error = error
    if error.source == file { error.source = "kizuna.json" }
    error.reason = error.reason.replacingOccurrences(of: file, with: "kizuna.json")
    throw error
  }
}

/// The line that refuses a configuration.
func refusal(
  _ json: String, environment: [String: String] = [:], overrides: ConfigurationOverrides = .init()
) -> String? {
  do {
    _ = try load(json, environment: environment, overrides: overrides)
    return nil
  } catch {
    return "\(error)"
  }
}
