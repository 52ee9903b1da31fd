/// Access tokens from a file that somebody else keeps fresh. Read again when it changes, and when the upstream
/// refuses what it held.
package final class TokenFile: AccessTokenSource {
  private let file: SecretFile
  private let held = Guarded<(token: String, version: SecretFile.Version)?>(nil)

  package init(path: String) { file = SecretFile(path: path) }

  /// Fails with `AUTH_SESSION_MISSING`, naming the file, while it cannot be read or is empty.
  package func token(refused: String?) throws(RemoteFault) -> String? {
    let version = try file.version()
    return try held.with { held throws(RemoteFault) in
      if let held, held.version == version, refused?.sameBytes(as: held.token) != true { return held.token }
      let read = try file.read()
      held = (read.secret, read.version)
      return read.secret
    }
  }

  /// A file makes nobody wait.
  package func cancel() {}
}
