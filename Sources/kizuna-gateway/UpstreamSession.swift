import Gateway
import KizunaEngine

/// Where the user's tokens come from, as configured.
enum UpstreamSession {
  /// Under this name the database keeps the refresh token that is good now.
  private static let keptName = "refresh_token"

  /// Has the engine take its tokens from there. A token that is at hand is taken at once, so that its user owns the
  /// first row already. A session that cannot be had yet is no fault of the start: the gateway serves without one.
  static func begin(_ configuration: GatewayConfiguration, _ engine: Engine) {
    guard !configuration.offline, let remote = configuration.remote else { return }
    switch remote.session {
    // The engine has taken a fixed token when it was opened.
    case nil, .token: break
    case .tokenFile(let path): begin(TokenFile(path: path), engine)
    case .password(let email, let file):
      engine.setTokenSource(session(remote, .password(email: email, file: file), engine))
    case .refreshTokenFile(let file):
      engine.setTokenSource(session(remote, .refreshToken(file: file), engine))
    }
  }

  private static func begin(_ file: TokenFile, _ engine: Engine) {
    // What keeps a file from being read is told by the first run, and by each that it fails.
    if let token = try? file.token(refused: nil) { take(token, engine) }
    engine.setTokenSource(file)
  }

  private static func take(_ token: String, _ engine: Engine) {
    do throws(KizunaError) { try engine.setAccessToken(token) } catch {
      Log.warn("the access token is not taken: \(error.message)")
    }
  }

  /// The engine owns the session, which therefore must not own the engine.
  private static func session(
    _ remote: GatewayConfiguration.Remote, _ credentials: AuthSession.Credentials, _ engine: Engine
  ) -> AuthSession {
    AuthSession(
      url: remote.url, publishableKey: remote.publishableKey, credentials: credentials,
      load: { [weak engine] () throws(KizunaError) in try engine?.kept(keptName) },
      save: { [weak engine] secret throws(KizunaError) in try engine?.keep(keptName, secret: secret) })
  }
}
