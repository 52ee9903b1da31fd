import CMicroHTTPD
import Glibc

/// The thread that accepts connections and hands them to the daemon. It also waits for the clients of answers that
/// left a body unread, see `linger`.
final class Acceptor: @unchecked Sendable {
  private let connections: ConnectionTable
  private let lock = ServerLock()
  private let wakeRead: Int32
  private let wakeWrite: Int32
  private var isStopped = false
  private var newLingering: [Int32] = []
  private var lingeringCount = 0
  private var thread: pthread_t?
  /// Written before the thread starts, then read by it alone.
  private var listeners: [Listener] = []
  private var daemon: OpaquePointer?

  private static let lingeringLimit = 64

  init(connections: ConnectionTable) {
    self.connections = connections
    var ends: [Int32] = [-1, -1]
    // Without a pipe nothing wakes the thread; `start` then refuses.
    cmicrohttpd_pipe(&ends)
    wakeRead = ends[0]
    wakeWrite = ends[1]
  }

  deinit {
    if wakeRead >= 0 { close(wakeRead) }
    if wakeWrite >= 0 { close(wakeWrite) }
  }

  /// The thread owns the listeners from here on and closes them at its end.
  func start(listeners: [Listener], daemon: OpaquePointer) throws(ServerError) {
    guard wakeRead >= 0 else { throw .cannotStart(reason: "no descriptor left for a pipe") }
    self.listeners = listeners
    self.daemon = daemon
    var thread = pthread_t()
    let context = Unmanaged.passRetained(self)
    let code = pthread_create(&thread, nil, runAcceptor, context.toOpaque())
    guard code == 0 else {
      context.release()
      throw .cannotStart(reason: String(cString: strerror(code)))
    }
    self.thread = thread
  }

  /// Returns when the listening sockets are closed.
  func stop() {
    guard let thread else { return }
    self.thread = nil
    lock.holding { isStopped = true }
    wake()
    pthread_join(thread, nil)
  }

  /// From any thread.
  func wake() {
    var byte: UInt8 = 1
    _ = write(wakeWrite, &byte, 1)
  }

  /// Keeps a socket open until the client has sent the rest of a body that nobody reads, or for a short while: a
  /// socket that is closed with unread bytes resets the connection, and the client loses the answer. Takes a
  /// duplicate, since libmicrohttpd closes its own.
  func linger(_ descriptor: Int32) {
    let copy = lock.holding {
      guard !isStopped, lingeringCount < Self.lingeringLimit, descriptor >= 0 else { return Int32(-1) }
      let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
      guard copy >= 0 else { return Int32(-1) }
      lingeringCount += 1
      newLingering.append(copy)
      return copy
    }
    if copy >= 0 { wake() }
  }

  fileprivate func run() {
    var lingering: [Lingering] = []
    var isPaused = false
    while !takeOrders(&lingering) {
      let accepts = !isPaused && connections.hasRoom
      var polled = [pollfd(fd: wakeRead, events: Int16(POLLIN), revents: 0)]
      polled += lingering.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
      if accepts { polled += listeners.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) } }
      let timeout: Int32 = isPaused ? 100 : lingering.isEmpty ? -1 : 500
      isPaused = false
      guard poll(&polled, nfds_t(polled.count), timeout) >= 0 else { continue }
      if polled[0].revents != 0 { drainWake() }
      if !lingering.isEmpty { attend(&lingering, polled[1...]) }
      for entry in polled.suffix(accepts ? listeners.count : 0)
      where entry.revents != 0 {
        if !accept(from: entry.fd) { isPaused = true }
      }
    }
    for socket in lingering { close(socket.descriptor) }
    for listener in listeners { listener.close() }
  }

  /// Whether to end; takes over the sockets that are to linger.
  private func takeOrders(_ lingering: inout [Lingering]) -> Bool {
    let (taken, isOver) = lock.holding {
      let taken = newLingering
      newLingering = []
      return (taken, isStopped)
    }
    let end = Lingering.now() + Lingering.patience
    lingering += taken.map { Lingering(descriptor: $0, end: end) }
    return isOver
  }

  private func drainWake() {
    var bytes = [UInt8](repeating: 0, count: 64)
    while read(wakeRead, &bytes, bytes.count) == bytes.count {}
  }

  private func attend(_ lingering: inout [Lingering], _ polled: ArraySlice<pollfd>) {
    let before = lingering.count
    let ready = Set(polled.lazy.filter { $0.revents != 0 }.map(\.fd))
    let now = Lingering.now()
    lingering.removeAll { socket in
      let isOver = now >= socket.end || (ready.contains(socket.descriptor) && socket.drain())
      if isOver { close(socket.descriptor) }
      return isOver
    }
    let gone = before - lingering.count
    if gone > 0 { lock.holding { lingeringCount -= gone } }
  }

  /// Takes what waits, up to a bound, so that no listener starves another. False when the system is out of
  /// descriptors or memory: the caller pauses, since the socket stays readable.
  private func accept(from listener: Int32) -> Bool {
    for _ in 0..<64 where connections.hasRoom {
      var address = sockaddr_storage()
      var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
      let descriptor = withUnsafeMutablePointer(to: &address) {
        $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          cmicrohttpd_accept(listener, $0, &size)
        }
      }
      if descriptor < 0 {
        switch errno {
        case EMFILE, ENFILE, ENOMEM, ENOBUFS: return false
        case EINTR, ECONNABORTED: continue
        default: return true
        }
      }
      hand(descriptor, &address, size)
    }
    return true
  }

  /// The daemon owns the descriptor from here on, also when it refuses it.
  private func hand(_ descriptor: Int32, _ address: inout sockaddr_storage, _ size: socklen_t) {
    connections.reserve()
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        MHD_add_connection(daemon, descriptor, $0, size)
      }
    }
    if result != .YES { connections.giveBack() }
  }
}

/// A socket that is read from only so that its client can finish.
private struct Lingering {
  let descriptor: Int32
  /// In milliseconds.
  let end: Int

  static let patience = 2000

  static func now() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
  }

  /// Reads a bounded amount; true when the client is done.
  func drain() -> Bool {
    withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 16) { buffer in
      for _ in 0..<16 {
        let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        if count > 0 { continue }
        return count == 0 || (errno != EAGAIN && errno != EINTR)
      }
      return false
    }
  }
}

/// The body of the accepting thread; takes over the reference that `start` made.
private func runAcceptor(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
  guard let context else { return nil }
  Unmanaged<Acceptor>.fromOpaque(context).takeRetainedValue().run()
  return nil
}
