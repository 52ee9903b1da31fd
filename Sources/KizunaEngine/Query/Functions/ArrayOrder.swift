/// A Postgres array that is kept as JSON text; nested arrays count as their elements in a row.
struct ArrayOrder {
  let elements: [JSONValue]

  /// nil when the text is no JSON array.
  init?(_ text: UnsafeBufferPointer<UInt8>) {
    guard let value = try? JSONParser.parse(text), case .array(let nested) = value else { return nil }
    var elements: [JSONValue] = []
    Self.flatten(nested, into: &elements)
    self.elements = elements
  }

  private static func flatten(_ nested: [JSONValue], into elements: inout [JSONValue]) {
    for element in nested {
      if case .array(let inner) = element {
        flatten(inner, into: &elements)
      } else {
        elements.append(element)
      }
    }
  }

  /// Whether it has the element; null is in no array.
  private func has(_ element: JSONValue) -> Bool {
    !element.isNull && elements.contains { JSONEquality.equal($0, element, .exact) }
  }

  func contains(_ other: ArrayOrder) -> Bool { other.elements.allSatisfy(has) }
  func overlaps(_ other: ArrayOrder) -> Bool { other.elements.contains(where: has) }

  /// Element by element, then by length; a null element stands last.
  static func compare(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>) -> Int {
    guard let one = ArrayOrder(left), let other = ArrayOrder(right) else {
      return UTF8Text.compare(left, right)
    }
    for (first, second) in zip(one.elements, other.elements) {
      if first.isNull != second.isNull { return first.isNull ? 1 : -1 }
      let order = JSONOrder.compare(first, second)
      if order != 0 { return order }
    }
    return (one.elements.count - other.elements.count).signum()
  }
}
