import Foundation
import Testing

@testable import KizunaEngine

@Suite(.timeLimit(.minutes(1)))
struct SyncTokenTests {
  private let directory: TestDirectory
  private var path: String { directory.path + "/secret" }

  init() throws { directory = try TestDirectory() }

  private func write(_ text: String, to name: String = "secret") throws {
    try text.write(toFile: directory.path + "/" + name, atomically: false, encoding: .utf8)
  }

  private static func ask(_ source: any AccessTokenSource, refused: String? = nil) -> (String?, RemoteFault?)
  {
    do throws(RemoteFault) { return (try source.token(refused: refused), nil) } catch { return (nil, error) }
  }

  // MARK: A file

  @Test func aTokenFileIsReadAgainWhenItChanges() throws {
    let file = TokenFile(path: path)
    try write(" \n first\t\r\n")
    #expect(Self.ask(file).0 == "first")
    try write("second token")
    #expect(Self.ask(file).0 == "second token")
    // Replaced, as mounted secrets are.
    try "other1".write(toFile: path, atomically: true, encoding: .utf8)
    #expect(Self.ask(file).0 == "other1")
    #expect(Self.ask(file).0 == "other1")
  }

  @Test func aRefusedTokenIsReadAgainEvenFromAFileThatLooksTheSame() throws {
    let file = TokenFile(path: path)
    try write("first")
    #expect(Self.ask(file).0 == "first")
    #expect(Self.ask(file, refused: "first").0 == "first")
    #expect(Self.ask(file, refused: "other").0 == "first")
  }

  @Test(arguments: ["missing", "empty", "blank", "directory", "binary", "huge"])
  func aFileWithoutATokenIsNamed(kind: String) throws {
    switch kind {
    case "empty": try write("")
    case "blank": try write(" \n ")
    case "directory": try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    case "binary": try Data([0xFF, 0xFE]).write(to: URL(fileURLWithPath: path))
    case "huge": try write(String(repeating: "x", count: 100_000))
    default: break
    }
    let fault = Self.ask(TokenFile(path: path)).1
    #expect(fault?.code == "AUTH_SESSION_MISSING")
    #expect(fault?.message.contains(path) == true)
  }

  @Test func aFileThatComesBackIsReadAgain() throws {
    let file = TokenFile(path: path)
    try write("first")
    #expect(Self.ask(file).0 == "first")
    try FileManager.default.removeItem(atPath: path)
    #expect(Self.ask(file).1?.code == "AUTH_SESSION_MISSING")
    try write("first")
    #expect(Self.ask(file).0 == "first")
  }

  // MARK: A session

  /// What the stand-in for the sign-in service answers next, and what stands in the place that lasts.
  private final class Service: Sendable {
    let answers = Guarded<[(status: Int, body: String)]>([])
    let kept = Guarded<String?>(nil)
    let saves = Guarded<[String?]>([])
    let saveFails = Guarded(false)
    let now = Guarded<Int64>(1_000_000)
    let server: RawServer

    init() {
      let answers = answers
      server = RawServer { _ in
        guard let next = answers.with({ $0.isEmpty ? nil : $0.removeFirst() }) else {
          return RawServer.answer(503, "")
        }
        return next.status == 0 ? [.hang] : RawServer.answer(next.status, next.body)
      }
    }

