/// What the sign-in service gives for a password or a refresh token.
struct AuthGrant: Sendable, Equatable {
  var accessToken: String
  /// nil when the one that was sent stays good.
  var refreshToken: String?
  var lifetimeMilliseconds: Int64

  private static let usualLifetime: Int64 = 3600

  init?(_ answer: JSONValue) {
    guard let access = answer["access_token"]?.text, !access.isEmpty else { return nil }
    accessToken = access
    refreshToken = answer["refresh_token"]?.text.flatMap { $0.isEmpty ? nil : $0 }
    let seconds = answer["expires_in"]?.int64 ?? Self.usualLifetime
    lifetimeMilliseconds = min(max(seconds, 1), 366 * 86_400) * 1000
  }

  /// How long before its end a token is replaced.
  var marginMilliseconds: Int64 { min(60_000, lifetimeMilliseconds / 10) }
}
