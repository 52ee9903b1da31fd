/// The canonical address of a read.
package enum ContentLocation {
  /// Keys in order of their bytes, a repeated one once with its values joined by commas. The API key is left out:
  /// no answer may repeat it.
  ///
  /// - Parameter path: as it is to be shown, encoded.
  package static func text(path: String, pairs: [QueryPair]) -> String {
    let shown = pairs.enumerated().filter { !$0.element.key.sameBytes(as: "apikey") }
    let sorted = shown.sorted { left, right in
      if left.element.key.sameBytes(as: right.element.key) { return left.offset < right.offset }
      return left.element.key.utf8.lexicographicallyPrecedes(right.element.key.utf8)
    }
    var text = Array(path.utf8)
    var previous: String?
    for (_, pair) in sorted {
      if let previous, previous.sameBytes(as: pair.key) {
        text.append(ASCII.comma)
      } else {
        text.append(previous == nil ? ASCII.question : ASCII.ampersand)
        encode(pair.key, into: &text)
        text.append(ASCII.equals)
      }
      encode(pair.value, into: &text)
      previous = pair.key
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func encode(_ value: String, into text: inout [UInt8]) {
    let digits = Array("0123456789ABCDEF".utf8)
    for byte in value.utf8 {
      if ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == ASCII.dash || byte == ASCII.underscore
        || byte == ASCII.dot || byte == ASCII.tilde
      {
        text.append(byte)
      } else {
        text.append(ASCII.percent)
        text.append(digits[Int(byte >> 4)])
        text.append(digits[Int(byte & 15)])
      }
    }
  }
}
