/// Simple case mapping: one scalar to one scalar. Mappings that need several scalars leave it as it is.
enum CaseFolding {
  /// Nearly all cased letters lie below; looking them up in the Unicode tables each time is slow.
  private static let tableEnd: UInt32 = 0x2000
  private static let lowerTable: [UInt16] = (0..<tableEnd).map {
    UInt16(truncatingIfNeeded: mapped($0, upper: false))
  }

  private static func mapped(_ scalar: UInt32, upper: Bool) -> UInt32 {
    guard let value = Unicode.Scalar(scalar) else { return scalar }
    let mapping = (upper ? value.properties.uppercaseMapping : value.properties.lowercaseMapping)
      .unicodeScalars
    guard let first = mapping.first, mapping.count == 1 else { return scalar }
    return first.value
  }

  @inline(__always)
  static func lower(_ scalar: UInt32) -> UInt32 {
    if scalar < 0x80 { return scalar &- 0x41 < 26 ? scalar | 0x20 : scalar }
    return lowerSlowly(scalar)
  }

  private static func lowerSlowly(_ scalar: UInt32) -> UInt32 {
    scalar < tableEnd ? UInt32(lowerTable[Int(scalar)]) : mapped(scalar, upper: false)
  }

  static func upper(_ scalar: UInt32) -> UInt32 {
    if scalar < 0x80 { return scalar &- 0x61 < 26 ? scalar & ~0x20 : scalar }
    return mapped(scalar, upper: true)
  }

  /// The text in lower case, as UTF-8.
  static func lowered(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(text.count)
    var index = 0
    while index < text.count {
      let byte = text[index]
      if byte < 0x80 {
        result.append(byte &- 0x41 < 26 ? byte | 0x20 : byte)
        index += 1
      } else {
        let scalar = lower(UTF8Text.next(text, &index))
        result.append(contentsOf: String(Unicode.Scalar(scalar) ?? "\u{FFFD}").utf8)
      }
    }
    return result
  }

  /// Code-point order of the lower-case forms.
  static func compare(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int {
    var one = 0
    var other = 0
    while one < left.count && other < right.count {
      let first = lower(UTF8Text.next(left, &one))
      let second = lower(UTF8Text.next(right, &other))
      if first != second { return first < second ? -1 : 1 }
    }
    if one < left.count { return 1 }
    return other < right.count ? -1 : 0
  }
}
