import KizunaEngine

/// The one table of codes and statuses: PostgREST's own codes, SQLSTATE classes, and the engine's catalogue.
enum ErrorTable {
  /// The code that the caller sees. A fault of the store, the network or the configuration keeps its catalogue
  /// code, whatever finer code it carries; any other error is known to HTTP clients by its finer code.
  static func code(of error: KizunaError) -> String {
    if let state = error.sqlstate, !keepsCatalogueCode(error.code) || isCancelledRead(error) { return state }
    switch error.code {
    case "UNKNOWN_TABLE": return "PGRST205"
    case "UNKNOWN_COLUMN": return "42703"
    default: return error.code
    }
  }

  static func status(of error: KizunaError) -> Int {
    if error.code == "STORE", error.sqlstate == "53100" { return 507 }
    return status(of: code(of: error), message: error.message)
  }

  /// Whether an error is a fault of the gateway itself, whose words are for the log alone: a code that nobody
  /// listed, or a statement that SQLite refused.
  static func isUnforeseen(_ error: KizunaError) -> Bool {
    (error.code == "STORE" && (error.sqlstate ?? "XX000") == "XX000") || !knows(code(of: error))
  }

  private static func keepsCatalogueCode(_ code: String) -> Bool {
    switch code {
    case "STORE", "REMOTE", "PERMANENT_TRANSPORT", "CONFIG_INVALID", "ENGINE_UNAVAILABLE": true
    default: false
    }
  }

  private static func isCancelledRead(_ error: KizunaError) -> Bool {
    error.code == "STORE" && error.sqlstate == "57014"
  }

  /// Whether the table tells what becomes of a code.
  static func knows(_ code: String) -> Bool {
    catalogue(code) != nil || code.utf8.count == 5 || code.utf8.starts(with: "PGRST".utf8)
  }

  static func status(of code: String, message: String = "") -> Int {
    if let status = catalogue(code) { return status }
    if code.utf8.starts(with: "PGRST".utf8) { return dialect(code) }
    if code.utf8.starts(with: "KZ".utf8) && code.utf8.count == 5 { return 502 }
    return code.utf8.count == 5 ? sqlState(code, message: message) : 500
  }

  private static func catalogue(_ code: String) -> Int? {
    switch code {
    case "UNKNOWN_TABLE": 404
    case "UNKNOWN_COLUMN", "LOCAL_UNSUPPORTED", "CONFIG_INVALID", "JSON": 400
    case "LOCAL_CONSTRAINT", "SOFT_DELETE_VIOLATION", "BUCKET_UNSET", "KIZUNA_REJECTED": 409
    case "ATTACHMENT_PORTS_MISSING", "ATTACHMENT_ROW_GONE", "ATTACHMENT_OWNER_MISSING": 409
    case "STORE", "ENGINE_UNAVAILABLE": 503
    case "REMOTE", "PERMANENT_TRANSPORT", "TRANSFER", "MALFORMED_PUSH_RESPONSE", "VERDICT_BIJECTION",
      "UNKNOWN_VERDICT_REASON", "UNKNOWN_BATCH_OFFENDER", "UNKNOWN_SIGNAL":
      502
    case "UNKNOWN_OP": 500
    default: nil
    }
  }

  private static func dialect(_ code: String) -> Int {
    switch code.dropFirst(5) {
    case "000", "001", "002": 503
    case "003": 504
    case "101", "105", "117": 405
    case "103": 416
    case "106", "107", "116": 406
    case "111", "112", "121", "300", "X00": 500
    case "125", "126", "202", "205": 404
    case "201", "203": 300
    case "301", "302", "303": 401
    default: 400
    }
  }

  private static func sqlState(_ code: String, message: String) -> Int {
    switch code {
    case "23503", "23505": return 409
    case "25006": return 405
    case "21000": return message.utf8.hasSuffix("requires a WHERE clause".utf8) ? 400 : 500
    case "53400", "42P17": return 500
    case "57P01": return 503
    case "P0001": return 400
    case "42883", "42P01": return 404
    case "42501": return 403
    default: break
    }
    switch code.prefix(2) {
    case "08", "53": return 503
    case "0L", "0P", "28": return 403
    case "09", "25", "2D", "38", "39", "3B", "40", "54", "55", "57", "58", "F0", "HV", "XX", "P0": return 500
    case "PT": return Int(code.dropFirst(2)).flatMap { (100...599).contains($0) ? $0 : nil } ?? 500
    default: return 400
    }
  }
}

extension String.UTF8View {
  fileprivate func hasSuffix(_ suffix: String.UTF8View) -> Bool {
    self.suffix(suffix.count).elementsEqual(suffix)
  }
}
