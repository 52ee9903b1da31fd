import CCurl
import Glibc

/// An address that may be spoken to: https, or http to a host that is near.
struct Endpoint: Sendable {
  /// Without a slash at the end.
  let base: String
  /// All that messages say of the address.
  let host: String
  let isLoopback: Bool

  /// nil: not an address, or one that the policy forbids. The host is judged as libcurl reads it, so that no two
  /// readings of one address differ.
  init?(_ url: String) {
    var base = url[...]
    while base.hasSuffix("/") { base = base.dropLast() }
    guard let parsed = curl_url() else { return nil }
    defer { curl_url_cleanup(parsed) }
    guard curl_url_set(parsed, CURLUPART_URL, String(base), 0) == CURLUE_OK,
      let scheme = Self.part(CURLUPART_SCHEME, of: parsed), let host = Self.part(CURLUPART_HOST, of: parsed),
      RemoteAddress.isAllowed("\(scheme)://\(host)")
    else { return nil }
    self.base = String(base)
    self.host = host
    isLoopback = Self.isLoopback(host.lowercased())
  }

  private static func part(_ part: CURLUPart, of url: OpaquePointer) -> String? {
    var text: UnsafeMutablePointer<CChar>?
    guard curl_url_get(url, part, &text, 0) == CURLUE_OK, let text else { return nil }
    defer { curl_free(text) }
    return String(cString: text)
  }

  private static func isLoopback(_ host: String) -> Bool {
    host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]" || host.hasPrefix("127.")
  }

  static let refused = "the upstream's url is not allowed: use https, or http to a host of this network"
}
