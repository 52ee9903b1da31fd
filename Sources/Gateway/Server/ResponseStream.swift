import CMicroHTTPD
import Glibc
import KizunaEngine

/// The body of an answer that is produced while it is sent.
///
/// One thread produces (`write`, `offer`, `finish`, `fail`); the connection's server thread takes what is queued,
/// and when nothing is queued it suspends the connection, which the next call of the producer resumes. The
/// response that libmicrohttpd holds owns one reference and gives it up on the server thread when the answer is
/// over or the client gone (`close`); a parked connection cannot end, so it may be resumed as long as `isParked`.
package final class ResponseStream: @unchecked Sendable {
  /// How much `write` lets wait for the client.
  static let writeBound = 1 << 20
  /// How much `offer` lets wait before it gives the client up.
  static let offerBound = 256 * 1024

  let endsAtStop: Bool
  private unowned let server: HTTPServer
  private let lock = ServerLock()
  private var connection: OpaquePointer?
  private var state = State.open
  private var isParked = false
  /// Each chunk's memory belongs to the queue.
  private var chunks: [UnsafeMutableBufferPointer<UInt8>] = []
  private var first = 0
  private var sentOfFirst = 0
  private var queued = 0

  private enum State {
    case open
    /// The queue is still to be sent, then the answer is complete.
    case finished
    /// Cut as soon as the server thread looks.
    case failed
    /// The connection is done with this answer.
    case closed
  }

  init(server: HTTPServer, endsAtStop: Bool) {
    self.server = server
    self.endsAtStop = endsAtStop
  }

  deinit { dropQueue() }

  /// Whether the client is gone, or the stream over.
  package var isClosed: Bool { lock.holding { state != .open } }

  /// Queues a chunk, and waits while a mebibyte or more is queued. False when the client is gone or the server
  /// cuts its streams; the producer then stops. So it is, and the stream failed, when the client has not taken
  /// enough at `deadline` (`monotonicMilliseconds`): what the producer holds is not to be held by a slow client.
  package func write(_ chunk: consuming ByteBuffer, deadline: Int64 = .max) -> Bool {
    let bytes = chunk.take()
    return lock.holding {
      while state == .open && queued >= Self.writeBound {
        let patience = deadline - monotonicMilliseconds()
        if patience <= 0 {
          end(.failed)
        } else {
          lock.wait(milliseconds: Int(min(patience, 60_000)))
        }
      }
      guard state == .open, bytes.count > 0 else {
        free(bytes.baseAddress)
        return state == .open
      }
      enqueue(bytes)
      return true
    }
  }

  /// Queues bytes and never waits: a client with more than 256 KiB before it is cut, and the result is false.
  package func offer(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    lock.holding {
      guard state == .open else { return false }
      guard queued + bytes.count <= Self.offerBound else {
        end(.failed)
        return false
      }
      guard let source = bytes.baseAddress, bytes.count > 0 else { return true }
      guard let memory = malloc(bytes.count) else { abort() }
      memcpy(memory, source, bytes.count)
      let start = memory.assumingMemoryBound(to: UInt8.self)
      enqueue(UnsafeMutableBufferPointer(start: start, count: bytes.count))
      return true
    }
  }

  package func offer(_ bytes: borrowing ByteBuffer) -> Bool { offer(bytes.bytes) }

  /// The answer is complete once the queue has been sent.
  package func finish() { lock.holding { end(.finished) } }

  /// Cuts the connection, so that the client sees an incomplete answer.
  package func fail() { lock.holding { end(.failed) } }

  /// The response that reads from this stream; nil when memory ran out.
  func makeResponse(on connection: OpaquePointer) -> OpaquePointer? {
    self.connection = connection
    let context = Unmanaged.passRetained(self)
    let made = MHD_create_response_from_callback(
      UInt64.max, 16384, readStream, context.toOpaque(), releaseStream)
    if made == nil {
      context.release()
    } else {
      server.streams.insert(self)
    }
    return made
  }

  /// No more bytes are taken: a producer that waits is let go.
  func close() {
    server.streams.remove(self)
    lock.holding {
      state = .closed
      isParked = false
      connection = nil
      dropQueue()
      lock.wakeAll()
    }
  }

  /// Copies what is queued. On the server thread.
  fileprivate func read(into target: UnsafeMutablePointer<CChar>, limit: Int) -> Int {
    lock.holding {
      if state == .failed || state == .closed { return -2 }
      if queued == 0 {
        if state == .finished { return -1 }
        isParked = true
        if let connection { MHD_suspend_connection(connection) }
        return 0
      }
      return takeQueued(into: target, limit: limit)
    }
  }

  private func takeQueued(into target: UnsafeMutablePointer<CChar>, limit: Int) -> Int {
    var count = 0
    while count < limit, first < chunks.count, let source = chunks[first].baseAddress {
      let amount = min(limit - count, chunks[first].count - sentOfFirst)
      memcpy(target + count, source + sentOfFirst, amount)
      count += amount
      sentOfFirst += amount
      if sentOfFirst == chunks[first].count {
        free(source)
        first += 1
        sentOfFirst = 0
      }
    }
    if first == chunks.count {
      chunks.removeAll(keepingCapacity: true)
      first = 0
    } else if first >= 256 {
      chunks.removeFirst(first)
      first = 0
    }
    let wasFull = queued >= Self.writeBound
    queued -= count
    if wasFull && queued < Self.writeBound { lock.wakeAll() }
    return count
  }

  private func enqueue(_ bytes: UnsafeMutableBufferPointer<UInt8>) {
    chunks.append(bytes)
    queued += bytes.count
    unpark()
  }

  private func end(_ new: State) {
    guard state == .open || (state == .finished && new == .failed) else { return }
    state = new
    lock.wakeAll()
    unpark()
  }

  /// With the lock held, so that the connection cannot end between the look and the call.
  private func unpark() {
    guard isParked, let connection else { return }
    isParked = false
    MHD_resume_connection(connection)
  }

  private func dropQueue() {
    for index in first..<chunks.count { free(chunks[index].baseAddress) }
    chunks = []
    first = 0
    sentOfFirst = 0
    queued = 0
  }
}

/// On the server thread, whenever the connection can take more. Borrows the response's reference.
private func readStream(
  _ context: UnsafeMutableRawPointer?, _ position: UInt64, _ buffer: UnsafeMutablePointer<CChar>?,
  _ limit: Int
) -> Int {
  guard let context, let buffer else { return -2 }
  return Unmanaged<ResponseStream>.fromOpaque(context).takeUnretainedValue().read(into: buffer, limit: limit)
}

/// On the thread that gives up the response (the server thread, or the one that could not queue it): frees the
/// response's reference.
private func releaseStream(_ context: UnsafeMutableRawPointer?) {
  guard let context else { return }
  Unmanaged<ResponseStream>.fromOpaque(context).takeRetainedValue().close()
}
