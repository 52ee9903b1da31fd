import KizunaEngine
import RESTDialect

extension HTTPExchange {
  /// A header's value as text; bytes that are no UTF-8 are replaced, so that no lookup can match by accident.
  func text(_ name: StaticString) -> String? {
    header(name).map { String(decoding: $0, as: UTF8.self) }
  }

  /// All `Prefer` headers. Most requests have none, which costs one look-up.
  func preferences() -> Preferences {
    if header("Prefer") == nil { return Preferences() }
    var values: [UnsafeBufferPointer<UInt8>] = []
    forEachHeader { name, value in
      if Self.isPrefer(name) { values.append(value) }
    }
    return Preferences(headers: values)
  }

  private static func isPrefer(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    let wanted: StaticString = "prefer"
    guard name.count == wanted.utf8CodeUnitCount else { return false }
    for index in 0..<name.count where name[index] | 0x20 != wanted.utf8Start[index] { return false }
    return true
  }

  /// How long a header of the answer may be. libmicrohttpd keeps a request's line and headers and the answer's
  /// headers in one piece of memory, `total` bytes long, and cuts the connection when they do not fit.
  func roomForHeader(of total: Int) -> Int {
    var used = target.count + 1536
    forEachHeader { name, value in used += name.count + value.count + 96 }
    return max(total - used, 0)
  }

  /// Whether the method changes nothing.
  var isSafe: Bool {
    switch method {
    case .get, .head, .options: true
    default: false
    }
  }

  /// The dialect's name of the method; any other is refused.
  func dialectMethod() throws(Failure) -> DialectMethod {
    switch method {
    case .get: return .get
    case .head: return .head
    case .post: return .post
    case .patch: return .patch
    case .put: return .put
    case .delete: return .delete
    case .options: return .options
    case .other(let name): throw Failure("PGRST117", "Unsupported HTTP method: \(name)")
    }
  }

  var methodName: String {
    switch method {
    case .get: "GET"
    case .head: "HEAD"
    case .post: "POST"
    case .patch: "PATCH"
    case .put: "PUT"
    case .delete: "DELETE"
    case .options: "OPTIONS"
    case .other(let name): name
    }
  }
}
