import CMicroHTTPD
import Glibc

/// A listening socket.
struct Listener: Sendable {
  let descriptor: Int32
  let bound: BoundAddress
  /// The file that a Unix socket made, to be removed if it is still that file.
  private let file: FileIdentity?

  private struct FileIdentity: Sendable, Equatable {
    var device: UInt64
    var inode: UInt64

    init?(path: String) {
      var status = stat()
      guard lstat(path, &status) == 0 else { return nil }
      device = UInt64(status.st_dev)
      inode = UInt64(status.st_ino)
    }
  }

  /// All addresses, or none: what was opened is closed again when one fails.
  static func open(_ addresses: [ServerConfiguration.Address]) throws(ServerError) -> [Listener] {
    var open: [Listener] = []
    do throws(ServerError) {
      for address in addresses {
        switch address {
        case .unix(let path): open.append(try unix(path))
        case .tcp("localhost", let port): open += try localhost(port, near: open)
        case .tcp(let host, 0): open.append(try anyPort(host, near: open))
        case .tcp(let host, let port): open.append(try tcp(host, port))
        }
      }
    } catch {
      for listener in open { listener.close() }
      throw error
    }
    return open
  }

  func close() {
    _ = Glibc.close(descriptor)
    if case .unix(let path) = bound.address, let file, file == FileIdentity(path: path) { unlink(path) }
  }

  /// Both loopback addresses under one number; one of the two families may be missing on this machine.
  private static func localhost(_ port: UInt16, near others: [Listener]) throws(ServerError) -> [Listener] {
    for attempt in 0..<16 {
      var open: [Listener] = []
      var missing: ServerError?
      do throws(ServerError) {
        for host in ["127.0.0.1", "::1"] {
          let wanted = open.first?.bound.port ?? port
          do throws(ServerError) {
            open.append(try tcp(host, wanted))
          } catch .cannotBind(let display, let reason) {
            missing = .cannotBind(display, reason: reason)
          }
        }
        if open.isEmpty, let missing { throw missing }
        return open
      } catch {
        for listener in open { listener.close() }
        // A free port of one family may be taken in the other: then another one.
        if port != 0 || attempt == 15 { throw error }
      }
    }
    return []
  }

  /// A free port: the number that another address got, if that is free here too.
  private static func anyPort(_ host: String, near others: [Listener]) throws(ServerError) -> Listener {
    if let port = others.lazy.compactMap(\.bound.port).first, let same = try? tcp(host, port) { return same }
    return try tcp(host, 0)
  }

  private static func tcp(_ host: String, _ port: UInt16) throws(ServerError) -> Listener {
    let display = ServerConfiguration.Address.tcp(host: host, port: port).display
    var four = sockaddr_in()
    var six = sockaddr_in6()
    if inet_pton(AF_INET, host, &four.sin_addr) == 1 {
      four.sin_family = sa_family_t(AF_INET)
      four.sin_port = port.bigEndian
      return try tcp(host, display, family: AF_INET, &four)
    }
    if inet_pton(AF_INET6, host, &six.sin6_addr) == 1 {
      six.sin6_family = sa_family_t(AF_INET6)
      six.sin6_port = port.bigEndian
      return try tcp(host, display, family: AF_INET6, &six)
    }
    throw .cannotBind(display, reason: "not an IP address; write localhost or a literal address")
  }

  private static func tcp<Address>(
    _ host: String, _ display: String, family: Int32, _ address: inout Address
  ) throws(ServerError) -> Listener {
    let descriptor = try makeSocket(family, display)
    set(descriptor, Int32(SOL_SOCKET), SO_REUSEADDR)
    if family == AF_INET6 { set(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY) }
    let code = bind(descriptor, &address)
    guard code == 0 else {
      _ = Glibc.close(descriptor)
      throw failure(code, display)
    }
    try listen(descriptor, display)
    let bound = ServerConfiguration.Address.tcp(host: host, port: port(of: descriptor))
    return Listener(descriptor: descriptor, bound: BoundAddress(address: bound), file: nil)
  }

  private static func unix(_ path: String) throws(ServerError) -> Listener {
    let display = ServerConfiguration.Address.unix(path: path).display
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let capacity = MemoryLayout.size(ofValue: address.sun_path)
    guard !path.isEmpty, path.utf8.count < capacity else {
      throw .cannotBind(display, reason: "the path of a Unix socket holds 1 to \(capacity - 1) bytes")
    }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let descriptor = try makeSocket(AF_UNIX, display)
    // The file gets the mode of the socket, so at no moment can another user connect.
    fchmod(descriptor, 0o600)
    var code = bind(descriptor, &address)
    if code == EADDRINUSE, isStale(address, path) {
      unlink(path)
      code = bind(descriptor, &address)
    }
    guard code == 0 else {
      _ = Glibc.close(descriptor)
      throw failure(code, display)
    }
    chmod(path, 0o600)
    try listen(descriptor, display)
    let bound = BoundAddress(address: .unix(path: path))
    return Listener(descriptor: descriptor, bound: bound, file: FileIdentity(path: path))
  }

  /// Whether the file is a socket that nobody listens on.
  private static func isStale(_ address: sockaddr_un, _ path: String) -> Bool {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFSOCK else { return false }
    let probe = cmicrohttpd_socket(AF_UNIX)
    guard probe >= 0 else { return false }
    defer { _ = Glibc.close(probe) }
    var address = address
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(probe, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    return result != 0 && errno == ECONNREFUSED
  }

  private static func makeSocket(_ family: Int32, _ display: String) throws(ServerError) -> Int32 {
    let descriptor = cmicrohttpd_socket(family)
    if descriptor < 0 { throw failure(errno, display) }
    return descriptor
  }

  private static func listen(_ descriptor: Int32, _ display: String) throws(ServerError) {
    guard Glibc.listen(descriptor, SOMAXCONN) == 0 else {
      let code = errno
      _ = Glibc.close(descriptor)
      throw failure(code, display)
    }
  }

  /// 0, or the error's number.
  private static func bind<Address>(_ descriptor: Int32, _ address: inout Address) -> Int32 {
    let size = socklen_t(MemoryLayout<Address>.size)
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { Glibc.bind(descriptor, $0, size) }
    }
    return result == 0 ? 0 : errno
  }

  private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32) {
    var on: Int32 = 1
    setsockopt(descriptor, level, option, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  private static func port(of descriptor: Int32) -> UInt16 {
    var address = sockaddr_in6()
    var size = socklen_t(MemoryLayout<sockaddr_in6>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
    }
    // The port stands at the same place in both families.
    return result == 0 ? UInt16(bigEndian: address.sin6_port) : 0
  }

  private static func failure(_ code: Int32, _ display: String) -> ServerError {
    code == EADDRINUSE ? .inUse(display) : .cannotBind(display, reason: String(cString: strerror(code)))
  }
}
