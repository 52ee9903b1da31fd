/// Equality and containment of JSON values.
enum JSONEquality {
  /// How two numbers are held against each other.
  enum Numbers {
    /// By decimal value, as jsonb does.
    case exact
    /// As floating-point numbers, as untyped cells do.
    case doubles

    func equal(_ left: String, _ right: String) -> Bool {
      switch self {
      case .exact: DecimalText.compare(left, right) == 0
      case .doubles: Double(left) == Double(right)
      }
    }
  }

  /// Structural equality: the order of members does not matter, and of a repeated key the last value counts.
  static func equal(_ left: JSONValue, _ right: JSONValue, _ numbers: Numbers) -> Bool {
    switch (left, right) {
    case (.null, .null): return true
    case (.bool(let one), .bool(let other)): return one == other
    case (.number(let one), .number(let other)): return numbers.equal(one, other)
    case (.string(let one), .string(let other)): return one.sameBytes(as: other)
    case (.array(let one), .array(let other)):
      return one.count == other.count && zip(one, other).allSatisfy { equal($0, $1, numbers) }
    case (.object(let one), .object(let other)):
      let first = distinct(one)
      let second = distinct(other)
      guard first.count == second.count else { return false }
      return zip(first, second).allSatisfy {
        $0.key.sameBytes(as: $1.key) && equal($0.value, $1.value, numbers)
      }
    default: return false
    }
  }

  /// The members as jsonb keeps them: each key once, shorter keys first, then by bytes.
  static func distinct(_ members: [JSONMember]) -> [JSONMember] {
    var result: [JSONMember] = []
    result.reserveCapacity(members.count)
    let order = members.enumerated().sorted { one, other in
      let by = compareKeys(one.element.key, other.element.key)
      return by == 0 ? one.offset < other.offset : by < 0
    }
    for (_, member) in order {
      if let last = result.last, last.key.sameBytes(as: member.key) { result.removeLast() }
      result.append(member)
    }
    return result
  }

  private static func compareKeys(_ left: String, _ right: String) -> Int {
    if left.utf8.count != right.utf8.count { return left.utf8.count < right.utf8.count ? -1 : 1 }
    return JSONOrder.compareBytes(left, right)
  }

  /// Postgres' `@>` on jsonb. An array contains a bare scalar it has as an element, at the top only.
  static func jsonbContains(_ left: JSONValue, _ right: JSONValue) -> Bool {
    switch (left, right) {
    case (.array(let elements), .null), (.array(let elements), .bool), (.array(let elements), .number),
      (.array(let elements), .string):
      return elements.contains { equal($0, right, .exact) }
    default: return deepContains(left, right)
    }
  }

  private static func deepContains(_ left: JSONValue, _ right: JSONValue) -> Bool {
    switch (left, right) {
    case (.object, .object(let members)):
      return distinct(members).allSatisfy { member in
        left[member.key].map { deepContains($0, member.value) } ?? false
      }
    case (.array(let own), .array(let wanted)):
      return wanted.allSatisfy { element in own.contains { deepContains($0, element) } }
    case (.array, _), (.object, _), (_, .array), (_, .object): return false
    default: return equal(left, right, .exact)
    }
  }

  /// Containment of untyped cells: arrays hold an equal member for each wanted one, objects each key, with
  /// nested structures contained likewise; scalars are equal.
  static func cellContains(_ cell: JSONValue, _ operand: JSONValue) -> Bool {
    switch operand {
    case .array(let wanted):
      guard case .array(let own) = cell else { return false }
      return wanted.allSatisfy { element in own.contains { equal($0, element, .doubles) } }
    case .object(let members):
      guard case .object = cell else { return false }
      return distinct(members).allSatisfy { member in
        cell[member.key].map { cellContains($0, member.value) } ?? false
      }
    default: return equal(cell, operand, .doubles)
    }
  }
}
