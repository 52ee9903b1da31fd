import Foundation
import KizunaEngine
import Testing

@testable import Gateway

/// All tests of the server, one after another: they count the descriptors of the process.
@Suite(.serialized, .timeLimit(.minutes(3)))
enum ServerTests {}

/// A client over a bare socket: it sends bytes as they are and reads answers as HTTP frames them.
final class RawClient {
  let descriptor: Int32
  private var pending: [UInt8] = []

  init(_ bound: BoundAddress) throws {
    switch bound.address {
    case .unix(let path):
      var address = sockaddr_un()
      address.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
      descriptor = try Self.open(AF_UNIX, &address)
    case .tcp(let host, let port) where host.contains(":"):
      var address = sockaddr_in6()
      address.sin6_family = sa_family_t(AF_INET6)
      address.sin6_port = port.bigEndian
      inet_pton(AF_INET6, host, &address.sin6_addr)
      descriptor = try Self.open(AF_INET6, &address)
    case .tcp(let host, let port):
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      inet_pton(AF_INET, host, &address.sin_addr)
      descriptor = try Self.open(AF_INET, &address)
    }
  }

  deinit { close(descriptor) }

  private static func open<Address>(_ family: Int32, _ address: inout Address) throws -> Int32 {
    let descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
    var patience = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
    if result != 0 {
      let code = errno
      close(descriptor)
      throw POSIXError(POSIXErrorCode(rawValue: code) ?? .EIO)
    }
    return descriptor
  }

  /// False when the server has closed meanwhile.
  @discardableResult
  func send(_ text: String) -> Bool { send(Array(text.utf8)) }

  @discardableResult
  func send(_ bytes: [UInt8]) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return false }
      sent += count
    }
    return true
  }

  func stopSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Reads once more; false at the end of the connection.
  func fill() -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    if count <= 0 { return false }
    pending += buffer[..<count]
    return true
  }

  /// What has come in and was not taken as an answer.
  func takePending() -> String {
    defer { pending = [] }
    return String(decoding: pending, as: UTF8.self)
  }

  func readToEnd() -> String {
    while fill() {}
    defer { pending = [] }
    return String(decoding: pending, as: UTF8.self)
  }

  struct Answer {
    var status = 0
    var head = ""
    var body: [UInt8] = []
    /// Whether the framing says that the body has ended.
    var isComplete = true
    var text: String { String(decoding: body, as: UTF8.self) }
    func has(_ header: String) -> Bool { head.lowercased().contains("\r\n" + header.lowercased() + ":") }
  }

  /// The next answer; nil when the connection ends before its head.
  func receive(toHead: Bool = false) -> Answer? {
    var answer = Answer()
    let end: [UInt8] = [13, 10, 13, 10]
    var range = pending.firstRange(of: end)
    while range == nil {
      guard fill() else { return nil }
      range = pending.firstRange(of: end)
    }
    guard let range else { return nil }
    answer.head = String(decoding: pending[..<range.upperBound], as: UTF8.self)
    pending.removeSubrange(..<range.upperBound)
    answer.status = Int(answer.head.split(separator: " ")[1]) ?? 0
    if answer.status == 100 { return answer }
    if toHead || answer.status == 204 { return answer }
    if answer.has("Transfer-Encoding") {
      readChunks(&answer)
    } else if let length = length(answer.head) {
      while pending.count < length {
        guard fill() else {
          answer.isComplete = false
          break
        }
      }
      answer.body = Array(pending.prefix(length))
      pending.removeFirst(min(length, pending.count))
    } else {
      while fill() {}
      answer.body = pending
      pending = []
    }
    return answer
  }

  private func length(_ head: String) -> Int? {
    for line in head.lowercased().components(separatedBy: "\r\n") where line.hasPrefix("content-length:") {
      return Int(line.dropFirst(15).trimmingCharacters(in: .whitespaces))
    }
    return nil
  }

  private func readChunks(_ answer: inout Answer) {
    answer.isComplete = false
    while true {
      var range = pending.firstRange(of: [13, 10])
      while range == nil {
        guard fill() else { return }
        range = pending.firstRange(of: [13, 10])
      }
      guard let range else { return }
      let size = Int(String(decoding: pending[..<range.lowerBound], as: UTF8.self), radix: 16) ?? 0
      while pending.count < range.upperBound + size + 2 {
        guard fill() else { return }
      }
      answer.body += pending[range.upperBound..<(range.upperBound + size)]
      pending.removeSubrange(..<(range.upperBound + size + 2))
      if size == 0 {
        answer.isComplete = true
        return
      }
    }
  }
}

/// Waits until something holds, up to 10 s.
func eventually(_ condition: () -> Bool) -> Bool {
  for _ in 0..<10_000 {
    if condition() { return true }
    usleep(1000)
  }
  return condition()
}

/// A value behind a lock, for what handlers and tests share.
final class Shared<Value>: @unchecked Sendable {
  private let lock = NSLock()
  private var stored: Value
  init(_ value: Value) { stored = value }
  var value: Value { lock.withLock { stored } }
  func change(_ body: (inout Value) -> Void) { lock.withLock { body(&stored) } }
}

func openDescriptors() -> Int {
  (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
}

func temporaryPath(_ name: String) -> String {
  "/tmp/kizuna-server-\(getpid())-\(UInt32.random(in: 0...UInt32.max))-\(name)"
}

/// A server on a free port of 127.0.0.1, or on other addresses, stopped at the end.
func withServer(
  _ addresses: [ServerConfiguration.Address] = [.tcp(host: "127.0.0.1", port: 0)],
  maxConnections: Int = 8192, idleTimeout: Int = 30,
  handler: @escaping @Sendable (HTTPExchange) -> Void = echo,
  _ body: (HTTPServer, [BoundAddress]) throws -> Void
) throws {
  var configuration = ServerConfiguration(addresses: addresses)
  configuration.maxBodyBytes = 100_000
  configuration.threads = 2
  configuration.maxConnections = maxConnections
  configuration.idleTimeoutSeconds = idleTimeout
  let server = HTTPServer(configuration: configuration, handler: handler)
  let bound = try server.start()
  defer { server.stop(deadlineSeconds: 5) }
  try body(server, bound)
}

func textResponse(_ status: Int, _ text: String) -> Response {
  var body = ByteBuffer()
  body.append(text)
  var response = Response(status: status, body: body)
  response.add("Content-Type", "text/plain")
  return response
}

/// Answers method, target and body of the request.
@Sendable func echo(_ exchange: HTTPExchange) {
  if exchange.bodyState == .tooLarge { return exchange.respond(textResponse(413, "too large")) }
  var body = ByteBuffer()
  body.append("\(exchange.method) ")
  body.append(exchange.target)
  body.append(" ")
  body.append(exchange.body)
  var response = Response(status: 200, body: body)
  response.add("Content-Type", "text/plain")
  exchange.respond(response)
}

func onThread(_ body: @escaping @Sendable () -> Void) { Thread.detachNewThread(body) }
