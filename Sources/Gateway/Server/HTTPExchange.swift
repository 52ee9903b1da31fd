import KizunaEngine

/// One request and its answer. Everything of the request is borrowed from the connection and good until the
/// answer has been sent. Created and first handled on a server thread; `respond` may be called once, from any
/// thread, if `suspend()` was called before (on the server thread).
package final class HTTPExchange: @unchecked Sendable {
  package enum Method: Sendable, Equatable {
    case get, head, post, patch, put, delete, options
    case other(String)
  }
}
