/// The upstream's functions, as the engine calls them.
package protocol Remote: Sendable {
  /// Calls `function` with a JSON body and answers the body of a 2xx, which may be empty. Blocks until the answer,
  /// a deadline or `cancel`.
  func call(_ function: String, body: [UInt8], token: String) throws(RemoteFault) -> [UInt8]

  /// Ends the call in flight with a retryable fault; later calls fail at once. For a stop that must not wait.
  func cancel()
}

/// Why an upstream call failed.
package struct RemoteFault: Error, Sendable, Equatable {
  /// The server's code, or one of ours (`AUTH_SESSION_MISSING`); nil for a fault of the transport.
  package var code: String?
  package var message: String
  package var details: String?
  package var hint: String?
  /// Of the answer, if there was one. It decides nothing: only the code does.
  package var status: Int?

  package init(
    code: String? = nil, _ message: String, details: String? = nil, hint: String? = nil, status: Int? = nil
  ) {
    self.code = code
    self.message = message
    self.details = details
    self.hint = hint
    self.status = status
  }

  package static let sessionMissing = RemoteFault(
    code: "AUTH_SESSION_MISSING", "there is no access token: nothing is sent without one",
    hint: "Set an access token, or configure a session.")

  /// Sending the same again cannot help. Anything not listed may be the environment's doing, and is tried for ever.
  package var isPermanent: Bool {
    guard let code else { return false }
    if ["P0001", "0A000", "KZP01", "KZP02", "KZL01"].contains(code) { return true }
    guard code.utf8.count == 5, code != "42501" else { return false }
    return code.hasPrefix("22") || code.hasPrefix("23") || code.hasPrefix("42")
  }

  /// Whether the token was refused: expired, not yet valid, or not ours.
  package var refusesToken: Bool {
    code == "PGRST301" || code == "PGRST303" || (code == nil && status == 401)
  }

  /// As callers of the engine see it: `PERMANENT_TRANSPORT` or `REMOTE`, with the transport's own code.
  package var error: KizunaError {
    KizunaError(
      isPermanent ? "PERMANENT_TRANSPORT" : "REMOTE", sqlstate: code,
      code.map { "\($0): \(message)" } ?? message,
      details: details, hint: hint)
  }
}

/// Where access tokens come from when nobody sets them by hand: a file, or a session kept at the upstream's sign-in
/// service.
package protocol AccessTokenSource: Sendable {
  /// The token to send now; nil leaves the one in use. Asked before every run, and once more with the token that
  /// the upstream has just refused. May block, at most ten seconds.
  func token(refused: String?) throws(RemoteFault) -> String?

  /// Ends a call in flight; later ones fail at once.
  func cancel()
}
