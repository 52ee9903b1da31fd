import CCurl
import Foundation
import Testing

/// The real executable, started on a free port in a directory of its own and ended with the value.
final class GatewayProcess {
  let directory: URL
  private(set) var base = ""
  private let process = Process()
  private let output = Pipe()
  private(set) var readyLine = ""

  /// Beside the tests' own executable, where the build puts it; `KIZUNA_GATEWAY` names another.
  static var executable: URL {
    if let path = ProcessInfo.processInfo.environment["KIZUNA_GATEWAY"] { return URL(fileURLWithPath: path) }
    return URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
      .appendingPathComponent("kizuna-gateway")
  }

  static let tables = """
    {"lists":{"columns":{"id":"text","name":"text not null"}},
     "todos":{"columns":{"id":"text","list_id":"text references lists(id)","title":"text not null",
       "done":"boolean default false","n":"integer","created_at":"timestamptz"},
       "indexes":[["list_id"]]},
     "notes":{"columns":{"id":"text","body":"text","deleted_at":"timestamptz"},"soft_delete_column":"deleted_at"}}
    """

  /// `more` are further members of the configuration.
  init(
    listen: String = "127.0.0.1:0", more: String = "", tables: String = GatewayProcess.tables,
    directory: URL? = nil
  ) throws {
    self.directory =
      directory
      ?? FileManager.default.temporaryDirectory.appendingPathComponent("kizuna-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: self.directory, withIntermediateDirectories: true)
    let configuration = """
      {"listen":["\(listen)"],"database":"test.sqlite"\(more.isEmpty ? "" : "," + more),"tables":\(tables)}
      """
    try configuration.write(
      to: self.directory.appendingPathComponent("kizuna.json"), atomically: true, encoding: .utf8)
    process.executableURL = Self.executable
    process.currentDirectoryURL = self.directory
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    readyLine = try readLine()
    if let range = readyLine.range(of: "http://[^ ,]+", options: .regularExpression) {
      base = String(readyLine[range])
    }
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    process.waitUntilExit()
    try? FileManager.default.removeItem(at: directory)
  }

  private func readLine() throws -> String {
    var bytes: [UInt8] = []
    while let byte = try output.fileHandleForReading.read(upToCount: 1)?.first, byte != 10 {
      bytes.append(byte)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  func signal(_ number: Int32) { kill(process.processIdentifier, number) }

  /// Waits for the end, at most ten seconds; nil when it does not come.
  func exitStatus() -> Int32? {
    let end = Date().addingTimeInterval(10)
    while process.isRunning, Date() < end { usleep(5000) }
    return process.isRunning ? nil : process.terminationStatus
  }

  /// Runs a command of the executable to its end in the gateway's directory.
  func run(_ arguments: String...) throws -> (status: Int32, output: String, error: String) {
    let command = Process()
    let out = Pipe()
    let err = Pipe()
    command.executableURL = Self.executable
    command.currentDirectoryURL = directory
    command.arguments = arguments
    command.standardOutput = out
    command.standardError = err
    try command.run()
    let output = out.fileHandleForReading.readDataToEndOfFile()
    let error = err.fileHandleForReading.readDataToEndOfFile()
    command.waitUntilExit()
    return (
      command.terminationStatus, String(decoding: output, as: UTF8.self),
      String(decoding: error, as: UTF8.self)
    )
  }
}

/// One keep-alive client over libcurl.
final class CurlClient {
  struct Answer {
    var status = 0
    var headers: [String: String] = [:]
    var body = ""
  }

  /// There was no answer.
  struct Failure: Error, CustomStringConvertible { var description: String }

  private let handle: OpaquePointer?
  private let base: String
  private let socket: String?

  init(_ base: String, unixSocket: String? = nil) {
    curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    handle = curl_easy_init().map { OpaquePointer($0) }
    self.base = base
    socket = unixSocket
  }

  deinit { curl_easy_cleanup(handle.map { UnsafeMutableRawPointer($0) }) }

  private final class Sink { var bytes: [UInt8] = [] }

  func request(
    _ method: String, _ path: String, body: String? = nil, headers: [String] = [], isJSON: Bool = true
  ) throws -> Answer {
    let curl = UnsafeMutableRawPointer(try #require(handle))
    curl_easy_reset(curl)
    ccurl_set_string(curl, CURLOPT_URL, base + path)
    ccurl_set_string(curl, CURLOPT_CUSTOMREQUEST, method)
    ccurl_set_long(curl, CURLOPT_NOBODY, method == "HEAD" ? 1 : 0)
    ccurl_set_long(curl, CURLOPT_TIMEOUT, 20)
    if let socket { ccurl_set_string(curl, CURLOPT_UNIX_SOCKET_PATH, socket) }
    var list: UnsafeMutablePointer<curl_slist>?
    for header in headers + (body == nil || !isJSON ? [] : ["Content-Type: application/json"]) {
      list = curl_slist_append(list, header)
    }
    defer { curl_slist_free_all(list) }
    ccurl_set_pointer(curl, CURLOPT_HTTPHEADER, list)
    if let body {
      ccurl_set_long(curl, CURLOPT_POSTFIELDSIZE, body.utf8.count)
      ccurl_set_string(curl, CURLOPT_COPYPOSTFIELDS, body)
    }
    let content = Sink()
    let head = Sink()
    let collect: ccurl_write_callback = { bytes, size, count, context in
      // Both sinks live to the end of the request.
      if let bytes, let context {
        let sink = Unmanaged<Sink>.fromOpaque(context).takeUnretainedValue()
        sink.bytes += UnsafeRawBufferPointer(start: bytes, count: size * count)
      }
      return size * count
    }
    ccurl_set_writer(curl, collect, Unmanaged.passUnretained(content).toOpaque())
    ccurl_set_header_writer(curl, collect, Unmanaged.passUnretained(head).toOpaque())
    let code = withExtendedLifetime((content, head)) { curl_easy_perform(curl) }
    guard code == CURLE_OK else {
      throw Failure(description: "\(method) \(path): \(String(cString: curl_easy_strerror(code)))")
    }
    var status = 0
    ccurl_get_long(curl, CURLINFO_RESPONSE_CODE, &status)
    return Answer(
      status: status, headers: Self.headers(head.bytes), body: String(decoding: content.bytes, as: UTF8.self))
  }

  private static func headers(_ bytes: [UInt8]) -> [String: String] {
    var result: [String: String] = [:]
    for line in String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n") {
      guard let colon = line.firstIndex(of: ":") else { continue }
      result[line[..<colon].lowercased()] = line[line.index(after: colon)...].trimmingCharacters(
        in: .whitespaces)
    }
    return result
  }
}
