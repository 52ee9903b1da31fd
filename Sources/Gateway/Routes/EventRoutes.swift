import KizunaEngine

extension GatewayServer {
  /// `/sync/v1/events`: what happens from now on, after what `Last-Event-ID` missed. The stream is written by the
  /// engine's event thread and by the ticker, neither of which ever waits for a client.
  func serveEvents(exchange: HTTPExchange, context: RequestContext) throws(Failure) {
    guard case .get = exchange.method else {
      throw Failure("PGRST117", "Unsupported HTTP method: \(exchange.methodName)")
    }
    let lastId = exchange.text("Last-Event-ID").flatMap { Int64($0) }
    var headers = HeaderList()
    headers.add("Content-Type", "text/event-stream; charset=utf-8")
    headers.add("Cache-Control", "no-store")
    headers.add("X-Accel-Buffering", "no")
    context.crossOrigin.addHeaders(to: &headers)
    let stream = exchange.respondStreaming(status: 200, headers: headers.lines(), endsAtStop: true)
    listeners.add(stream, since: lastId, ring: ring)
  }
}

/// The open event streams. A stream whose client is gone, or reads too slowly, is dropped.
final class EventListeners: @unchecked Sendable {
  private let lock = Lock()
  private var open: [Int: (stream: ResponseStream, stop: (@Sendable () -> Void)?)] = [:]
  private var next = 0
  private var isClosed = false
  private var ticker: Thread?

  /// Proxies close a connection on which nothing comes.
  private static let tickMilliseconds = 15_000

  func start() {
    ticker = Thread(name: "kizuna-ticker") { [self] in tick() }
  }

  func add(_ stream: ResponseStream, since lastId: Int64?, ring: EventRing) {
    let id = lock.locked {
      next += 1
      open[next] = (stream, nil)
      return next
    }
    // The first bytes tell the client that it is connected.
    _ = stream.offer(text: ": connected\n\n")
    let stop = ring.listen(since: lastId) { entry in
      _ = entry.bytes.withUnsafeBufferPointer { stream.offer($0) }
    }
    lock.locked { if open[id] != nil { open[id] = (stream, stop) } }
  }

  private func tick() {
    lock.acquire()
    while !isClosed {
      lock.wait(milliseconds: Self.tickMilliseconds)
      if isClosed { break }
      let current = open
      lock.release()
      for (id, listener) in current where !listener.stream.offer(text: ":\n\n") { drop(id) }
      lock.acquire()
    }
    lock.release()
  }

  private func drop(_ id: Int) {
    let listener = lock.locked { open.removeValue(forKey: id) }
    listener?.stop?()
    listener?.stream.finish()
  }

  func close() {
    let (left, thread) = lock.locked {
      isClosed = true
      lock.broadcast()
      defer {
        open = [:]
        ticker = nil
      }
      return (open, ticker)
    }
    thread?.join()
    for listener in left.values {
      listener.stop?()
      listener.stream.finish()
    }
  }
}

extension ResponseStream {
  fileprivate func offer(text: StaticString) -> Bool {
    offer(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }
}
