import CMicroHTTPD
import Glibc
import KizunaEngine

/// An answer that is complete: status, headers, body.
package struct Response: ~Copyable {
  package var status: Int
  package var body: ByteBuffer
  /// Whether an answer to HEAD names the length of `body`. Otherwise it names none, and the connection closes: on
  /// a kept one libmicrohttpd 0.9.75 would announce chunks instead, and then send the last of them, which a client
  /// takes for the start of the next answer.
  package var showsLengthOnHead = false
  /// Closes the connection after this answer.
  package var closesConnection = false
  package var headers = ResponseHeaders()

  package init(status: Int, body: consuming ByteBuffer) {
    self.status = status
    self.body = body
  }

  /// An answer without a body: 204, or the empty 201, which says `Content-Length: 0`.
  package init(status: Int) {
    self.init(status: status, body: ByteBuffer(capacity: 16))
  }

  package mutating func add(_ name: StaticString, _ value: StaticString) { headers.add(name, value) }
  package mutating func add(_ name: StaticString, _ value: String) { headers.add(name, value) }
  package mutating func add(_ name: StaticString, _ value: borrowing ByteBuffer) {
    headers.add(name, value.bytes)
  }
  package mutating func add(_ name: String, _ value: String) { headers.add(name, value) }

  /// The answer as libmicrohttpd holds it, which frees the body's memory; nil when memory ran out.
  consuming func make(forHead: Bool) -> OpaquePointer? {
    let closes = closesConnection
    let unsized = forHead && !showsLengthOnHead
    let headers = consume headers
    let made = unsized ? Self.makeUnsized() : Self.make(body: body)
    guard let made else { return nil }
    headers.apply(to: made)
    if closes { MHD_add_response_header(made, "Connection", "close") }
    return made
  }

  private static func make(body: consuming ByteBuffer) -> OpaquePointer? {
    let bytes = body.take()
    guard bytes.count > 0 else {
      free(bytes.baseAddress)
      return MHD_create_response_from_buffer(0, nil, .RESPMEM_PERSISTENT)
    }
    if let made = MHD_create_response_from_buffer(bytes.count, bytes.baseAddress, .RESPMEM_MUST_FREE) {
      return made
    }
    free(bytes.baseAddress)
    return nil
  }

  private static func makeUnsized() -> OpaquePointer? {
    let made = MHD_create_response_from_callback(UInt64.max, 16, { _, _, _, _ in -1 }, nil, nil)
    if let made { cmicrohttpd_end_by_close(made) }
    return made
  }
}

/// Header lines in the order of their adding, as C strings in one piece of memory. libmicrohttpd adds `Date`,
/// `Connection` and the length itself. A value that is empty or holds CR, LF or NUL is left out: it cannot be
/// sent, and must never become a second line.
package struct ResponseHeaders: ~Copyable {
  private var lines = ByteBuffer(capacity: 512)

  package init() {}

  package mutating func add(_ name: StaticString, _ value: StaticString) {
    add(Self.bytes(name), Self.bytes(value))
  }

  package mutating func add(_ name: StaticString, _ value: String) {
    var value = value
    value.withUTF8 { add(Self.bytes(name), $0) }
  }

  package mutating func add(_ name: StaticString, _ value: UnsafeBufferPointer<UInt8>) {
    add(Self.bytes(name), value)
  }

  package mutating func add(_ name: String, _ value: String) {
    var name = name
    var value = value
    name.withUTF8 { name in value.withUTF8 { add(name, $0) } }
  }

  private static func bytes(_ text: StaticString) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
  }

  private mutating func add(_ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>) {
    guard name.count > 0, value.count > 0, !value.contains(where: { $0 == 0 || $0 == 10 || $0 == 13 }) else {
      return
    }
    lines.reserve(name.count + value.count + 2)
    lines.append(name)
    lines.append(0)
    lines.append(value)
    lines.append(0)
  }

  borrowing func apply(to response: OpaquePointer) {
    guard let start = lines.bytes.baseAddress else { return }
    let count = lines.count
    start.withMemoryRebound(to: CChar.self, capacity: count) { text in
      var position = 0
      while position < count {
        let name = text + position
        position += strlen(name) + 1
        let value = text + position
        position += strlen(value) + 1
        MHD_add_response_header(response, name, value)
      }
    }
  }
}
