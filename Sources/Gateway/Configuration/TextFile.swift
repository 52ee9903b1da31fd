import Glibc
import KizunaEngine

/// Small files that a process is configured with.
package enum TextFile {
  private static let limit = 16 << 20

  package static func read(_ path: String) throws(ConfigurationError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw ConfigurationError(
        path, "", "cannot be read: \(SystemError.text). Check the path and its permissions")
    }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = Glibc.read(descriptor, &piece, piece.count)
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw ConfigurationError(path, "", "cannot be read: \(SystemError.text)") }
      if count == 0 { return bytes }
      bytes += piece[..<count]
      if bytes.count > limit { throw ConfigurationError(path, "", "is larger than 16 MiB") }
    }
  }

  /// A secret kept in a file of its own; white space around it is not part of it.
  package static func secret(_ path: String) throws(ConfigurationError) -> String {
    let bytes = try read(path)
    let isSpace: (UInt8) -> Bool = { $0 == 0x20 || (0x09...0x0D).contains($0) }
    let trimmed = bytes.drop(while: isSpace).reversed().drop(while: isSpace).reversed()
    guard !trimmed.isEmpty else { throw ConfigurationError(path, "", "is empty") }
    guard let text = String(validating: trimmed, as: UTF8.self) else {
      throw ConfigurationError(path, "", "is no UTF-8 text")
    }
    return text
  }
}
