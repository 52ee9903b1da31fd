import KizunaEngine
import RESTDialect

/// A refusal as the caller sees it: the code, the status that goes with it, and the words.
struct Failure: Error, Sendable, Equatable {
  var code: String
  var status: Int
  var message: String
  var details: String?
  var hint: String?
  /// Ready JSON in the place of `details`, for the few errors whose details are no text.
  var structuredDetails: JSONValue?

  init(_ code: String, status: Int, _ message: String, details: String? = nil, hint: String? = nil) {
    self.code = code
    self.status = status
    self.message = message
    self.details = details
    self.hint = hint
  }

  /// A refusal whose status follows from its code.
  init(_ code: String, _ message: String, details: String? = nil, hint: String? = nil) {
    self.init(
      code, status: ErrorTable.status(of: code, message: message), message, details: details, hint: hint)
  }

  init(_ error: DialectError) {
    self.init(error.code, status: error.status, error.message, details: error.details, hint: error.hint)
  }

  init(_ error: KizunaError) {
    let code = ErrorTable.code(of: error)
    if ErrorTable.isUnforeseen(error) {
      self = .unforeseen("\(code): \(error.message)")
      return
    }
    self.init(
      code, status: ErrorTable.status(of: error), error.message, details: error.details, hint: error.hint)
  }

  /// The body: all four keys, always, absent ones null. Clients refuse an error with a key missing.
  func write(into buffer: inout ByteBuffer) {
    buffer.append("{\"code\":")
    buffer.appendJSON(string: code)
    buffer.append(",\"details\":")
    if let structuredDetails {
      buffer.append(json: structuredDetails)
    } else {
      Self.append(details, to: &buffer)
    }
    buffer.append(",\"hint\":")
    Self.append(hint, to: &buffer)
    buffer.append(",\"message\":")
    buffer.appendJSON(string: message)
    buffer.append("}")
  }

  private static func append(_ text: String?, to buffer: inout ByteBuffer) {
    if let text { buffer.appendJSON(string: text) } else { buffer.append("null") }
  }
}
