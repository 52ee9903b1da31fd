extension AuthSession {
  /// A session at the sign-in service beside `remote`, whose refresh token is kept in the engine's database. For
  /// `engine.setTokenSource`: it does not hold the engine.
  package static func forEngine(
    _ engine: Engine, remote: EngineConfiguration.Remote, credentials: Credentials
  ) -> AuthSession {
    AuthSession(
      url: remote.url, publishableKey: remote.publishableKey, credentials: credentials,
      load: { [weak engine] () throws(KizunaError) in
        guard let engine else { throw Closing.error }
        return try engine.kept(keptName)
      },
      save: { [weak engine] (token: String?) throws(KizunaError) in
        guard let engine else { throw Closing.error }
        try engine.keep(keptName, secret: token)
      })
  }

  private static let keptName = "refresh_token"
}
