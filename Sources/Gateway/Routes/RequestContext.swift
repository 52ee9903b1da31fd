/// What the outer checks settle about a request, for whoever answers it.
package struct RequestContext: Sendable {
  /// The CORS headers that the answer carries.
  var crossOrigin = CrossOrigin.none
  /// HEAD: the answer's body is left out.
  var isHead = false
  /// The schema that the request named, echoed on answers with a body.
  var profile: String?
  /// The thread's fast reads have just looked at this request and may keep what is prepared for it.
  var hasNewShape = false
}

/// What an answer grants to a web page of another origin.
enum CrossOrigin: Sendable, Equatable {
  case none
  /// Every origin is listed.
  case any
  /// This one is listed: it is echoed.
  case origin(String)

  private static let exposed: StaticString =
    "Content-Encoding, Content-Location, Content-Range, Content-Type, Date, Location, Server, Transfer-Encoding, Range-Unit"

  func addHeaders(to headers: inout HeaderList) {
    addGrant(to: &headers)
    if self != .none { headers.add("Access-Control-Expose-Headers", Self.exposed) }
  }

  private func addGrant(to headers: inout HeaderList) {
    switch self {
    case .none: break
    case .any: headers.add("Access-Control-Allow-Origin", "*")
    case .origin(let origin):
      headers.add("Access-Control-Allow-Origin", text: origin)
      headers.add("Access-Control-Allow-Credentials", "true")
      headers.add("Vary", "Origin")
    }
  }

  /// The headers of a preflight's answer. `requested` are the headers that the page wants to send.
  func preflight(requested: String?, privateNetwork: Bool) -> HeaderList {
    var headers = HeaderList()
    addGrant(to: &headers)
    headers.add("Access-Control-Allow-Methods", "GET, POST, PATCH, PUT, DELETE, OPTIONS, HEAD")
    let middle = requested.map { $0.isEmpty ? "" : "\($0), " } ?? ""
    headers.add(
      "Access-Control-Allow-Headers",
      text: "Authorization, \(middle)Accept, Accept-Language, Content-Language")
    headers.add("Access-Control-Max-Age", "86400")
    if privateNetwork { headers.add("Access-Control-Allow-Private-Network", "true") }
    return headers
  }
}
