/// The order of jsonb: Object > Array > Boolean > Number > String > Null; structures by their count first. An
/// empty array at the top stands below everything, as in Postgres.
package enum JSONOrder {
  /// Texts that are not JSON compare by bytes.
  package static func compare(
    _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
  ) -> Int {
    if let quick = scalars(left, right) { return quick }
    guard let one = try? JSONParser.parse(left), let other = try? JSONParser.parse(right) else {
      return UTF8Text.compare(left, right)
    }
    let oneIsEmpty = one.elements?.isEmpty ?? false
    let otherIsEmpty = other.elements?.isEmpty ?? false
    if oneIsEmpty || otherIsEmpty { return oneIsEmpty == otherIsEmpty ? 0 : oneIsEmpty ? -1 : 1 }
    return compare(one, other)
  }

  /// Two numbers, or two strings without escapes, straight from their bytes.
  private static func scalars(
    _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
  ) -> Int? {
    guard let first = left.first, let second = right.first else { return nil }
    if isNumberStart(first) && isNumberStart(second) { return DecimalText.compare(left, right) }
    let quote = UInt8(ascii: "\"")
    guard first == quote, second == quote else { return nil }
    var one = JSONScanner(left)
    var other = JSONScanner(right)
    guard let own = one.string(), let its = other.string(), !own.isEscaped, !its.isEscaped else { return nil }
    return UTF8Text.compare(own.raw, its.raw)
  }

  private static func isNumberStart(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 || byte == UInt8(ascii: "-") }

  static func compareBytes(_ left: String, _ right: String) -> Int {
    var left = left
    var right = right
    return left.withUTF8 { one in right.withUTF8 { other in UTF8Text.compare(one, other) } }
  }

  private static func rank(_ value: JSONValue) -> Int {
    switch value {
    case .null: 0
    case .string: 1
    case .number: 2
    case .bool: 3
    case .array: 4
    case .object: 5
    }
  }

  package static func compare(_ left: JSONValue, _ right: JSONValue) -> Int {
    switch (left, right) {
    case (.string(let one), .string(let other)): return compareBytes(one, other)
    case (.number(let one), .number(let other)): return DecimalText.compare(one, other)
    case (.bool(let one), .bool(let other)): return one == other ? 0 : one ? 1 : -1
    case (.array(let one), .array(let other)):
      if one.count != other.count { return one.count < other.count ? -1 : 1 }
      for (first, second) in zip(one, other) {
        let order = compare(first, second)
        if order != 0 { return order }
      }
      return 0
    case (.object(let one), .object(let other)):
      return compare(members: JSONEquality.distinct(one), JSONEquality.distinct(other))
    default: return (rank(left) - rank(right)).signum()
    }
  }

  private static func compare(members left: [JSONMember], _ right: [JSONMember]) -> Int {
    if left.count != right.count { return left.count < right.count ? -1 : 1 }
    for (one, other) in zip(left, right) {
      var order = compareBytes(one.key, other.key)
      if order == 0 { order = compare(one.value, other.value) }
      if order != 0 { return order }
    }
    return 0
  }
}
