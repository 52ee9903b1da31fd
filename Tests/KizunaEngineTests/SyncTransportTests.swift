import Foundation
import Testing

@testable import KizunaEngine

@Suite(.timeLimit(.minutes(1)))
struct SyncTransportTests {
  private func remote(
    _ server: RawServer, limits: HTTPPoster.Limits = .init(),
    _ change: (inout EngineConfiguration.Remote) -> Void = { _ in }
  ) -> CurlRemote {
    var configuration = EngineConfiguration.Remote(url: server.url + "/", publishableKey: "public-key")
    change(&configuration)
    return CurlRemote(configuration, limits: limits)
  }

  private func fault(_ remote: CurlRemote, token: String = "secret-token") -> RemoteFault? {
    do throws(RemoteFault) {
      _ = try remote.call("pull", body: Array(#"{"cursor":"secret-body"}"#.utf8), token: token)
      return nil
    } catch {
      return error
    }
  }

  // MARK: Requests

  @Test func aCallCarriesTheHeadersAndTheBodyOfTheWire() throws {
    let server = RawServer { _ in RawServer.answer(200, #"{"ok":true}"#) }
    let body = #"{"buckets":[]}"#
    let answer = try remote(server).call("pull", body: Array(body.utf8), token: "a.b.c")
    #expect(String(decoding: answer, as: UTF8.self) == #"{"ok":true}"#)
    let request = try #require(server.seen.first)
    #expect(request.line == "POST /rest/v1/rpc/pull HTTP/1.1")
    #expect(request.text == body)
    let expected = [
      "authorization": "Bearer a.b.c", "apikey": "public-key", "content-profile": "kizunasync",
      "content-type": "application/json", "accept": "application/json",
    ]
    for (name, value) in expected { #expect(request.headers[name] == value, "\(name)") }
    #expect(request.headers["expect"] == nil)
    #expect(request.headers["accept-profile"] == nil)
    #expect(request.headers["accept-encoding"]?.contains("gzip") == true)
  }

  @Test(arguments: [
    ("", "POST /rpc/push HTTP/1.1"), ("/api", "POST /api/rpc/push HTTP/1.1"),
    ("a/b/", "POST /a/b/rpc/push HTTP/1.1"), ("/", "POST /rpc/push HTTP/1.1"),
  ])
  func theRestPathStandsBeforeTheFunction(path: String, line: String) throws {
    let server = RawServer { _ in RawServer.answer(200, "") }
    let remote = remote(server) {
      $0.restPath = path
      $0.schema = "other"
    }
    _ = try remote.call("push", body: [], token: "t")
    #expect(server.seen.map(\.line) == [line])
    #expect(server.seen.first?.headers["content-profile"] == "other")
  }

  @Test func aLargeBodyArrivesWhole() throws {
    let server = RawServer { request in RawServer.answer(200, "\(request.body.count)") }
    let body = [UInt8](repeating: UInt8(ascii: "x"), count: 12_000_000)
    let answer = try remote(server).call("push", body: body, token: "t")
    #expect(String(decoding: answer, as: UTF8.self) == "12000000")
    #expect(server.seen.first?.headers["expect"] == nil)
  }

  @Test func callsShareOneConnection() throws {
    let server = RawServer { _ in RawServer.answer(200, "{}") }
    let remote = remote(server)
    for _ in 0..<5 { _ = try remote.call("pull", body: [], token: "t") }
    #expect(server.accepted == 1)
  }

  @Test func aConnectionThatTheServerClosedIsReplaced() throws {
    let server = RawServer { _ in RawServer.answer(200, "{}") + [.close] }
    let remote = remote(server)
    for _ in 0..<3 { _ = try remote.call("pull", body: [1], token: "t") }
    #expect(server.seen.count == 3)
  }

  @Test func aTokenThatWouldBreakTheHeadIsNotSent() {
    let server = RawServer { _ in RawServer.answer(200, "{}") }
    let fault = fault(remote(server), token: "a\r\nX-Other: b")
    #expect(fault != nil && fault?.message.contains("X-Other") == false)
    #expect(server.seen.isEmpty)
  }

  @Test func loopbackNeverGoesThroughAProxy() throws {
    let proxy = RawServer { _ in RawServer.answer(200, #""proxy""#) }
    setenv("http_proxy", proxy.url, 1)
    defer { unsetenv("http_proxy") }
    let server = RawServer { _ in RawServer.answer(200, #""upstream""#) }
    let answer = try remote(server).call("pull", body: [], token: "t")
    #expect(String(decoding: answer, as: UTF8.self) == #""upstream""#)
    #expect(proxy.accepted == 0)
  }

  @Test(arguments: ["http://example.com", "ftp://127.0.0.1", "http://", "nonsense url", "http://8.8.8.8"])
  func anAddressThatThePolicyForbidsIsNotCalled(url: String) {
    let remote = CurlRemote(EngineConfiguration.Remote(url: url, publishableKey: "k"))
    let fault = fault(remote)
    #expect(fault?.message == Endpoint.refused)
    #expect(fault?.isPermanent == false)
  }

  // MARK: Answers

  @Test(arguments: [(200, "[]"), (201, "{}"), (204, ""), (206, "null")])
  func anyTwoHundredIsASuccess(status: Int, body: String) throws {
    let server = RawServer { _ in
      status == 204 ? [.send("HTTP/1.1 204 X\r\n\r\n")] : RawServer.answer(status, body)
    }
    let answer = try remote(server).call("pull", body: [], token: "t")
    #expect(String(decoding: answer, as: UTF8.self) == body)
  }

  struct Refusal: Sendable, CustomTestStringConvertible {
    var status: Int
    var body: String
    var code: String?
    var message: String
    var details: String?
    var hint: String?
    var testDescription: String { "\(status) \(body)" }
  }

  @Test(arguments: [
    Refusal(
      status: 400, body: #"{"code":"KZP02","message":"too many","details":"500","hint":"fewer"}"#,
      code: "KZP02",
      message: "too many", details: "500", hint: "fewer"),
    Refusal(
      status: 500, body: #"{"code":"40P01","message":"deadlock","details":null,"hint":null}"#, code: "40P01",
      message: "deadlock"),
    Refusal(status: 403, body: #"{"code":"42501"}"#, code: "42501", message: "127.0.0.1 answered 403"),
    Refusal(
      status: 400, body: #"{"code":400,"message":"number"}"#, message: "127.0.0.1 answered 400: number"),
    Refusal(status: 400, body: #"{"code":"","message":"blank"}"#, message: "127.0.0.1 answered 400: blank"),
    Refusal(status: 502, body: "<html>secret-token</html>", message: "127.0.0.1 answered 502"),
    Refusal(status: 401, body: "", message: "127.0.0.1 answered 401"),
    Refusal(status: 500, body: #"["code"]"#, message: "127.0.0.1 answered 500"),
    Refusal(status: 400, body: #"{"code":"22023","message":"cut"#, message: "127.0.0.1 answered 400"),
  ])
  func aRefusalIsReadByItsCode(refusal: Refusal) {
    let server = RawServer { _ in RawServer.answer(refusal.status, refusal.body) }
    let fault = fault(remote(server))
    #expect(
      fault
        == RemoteFault(
          code: refusal.code, refusal.message, details: refusal.details, hint: refusal.hint,
          status: refusal.status))
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func aRedirectIsNotFollowedAndHasNoCode(status: Int) {
    let target = RawServer { _ in RawServer.answer(200, "{}") }
    let server = RawServer { _ in
      RawServer.answer(status, #"{"code":"22023","message":"m"}"#, ["Location: \(target.url)/x"])
    }
    let fault = fault(remote(server))
    #expect(fault?.code == nil)
    #expect(fault?.status == status)
    #expect(target.accepted == 0)
  }

  @Test(arguments: [
    ("declared", "HTTP/1.1 200 X\r\nContent-Length: 2000\r\n\r\n"), ("read", "HTTP/1.1 200 X\r\n\r\n"),
    ("chunked", "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n"),
  ])
  func anAnswerBeyondTheCapIsAFault(name: String, head: String) {
    let server = RawServer { _ in
      // Of the declared length nothing has to arrive for it to count.
      [.send(head)] + (name == "declared" ? [.hang] : [.send(String(repeating: "x", count: 2000)), .hang])
    }
    var limits = HTTPPoster.Limits()
    limits.answerBytes = 1000
    let fault = fault(remote(server, limits: limits))
    #expect(fault?.message == "127.0.0.1: the answer is larger than 1000 bytes")
    #expect(fault?.code == nil)
  }

  @Test func theCapIsSixtyFourMebibytes() { #expect(HTTPPoster.Limits().answerBytes == 67_108_864) }

  /// A gzip of 4 MB of zeros has a few kB: what counts is what comes out of it.
  @Test func compressedAnswersAreDecodedAndCappedByWhatTheyDecodeTo() throws {
    let zipped = try Self.gzip(String(repeating: "0", count: 4_000_000))
    let server = RawServer { _ in
      [
        .send("HTTP/1.1 200 X\r\nContent-Encoding: gzip\r\nContent-Length: \(zipped.count)\r\n\r\n"),
        .bytes(zipped),
      ]
    }
    let answer = try remote(server).call("pull", body: [], token: "t")
    #expect(answer.count == 4_000_000)
    var limits = HTTPPoster.Limits()
    limits.answerBytes = 1_000_000
    #expect(fault(remote(server, limits: limits))?.message.contains("larger than") == true)
  }

  private static func gzip(_ text: String) throws -> [UInt8] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/gzip")
    process.arguments = ["-c"]
    let (input, output) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    try input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    try input.fileHandleForWriting.close()
    return Array(output.fileHandleForReading.readDataToEndOfFile())
  }

  @Test(arguments: [
    ("a length not reached", "HTTP/1.1 200 X\r\nContent-Length: 20\r\n\r\n{}"),
    ("a chunk cut off", "HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{}"),
    ("no head", "HTTP/1.1 200"), ("nothing", ""), ("no HTTP", "SSH-2.0-x\r\n\r\n"),
  ])
  func aBrokenAnswerIsAFaultOfTheTransport(name: String, text: String) {
    let server = RawServer { _ in [.send(text), .close] }
    let fault = fault(remote(server))
    #expect(fault != nil && fault?.code == nil && fault?.isPermanent == false)
  }

  // MARK: Time

  @Test func aServerThatSaysNothingMeetsTheDeadline() {
    let server = RawServer { _ in [.send("HTTP/1.1 200 X\r\nContent-Length: 5\r\n\r\nab"), .hang] }
    var limits = HTTPPoster.Limits()
    limits.wholeMilliseconds = 200
    #expect(fault(remote(server, limits: limits))?.message == "127.0.0.1 did not answer in time")
  }

  @Test func theDeadlinesAreTenAndThirtySeconds() {
    #expect(HTTPPoster.Limits().connectMilliseconds == 10_000)
    #expect(HTTPPoster.Limits().wholeMilliseconds == 30_000)
  }

  @Test func nobodyListeningIsAFault() {
    let server = RawServer { _ in [] }
    let remote = remote(server)
    server.end()
    #expect(fault(remote)?.code == nil)
    #expect(fault(remote)?.message.hasPrefix("127.0.0.1: ") == true)
  }

  @Test func cancellingEndsTheCallInFlightAndAllLaterOnes() {
    let server = RawServer { _ in [.hang] }
    let remote = remote(server)
    let ended = Guarded<RemoteFault?>(nil)
    let call = KizunaEngine.Thread(name: "call") { [fault] in
      let result = fault(remote, "t")
      ended.with { $0 = result }
    }
    #expect(comesTrue { server.seen.count == 1 })
    #expect(
      milliseconds {
        remote.cancel()
        call.join()
      } < 1000)
    #expect(ended.with { $0 }?.message == "the call to 127.0.0.1 was cancelled")
    #expect(fault(remote)?.message == "the call to 127.0.0.1 was cancelled")
    #expect(server.seen.count == 1)
  }

  @Test func noFaultTellsTheTokenTheKeyOrTheBody() {
    let servers = [
      RawServer { _ in [.close] }, RawServer { _ in RawServer.answer(500, "secret-token") },
      RawServer { _ in RawServer.answer(302, "", ["Location: /secret-token"]) },
      RawServer { _ in [.send("secret-body\r\n\r\n"), .close] },
    ]
    for server in servers {
      let said = String(describing: fault(remote(server)))
      for secret in ["secret", "public-key", "rpc"] { #expect(!said.contains(secret), "\(said)") }
    }
  }
}
