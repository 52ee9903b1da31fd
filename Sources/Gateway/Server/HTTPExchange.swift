import CMicroHTTPD
import Glibc
import KizunaEngine

/// One request and its answer.
///
/// Threads and ownership. It is made on a server thread when the request line is read. libmicrohttpd's connection
/// holds one reference until the request has completed; whoever was handed the exchange holds another, so
/// `target` and `body`, which the exchange owns, are good as long as the exchange. Headers belong to the
/// connection: they are readable until the answer is given, on the thread that is going to give it, which is
/// safe because a suspended connection is never closed before it is resumed.
///
/// The handler is called on a server thread and has two ways to answer: call `respond` or `respondStreaming`
/// before it returns; or call `suspend` and hand the exchange to another thread, which then must answer, once.
package final class HTTPExchange: @unchecked Sendable {
  package enum Method: Sendable, Equatable {
    case get, head, post, patch, put, delete, options
    case other(String)
  }

  package enum BodyState: Sendable, Equatable {
    /// `body` is all of it; empty when there was none.
    case complete
    /// It is beyond `maxBodyBytes`; `body` is empty. When the length was declared, nothing of it has been read
    /// and the connection closes after the answer.
    case tooLarge
  }

  package enum Peer: Sendable, Equatable {
    case unixSocket
    case loopback
    /// TCP from another machine.
    case remote
  }

  package internal(set) var method = Method.get
  /// Path and query as they came, not decoded.
  package let target: UnsafeBufferPointer<UInt8>
  package internal(set) var bodyState = BodyState.complete
  package let peer: Peer

  package var body: UnsafeBufferPointer<UInt8> { received.bytes }

  /// Whether the client is on this machine.
  package var isLoopbackSocket: Bool { peer != .remote }

  var received = RequestBody()
  var declaredLength = 0
  /// How far the request has come; changed on the server thread only.
  var stage = Stage.headers
  /// Nil once the answer is given: from then on the connection may be gone.
  private var connection: OpaquePointer?
  private var answer = Answer.none
  private var isSuspended = false
  private unowned let server: HTTPServer

  enum Stage { case headers, body, handled }

  private enum Answer {
    case none
    /// Made by another thread; the server thread queues it when the connection has been resumed.
    case ready(status: UInt32, response: OpaquePointer)
    case queued
    case failed
  }

  /// Copies the target.
  init(server: HTTPServer, connection: OpaquePointer, target text: UnsafePointer<CChar>) {
    self.server = server
    self.connection = connection
    let length = strlen(text)
    guard let copy = malloc(max(length, 1)) else { abort() }
    memcpy(copy, text, length)
    target = UnsafeBufferPointer(start: copy.assumingMemoryBound(to: UInt8.self), count: length)
    peer =
      switch cmicrohttpd_peer(connection) {
      case 0: .unixSocket
      case 1: .loopback
      default: .remote
      }
  }

  deinit {
    if case .ready(_, let response) = answer { MHD_destroy_response(response) }
    free(UnsafeMutableRawPointer(mutating: target.baseAddress))
    received.discard()
  }

  /// The first header of that name, in any case of letters. Good until the answer is given.
  package func header(_ name: StaticString) -> UnsafeBufferPointer<UInt8>? {
    guard let connection else { return nil }
    var value: UnsafePointer<CChar>?
    var size = 0
    let found = name.utf8Start.withMemoryRebound(to: CChar.self, capacity: name.utf8CodeUnitCount) {
      MHD_lookup_connection_value_n(connection, .HEADER_KIND, $0, name.utf8CodeUnitCount, &value, &size)
    }
    guard found == .YES, let value else { return nil }
    return Self.bytes(value, size)
  }

  /// All headers in order, repeated ones included. Good until the answer is given.
  package func forEachHeader(
    _ body: (_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) -> Void
  ) {
    guard let connection else { return }
    withoutActuallyEscaping(body) { body in
      var visitor = HeaderVisitor(visit: body)
      withUnsafeMutablePointer(to: &visitor) {
        _ = MHD_get_connection_values_n(connection, .HEADER_KIND, visitHeader, $0)
      }
    }
  }

  fileprivate static func bytes(_ text: UnsafePointer<CChar>, _ count: Int) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: UnsafeRawPointer(text).assumingMemoryBound(to: UInt8.self), count: count)
  }

  /// Takes the connection off its server thread until the answer is given. On the server thread, in the handler,
  /// before another thread can see the exchange.
  package func suspend() {
    guard let connection, !isSuspended else { return }
    isSuspended = true
    MHD_suspend_connection(connection)
  }

  /// Gives the answer: once, on the server thread within the handler, or after `suspend` on any thread.
  /// Whether the client is still there shows only later, and to nobody.
  package func respond(_ response: consuming Response) {
    guard let connection else { return }
    let status = UInt32(response.status)
    if server.isStopping { response.closesConnection = true }
    give(response.make(forHead: method == .head), status: status, to: connection)
  }

  /// Begins an answer of unknown length, in chunks; the rules are those of `respond`. The stream then is written
  /// by one thread other than a server thread. `endsAtStop`: the server ends the stream when it stops (event
  /// streams); otherwise it waits for its end until the deadline.
  package func respondStreaming(
    status: Int, headers: consuming ResponseHeaders, endsAtStop: Bool = false
  ) -> ResponseStream {
    let stream = ResponseStream(server: server, endsAtStop: endsAtStop)
    guard let connection else {
      stream.close()
      return stream
    }
    let response = stream.makeResponse(on: connection)
    if let response {
      headers.apply(to: response)
      if method == .head { cmicrohttpd_end_by_close(response) }
      if server.isStopping { MHD_add_response_header(response, "Connection", "close") }
    } else {
      stream.close()
    }
    give(response, status: UInt32(status), to: connection)
    return stream
  }

  private func give(_ response: OpaquePointer?, status: UInt32, to connection: OpaquePointer) {
    self.connection = nil
    if let response { answer = .ready(status: status, response: response) } else { answer = .failed }
    if isSuspended {
      // From here on the server thread owns the answer, and may complete the request before this returns.
      MHD_resume_connection(connection)
    } else {
      _ = queueAnswer(on: connection)
    }
  }

  /// Queues the answer that was made while the connection was suspended. On the server thread. False: cut the
  /// connection, because there is no answer.
  func queueAnswer(on connection: OpaquePointer) -> Bool {
    guard case .ready(let status, let response) = answer else { return false }
    let result = MHD_queue_response(connection, status, response)
    MHD_destroy_response(response)
    answer = result == .YES ? .queued : .failed
    if result == .YES { server.answered(method, Int(status)) }
    return result == .YES
  }

  /// Whether the handler, which just returned on this server thread, answered or will answer. A suspended
  /// exchange belongs to another thread by now: nothing else of it may be looked at.
  var isTakenCareOf: Bool {
    if isSuspended { return true }
    if case .queued = answer { return true }
    return false
  }

  /// Whether bytes of the body are left unread at the time of the answer, so that closing must wait for them:
  /// otherwise the kernel resets the connection and the client may never see the answer.
  var leavesBodyUnread: Bool { bodyState == .tooLarge && stage == .handled && received.received == 0 }
}

