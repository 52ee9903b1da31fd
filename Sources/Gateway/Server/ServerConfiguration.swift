import Glibc

/// Where and within which bounds a server listens.
package struct ServerConfiguration: Sendable {
  package enum Address: Sendable, Hashable {
    /// A literal address, or `localhost` for both 127.0.0.1 and ::1, of which one may be missing. Port 0: any.
    case tcp(host: String, port: UInt16)
    case unix(path: String)
  }

  package var addresses: [Address]
  /// Server threads, each with its own epoll loop.
  package var threads = Self.cores
  /// The memory of a connection, which bounds the request line and the headers. libmicrohttpd clears all of it
  /// after every request, so a generous value costs speed.
  package var maxHeaderBytes = 16384
  package var maxBodyBytes = 16 * 1024 * 1024
  /// A connection on which nothing moves for so long is closed; a suspended one never is.
  package var idleTimeoutSeconds = 30
  /// Beyond it, clients wait in the backlog of the listening socket.
  package var maxConnections = 8192

  package init(addresses: [Address]) {
    self.addresses = addresses
  }

  package static var cores: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}

/// An address that a server listens on, with the port that it got.
package struct BoundAddress: Sendable, Hashable {
  package var address: ServerConfiguration.Address

  /// `http://127.0.0.1:54321`, `http://[::1]:54321` or `unix:PATH`.
  package var display: String { address.display }

  package var port: UInt16? {
    if case .tcp(_, let port) = address { port } else { nil }
  }
}

extension ServerConfiguration.Address {
  package var display: String {
    switch self {
    case .unix(let path): "unix:\(path)"
    case .tcp(let host, let port):
      host.utf8.contains(UInt8(ascii: ":")) ? "http://[\(host)]:\(port)" : "http://\(host):\(port)"
    }
  }
}

/// Why a server did not start.
package enum ServerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Another process listens there.
  case inUse(String)
  case cannotBind(String, reason: String)
  /// libmicrohttpd or the system refused threads or descriptors.
  case cannotStart(reason: String)

  package var description: String {
    switch self {
    case .inUse(let address): "\(address) is in use by another process"
    case .cannotBind(let address, let reason): "cannot listen on \(address): \(reason)"
    case .cannotStart(let reason): "cannot start the server: \(reason)"
    }
  }
}
