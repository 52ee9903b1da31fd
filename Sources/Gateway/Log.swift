import Glibc
import KizunaEngine
import Synchronization

/// What the process tells its operator: one line an event on standard error, each written by a single call, so
/// that lines of several threads never mix. Callers pass no secret and no query string.
package enum Log {
  package enum Level: UInt8, Sendable, CaseIterable {
    case error, warn, info, debug

    package init?(name: String) {
      guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
      self = level
    }
    package var name: String {
      switch self {
      case .error: "error"
      case .warn: "warn"
      case .info: "info"
      case .debug: "debug"
      }
    }
  }

  package enum Format: UInt8, Sendable {
    case text, json

    package init?(name: String) {
      switch name {
      case "text": self = .text
      case "json": self = .json
      default: return nil
      }
    }
  }

  private static let level = Atomic<UInt8>(Level.info.rawValue)
  private static let format = Atomic<UInt8>(Format.text.rawValue)

  package static func configure(level: Level, format: Format) {
    self.level.store(level.rawValue, ordering: .relaxed)
    self.format.store(format.rawValue, ordering: .relaxed)
  }

  /// Ask before composing a line that is costly to compose.
  package static func isEnabled(_ level: Level) -> Bool {
    level.rawValue <= self.level.load(ordering: .relaxed)
  }

  package static func error(_ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
    write(.error, message, fields)
  }
  package static func warn(_ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
    write(.warn, message, fields)
  }
  package static func info(_ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
    write(.info, message, fields)
  }
  package static func debug(_ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
    write(.debug, message, fields)
  }

  private static func write(_ level: Level, _ message: String, _ fields: KeyValuePairs<String, String>) {
    guard isEnabled(level) else { return }
    let isJSON = format.load(ordering: .relaxed) == Format.json.rawValue
    let line = compose(
      level, message, fields, format: isJSON ? .json : .text, time: timestamp())
    OutputText.write(line, to: STDERR_FILENO)
  }

  /// The line of an event, its line feed included.
  static func compose(
    _ level: Level, _ message: String, _ fields: KeyValuePairs<String, String>, format: Format, time: String
  ) -> String {
    switch format {
    case .text:
      var line = "\(time) \(level.name) \(OutputText.oneLine(message))"
      for (key, value) in fields { line += " \(key)=\(OutputText.oneLine(value))" }
      return line + "\n"
    case .json:
      var members = [
        JSONMember("time", .string(time)), JSONMember("level", .string(level.name)),
        JSONMember("message", .string(message)),
      ]
      for (key, value) in fields { members.append(JSONMember(key, .string(value))) }
      return JSONValue.object(members).jsonText + "\n"
    }
  }

  /// UTC with milliseconds.
  private static func timestamp() -> String {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    var seconds = now.tv_sec
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func padded(_ value: Int, _ width: Int) -> String {
      let text = String(value)
      return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
    let date =
      "\(padded(Int(parts.tm_year) + 1900, 4))-\(padded(Int(parts.tm_mon) + 1, 2))-\(padded(Int(parts.tm_mday), 2))"
    let clock =
      "\(padded(Int(parts.tm_hour), 2)):\(padded(Int(parts.tm_min), 2)):\(padded(Int(parts.tm_sec), 2))"
    return "\(date)T\(clock).\(padded(Int(now.tv_nsec) / 1_000_000, 3))Z"
  }
}

/// Text for a terminal or a log.
package enum OutputText {
  /// Control characters are shown as `\u00XX`, so that foreign text can neither begin a line nor steer a terminal.
  package static func oneLine(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isControl) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      if isControl(scalar) {
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar.value == 0x2028
      || scalar.value == 0x2029
  }

  /// Writes everything, in one call where the system takes it. False when the other side is gone.
  @discardableResult
  package static func write(_ text: String, to descriptor: Int32) -> Bool {
    var text = text
    return text.withUTF8 { bytes in
      var sent = 0
      while sent < bytes.count {
        let result = Glibc.write(descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent)
        if result < 0 && errno == EINTR { continue }
        guard result > 0 else { return false }
        sent += result
      }
      return true
    }
  }
}
