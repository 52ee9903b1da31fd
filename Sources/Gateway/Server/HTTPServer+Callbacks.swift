import CMicroHTTPD
import Glibc

// What libmicrohttpd calls, all on server threads. `context` is the server, borrowed: the daemon keeps it alive.
// The functions stand at file scope, since a closure could be taken for an actor's and trap on these threads.

@inline(__always)
private func server(_ context: UnsafeMutableRawPointer?) -> HTTPServer? {
  context.map { Unmanaged<HTTPServer>.fromOpaque($0).takeUnretainedValue() }
}

/// The request line was read. What is returned is the connection's reference to the exchange, which
/// `completeRequest` takes back; nil refuses the request.
func beginRequest(
  _ context: UnsafeMutableRawPointer?, _ target: UnsafePointer<CChar>?, _ connection: OpaquePointer?
) -> UnsafeMutableRawPointer? {
  guard let server = server(context), let target, let connection, server.enter() else { return nil }
  let exchange = HTTPExchange(server: server, connection: connection, target: target)
  return Unmanaged.passRetained(exchange).toOpaque()
}

/// Headers, then parts of the body, then the end. An answer queued in the first call closes the connection, which
/// is wanted for a body that must not be read and for nothing else; so the handler is called in the last.
func handleRequest(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ url: UnsafePointer<CChar>?,
  _ method: UnsafePointer<CChar>?, _ version: UnsafePointer<CChar>?, _ part: UnsafePointer<CChar>?,
  _ partSize: UnsafeMutablePointer<Int>?, _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> MHD_Result {
  guard let server = server(context), let connection, let partSize, let held = request?.pointee else {
    return .NO
  }
  let exchange = Unmanaged<HTTPExchange>.fromOpaque(held).takeUnretainedValue()
  let limit = server.configuration.maxBodyBytes
  switch exchange.stage {
  case .headers:
    if let method { exchange.method = HTTPExchange.Method(method) }
    exchange.stage = .body
    exchange.declaredLength = declaredLength(of: exchange)
    guard exchange.declaredLength > limit else { return .YES }
    exchange.bodyState = .tooLarge
  case .body where partSize.pointee > 0:
    guard let part else { return .NO }
    let size = partSize.pointee
    partSize.pointee = 0
    exchange.received.append(part, count: size, expected: exchange.declaredLength, limit: limit)
    if exchange.received.received > limit { exchange.bodyState = .tooLarge }
    if exchange.received.received / 2 > limit { return .NO }
    return hasHungUp(connection, within: exchange) ? .NO : .YES
  case .body: break
  case .handled: return exchange.queueAnswer(on: connection) ? .YES : .NO
  }
  exchange.stage = .handled
  server.handler(exchange)
  return exchange.isTakenCareOf ? .YES : .NO
}

/// Whether the client closed before the end of a declared body. libmicrohttpd waits for the next edge of epoll after
/// a short read, and misses an end that came together with the bytes: it would hold the connection until its time
/// is out. (So it still does when the end comes with the headers alone, or within a chunked body: what stands in
/// its buffer cannot be known, and a client that has sent everything may well close its half.)
private func hasHungUp(_ connection: OpaquePointer, within exchange: HTTPExchange) -> Bool {
  guard exchange.received.received < exchange.declaredLength else { return false }
  var byte: UInt8 = 0
  return recv(cmicrohttpd_descriptor(connection), &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT)) == 0
}

/// libmicrohttpd has checked the number and refused what does not fit into 64 bits.
private func declaredLength(of exchange: HTTPExchange) -> Int {
  guard let digits = exchange.header("Content-Length"), exchange.header("Transfer-Encoding") == nil else {
    return 0
  }
  var length = 0
  for digit in digits where digit >= 0x30 && digit <= 0x39 {
    let (product, overflow) = length.multipliedReportingOverflow(by: 10)
    guard !overflow, product <= Int.max - 9 else { return Int.max }
    length = product + Int(digit - 0x30)
  }
  return length
}

/// The request is over, answered or not: the connection's reference goes.
func completeRequest(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ request: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_RequestTerminationCode
) {
  guard let server = server(context), let held = request?.pointee else { return }
  request?.pointee = nil
  let exchange = Unmanaged<HTTPExchange>.fromOpaque(held).takeRetainedValue()
  if exchange.leavesBodyUnread, let connection {
    server.acceptor.linger(cmicrohttpd_descriptor(connection))
  }
  server.leave()
}

/// A connection came to its server thread, or is about to be closed.
func changeConnection(
  _ context: UnsafeMutableRawPointer?, _ connection: OpaquePointer?,
  _ slot: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ code: MHD_ConnectionNotificationCode
) {
  guard let server = server(context), let connection else { return }
  let descriptor = cmicrohttpd_descriptor(connection)
  switch code {
  case .CONNECTION_NOTIFY_STARTED: server.connections.started(descriptor)
  case .CONNECTION_NOTIFY_CLOSED: if server.connections.closed(descriptor) { server.acceptor.wake() }
  default: break
  }
}
