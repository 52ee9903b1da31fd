import Glibc

/// A small file that holds one secret, white space around it not counted.
struct SecretFile: Sendable {
  let path: String

  /// What changes when the file is written or replaced.
  struct Version: Equatable, Sendable {
    fileprivate var numbers: [Int]
  }

  private static let longest = 64 * 1024

  /// The file as it is now. Symbolic links are followed: a mounted secret is replaced by moving one.
  func version() throws(RemoteFault) -> Version {
    var info = stat()
    guard stat(path, &info) == 0 else { throw fault(SystemError.text) }
    return Self.version(info)
  }

  private static func version(_ info: stat) -> Version {
    Version(numbers: [
      Int(info.st_dev), Int(info.st_ino), Int(info.st_size), info.st_mtim.tv_sec, info.st_mtim.tv_nsec,
      info.st_ctim.tv_sec, info.st_ctim.tv_nsec,
    ])
  }

  /// The secret, and the version that was read. Never empty.
  func read() throws(RemoteFault) -> (secret: String, version: Version) {
    // A pipe must not make the caller wait.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw fault(SystemError.text) }
    defer { close(descriptor) }
    var info = stat()
    guard fstat(descriptor, &info) == 0 else { throw fault(SystemError.text) }
    let text = try trimmed(bytes(descriptor))
    return (text, Self.version(info))
  }

  private func bytes(_ descriptor: Int32) throws(RemoteFault) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.longest + 1)
    var count = 0
    while count < bytes.count {
      let got = bytes.withUnsafeMutableBytes { buffer in
        Glibc.read(descriptor, buffer.baseAddress?.advanced(by: count), buffer.count - count)
      }
      if got < 0 && errno == EINTR { continue }
      guard got >= 0 else { throw fault(SystemError.text) }
      if got == 0 { return Array(bytes[..<count]) }
      count += got
    }
    throw fault("it is longer than \(Self.longest) bytes")
  }

  private func trimmed(_ bytes: [UInt8]) throws(RemoteFault) -> String {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
    let head = bytes.drop(while: isSpace)
    guard let last = head.lastIndex(where: { !isSpace($0) }) else { throw fault("it is empty") }
    guard let text = String(validating: head[...last], as: UTF8.self) else { throw fault("it is not UTF-8") }
    return text
  }

  private func fault(_ reason: String) -> RemoteFault {
    RemoteFault(
      code: "AUTH_SESSION_MISSING", "\(path) gives no secret: \(reason)",
      hint: "Write it there; the next run reads it.")
  }
}