    func grant(_ token: String, refresh: String?, seconds: Int = 3600) {
      let rotated = refresh.map { #","refresh_token":"\#($0)""# } ?? ""
      add(200, #"{"access_token":"\#(token)","expires_in":\#(seconds)\#(rotated)}"#)
    }

    func add(_ status: Int, _ body: String = "{}") { answers.with { $0.append((status, body)) } }
    func pass(seconds: Int64) { now.with { $0 += seconds * 1000 } }

    func session(_ credentials: AuthSession.Credentials) -> AuthSession {
      let (kept, saves, saveFails, now) = (kept, saves, saveFails, now)
      return AuthSession(
        url: server.url, publishableKey: "public-key", credentials: credentials,
        load: { kept.with { $0 } },
        save: { (value: String?) throws(KizunaError) in
          if saveFails.with({ $0 }) { throw KizunaError("STORE", "the disk is full") }
          kept.with { $0 = value }
          saves.with { $0.append(value) }
        },
        clock: { now.with { $0 } })
    }

    var lines: [String] {
      server.seen.map { request in
        let grant = request.line.split(separator: " ")[1].split(separator: "=").last ?? ""
        return "\(grant) \(request.text)"
      }
    }
  }

  private var password: AuthSession.Credentials { .password(email: "me@example.com", file: path) }
  private let signIn = #"password {"email":"me@example.com","password":"pass word"}"#
  private func refresh(_ token: String) -> String { #"refresh_token {"refresh_token":"\#(token)"}"# }

  @Test func aPasswordSignsInAndTheTokenServesUntilItsMargin() throws {
    try write("pass word\n")
    let service = Service()
    service.grant("a1", refresh: "r1")
    let session = service.session(password)
    #expect(Self.ask(session).0 == "a1")
    service.pass(seconds: 3600 - 61)
    #expect(Self.ask(session).0 == "a1")
    #expect(service.lines == [signIn])
    let request = try #require(service.server.seen.first)
    #expect(request.line == "POST /auth/v1/token?grant_type=password HTTP/1.1")
    #expect(request.headers["apikey"] == "public-key")
    #expect(request.headers["authorization"] == nil)
    service.pass(seconds: 1)
    service.grant("a2", refresh: "r2")
    #expect(Self.ask(session).0 == "a2")
    #expect(service.lines == [signIn, refresh("r1")])
  }

  @Test func aShortLifeHasAShortMargin() throws {
    try write("pass word")
    let service = Service()
    service.grant("a1", refresh: "r1", seconds: 100)
    let session = service.session(password)
    _ = Self.ask(session)
    service.pass(seconds: 89)
    #expect(Self.ask(session).0 == "a1")
    service.pass(seconds: 1)
    service.grant("a2", refresh: nil, seconds: 100)
    #expect(Self.ask(session).0 == "a2")
    service.pass(seconds: 90)
    service.grant("a3", refresh: "r3", seconds: 100)
    #expect(Self.ask(session).0 == "a3")
    #expect(
      service.lines == [signIn, refresh("r1"), refresh("r1")], "a token that was not rotated stays good")
  }

  @Test func aRestartGoesOnWithTheRotatedToken() throws {
    try write("from the file")
    let service = Service()
    let credentials = AuthSession.Credentials.refreshToken(file: path)
    service.grant("a1", refresh: "r1")
    #expect(Self.ask(service.session(credentials)).0 == "a1")
    service.grant("a2", refresh: "r2")
    #expect(Self.ask(service.session(credentials)).0 == "a2")
    #expect(service.lines == [refresh("from the file"), refresh("r1")])
  }

  @Test func aRefreshTokenOfAnotherAccountIsNotUsed() throws {
    try write("pass word")
    let service = Service()
    service.grant("a1", refresh: "r1")
    _ = Self.ask(service.session(.password(email: "other@example.com", file: path)))
    service.grant("a2", refresh: "r2")
    #expect(Self.ask(service.session(password)).0 == "a2")
    #expect(service.lines.last == signIn)
  }

  @Test(arguments: [400, 401, 403])
  func aRefusedRefreshTokenFallsBackToWhatIsConfigured(status: Int) throws {
    try write("pass word")
    let service = Service()
    service.grant("a1", refresh: "r1", seconds: 100)
    let session = service.session(password)
    _ = Self.ask(session)
    service.pass(seconds: 95)
    service.add(status, #"{"msg":"Invalid Refresh Token"}"#)
    service.grant("a2", refresh: "r2")
    #expect(Self.ask(session).0 == "a2")
    #expect(service.lines == [signIn, refresh("r1"), signIn])
  }

  @Test func aRefusedKeptTokenFallsBackToTheFile() throws {
    try write("old")
    let service = Service()
    let credentials = AuthSession.Credentials.refreshToken(file: path)
    service.grant("a1", refresh: "r1")
    _ = Self.ask(service.session(credentials))
    try write("brand new")
    service.add(400)
    service.grant("a2", refresh: "r2")
    #expect(Self.ask(service.session(credentials)).0 == "a2")
    #expect(service.lines.suffix(2) == [refresh("r1"), refresh("brand new")])
  }

  @Test func noTokenIsUsedBeforeItsRefreshTokenIsKept() throws {
    try write("pass word")
    let service = Service()
    service.grant("a1", refresh: "r1")
    service.saveFails.with { $0 = true }
    let session = service.session(password)
    #expect(Self.ask(session).1?.message.contains("the disk is full") == true)
    #expect(Self.ask(session).0 == nil)
    service.saveFails.with { $0 = false }
    #expect(Self.ask(session).0 == "a1")
    #expect(service.saves.with { $0.count } == 1)
    #expect(service.lines.count == 1, "what was granted is not asked for again")
  }

  @Test func aRefusalRefreshesAtOnceButNotRightAfterTheSignIn() throws {
    try write("pass word")
    let service = Service()
    service.grant("a1", refresh: "r1")
    let session = service.session(password)
    _ = Self.ask(session)
    #expect(Self.ask(session, refused: "a1").0 == "a1", "another would be refused as well")
    service.pass(seconds: 30)
    #expect(Self.ask(session, refused: "an older one").0 == "a1")
    service.grant("a2", refresh: "r2")
    #expect(Self.ask(session, refused: "a1").0 == "a2")
    #expect(service.lines == [signIn, refresh("r1")])
  }

  @Test func aFailedSignInIsNotRepeatedBeforeItsBackoff() throws {
    try write("pass word")
    let service = Service()
    let session = service.session(password)
    for (attempt, wait) in [1, 2, 4, 8, 16, 32, 60, 60].enumerated() {
      service.add(400, #"{"error_code":"invalid_credentials","msg":"Invalid login credentials"}"#)
      let fault = Self.ask(session).1
      #expect(fault?.code == "AUTH_SESSION_MISSING")
      #expect(fault?.message.contains("Invalid login credentials") == true)
      #expect(fault?.isPermanent == false)
      service.now.with { $0 += Int64(wait) * 1000 - 1 }
      #expect(Self.ask(session).1 == fault)
      #expect(service.lines.count == attempt + 1)
      service.now.with { $0 += 1 }
    }
    service.grant("a1", refresh: "r1")
    #expect(Self.ask(session).0 == "a1")
  }

  @Test func theTokenInHandServesWhileTheServiceIsAway() throws {
    try write("pass word")
    let service = Service()
    service.grant("a1", refresh: "r1", seconds: 100)
    let session = service.session(password)
    _ = Self.ask(session)
    service.pass(seconds: 95)
    #expect(Self.ask(session).0 == "a1")
    service.pass(seconds: 10)
    let fault = Self.ask(session).1
    #expect(fault?.code == nil && fault?.message.contains("503") == true)
    #expect(!service.lines.contains { $0.hasPrefix("password") && $0 != signIn })
  }

  @Test func anUnreadablePasswordIsNamed() {
    let service = Service()
    let fault = Self.ask(service.session(password)).1
    #expect(fault?.code == "AUTH_SESSION_MISSING" && fault?.message.contains(path) == true)
    #expect(service.lines.isEmpty)
  }

  @Test func cancellingEndsASignInThatHangs() throws {
    try write("pass word")
    let service = Service()
    service.add(0)
    let session = service.session(password)
    let ended = Guarded<RemoteFault?>(nil)
    let call = KizunaEngine.Thread(name: "sign-in") {
      let fault = Self.ask(session).1
      ended.with { $0 = fault }
    }
    #expect(comesTrue { service.lines.count == 1 })
    session.cancel()
    call.join()
    #expect(ended.with { $0 }?.message == "the call to 127.0.0.1 was cancelled")
    #expect(Self.ask(session).0 == nil)
  }

  @Test func aSlowSignInHasACodeOfItsOwn() throws {
    let server = RawServer { _ in [.hang] }
    let client = AuthClient(endpoint: try #require(Endpoint(server.url)), key: "k")
    #expect(throws: AuthClient.Failure.self) {
      do throws(AuthClient.Failure) {
        _ = try client.ask(.refresh(token: "secret"), withinMilliseconds: 200)
      } catch {
        guard case .other(let fault) = error else { throw error }
        #expect(fault.code == "AUTH_SESSION_TIMEOUT")
        throw error
      }
    }
  }

  @Test func noSignInGoesToAnAddressThatThePolicyForbids() throws {
    try write("pass word")
    let session = AuthSession(
      url: "http://example.com", publishableKey: "k", credentials: password, load: { nil }, save: { _ in })
    #expect(Self.ask(session).1?.message == Endpoint.refused)
  }

  @Test func anEngineKeepsTheRotatedTokenAcrossARestart() throws {
    try write("pass word")
    let service = Service()
    var configuration = EngineConfiguration()
    configuration.databasePath = directory.database
    configuration.remote = .init(url: service.server.url, publishableKey: "k")
    let remote = try #require(configuration.remote)
    service.grant("a1", refresh: "r1")
    var engine = try Engine.open(configuration)
    #expect(Self.ask(AuthSession.forEngine(engine, remote: remote, credentials: password)).0 == "a1")
    engine.close()
    service.grant("a2", refresh: "r2")
    engine = try Engine.open(configuration)
    #expect(Self.ask(AuthSession.forEngine(engine, remote: remote, credentials: password)).0 == "a2")
    engine.close()
    #expect(service.lines == [signIn, refresh("r1")])
  }
}
