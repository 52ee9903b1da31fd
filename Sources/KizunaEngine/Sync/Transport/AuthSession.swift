import Glibc

/// A session at Supabase Auth, opened with a password or a refresh token and kept open by refreshing.
///
/// Every refresh may rotate the refresh token and void the old one, so the new one is kept durably before the access
/// token that came with it is used. A sign-in that fails is not tried again before a delay that doubles from one
/// second to one minute; meanwhile the token in hand serves while it lasts, and then the fault stands.
package final class AuthSession: AccessTokenSource, @unchecked Sendable {
  package enum Credentials: Sendable {
    /// The password is read from the file at every sign-in.
    case password(email: String, file: String)
    /// The file is read when no token is kept, or the kept one is refused.
    case refreshToken(file: String)
  }

  private struct Session {
    var token: String
    var since: Int64
    var refreshAt: Int64
    var expiresAt: Int64
  }

  private static let deadline: Int64 = 10_000
  private static let backoff: (first: Int64, last: Int64) = (1000, 60_000)
  /// A token this young that the upstream refuses would be followed by another that it refuses.
  private static let young: Int64 = 10_000

  private let client: AuthClient?
  private let credentials: Credentials
  /// Whose refresh token is kept: another account's is never used.
  private let account: String
  private let load: @Sendable () throws(KizunaError) -> String?
  private let save: @Sendable (String?) throws(KizunaError) -> Void
  private let clock: @Sendable () -> Int64

  // Guarded by the lock, which is held during a sign-in: others want the same token.
  private let lock = Lock()
  private var session: Session?
  private var refreshToken: String?
  private var isLoaded = false
  private var isSaved = true
  private var failures = 0
  private var notBefore: Int64 = 0
  private var lastFault = RemoteFault.sessionMissing

  /// `load` and `save` keep one text durably between starts. `clock`: milliseconds, never backwards, and going on
  /// while the machine sleeps.
  package init(
    url: String, publishableKey: String, credentials: Credentials,
    load: @escaping @Sendable () throws(KizunaError) -> String?,
    save: @escaping @Sendable (String?) throws(KizunaError) -> Void,
    clock: @escaping @Sendable () -> Int64 = AuthSession.now
  ) {
    let endpoint = Endpoint(url)
    client = endpoint.map { AuthClient(endpoint: $0, key: publishableKey) }
    self.credentials = credentials
    account =
      switch credentials {
      case .password(let email, _): "\(endpoint?.base ?? "") \(email)"
      case .refreshToken: endpoint?.base ?? ""
      }
    self.load = load
    self.save = save
    self.clock = clock
  }

  package static func now() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_BOOTTIME, &now)
    return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
  }

  package func cancel() { client?.poster.cancel() }

  /// Fails with `AUTH_SESSION_MISSING` when the credentials are refused, with `AUTH_SESSION_TIMEOUT` after ten
  /// seconds, and without a code when the sign-in service cannot be reached.
  package func token(refused: String?) throws(RemoteFault) -> String? {
    try lock.locked { () throws(RemoteFault) in
      let now = clock()
      try keepRefreshToken()
      if let session, let refused, refused.sameBytes(as: session.token) {
        if now - session.since < Self.young { return session.token }
        return try signIn(now)
      }
      if let session, now < session.refreshAt { return session.token }
      do throws(RemoteFault) { return try signIn(now) } catch {
        if isSaved, let session, clock() < session.expiresAt { return session.token }
        throw error
      }
    }
  }

  private func signIn(_ now: Int64) throws(RemoteFault) -> String {
    guard let client else { throw RemoteFault(Endpoint.refused) }
    guard now >= notBefore else { throw lastFault }
    do throws(AuthClient.Failure) {
      let grant = try ask(client, until: now + Self.deadline)
      failures = 0
      try adopt(grant, at: now)
      return grant.accessToken
    } catch {
      switch error {
      case .cancelled(let fault): throw fault
      case .refused(let fault), .other(let fault):
        let delay = min(Self.backoff.first << Int64(min(failures, 10)), Self.backoff.last)
        failures += 1
        notBefore = clock() + delay
        lastFault = fault
        throw fault
      }
    }
  }

  // MARK: Asking

  private func ask(_ client: AuthClient, until deadline: Int64) throws(AuthClient.Failure) -> AuthGrant {
    let kept = try keptToken()
    if let kept {
      do throws(AuthClient.Failure) {
        return try client.ask(.refresh(token: kept), withinMilliseconds: deadline - clock())
      } catch {
        // It may have been refused by mistake, so it stays until another takes its place.
        guard case .refused = error else { throw error }
      }
    }
    let request = try request(insteadOf: kept)
    return try client.ask(request, withinMilliseconds: deadline - clock())
  }

  private func request(insteadOf kept: String?) throws(AuthClient.Failure) -> AuthClient.Request {
    switch credentials {
    case .password(let email, let file): return .password(email: email, password: try secret(file))
    case .refreshToken(let file):
      let token = try secret(file)
      guard kept?.sameBytes(as: token) != true else {
        throw .refused(
          RemoteFault(
            code: "AUTH_SESSION_MISSING", "the refresh token of \(file) is refused",
            hint: "Write a new one there."))
      }
      return .refresh(token: token)
    }
  }

  private func secret(_ path: String) throws(AuthClient.Failure) -> String {
    do throws(RemoteFault) { return try SecretFile(path: path).read().secret } catch { throw .other(error) }
  }

  // MARK: Keeping

  private func keptToken() throws(AuthClient.Failure) -> String? {
    guard !isLoaded else { return refreshToken }
    do throws(KizunaError) {
      let parts = try load()?.split(separator: "\n", maxSplits: 1).map(String.init) ?? []
      if parts.count == 2, parts[0].sameBytes(as: account) { refreshToken = parts[1] }
      isLoaded = true
      return refreshToken
    } catch {
      throw .other(Self.unkept(error))
    }
  }

  private func adopt(_ grant: AuthGrant, at now: Int64) throws(AuthClient.Failure) {
    session = Session(
      token: grant.accessToken, since: now,
      refreshAt: now + grant.lifetimeMilliseconds - grant.marginMilliseconds,
      expiresAt: now + grant.lifetimeMilliseconds)
    if let rotated = grant.refreshToken {
      refreshToken = rotated
      isSaved = false
    }
    do throws(RemoteFault) { try keepRefreshToken() } catch { throw .other(error) }
  }

  /// Whatever could not be kept is tried again before any token is given out.
  private func keepRefreshToken() throws(RemoteFault) {
    guard !isSaved, let refreshToken else { return }
    do throws(KizunaError) { try save("\(account)\n\(refreshToken)") } catch { throw Self.unkept(error) }
    isSaved = true
  }

  private static func unkept(_ error: KizunaError) -> RemoteFault {
    RemoteFault("the session's refresh token cannot be kept: \(error.message)")
  }
}
