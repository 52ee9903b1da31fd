import CSQLite
import Foundation
import KizunaEngine
import Testing

@Suite struct CommandLineBackupTests {
  private final class Directory {
    let path: String
    init() throws {
      path = FileManager.default.temporaryDirectory.appending(path: "kizuna-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }
    func file(_ name: String) -> String { "\(path)/\(name)" }
  }

  private func open(_ path: String) throws -> OpaquePointer {
    var handle: OpaquePointer?
    #expect(sqlite3_open(path, &handle) == SQLITE_OK)
    return try #require(handle)
  }

  private func execute(_ sql: String, on handle: OpaquePointer) {
    #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK)
  }

  private func count(_ path: String) throws -> Int64 {
    let handle = try open(path)
    defer { sqlite3_close(handle) }
    var statement: OpaquePointer?
    #expect(sqlite3_prepare_v2(handle, "SELECT count(*) FROM t", -1, &statement, nil) == SQLITE_OK)
    defer { sqlite3_finalize(statement) }
    #expect(sqlite3_step(statement) == SQLITE_ROW)
    return sqlite3_column_int64(statement, 0)
  }

  @Test func aCopyHoldsWhatIsCommittedWhileAWriterWrites() throws {
    let directory = try Directory()
    let source = directory.file("live.sqlite")
    let writer = try open(source)
    defer { sqlite3_close(writer) }
    execute("PRAGMA journal_mode=WAL; CREATE TABLE t(x); INSERT INTO t VALUES(1),(2)", on: writer)
    execute("BEGIN IMMEDIATE; INSERT INTO t VALUES(3)", on: writer)

    try DatabaseFile.backup(from: source, to: directory.file("copy.sqlite"))
    execute("COMMIT", on: writer)
    #expect(try count(directory.file("copy.sqlite")) == 2)

    try DatabaseFile.backup(from: source, to: directory.file("copy.sqlite"))
    #expect(try count(directory.file("copy.sqlite")) == 3)
    let mode = try FileManager.default.attributesOfItem(atPath: directory.file("copy.sqlite"))[
      .posixPermissions]
    #expect(mode as? Int == 0o600)
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
    #expect(names.filter { $0.hasPrefix("copy") } == ["copy.sqlite"])
  }

  @Test func noCopyIsWrittenOverADatabaseInUse() throws {
    let directory = try Directory()
    let source = directory.file("live.sqlite")
    let writer = try open(source)
    defer { sqlite3_close(writer) }
    execute("PRAGMA journal_mode=WAL; CREATE TABLE t(x)", on: writer)
    for (destination, message) in [
      (source, "is the database itself"), (directory.path, "is a directory"),
      (directory.file("no/where"), "could not write beside"),
    ] {
      let error = #expect(throws: KizunaError.self) { try DatabaseFile.backup(from: source, to: destination) }
      #expect(error?.code == "STORE")
      #expect(error?.message.contains(message) == true)
    }
    let missing = #expect(throws: KizunaError.self) {
      try DatabaseFile.backup(from: directory.file("missing"), to: directory.file("copy"))
    }
    #expect(missing?.message.contains("No such file") == true)
    #expect(!FileManager.default.fileExists(atPath: directory.file("copy")))
  }

  @Test func aFileThatIsNoDatabaseLeavesNoCopy() throws {
    let directory = try Directory()
    try Data(repeating: 7, count: 8192).write(to: URL(fileURLWithPath: directory.file("junk")))
    let error = #expect(throws: KizunaError.self) {
      try DatabaseFile.backup(from: directory.file("junk"), to: directory.file("copy"))
    }
    #expect(error?.sqlstate == "XX001")
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["junk"])
  }
}
