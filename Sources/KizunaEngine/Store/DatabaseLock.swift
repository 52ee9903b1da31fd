import Glibc

/// Holds a database file for one engine: a lock file beside it, locked with flock, which the kernel frees when the
/// process ends, however it ends. (The database itself is not locked this way: closing a second descriptor of it
/// would drop SQLite's own locks.)
final class DatabaseLock: Sendable {
  private let descriptor: Int32
  private let path: String

  init(database: String) throws(KizunaError) {
    path = Self.resolved(database) + "-lock"
    while true {
      let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else {
        throw KizunaError(
          "STORE", sqlstate: errno == ENOSPC ? "53100" : "58030",
          "could not open \(path): \(SystemError.text)",
          hint: "Check that the database's directory exists and can be written.")
      }
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
        close(descriptor)
        throw KizunaError(
          "STORE", sqlstate: "55006", "\(database) is open in another engine",
          hint: "Stop the process that serves it, or name another database.")
      }
      // The holder before may have removed the file between the two calls: then the lock is on nothing.
      var held = stat()
      var named = stat()
      if fstat(descriptor, &held) == 0, stat(path, &named) == 0, held.st_ino == named.st_ino {
        self.descriptor = descriptor
        return
      }
      close(descriptor)
    }
  }

  /// SQLite opens what a link points at, so that is what is locked.
  private static func resolved(_ path: String) -> String {
    guard let found = realpath(path, nil) else { return path }
    defer { free(found) }
    return String(cString: found)
  }

  deinit {
    unlink(path)
    close(descriptor)
  }
}