private struct HeaderVisitor {
  let visit: (UnsafeBufferPointer<UInt8>, UnsafeBufferPointer<UInt8>) -> Void
}

/// On the thread that called `forEachHeader`; `context` is its visitor.
private func visitHeader(
  _ context: UnsafeMutableRawPointer?, _ kind: MHD_ValueKind, _ name: UnsafePointer<CChar>?, _ nameSize: Int,
  _ value: UnsafePointer<CChar>?, _ valueSize: Int
) -> MHD_Result {
  guard let context, let name else { return .NO }
  let visitor = context.assumingMemoryBound(to: HeaderVisitor.self)
  let bytes = value.map { HTTPExchange.bytes($0, valueSize) } ?? UnsafeBufferPointer(start: nil, count: 0)
  visitor.pointee.visit(HTTPExchange.bytes(name, nameSize), bytes)
  return .YES
}

extension HTTPExchange.Method {
  init(_ text: UnsafePointer<CChar>) {
    self =
      if strcmp(text, "GET") == 0 {
        .get
      } else if strcmp(text, "POST") == 0 {
        .post
      } else if strcmp(text, "PATCH") == 0 {
        .patch
      } else if strcmp(text, "DELETE") == 0 {
        .delete
      } else if strcmp(text, "HEAD") == 0 {
        .head
      } else if strcmp(text, "OPTIONS") == 0 {
        .options
      } else if strcmp(text, "PUT") == 0 {
        .put
      } else {
        .other(String(cString: text))
      }
  }
}
