import KizunaEngine

// A description is mostly fixed JSON: written as Swift literals it reads as what is sent.

extension JSONValue: ExpressibleByStringInterpolation {
  package init(stringLiteral text: String) { self = .string(text) }
}

extension JSONValue: ExpressibleByBooleanLiteral {
  package init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSONValue: ExpressibleByIntegerLiteral {
  package init(integerLiteral value: Int64) { self = .integer(value) }
}

extension JSONValue: ExpressibleByArrayLiteral {
  package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
}

extension JSONValue: ExpressibleByDictionaryLiteral {
  package init(dictionaryLiteral members: (String, JSONValue)...) {
    self = .object(members.map { JSONMember($0.0, $0.1) })
  }
}

extension JSONValue {
  /// The object with more members behind its own; any other value stays as it is.
  func adding(_ more: [JSONMember]) -> JSONValue {
    guard case .object(let members) = self else { return self }
    return .object(members + more)
  }
}
