/// Which upstream addresses may be spoken to.
package enum RemoteAddress {
  /// https anywhere; http only to loopback, private and link-local addresses, `.local` names and single-label
  /// host names (a compose service).
  package static func isAllowed(_ url: String) -> Bool {
    let lowered = url.lowercased()
    if lowered.hasPrefix("https://") { return !host(lowered.dropFirst(8)).isEmpty }
    guard lowered.hasPrefix("http://") else { return false }
    let host = host(lowered.dropFirst(7))
    return !host.isEmpty && isNear(host)
  }

  private static func host(_ rest: Substring) -> String {
    let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    let address = authority.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
    if address.hasPrefix("[") { return String(address.dropFirst().prefix { $0 != "]" }) }
    return String(address.prefix { $0 != ":" })
  }

  private static func isNear(_ host: String) -> Bool {
    if host == "localhost" || host.hasSuffix(".local") || host.hasSuffix(".localhost") { return true }
    if host.contains(":") {
      return host == "::1" || host.hasPrefix("fe8") || host.hasPrefix("fe9") || host.hasPrefix("fea")
        || host.hasPrefix("feb") || host.hasPrefix("fc") || host.hasPrefix("fd")
    }
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    if labels.count == 1 { return !host.utf8.allSatisfy { (0x30...0x39).contains($0) } }
    let octets = labels.compactMap { UInt8($0) }
    guard octets.count == 4, labels.count == 4 else { return false }
    switch (octets[0], octets[1]) {
    case (127, _), (10, _), (192, 168), (169, 254): return true
    case (172, 16...31): return true
    default: return false
    }
  }
}
