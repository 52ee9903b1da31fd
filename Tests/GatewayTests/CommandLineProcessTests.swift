import Foundation
import Testing

/// The built executable, seen from outside.
@Suite struct CommandLineProcessTests {
  private final class WorkingDirectory {
    let directory = FileManager.default.temporaryDirectory.appending(path: "kizuna-\(UUID().uuidString)")
    init() throws {
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }
    deinit { try? FileManager.default.removeItem(at: directory) }

    func write(_ text: String, to name: String) throws {
      try Data(text.utf8).write(to: directory.appending(path: name))
    }

    func start(_ arguments: [String]) throws -> (process: Process, output: FileHandle, errors: FileHandle) {
      let process = Process()
      let binary = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      process.executableURL = URL(fileURLWithPath: binary).deletingLastPathComponent()
        .appending(path: "kizuna-gateway")
      process.arguments = arguments
      process.currentDirectoryURL = directory
      process.environment = ["PATH": "/usr/bin:/bin"]
      let (output, errors) = (Pipe(), Pipe())
      process.standardOutput = output
      process.standardError = errors
      try process.run()
      return (process, output.fileHandleForReading, errors.fileHandleForReading)
    }

    func run(_ arguments: [String]) throws -> (code: Int32, output: String, errors: String) {
      let (process, output, errors) = try start(arguments)
      let text = String(decoding: output.readDataToEndOfFile(), as: UTF8.self)
      let lines = String(decoding: errors.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return (process.terminationStatus, text, lines)
    }
  }

  private func line(_ handle: FileHandle) -> String {
    var bytes: [UInt8] = []
    while let byte = try? handle.read(upToCount: 1)?.first, byte != 0x0A { bytes.append(byte) }
    return String(decoding: bytes, as: UTF8.self)
  }

  @Test(arguments: [
    ("--help", 0), ("--version", 0), ("check", 0), ("sql", 0), ("nonsense", 64), ("reset", 64),
    ("backup", 64),
    ("check --config missing.json", 78), ("check --config bad.json", 78), ("--config bad.json", 78),
    ("backup copy", 74), ("reset --yes", 74), ("backup copy --database :memory:", 78),
    ("--database no/such/directory/k.sqlite --listen 127.0.0.1:0", 74),
    ("--database junk.sqlite --listen 127.0.0.1:0", 74), ("--listen 198.51.100.1:9", 78),
    ("--config open.json", 69), ("health --url http://127.0.0.1:9", 1), ("health --url nothing", 64),
  ])
  func everyEndHasItsCodeAndOneLine(_ arguments: String, _ code: Int32) throws {
    let directory = try WorkingDirectory()
    try directory.write(#"{"tables": 5}"#, to: "bad.json")
    // An address of no interface of any machine (a documentation range).
    try directory.write(
      #"{"listen": ["198.51.100.1:9"], "api_key": "k", "database": ":memory:"}"#, to: "open.json")
    try directory.write(String(repeating: "junk", count: 4096), to: "junk.sqlite")
    let result = try directory.run(arguments.split(separator: " ").map(String.init))
    #expect(result.code == code, "\(result)")
    let lines = result.errors.split(separator: "\n")
    #expect(lines.count == (code == 0 ? 0 : 1), "\(result.errors)")
    if code != 0 { #expect(result.errors.hasPrefix("kizuna-gateway: ")) }
  }

  @Test func theDemoServesUntilASignal() throws {
    let directory = try WorkingDirectory()
    let (process, output, _) = try directory.start(["--listen", "127.0.0.1:0", "--log-level", "error"])
    let ready = line(output)
    #expect(
      ready.wholeMatch(
        of:
          /kizuna-gateway \S+ listening on http:\/\/127\.0\.0\.1:\d+ · database \.\/kizuna\.sqlite · upstream none/
      )
        != nil, "\(ready)")
    let address = try #require(ready.firstMatch(of: /http:\S+/)).output

    #expect(try directory.run(["health", "--url", String(address)]).code == 0)
    #expect(try directory.run(["backup", "copy.sqlite"]).code == 0)
    let second = try directory.run(["--listen", "127.0.0.1:0"])
    #expect(second.code == 69, "\(second)")
    #expect(second.errors.split(separator: "\n").count == 1)
    let taken = try directory.run(["--listen", String(address.dropFirst(7)), "--database", ":memory:"])
    #expect(taken.code == 69, "\(taken)")
    #expect(taken.errors.contains("is in use"))

    process.terminate()
    process.waitUntilExit()
    #expect(process.terminationReason == .exit)
    #expect(process.terminationStatus == 0)
    #expect(try directory.run(["health", "--url", String(address)]).code == 1)
    #expect(try directory.run(["reset", "--yes"]).code == 0)
  }
}
