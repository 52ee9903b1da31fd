import Foundation
import KizunaEngine

/// What every call throws. Switch on `code`; the message is for people.
///
/// A value that JSON cannot carry is the one exception: it never reaches the engine and is a
/// `KizunaSyncSerializationError`.
public enum KizunaSyncError: Error, Equatable, Sendable {
  case engine(code: String, message: String)

  /// A code of the catalogue, such as `LOCAL_CONSTRAINT`.
  public var code: String {
    switch self {
    case .engine(let code, _): code
    }
  }

  public var message: String {
    switch self {
    case .engine(_, let message): message
    }
  }

  /// The finer code that the upstream gave, or the SQLSTATE of a value that Postgres would refuse (`22P02`,
  /// `23505`, `KZP02` …); nil when there is none. It stands first in the message, before a colon.
  public var transportCode: String? {
    guard let colon = message.firstIndex(of: ":") else { return nil }
    let head = message[..<colon]
    return Self.isTransportCode(head) ? String(head) : nil
  }

  /// A SQLSTATE or `KZ…` code (five capitals and digits, one of them a digit), a `PGRST…`, or the missing session.
  private static func isTransportCode(_ text: Substring) -> Bool {
    if text == "AUTH_SESSION_MISSING" || text == "AUTH_SESSION_TIMEOUT" { return true }
    let isPlain = text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x41...0x5A).contains($0) }
    guard isPlain, text.utf8.contains(where: { (0x30...0x39).contains($0) }) else { return false }
    return text.utf8.count == 5 || text.hasPrefix("PGRST")
  }
}

extension KizunaSyncError: LocalizedError, CustomStringConvertible {
  public var description: String { "\(code): \(message)" }
  public var errorDescription: String? { description }
  public var localizedDescription: String { description }
}

extension KizunaSyncError {
  static let noEngine = KizunaSyncError.engine(
    code: "ENGINE_UNAVAILABLE", message: "no engine is open: call create first")

  static func unsupported(_ message: String) -> KizunaSyncError {
    .engine(code: "LOCAL_UNSUPPORTED", message: message)
  }

  static func unknownTable(_ name: String) -> KizunaSyncError {
    .engine(code: "UNKNOWN_TABLE", message: "table \(name) is not configured")
  }

  init(_ error: KizunaError) {
    var message = error.message
    if let details = error.details { message += " (\(details))" }
    if let hint = error.hint { message += ". \(hint)" }
    // PostgREST's own codes of a local refusal are HTTP's, not the transport's.
    if let transport = error.sqlstate, !(error.code.hasPrefix("LOCAL_") && transport.hasPrefix("PGRST")),
      !message.hasPrefix(transport + ":")
    {
      message = "\(transport): \(message)"
    }
    self = .engine(code: error.code, message: message)
  }
}

/// A value that JSON has no form for: a `Date`, a `Data`, NaN, an infinity, a dictionary with keys other than texts.
/// Thrown before the engine is reached and before anything changes.
public struct KizunaSyncSerializationError: Error, Equatable, Sendable {
  /// Where the value stands, such as `columns.due`.
  public let path: String
  /// What stands there.
  public let reason: String
}

extension KizunaSyncSerializationError: LocalizedError, CustomStringConvertible {
  public var description: String { "\(path): \(reason)" }
  public var errorDescription: String? { description }
  public var localizedDescription: String { description }
}
