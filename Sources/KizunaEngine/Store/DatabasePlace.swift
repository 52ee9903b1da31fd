import Glibc

/// Where the database file lies.
struct DatabasePlace {
  let path: String
  /// A directory of this process alone, to be removed at the end.
  let temporaryDirectory: String?

  init(_ configured: String?) throws(KizunaError) {
    guard configured == nil || configured == ":memory:" else {
      path = configured ?? ""
      temporaryDirectory = nil
      return
    }
    let parent = Environment.value("TMPDIR") ?? "/tmp"
    var template = Array("\(parent)/kizuna-XXXXXX".utf8CString)
    guard template.withUnsafeMutableBufferPointer({ $0.baseAddress.flatMap { mkdtemp($0) } }) != nil else {
      throw KizunaError(
        "STORE", sqlstate: "58030", "could not make a directory in \(parent): \(SystemError.text)",
        hint: "Set TMPDIR to a directory that can be written.")
    }
    let directory = template.withUnsafeBufferPointer {
      String(decoding: $0.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    temporaryDirectory = directory
    path = directory + "/kizuna.sqlite"
  }

  /// Makes the file before SQLite does, so that nobody else may ever read it.
  func createFile() throws(KizunaError) {
    let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw KizunaError(
        "STORE", sqlstate: errno == ENOSPC ? "53100" : "58030",
        "could not open \(path): \(SystemError.text)",
        hint: "Check that the database's directory exists and can be written.")
    }
    Glibc.close(descriptor)
  }

  static func remove(_ directory: String) {
    for suffix in ["", "-wal", "-shm", "-lock"] { unlink("\(directory)/kizuna.sqlite\(suffix)") }
    rmdir(directory)
  }
}
