import KizunaEngine

/// Why a configuration cannot be used: one line that names where (a file, a variable, an option), which key, what
/// is wrong and what to do.
package struct ConfigurationError: Error, Sendable, Equatable, CustomStringConvertible {
  /// `kizuna.json`, `KIZUNA_LISTEN`, `--listen`.
  package var source: String
  /// `tables.todos.key`; empty when it is the source as a whole.
  package var path: String
  package var reason: String

  package init(_ source: String, _ path: String, _ reason: String) {
    self.source = source
    self.path = path
    self.reason = reason
  }

  /// What the engine has to say against a configuration: its message starts with the key's path.
  package init(_ source: String, _ error: KizunaError) {
    self.init(source, "", error.hint.map { "\(error.message). \($0)" } ?? error.message)
  }

  package var description: String {
    OutputText.oneLine([source, path, reason].filter { !$0.isEmpty }.joined(separator: ": "))
  }
}
