/// The request target, as it stands in the request line.
package enum Target {
  /// Splits at the first `?`; without one the query is empty. Both parts point into `raw`.
  package static func split(
    _ raw: UnsafeBufferPointer<UInt8>
  ) -> (path: UnsafeBufferPointer<UInt8>, query: UnsafeBufferPointer<UInt8>) {
    guard let mark = raw.firstIndex(of: ASCII.question) else {
      return (raw, UnsafeBufferPointer(start: nil, count: 0))
    }
    return (raw.part(0, mark), raw.part(mark + 1, raw.count))
  }

  /// The decoded segments; `/` has none, `/shelf/` an empty one at its end. `+` stands for itself and an encoded
  /// slash belongs to its segment.
  package static func segments(_ path: UnsafeBufferPointer<UInt8>) throws(DialectError) -> [String] {
    guard path.first == ASCII.slash else { throw DialectError.invalidPath }
    if path.count == 1 { return [] }
    var segments: [String] = []
    var decoded: [UInt8] = []
    var start = 1
    while start <= path.count {
      let end = path[start...].firstIndex(of: ASCII.slash) ?? path.count
      let fault = PercentDecoding.decode(path.part(start, end), plusIsSpace: false, into: &decoded)
      guard fault == nil else { throw DialectError.invalidPath }
      segments.append(String(decoding: decoded, as: UTF8.self))
      start = end + 1
    }
    return segments
  }
}
