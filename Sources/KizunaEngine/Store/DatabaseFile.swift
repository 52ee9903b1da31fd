import CSQLite
import Glibc

/// A database file as a whole.
package enum DatabaseFile {
  /// Writes a consistent copy, also while another process serves the database: the copy is one read of one
  /// snapshot, which holds no writer up. It appears under its name when it is complete and on disk, replacing a
  /// file that stood there; it is for its owner's eyes only.
  package static func backup(from source: String, to destination: String) throws(KizunaError) {
    try check(source, destination)
    var template = Array("\(destination).XXXXXX".utf8CString)
    let descriptor = template.withUnsafeMutableBufferPointer { buffer in
      buffer.baseAddress.map { mkstemp($0) } ?? -1
    }
    guard descriptor >= 0 else { throw failure("could not write beside \(destination)") }
    Glibc.close(descriptor)
    let partial = template.withUnsafeBufferPointer {
      String(decoding: $0.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
    do throws(KizunaError) {
      try copy(source, partial)
      try settle(partial)
      guard rename(partial, destination) == 0 else { throw failure("could not name the copy \(destination)") }
      try settle(directory(of: destination))
    } catch {
      unlink(partial)
      throw error
    }
  }

  private static func check(_ source: String, _ destination: String) throws(KizunaError) {
    var from = stat()
    guard stat(source, &from) == 0 else {
      throw failure(
        "could not open \(source)", hint: "Name the database with --database or in the configuration.")
    }
    var to = stat()
    if stat(destination, &to) == 0 {
      if to.st_mode & S_IFMT == S_IFDIR {
        throw KizunaError(
          "STORE", sqlstate: "58030", "\(destination) is a directory", hint: "Name a file in it.")
      }
      if to.st_ino == from.st_ino && to.st_dev == from.st_dev {
        throw KizunaError(
          "STORE", sqlstate: "58030", "\(destination) is the database itself", hint: "Name another file.")
      }
    }
    // A write-ahead log would be taken for the copy's own.
    if access(destination + "-wal", F_OK) == 0 {
      throw KizunaError(
        "STORE", sqlstate: "58030", "\(destination) is a database in use: \(destination)-wal exists",
        hint: "Name another file.")
    }
  }

  private static func copy(_ source: String, _ partial: String) throws(KizunaError) {
    let from = try Connection(path: source, readOnly: true)
    let to = try Connection(path: partial, readOnly: false)
    guard let backup = sqlite3_backup_init(to.handle, "main", from.handle, "main") else {
      throw StoreFault.error(sqlite3_extended_errcode(to.handle), on: to.handle, doing: "copy \(source)")
    }
    // All pages in one step: between steps another process's write would start the copy over.
    let stepped = sqlite3_backup_step(backup, -1)
    let finished = sqlite3_backup_finish(backup)
    guard stepped == SQLITE_DONE, finished == SQLITE_OK else {
      throw StoreFault.error(
        finished == SQLITE_OK ? stepped : finished, on: to.handle, doing: "copy \(source)")
    }
    // One file, complete without a log beside it.
    _ = try to.value("PRAGMA journal_mode=DELETE")
  }

  private static func settle(_ path: String) throws(KizunaError) {
    let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure("could not open \(path)") }
    defer { Glibc.close(descriptor) }
    guard fsync(descriptor) == 0 else { throw failure("could not flush \(path)") }
  }

  private static func directory(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// Of the system call that failed last.
  private static func failure(
    _ message: String, hint: String = "Check that the directory exists and can be written."
  ) -> KizunaError {
    let isFull = errno == ENOSPC || errno == EDQUOT
    return KizunaError(
      "STORE", sqlstate: isFull ? "53100" : "58030", "\(message): \(SystemError.text)",
      hint: isFull ? "Free some space." : hint)
  }
}
