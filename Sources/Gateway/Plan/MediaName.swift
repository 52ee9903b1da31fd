/// What a request's body says it is. No content type means JSON; parameters are ignored.
enum MediaName: Equatable {
  case json, csv, form
  case other(String)

  init(_ value: UnsafeBufferPointer<UInt8>?) {
    let name = Self.essence(value)
    if name.isEmpty || Self.matches(name, "application/json") {
      self = .json
    } else if Self.matches(name, "text/csv") {
      self = .csv
    } else if Self.matches(name, "application/x-www-form-urlencoded") {
      self = .form
    } else {
      self = .other(String(decoding: name, as: UTF8.self))
    }
  }

  private static func essence(_ value: UnsafeBufferPointer<UInt8>?) -> Slice<UnsafeBufferPointer<UInt8>> {
    guard let value else { return Slice(base: UnsafeBufferPointer(start: nil, count: 0), bounds: 0..<0) }
    var end = value.firstIndex(of: UInt8(ascii: ";")) ?? value.endIndex
    var start = value.startIndex
    while start < end, value[start] == 0x20 || value[start] == 0x09 { start += 1 }
    while end > start, value[end - 1] == 0x20 || value[end - 1] == 0x09 { end -= 1 }
    return value[start..<end]
  }

  private static func matches(_ name: Slice<UnsafeBufferPointer<UInt8>>, _ known: StaticString) -> Bool {
    guard name.count == known.utf8CodeUnitCount else { return false }
    return zip(name, UnsafeBufferPointer(start: known.utf8Start, count: known.utf8CodeUnitCount))
      .allSatisfy { byte, expected in
        byte == expected
          || (byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") && byte | 0x20 == expected)
      }
  }
}
