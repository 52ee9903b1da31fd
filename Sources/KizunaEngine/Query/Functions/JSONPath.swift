/// The steps of `->` and `->>`: keys of objects and positions in arrays.
final class JSONPath {
  enum Step {
    case key([UInt8])
    case index(Int)
  }

  private let steps: [Step]

  /// From a JSON array of strings (keys) and integers (positions, negative ones from the end).
  init(_ text: UnsafeBufferPointer<UInt8>) throws(KizunaError) {
    var steps: [Step] = []
    let elements = (try? JSONParser.parse(text))?.elements
    for element in elements ?? [.null] {
      if let key = element.text {
        steps.append(.key(Array(key.utf8)))
      } else if case .number(let number) = element {
        steps.append(.index(Int(number) ?? (number.hasPrefix("-") ? .min : .max)))
      } else {
        throw KizunaError("JSON", "a path must be an array of keys and positions")
      }
    }
    self.steps = steps
  }

  /// The bytes of the value at the path, as they stand in the document; nil when there is none.
  func find(_ document: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8>? {
    guard var range = JSONScanner.whole(document) else { return nil }
    for step in steps {
      let value = UnsafeBufferPointer(rebasing: document[range])
      let inner: Range<Int>? =
        switch step {
        case .key(let key): key.withUnsafeBufferPointer { Self.member(value, $0) }
        case .index(let index): Self.element(value, index)
        }
      guard let inner else { return nil }
      range = (range.lowerBound + inner.lowerBound)..<(range.lowerBound + inner.upperBound)
    }
    return UnsafeBufferPointer(rebasing: document[range])
  }

  /// Of a repeated key the last value counts.
  private static func member(
    _ object: UnsafeBufferPointer<UInt8>, _ key: UnsafeBufferPointer<UInt8>
  ) -> Range<Int>? {
    var scanner = JSONScanner(object)
    guard scanner.take(UInt8(ascii: "{")) else { return nil }
    var found: Range<Int>?
    while scanner.peek() == UInt8(ascii: "\"") {
      let start = scanner.offset
      guard let name = scanner.string() else { return nil }
      let isKey =
        name.isEscaped
        ? equal(UnsafeBufferPointer(rebasing: object[start..<scanner.offset]), key)
        : UTF8Text.equal(name.raw, key)
      guard scanner.take(UInt8(ascii: ":")), let value = scanner.value() else { return nil }
      if isKey { found = value }
      if !scanner.take(UInt8(ascii: ",")) { break }
    }
    return found
  }

  private static func equal(_ quoted: UnsafeBufferPointer<UInt8>, _ key: UnsafeBufferPointer<UInt8>) -> Bool {
    JSONScanner.unescaped(quoted).map { $0.utf8.elementsEqual(key) } ?? false
  }

  private static func element(_ array: UnsafeBufferPointer<UInt8>, _ index: Int) -> Range<Int>? {
    var wanted = index
    if index < 0 {
      // Positions from the end: one pass to count, one to find.
      var count = 0
      elements(array) { _ in
        count += 1
        return true
      }
      guard index >= -count else { return nil }
      wanted = count + index
    }
    var found: Range<Int>?
    var position = 0
    elements(array) { range in
      if position == wanted { found = range }
      position += 1
      return found == nil
    }
    return found
  }

  /// Visits an array's elements until the body answers false.
  private static func elements(_ array: UnsafeBufferPointer<UInt8>, _ body: (Range<Int>) -> Bool) {
    var scanner = JSONScanner(array)
    guard scanner.take(UInt8(ascii: "[")), scanner.peek() != UInt8(ascii: "]") else { return }
    repeat {
      guard let range = scanner.value(), body(range) else { return }
    } while scanner.take(UInt8(ascii: ","))
  }
}
