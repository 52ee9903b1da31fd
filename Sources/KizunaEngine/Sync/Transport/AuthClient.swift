/// Asks Supabase Auth for grants.
struct AuthClient: Sendable {
  enum Request {
    case password(email: String, password: String)
    case refresh(token: String)

    var name: String {
      switch self {
      case .password: "password"
      case .refresh: "refresh_token"
      }
    }

    var body: JSONValue {
      switch self {
      case .password(let email, let password):
        .object([JSONMember("email", .string(email)), JSONMember("password", .string(password))])
      case .refresh(let token): .object([JSONMember("refresh_token", .string(token))])
      }
    }
  }

  enum Failure: Error {
    /// What was sent is no good: sending it again will not help.
    case refused(RemoteFault)
    case other(RemoteFault)
    case cancelled(RemoteFault)
  }

  let endpoint: Endpoint
  let key: String
  let poster = HTTPPoster()

  func ask(_ request: Request, withinMilliseconds time: Int64) throws(Failure) -> AuthGrant {
    guard time > 0 else { throw .other(timeout) }
    let answer: HTTPPoster.Answer
    do throws(HTTPPoster.Fault) {
      answer = try poster.post(
        "\(endpoint.base)/auth/v1/token?grant_type=\(request.name)", headers: ["apikey: \(key)"],
        body: Array(request.body.jsonText.utf8), bypassingProxy: endpoint.isLoopback,
        limits: HTTPPoster.Limits(
          connectMilliseconds: Int(time), wholeMilliseconds: Int(time), answerBytes: 1 << 20))
    } catch {
      switch error {
      case .timedOut: throw .other(timeout)
      case .cancelled: throw .cancelled(CurlRemote.fault(error, endpoint.host))
      case .failed: throw .other(CurlRemote.fault(error, endpoint.host))
      }
    }
    let value = answer.body.withUnsafeBufferPointer { try? JSONParser.parse($0) }
    if (200..<300).contains(answer.status) {
      guard let grant = value.flatMap({ AuthGrant($0) }) else {
        throw .other(
          RemoteFault("\(endpoint.host) answered a sign-in without a token", status: answer.status))
      }
      return grant
    }
    throw failure(answer.status, value)
  }

  private var timeout: RemoteFault {
    RemoteFault(code: "AUTH_SESSION_TIMEOUT", "the sign-in at \(endpoint.host) took too long")
  }

  private func failure(_ status: Int, _ answer: JSONValue?) -> Failure {
    let said = ["msg", "error_description", "message", "error"].lazy.compactMap { answer?[$0]?.text }.first
    let detail = said.map { ": \($0.prefix(300))" } ?? ""
    guard [400, 401, 403].contains(status) else {
      return .other(
        RemoteFault("the sign-in at \(endpoint.host) answered \(status)\(detail)", status: status))
    }
    return .refused(
      RemoteFault(
        code: "AUTH_SESSION_MISSING", "\(endpoint.host) refuses the sign-in (\(status))\(detail)",
        hint: "Check the session's credentials and the publishable key.", status: status))
  }
}
