import CMicroHTTPD
import Glibc

/// An HTTP/1.1 server over libmicrohttpd.
///
/// Threads: libmicrohttpd's own, each with an epoll loop and its share of the connections, which run the handler;
/// and one that accepts. libmicrohttpd could accept by itself, but then one of its threads may get all
/// connections; handed over one by one they spread evenly.
///
/// `start`, `stopAccepting` and `stop` are for one thread, the main one; everything else is for any.
package final class HTTPServer: @unchecked Sendable {
  package let configuration: ServerConfiguration
  let handler: @Sendable (HTTPExchange) -> Void
  /// Told of every answer, on the server thread that sends it.
  let answered: @Sendable (HTTPExchange.Method, _ status: Int) -> Void
  let connections: ConnectionTable
  let streams = StreamRegistry()
  let acceptor: Acceptor
  private let activity = Activity()
  private var daemon: OpaquePointer?

  package init(
    configuration: ServerConfiguration,
    answered: @escaping @Sendable (HTTPExchange.Method, _ status: Int) -> Void = { _, _ in },
    handler: @escaping @Sendable (HTTPExchange) -> Void
  ) {
    self.configuration = configuration
    self.answered = answered
    self.handler = handler
    let allowed = Self.raiseDescriptorLimit(toward: configuration.maxConnections)
    connections = ConnectionTable(limit: allowed)
    acceptor = Acceptor(connections: connections)
  }

  /// Whether the server is on its way out: answers in flight still go out, and then it closes.
  package var isStopping: Bool { activity.isStopping }

  /// Binds every address and begins to serve. A port of 0 becomes a free one.
  package func start() throws(ServerError) -> [BoundAddress] {
    var listeners: [Listener] = []
    do throws(ServerError) {
      for listener in try Listener.open(configuration.addresses) { listeners.append(listener) }
      try startDaemon()
      guard let daemon else { throw ServerError.cannotStart(reason: "no daemon") }
      try acceptor.start(listeners: listeners, daemon: daemon)
    } catch {
      stopDaemon()
      for listener in listeners { listener.close() }
      throw error
    }
    return listeners.map(\.bound)
  }

  private func startDaemon() throws(ServerError) {
    // The daemon holds a reference to the server from here until it has stopped.
    let context = Unmanaged.passRetained(self)
    var settings = cmicrohttpd_settings()
    settings.threads = UInt32(max(1, configuration.threads))
    // The acceptor keeps the real limit; this one only must never be reached in one thread first.
    settings.connection_limit = UInt32((connections.limit + 16) * max(1, configuration.threads))
    settings.idle_timeout_seconds = UInt32(max(0, configuration.idleTimeoutSeconds))
    settings.connection_memory = max(1024, configuration.maxHeaderBytes)
    settings.context = context.toOpaque()
    settings.begin = beginRequest
    settings.handle = handleRequest
    settings.complete = completeRequest
    settings.connection_changed = changeConnection
    daemon = cmicrohttpd_start(&settings)
    if daemon == nil {
      context.release()
      throw .cannotStart(reason: String(cString: strerror(errno)))
    }
  }

  private func stopDaemon() {
    guard let stopped = daemon else { return }
    daemon = nil
    MHD_stop_daemon(stopped)
    Unmanaged.passUnretained(self).release()
  }

  /// Closes the listening sockets, removes the Unix ones, and leaves the connections alone.
  package func stopAccepting() { acceptor.stop() }

  /// Stops accepting, lets answers in flight finish (endless streams are ended), at most so long, then closes
  /// every connection. False when a handler's thread still owes an answer after that: then the server threads stay,
  /// because what that thread holds must stay valid; the process may exit all the same.
  @discardableResult
  package func stop(deadlineSeconds: Int) -> Bool {
    stopAccepting()
    guard daemon != nil else { return true }
    activity.beginStopping()
    streams.finishEndless()
    var isIdle = activity.close(withinMilliseconds: deadlineSeconds * 1000)
    if !isIdle {
      streams.failAll()
      connections.shutDownAll()
      isIdle = activity.close(withinMilliseconds: 500)
    }
    guard isIdle else { return false }
    stopDaemon()
    return true
  }

  /// Counts a request in; false when the server takes none any more.
  func enter() -> Bool { activity.enter() }
  func leave() { activity.leave() }
  var hasRequests: Bool { activity.hasRequests }

  /// How many connections fit: descriptors for `wanted` and for files are asked for, up to the hard limit.
  private static func raiseDescriptorLimit(toward wanted: Int) -> Int {
    let reserve = 256
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return wanted }
    let need = rlim_t(wanted + reserve)
    if limit.rlim_cur < need {
      limit.rlim_cur = min(need, limit.rlim_max)
      setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
      getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
    let available = Int(min(limit.rlim_cur, rlim_t(Int32.max)))
    return max(16, min(wanted, available - reserve))
  }
}
