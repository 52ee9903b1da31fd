extension ColumnType {
  /// Appends a value as a mutation carries it: numbers that a JSON reader could round travel as decimal strings,
  /// documents as themselves, times in UTC.
  package func appendWire(_ raw: RawValue, to buffer: inout ByteBuffer) {
    switch (self, raw) {
    case (.boolean, .integer): appendJSON(raw, to: &buffer, zone: .utc)
    case (_, .integer(let number)):
      let isWide = number.magnitude >= 1 << 31
      if isWide { buffer.append(UInt8(ascii: "\"")) }
      buffer.append(integer: number)
      if isWide { buffer.append(UInt8(ascii: "\"")) }
    case (_, .real(let number)): buffer.appendJSON(string: FloatText.text(number, isSingle: self == .real))
    case (.numeric, .text(let bytes)): buffer.appendJSON(string: bytes)
    case (.array(let element), .text(let bytes)): element.append(wireArray: bytes, to: &buffer)
    case (.learnt, .blob(let bytes)):
      if let first = bytes.first, LiteralScanner.isDigit(first) || first == UInt8(ascii: "-") {
        buffer.appendJSON(string: bytes)
      } else {
        buffer.append(bytes)
      }
    default: appendJSON(raw, to: &buffer, zone: .utc)
    }
  }

  /// A stored array, its numbers rewritten; strings and words are copied.
  private func append(wireArray bytes: UnsafeBufferPointer<UInt8>, to buffer: inout ByteBuffer) {
    switch self {
    case .smallint, .integer, .bigint, .real, .double, .numeric: break
    default:
      buffer.append(bytes)
      return
    }
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "-") || LiteralScanner.isDigit(byte) {
        let start = index
        while index < bytes.count, !Self.endsNumber(bytes[index]) { index += 1 }
        append(wireNumber: UnsafeBufferPointer(rebasing: bytes[start..<index]), to: &buffer)
      } else if byte == UInt8(ascii: "\"") {
        let start = index
        repeat { index += 1 } while index < bytes.count && bytes[index] != UInt8(ascii: "\"")
        index = min(index + 1, bytes.count)
        buffer.append(UnsafeBufferPointer(rebasing: bytes[start..<index]))
      } else {
        buffer.append(byte)
        index += 1
      }
    }
  }

  private static func endsNumber(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") || LiteralScanner.isSpace(byte)
  }

  private func append(wireNumber bytes: UnsafeBufferPointer<UInt8>, to buffer: inout ByteBuffer) {
    let isWide: Bool
    switch self {
    case .smallint, .integer, .bigint:
      let digits = bytes.first == UInt8(ascii: "-") ? bytes.dropFirst() : bytes[...]
      isWide = LiteralScanner.number(digits) >= 1 << 31
    default: isWide = true
    }
    if isWide { buffer.appendJSON(string: bytes) } else { buffer.append(bytes) }
  }
}
