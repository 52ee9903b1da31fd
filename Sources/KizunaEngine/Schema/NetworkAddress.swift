import Glibc

/// `inet` and `cidr` literals in the form that Postgres shows them.
enum NetworkAddress {
  static func canonical(_ literal: String, isNetwork: Bool) throws(KizunaError) -> String {
    let type = isNetwork ? "cidr" : "inet"
    let parts = Array(literal.utf8).split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count <= 2, let head = parts.first, !head.contains(0) else {
      throw .invalidSyntax(type, literal)
    }
    let isV6 = head.contains(UInt8(ascii: ":"))
    let width = isV6 ? 128 : 32
    guard var bytes = isV6 ? address(head) : quad(head, allowsShort: parts.count == 2 || isNetwork) else {
      throw .invalidSyntax(type, literal)
    }
    var length = width
    if parts.count == 2 {
      guard !parts[1].isEmpty, parts[1].allSatisfy(LiteralScanner.isDigit), parts[1].count <= 3,
        LiteralScanner.number(parts[1]) <= width
      else { throw .invalidSyntax(type, literal) }
      length = LiteralScanner.number(parts[1])
    } else if isNetwork && !isV6 {
      length = classful(bytes, given: head.split(separator: UInt8(ascii: ".")).count * 8)
    }
    if isNetwork, hasHostBits(bytes, length) {
      throw .refused(
        "22P02", "invalid cidr value: \"\(literal)\"", details: "Value has bits set to right of mask.")
    }
    let text = text(&bytes, isV6 ? AF_INET6 : AF_INET)
    return isNetwork || length < width ? "\(text)/\(length)" : text
  }

  /// Without a mask a short network takes its class's length, or as much as is written.
  private static func classful(_ bytes: [UInt8], given: Int) -> Int {
    if given == 32 { return 32 }
    let natural = bytes[0] < 128 ? 8 : bytes[0] < 192 ? 16 : bytes[0] < 224 ? 24 : bytes[0] < 240 ? 8 : 32
    return max(given, natural)
  }

  private static func hasHostBits(_ bytes: [UInt8], _ length: Int) -> Bool {
    for (index, byte) in bytes.enumerated() {
      let kept = max(0, min(8, length - index * 8))
      if kept < 8, byte & (0xFF >> UInt8(kept)) != 0 { return true }
    }
    return false
  }

  private static func quad(_ text: ArraySlice<UInt8>, allowsShort: Bool) -> [UInt8]? {
    let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard parts.count <= 4, allowsShort || parts.count == 4 else { return nil }
    var bytes: [UInt8] = []
    for part in parts {
      guard !part.isEmpty, part.count <= 3, part.allSatisfy(LiteralScanner.isDigit),
        let byte = UInt8(exactly: LiteralScanner.number(part))
      else { return nil }
      bytes.append(byte)
    }
    return bytes + [UInt8](repeating: 0, count: 4 - bytes.count)
  }

  /// The network of an `inet`: the bits behind its mask cleared.
  static func network(of inet: String) throws(KizunaError) -> String {
    let parts = Array(inet.utf8).split(separator: UInt8(ascii: "/"))
    let isV6 = inet.utf8.contains(UInt8(ascii: ":"))
    guard let head = parts.first, var bytes = isV6 ? address(head) : quad(head, allowsShort: false) else {
      throw .invalidSyntax("cidr", inet)
    }
    let length = parts.count == 2 ? LiteralScanner.number(parts[1]) : bytes.count * 8
    for index in bytes.indices {
      let kept = max(0, min(8, length - index * 8))
      bytes[index] &= UInt8(truncatingIfNeeded: 0xFF00 >> kept)
    }
    return "\(text(&bytes, isV6 ? AF_INET6 : AF_INET))/\(length)"
  }

  private static func address(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 16)
    return inet_pton(AF_INET6, LiteralScanner.string(text), &bytes) == 1 ? bytes : nil
  }

  private static func text(_ bytes: inout [UInt8], _ family: Int32) -> String {
    var characters = [UInt8](repeating: 0, count: 64)
    characters.withUnsafeMutableBytes { target in
      _ = inet_ntop(family, &bytes, target.baseAddress?.assumingMemoryBound(to: CChar.self), 64)
    }
    return LiteralScanner.string(characters.prefix { $0 != 0 })
  }
}
