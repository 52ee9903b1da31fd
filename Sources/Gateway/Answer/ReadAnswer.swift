import KizunaEngine
import RESTDialect

/// How a read is answered, settled before it runs: what its outcome leaves open is decided by `opening`.
struct ReadAnswer: Sendable {
  var type: AnswerType
  var offset: Int
  /// nil where it would not fit beside the request in the connection's memory.
  var contentLocation: String?
  var preferencesApplied: String?
  var profile: String?

  /// Status and headers; with a refusal its text is the body.
  struct Opening: Sendable {
    var status: Int
    var headers: HeaderList
    var refusal: Failure?
  }

  func opening(_ outcome: ReadSession.Outcome) -> Opening {
    if case .object = type, outcome.rows != 1 { return Self.refused(.notSingular(outcome.rows)) }
    let range = ContentRange.read(offset: offset, rows: outcome.rows, total: outcome.total)
    var headers = HeaderList()
    headers.add("Content-Range", text: range.text)
    if let contentLocation { headers.add("Content-Location", text: contentLocation) }
    if let preferencesApplied { headers.add("Preference-Applied", text: preferencesApplied) }
    headers.add("Vary", "Accept, Prefer, Range")
    guard let refusal = range.refusal else {
      headers.add("Content-Type", type.contentType)
      if let profile { headers.add("Content-Profile", text: profile) }
      return Opening(status: range.status, headers: headers, refusal: nil)
    }
    headers.add("Content-Type", Answer.jsonType)
    let failure = Failure("PGRST103", "Requested range not satisfiable", details: refusal)
    return Opening(status: range.status, headers: headers, refusal: failure)
  }

  private static func refused(_ failure: Failure) -> Opening {
    let answer = Answer(failure)
    return Opening(status: answer.status, headers: answer.headers, refusal: failure)
  }

  /// The whole answer of a read that ended.
  func answer(_ outcome: ReadSession.Outcome, body: consuming ByteBuffer) -> Answer {
    let opening = opening(outcome)
    if let refusal = opening.refusal {
      body.removeAll()
      refusal.write(into: &body)
    } else if outcome.rows == 0 {
      body.removeAll()
      body.append(Self.emptyBody(type))
    }
    return Answer(status: opening.status, headers: opening.headers, body: body)
  }

  /// No row at all, as each type writes it.
  static func emptyBody(_ type: AnswerType) -> StaticString {
    if case .csv = type { return "\n" }
    return "[]"
  }
}

extension Failure {
  /// The number stands before the word `rows`: clients look for it to tell none from many.
  static func notSingular(_ rows: Int) -> Failure {
    Failure(
      "PGRST116", "Cannot coerce the result to a single JSON object",
      details: "The result contains \(rows) rows")
  }
}
