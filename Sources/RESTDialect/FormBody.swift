/// A body of the type `application/x-www-form-urlencoded`: one row, all values text.
package enum FormBody {
  /// The pairs in order; a key without `=` has the empty value.
  package static func parse(_ bytes: UnsafeBufferPointer<UInt8>) throws(DialectError) -> [QueryPair] {
    var pairs: [QueryPair] = []
    var key: [UInt8] = []
    var value: [UInt8] = []
    try PercentDecoding.pairs(of: bytes) { (rawKey, rawValue) throws(DialectError) in
      value.removeAll(keepingCapacity: true)
      let fault =
        PercentDecoding.decode(rawKey, plusIsSpace: true, into: &key)
        ?? rawValue.flatMap { PercentDecoding.decode($0, plusIsSpace: true, into: &value) }
      guard fault == nil else { throw DialectError.body("Malformed form body") }
      pairs.append(
        QueryPair(key: String(decoding: key, as: UTF8.self), value: String(decoding: value, as: UTF8.self)))
    }
    return pairs
  }
}
