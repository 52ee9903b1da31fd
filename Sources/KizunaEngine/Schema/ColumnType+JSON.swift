extension ColumnType {
  /// Reads a JSON value as a body gives it: scalars by way of their text, documents and arrays by structure.
  package func stored(json value: JSONValue, zone: Zone) throws(KizunaError) -> SQLValue {
    if value.isNull { return .null }
    switch self {
    case .json: return .text(value.jsonText)
    case .jsonb: return .text(try JSONBText.text(value))
    case .learnt: return try Self.learnt(value)
    case .array(let element):
      if case .string(let literal) = value { return try stored(literal: literal, zone: zone) }
      guard let elements = value.elements else { throw .refused("22P02", "expected JSON array") }
      if !element.isDocument { _ = try Self.shape(elements) }
      var buffer = ByteBuffer()
      try Self.append(elements, of: element, zone, to: &buffer)
      return .text(buffer.string)
    default: break
    }
    switch value {
    case .string(let text), .number(let text): return try stored(literal: text, zone: zone)
    case .bool(let flag): return try stored(literal: flag ? "true" : "false", zone: zone)
    default: return try stored(literal: value.jsonText, zone: zone)
    }
  }

  /// Whether an element that is itself an array is a document, not a further dimension.
  var isDocument: Bool { self == .json || self == .jsonb }

  private static func append(
    _ elements: [JSONValue], of type: ColumnType, _ zone: Zone, to buffer: inout ByteBuffer
  ) throws(KizunaError) {
    buffer.append(UInt8(ascii: "["))
    for (index, element) in elements.enumerated() {
      if index > 0 { buffer.append(UInt8(ascii: ",")) }
      if case .array(let nested) = element, !type.isDocument {
        try append(nested, of: type, zone, to: &buffer)
      } else if element.isNull {
        buffer.append("null")
      } else {
        type.appendJSON(try type.stored(json: element, zone: zone), to: &buffer)
      }
    }
    buffer.append(UInt8(ascii: "]"))
  }

  /// The length of each dimension; nested arrays must agree.
  private static func shape(_ elements: [JSONValue]) throws(KizunaError) -> [Int] {
    var inner: [Int]?
    for (index, element) in elements.enumerated() {
      let shape = try element.elements.map { nested throws(KizunaError) in try Self.shape(nested) } ?? []
      if index > 0, inner != shape {
        throw .refused(
          "22P02", "malformed JSON array",
          details: "Multidimensional arrays must have sub-arrays with matching dimensions.")
      }
      inner = shape
    }
    return [elements.count] + (inner ?? [])
  }

  private static func learnt(_ value: JSONValue) throws(KizunaError) -> SQLValue {
    switch value {
    case .null: return .null
    case .string(let text):
      if text.utf8.contains(0) { throw .nulCharacter }
      return .text(text)
    case .number(let text): return try learnt(number: text)
    default: return .blob(Array(try JSONBText.text(value).utf8))
    }
  }

  /// A number as SQLite keeps it without loss: an integer, a REAL that shows the same value, or its text in a blob.
  static func learnt(number text: String) throws(KizunaError) -> SQLValue {
    if let integer = Int64(text) { return .integer(integer) }
    let exact = try NumericText.canonical(text)
    if let integer = Int64(exact) { return .integer(integer) }
    if exact.utf8.contains(UInt8(ascii: ".")), let value = try? FloatText.parse(text), value.isFinite,
      let shown = try? NumericText.canonical(FloatText.text(value)), isEqual(exact, shown)
    {
      return .real(value)
    }
    return .blob(Array(exact.utf8))
  }

  private static func isEqual(_ left: String, _ right: String) -> Bool {
    let a = Array(left.utf8)
    let b = Array(right.utf8)
    return a.withUnsafeBufferPointer { x in b.withUnsafeBufferPointer { y in NumericText.compare(x, y) == 0 }
    }
  }

  /// The narrowest type that fits what was seen so far and `value`.
  package static func merge(_ seen: LearntType?, _ value: JSONValue) -> LearntType? {
    let met: LearntType
    switch value {
    case .null: return seen
    case .bool: met = .boolean
    case .string: met = .text
    case .number(let text): met = Int64(text) != nil ? .integer : .number
    case .array, .object: met = .json
    }
    guard let seen, seen != met else { return met }
    let isNumeric = (seen == .integer || seen == .number) && (met == .integer || met == .number)
    return isNumeric ? .number : .json
  }
}
