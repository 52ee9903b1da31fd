/// Percent-decoding of targets, queries and form bodies.
enum PercentDecoding {
  enum Fault { case escape, utf8, nul }

  /// Replaces what `output` holds. After a fault its content means nothing.
  static func decode(
    _ raw: UnsafeBufferPointer<UInt8>, plusIsSpace: Bool, into output: inout [UInt8]
  ) -> Fault? {
    output.removeAll(keepingCapacity: true)
    output.reserveCapacity(raw.count)
    var at = 0
    var pure = true
    while at < raw.count {
      var byte = raw[at]
      at += 1
      if byte == ASCII.percent {
        guard at + 1 < raw.count, let high = ASCII.hexValue(raw[at]), let low = ASCII.hexValue(raw[at + 1])
        else { return .escape }
        byte = high << 4 | low
        at += 2
      } else if byte == ASCII.plus, plusIsSpace {
        byte = ASCII.space
      }
      if byte == 0 { return .nul }
      if byte >= 0x80 { pure = false }
      output.append(byte)
    }
    return pure || output.withUnsafeBufferPointer(isValidUTF8) ? nil : .utf8
  }

  /// Splits at `&` and a raw `;`, then at the first `=`. A piece without `=` is handed on with a nil value, an
  /// empty piece not at all.
  static func pairs<Failure: Error>(
    of raw: UnsafeBufferPointer<UInt8>,
    _ body: (_ key: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>?) throws(Failure) -> Void
  ) throws(Failure) {
    var start = 0
    while start < raw.count {
      var end = start
      var equals: Int?
      while end < raw.count, raw[end] != ASCII.ampersand, raw[end] != ASCII.semicolon {
        if raw[end] == ASCII.equals, equals == nil { equals = end }
        end += 1
      }
      if let equals {
        try body(raw.part(start, equals), raw.part(equals + 1, end))
      } else if end > start {
        try body(raw.part(start, end), nil)
      }
      start = end + 1
    }
  }
}

extension UnsafeBufferPointer<UInt8> {
  /// The bytes from `start` up to `end`, as a buffer of their own; valid as long as this one is.
  func part(_ start: Int, _ end: Int) -> UnsafeBufferPointer<UInt8> {
    UnsafeBufferPointer(rebasing: self[start..<end])
  }
}
