import Glibc

/// How an address to listen on is written: `host:port`, `[::1]:port`, `localhost:port` or `unix:PATH`.
extension ServerConfiguration.Address {
  package struct Malformed: Error, Sendable, Equatable {
    package var reason: String
  }

  package init(parsing text: String) throws(Malformed) {
    if text.utf8.starts(with: "unix:".utf8) {
      let path = String(text.dropFirst(5))
      guard !path.isEmpty, path.utf8.count < 108 else {
        throw Malformed(reason: "\"\(text)\": a socket's path has 1 to 107 bytes")
      }
      self = .unix(path: path)
      return
    }
    let form = "write localhost:54321, 0.0.0.0:54321, [::1]:54321 or unix:PATH"
    guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")) else {
      let missing = !text.isEmpty && text.utf8.allSatisfy { 0x30...0x39 ~= $0 } ? "host" : "port"
      throw Malformed(reason: "\"\(text)\" has no \(missing); \(form)")
    }
    let digits = text[text.utf8.index(after: colon)...]
    guard digits.utf8.count <= 5, !digits.isEmpty, digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
      let port = UInt16(digits)
    else { throw Malformed(reason: "\"\(text)\" has no port from 0 to 65535; \(form)") }
    let host = String(text[..<colon])
    if host.lowercased() == "localhost" {
      self = .tcp(host: "localhost", port: port)
    } else if Self.isLiteral(host, AF_INET) {
      self = .tcp(host: host, port: port)
    } else if host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]"),
      Self.isLiteral(String(host.dropFirst().dropLast()), AF_INET6)
    {
      self = .tcp(host: String(host.dropFirst().dropLast()), port: port)
    } else {
      throw Malformed(reason: "\"\(text)\": \"\(host)\" is neither localhost nor an IP address; \(form)")
    }
  }

  private static func isLiteral(_ host: String, _ family: Int32) -> Bool {
    var address = in6_addr()
    return inet_pton(family, host, &address) == 1
  }

  /// Reached from this machine alone.
  package var isLoopback: Bool {
    switch self {
    case .unix: return true
    case .tcp("localhost", _): return true
    case .tcp(let host, _):
      if Self.isLiteral(host, AF_INET) { return host.hasPrefix("127.") }
      var address = in6_addr()
      guard inet_pton(AF_INET6, host, &address) == 1 else { return false }
      let bytes = withUnsafeBytes(of: &address) { Array($0) }
      if bytes[..<15].allSatisfy({ $0 == 0 }) { return bytes[15] == 1 }
      // ::ffff:127.x.y.z
      return bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF && bytes[12] == 127
    }
  }

  /// As it is written in the configuration.
  package var text: String {
    switch self {
    case .unix(let path): "unix:\(path)"
    case .tcp(let host, let port):
      host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
  }
}
