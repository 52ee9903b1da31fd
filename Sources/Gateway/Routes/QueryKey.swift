/// Finds one plain key in a raw query string, before anything of it is parsed.
enum QueryKey {
  static func value(of key: StaticString, in query: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
    for pair in query.split(whereSeparator: { $0 == UInt8(ascii: "&") || $0 == UInt8(ascii: ";") }) {
      guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { continue }
      let name = pair[..<equals]
      if name.elementsEqual(UnsafeBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount)) {
        return decoded(pair[(equals + 1)...])
      }
    }
    return nil
  }

  private static func decoded(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> [UInt8] {
    var result: [UInt8] = []
    var index = bytes.startIndex
    while index < bytes.endIndex {
      let byte = bytes[index]
      if byte == UInt8(ascii: "%"), bytes.endIndex - index > 2, let high = nibble(bytes[index + 1]),
        let low = nibble(bytes[index + 2])
      {
        result.append(high << 4 | low)
        index += 3
      } else {
        result.append(byte == UInt8(ascii: "+") ? 0x20 : byte)
        index += 1
      }
    }
    return result
  }

  private static func nibble(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
