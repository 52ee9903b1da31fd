extension ColumnType {
  /// Appends the JSON that a read shows. Types that most rows are made of are written without an allocation.
  package func appendJSON(_ raw: RawValue, to buffer: inout ByteBuffer, zone: Zone) {
    switch raw {
    case .null: buffer.append("null")
    case .integer(let number):
      if case .boolean = self {
        buffer.append(number != 0 ? "true" : "false")
      } else {
        buffer.append(integer: number)
      }
    case .real(let number): Self.appendJSON(number, isSingle: isSingle, to: &buffer)
    case .text(let bytes): appendJSON(text: bytes, to: &buffer, zone: zone)
    case .blob(let bytes):
      if case .learnt = self {
        buffer.append(bytes)
      } else {
        buffer.append("\"\\")
        Self.append(bytea: bytes, to: &buffer)
        buffer.append(UInt8(ascii: "\""))
      }
    }
  }

  private var isSingle: Bool { self == .real }

  private static func appendJSON(_ number: Double, isSingle: Bool, to buffer: inout ByteBuffer) {
    let text = FloatText.text(number, isSingle: isSingle)
    if number.isFinite { buffer.append(text) } else { buffer.appendJSON(string: text) }
  }

  private func appendJSON(text bytes: UnsafeBufferPointer<UInt8>, to buffer: inout ByteBuffer, zone: Zone) {
    switch self {
    case .uuid, .date, .interval, .inet, .cidr: Self.append(quoted: bytes, to: &buffer)
    case .json, .jsonb: buffer.append(bytes)
    case .numeric:
      if Self.isSpecial(bytes) { Self.append(quoted: bytes, to: &buffer) } else { buffer.append(bytes) }
    case .timestamp, .timestamptz, .time, .timetz:
      buffer.append(UInt8(ascii: "\""))
      appendTime(bytes, separator: UInt8(ascii: "T"), to: &buffer, zone: zone)
      buffer.append(UInt8(ascii: "\""))
    case .array(.timestamptz) where !zone.isUTC: Self.append(instants: bytes, to: &buffer, zone: zone)
    case .array: buffer.append(bytes)
    default: buffer.appendJSON(string: bytes)
    }
  }

  /// Bytes that need no escape.
  private static func append(quoted bytes: UnsafeBufferPointer<UInt8>, to buffer: inout ByteBuffer) {
    buffer.append(UInt8(ascii: "\""))
    buffer.append(bytes)
    buffer.append(UInt8(ascii: "\""))
  }

  /// NaN or an infinity.
  private static func isSpecial(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let last = bytes.last else { return true }
    return LiteralScanner.isLetter(last)
  }

  private static func append(bytea bytes: UnsafeBufferPointer<UInt8>, to buffer: inout ByteBuffer) {
    buffer.append("\\x")
    buffer.reserve(bytes.count * 2)
    for byte in bytes {
      buffer.append(ByteBuffer.hex(byte >> 4))
      buffer.append(ByteBuffer.hex(byte & 15))
    }
  }

  private func appendTime(
    _ bytes: UnsafeBufferPointer<UInt8>, separator: UInt8, to buffer: inout ByteBuffer, zone: Zone
  ) {
    switch self {
    case .time, .timetz: Self.append(clock: bytes, from: 0, to: &buffer)
    case .timestamptz where !zone.isUTC:
      guard let moment = Moment(stored: bytes) else {
        buffer.append(bytes)
        return
      }
      moment.appendShown(
        separator: separator, offset: zone.offset(utcSeconds: Int64(moment.seconds)), to: &buffer)
    default: appendMoment(bytes, separator: separator, to: &buffer)
    }
  }

  /// A local time or one in UTC: the stored text nearly is the shown one.
  private func appendMoment(
    _ bytes: UnsafeBufferPointer<UInt8>, separator: UInt8, to buffer: inout ByteBuffer
  ) {
    guard let space = bytes.firstIndex(of: 0x20) else {
      buffer.append(bytes)
      return
    }
    buffer.append(UnsafeBufferPointer(rebasing: bytes[..<space]))
    buffer.append(separator)
    let isBC = bytes[bytes.count - 1] == UInt8(ascii: "C") && bytes.count >= space + 19
    let end = isBC ? bytes.count - 3 : bytes.count
    Self.append(clock: UnsafeBufferPointer(rebasing: bytes[..<end]), from: space + 1, to: &buffer)
    if self == .timestamptz { buffer.append(separator == 0x20 ? "+00" : "+00:00") }
    if isBC { buffer.append(" BC") }
  }

  /// `HH:MM:SS.ffffff` and what follows it, the fraction's trailing zeros left out.
  private static func append(
    clock bytes: UnsafeBufferPointer<UInt8>, from start: Int, to buffer: inout ByteBuffer
  ) {
    guard bytes.count >= start + 15 else {
      buffer.append(UnsafeBufferPointer(rebasing: bytes[start...]))
      return
    }
    var end = start + 15
    while end > start + 9, bytes[end - 1] == UInt8(ascii: "0") { end -= 1 }
    if end == start + 9 { end -= 1 }
    buffer.append(UnsafeBufferPointer(rebasing: bytes[start..<end]))
    buffer.append(UnsafeBufferPointer(rebasing: bytes[(start + 15)...]))
  }

  /// An array of `timestamptz` in a zone other than the stored one.
  private static func append(
    instants bytes: UnsafeBufferPointer<UInt8>, to buffer: inout ByteBuffer, zone: Zone
  ) {
    guard let elements = (try? JSONParser.parse(bytes))?.elements else {
      buffer.append(bytes)
      return
    }
    append(instants: elements, to: &buffer, zone: zone)
  }

  private static func append(instants elements: [JSONValue], to buffer: inout ByteBuffer, zone: Zone) {
    buffer.append(UInt8(ascii: "["))
    for (index, element) in elements.enumerated() {
      if index > 0 { buffer.append(UInt8(ascii: ",")) }
      if case .array(let nested) = element {
        append(instants: nested, to: &buffer, zone: zone)
      } else if case .text(var text)? = try? ColumnType.timestamptz.stored(json: element, zone: .utc) {
        text.withUTF8 { ColumnType.timestamptz.appendJSON(.text($0), to: &buffer, zone: zone) }
      } else {
        buffer.append("null")
      }
    }
    buffer.append(UInt8(ascii: "]"))
  }

  /// Appends the text form that Postgres shows; nothing for null.
  package func appendText(_ raw: RawValue, to buffer: inout ByteBuffer, zone: Zone) {
    switch raw {
    case .null: break
    case .integer(let number):
      if case .boolean = self {
        buffer.append(number != 0 ? "t" : "f")
      } else {
        buffer.append(integer: number)
      }
    case .real(let number): buffer.append(FloatText.text(number, isSingle: isSingle))
    case .text(let bytes):
      switch self {
      case .timestamp, .timestamptz, .time, .timetz:
        appendTime(bytes, separator: 0x20, to: &buffer, zone: zone)
      case .array(let element): Self.append(array: bytes, of: element, to: &buffer, zone: zone)
      default: buffer.append(bytes)
      }
    case .blob(let bytes):
      if case .learnt = self {
        Self.append(learnt: bytes, to: &buffer)
      } else {
        Self.append(bytea: bytes, to: &buffer)
      }
    }
  }

  private static func append(learnt bytes: UnsafeBufferPointer<UInt8>, to buffer: inout ByteBuffer) {
    switch bytes.first {
    case UInt8(ascii: "t"): buffer.append("t")
    case UInt8(ascii: "f"): buffer.append("f")
    default: buffer.append(bytes)
    }
  }

  private static func append(
    array bytes: UnsafeBufferPointer<UInt8>, of element: ColumnType, to buffer: inout ByteBuffer, zone: Zone
  ) {
    guard let elements = (try? JSONParser.parse(bytes))?.elements else {
      buffer.append(bytes)
      return
    }
    append(array: elements, of: element, to: &buffer, zone: zone)
  }

  private static func append(
    array elements: [JSONValue], of type: ColumnType, to buffer: inout ByteBuffer, zone: Zone
  ) {
    buffer.append(UInt8(ascii: "{"))
    for (index, element) in elements.enumerated() {
      if index > 0 { buffer.append(UInt8(ascii: ",")) }
      if case .array(let nested) = element, !type.isDocument {
        append(array: nested, of: type, to: &buffer, zone: zone)
      } else if element.isNull {
        buffer.append("NULL")
      } else if let value = try? type.stored(json: element, zone: .utc) {
        var scratch = ByteBuffer(capacity: 64)
        value.withRaw { type.appendText($0, to: &scratch, zone: zone) }
        PostgresArray.append(element: scratch.bytes, to: &buffer)
      }
    }
    buffer.append(UInt8(ascii: "}"))
  }
}
