import Foundation

@testable import KizunaEngine

/// A server over bare sockets of 127.0.0.1: it reads requests as HTTP/1.1 frames them and answers the bytes it is
/// told to, so that an answer can be as wrong as a test wants.
final class RawServer: Sendable {
  struct Request: Sendable {
    var line: String
    /// By lower-cased name.
    var headers: [String: String]
    var body: [UInt8]
    /// Counted from 0 in the order of acceptance.
    var connection: Int
    var text: String { String(decoding: body, as: UTF8.self) }
  }

  enum Step: Sendable {
    case send(String)
    case bytes([UInt8])
    /// Leaves the connection open and sends nothing more until the server ends.
    case hang
    case close
  }

  let port: UInt16
  private let listener: Int32
  private let requests = Guarded<[Request]>([])
  private let connections = Guarded<[Int32]>([])

  var url: String { "http://127.0.0.1:\(port)" }
  var seen: [Request] { requests.with { $0 } }
  var accepted: Int { connections.with { $0.count } }

  init(_ answer: @escaping @Sendable (Request) -> [Step]) {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        _ = bind(listener, address, size)
        listen(listener, 16)
        getsockname(listener, address, &size)
      }
    }
    port = UInt16(bigEndian: address.sin_port)
    self.listener = listener
    let (requests, connections) = (requests, connections)
    Foundation.Thread.detachNewThread {
      while true {
        let socket = accept(listener, nil, nil)
        guard socket >= 0 else { return }
        let number = connections.with { connections in
          connections.append(socket)
          return connections.count - 1
        }
        Foundation.Thread.detachNewThread { Self.serve(socket, number, requests, answer) }
      }
    }
  }

  deinit { end() }

  /// Ends every connection. The descriptors stay ours until their threads are done with them.
  func end() {
    shutdown(listener, Int32(SHUT_RDWR))
    for socket in connections.with({ $0 }) { shutdown(socket, Int32(SHUT_RDWR)) }
  }

  private static func serve(
    _ socket: Int32, _ number: Int, _ requests: Guarded<[Request]>,
    _ answer: @Sendable (Request) -> [Step]
  ) {
    var pending: [UInt8] = []
    while let request = read(socket, number, &pending) {
      requests.with { $0.append(request) }
      for step in answer(request) {
        switch step {
        case .send(let text): send(socket, Array(text.utf8))
        case .bytes(let bytes): send(socket, bytes)
        case .hang:
          while fill(socket, &pending) {}
          return
        case .close:
          shutdown(socket, Int32(SHUT_RDWR))
          return
        }
      }
    }
  }

  private static func fill(_ socket: Int32, _ pending: inout [UInt8]) -> Bool {
    var buffer = [UInt8](repeating: 0, count: 65536)
    let count = recv(socket, &buffer, buffer.count, 0)
    if count > 0 { pending += buffer[..<count] }
    return count > 0
  }

  private static func read(_ socket: Int32, _ number: Int, _ pending: inout [UInt8]) -> Request? {
    var end = pending.firstRange(of: [13, 10, 13, 10])
    while end == nil {
      guard fill(socket, &pending) else { return nil }
      end = pending.firstRange(of: [13, 10, 13, 10])
    }
    guard let end else { return nil }
    let lines = String(decoding: pending[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
    pending.removeSubrange(..<end.upperBound)
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] =
        line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
    }
    let length = Int(headers["content-length"] ?? "0") ?? 0
    while pending.count < length {
      guard fill(socket, &pending) else { return nil }
    }
    let body = Array(pending.prefix(length))
    pending.removeFirst(length)
    return Request(line: lines[0], headers: headers, body: body, connection: number)
  }

  private static func send(_ socket: Int32, _ bytes: [UInt8]) {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(socket, $0.baseAddress?.advanced(by: sent), bytes.count - sent, Int32(MSG_NOSIGNAL))
      }
      if count <= 0 { return }
      sent += count
    }
  }

  /// A whole answer with a length.
  static func answer(_ status: Int, _ body: String, _ headers: [String] = []) -> [Step] {
    let head = ["HTTP/1.1 \(status) X", "Content-Length: \(body.utf8.count)"] + headers
    return [.send(head.joined(separator: "\r\n") + "\r\n\r\n" + body)]
  }
}

/// Waits until something holds, up to 10 s.
func comesTrue(_ condition: () -> Bool) -> Bool {
  for _ in 0..<5000 {
    if condition() { return true }
    usleep(2000)
  }
  return condition()
}

/// How many milliseconds something took.
func milliseconds(_ body: () -> Void) -> Int64 {
  let start = monotonicMilliseconds()
  body()
  return monotonicMilliseconds() - start
}
