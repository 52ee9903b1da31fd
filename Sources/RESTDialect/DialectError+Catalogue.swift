/// The refusals that need no schema: one place for code, status and words.
extension DialectError {
  static func undecodableQuery(_ fault: PercentDecoding.Fault) -> DialectError {
    let (details, hint) =
      switch fault {
      case .escape: ("a % that two hexadecimal digits do not follow", "Write a percent sign as %25.")
      case .utf8: ("bytes that are not UTF-8", "Encode names and values as UTF-8 before percent-encoding.")
      case .nul: ("the character NUL", "NUL cannot be stored in text; leave %00 out.")
      }
    return DialectError(
      "PGRST100", status: 400, "failed to decode the query string", details: "unexpected " + details,
      hint: hint)
  }

  package static func body(_ message: String) -> DialectError {
    DialectError("PGRST102", status: 400, message)
  }
  package static var invalidJSON: DialectError { body("Empty or invalid json") }
  package static var unlikeKeys: DialectError { body("All object keys must match") }
  package static func contentType(_ type: String) -> DialectError {
    body("Content-Type not acceptable: \(type)")
  }

  package enum RangeFault: Sendable {
    case badLimit
    case lowerAboveUpper
    /// An offset beyond the counted total.
    case offsetBeyond(offset: Int, total: Int)
  }

  package static func rangeNotSatisfiable(_ fault: RangeFault) -> DialectError {
    let details =
      switch fault {
      case .badLimit: "Limit should be greater than or equal to zero."
      case .lowerAboveUpper:
        "The lower boundary must be lower than or equal to the upper boundary in the Range header."
      case .offsetBeyond(let offset, let total):
        "An offset of \(offset) was requested, but there are only \(total) rows."
      }
    return DialectError("PGRST103", status: 416, "Requested range not satisfiable", details: details)
  }

  package static var putFilters: DialectError {
    DialectError(
      "PGRST105", status: 405, "Filters must include all and only primary key columns with 'eq' operators")
  }

  package static func invalidSchema(_ name: String, exposed: [String]) -> DialectError {
    DialectError(
      "PGRST106", status: 406, "Invalid schema: \(name)",
      hint: "Only the following schemas are exposed: \(exposed.joined(separator: ", "))")
  }

  package static func noMediaType(_ types: [String]) -> DialectError {
    DialectError(
      "PGRST107", status: 406, "None of these media types are available: \(types.joined(separator: ", "))")
  }

  package static func notEmbedded(_ name: String) -> DialectError {
    DialectError(
      "PGRST108", status: 400, "'\(name)' is not an embedded resource in this request",
      hint: "Verify that '\(name)' is included in the 'select' query parameter.")
  }

  package static var windowOnPut: DialectError {
    DialectError("PGRST114", status: 400, "limit/offset querystring parameters are not allowed for PUT")
  }

  package static var putKeyMismatch: DialectError {
    DialectError("PGRST115", status: 400, "Payload values do not match URL in primary key column(s)")
  }

  package static func notSingular(rows: Int) -> DialectError {
    DialectError(
      "PGRST116", status: 406, "Cannot coerce the result to a single JSON object",
      details: "The result contains \(rows) rows")
  }

  package static func unsupportedMethod(_ method: String) -> DialectError {
    DialectError("PGRST117", status: 405, "Unsupported HTTP method: \(method)")
  }

  package static func invalidPreferences(_ tokens: [String]) -> DialectError {
    DialectError(
      "PGRST122", status: 400, "Invalid preferences given with handling=strict",
      details: "Invalid preferences: \(tokens.joined(separator: ", "))")
  }

  package static var aggregatesOff: DialectError {
    DialectError("PGRST123", status: 400, "Use of aggregate functions is not allowed")
  }

  package static func tooManyAffected(_ rows: Int) -> DialectError {
    DialectError(
      "PGRST124", status: 400, "Query result exceeds max-affected preference constraint",
      details: "The query affects \(rows) rows")
  }

  package static var invalidPath: DialectError {
    DialectError("PGRST125", status: 404, "Invalid path specified in request URL")
  }

  package static func notImplemented(_ details: String) -> DialectError {
    DialectError("PGRST127", status: 400, "Feature not implemented", details: details)
  }
}
