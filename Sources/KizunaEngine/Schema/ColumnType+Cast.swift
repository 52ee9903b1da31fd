extension ColumnType {
  /// Casts a stored value as `::type` does. A pair of types without a cast in Postgres is refused (`42846`).
  package func cast(_ raw: RawValue, to target: ColumnType, zone: Zone) throws(KizunaError) -> SQLValue {
    if case .null = raw { return .null }
    if case .learnt = self { return try Self.concrete(raw).cast(raw, to: target, zone: zone) }
    if target.isString { return .text(try castToString(raw, target, zone)) }
    switch (self, target) {
    case (_, .learnt): return SQLValue(raw)
    case (.text, _), (.varchar, _), (.char, _), (.citext, _), (.opaque, _):
      return try target.stored(literal: text(raw, zone), zone: zone)
    case (.numeric, .numeric(let precision, let scale)):
      return .text(try NumericText.canonical(text(raw, zone), precision: precision, scale: scale))
    case (.boolean, .integer): return SQLValue(raw)
    case (.integer, .boolean):
      if case .integer(let number) = raw { return .integer(number != 0 ? 1 : 0) }
      return .null
    case (.json, .jsonb), (.cidr, .inet): return try target.stored(literal: text(raw, zone), zone: zone)
    case (.inet, .cidr): return .text(try NetworkAddress.network(of: text(raw, zone)))
    case (.jsonb, .json): return SQLValue(raw)
    case (.jsonb, .boolean), (.jsonb, .numeric): return try castDocument(raw, target, zone)
    case (.jsonb, _) where target.isNumber: return try castDocument(raw, target, zone)
    case (.array(let element), .array(let other)):
      return try element.castElements(raw, to: other, zone)
    case (_, _) where isNumber && target.isNumber: return try castNumber(raw, target)
    case (_, _) where self == target: return SQLValue(raw)
    default:
      if let result = try castTime(raw, target, zone) { return result }
      throw noCast(target)
    }
  }

  func noCast(_ target: ColumnType) -> KizunaError {
    .refused("42846", "cannot cast type \(baseName) to \(target.baseName)")
  }

  var isNumber: Bool {
    switch self {
    case .smallint, .integer, .bigint, .real, .double, .numeric: true
    default: false
    }
  }

  /// The type of one value of an undeclared column.
  private static func concrete(_ raw: RawValue) -> ColumnType {
    switch raw {
    case .null, .text: return .text
    case .integer: return .bigint
    case .real: return .double
    case .blob: return .opaque("jsonb")
    }
  }

  func text(_ raw: RawValue, _ zone: Zone) -> String {
    if case .blob(let bytes) = raw, case .opaque = self { return LiteralScanner.string(bytes) }
    var buffer = ByteBuffer(capacity: 64)
    appendText(raw, to: &buffer, zone: zone)
    return buffer.string
  }

  /// An explicit cast to a string type with a length cuts silently; blanks that pad a `char` are dropped.
  private func castToString(_ raw: RawValue, _ target: ColumnType, _ zone: Zone) throws(KizunaError) -> String
  {
    var text = text(raw, zone)
    if self == .boolean { text = text == "t" ? "true" : "false" }
    if self == .inet, !text.utf8.contains(UInt8(ascii: "/")) {
      text += text.utf8.contains(UInt8(ascii: ":")) ? "/128" : "/32"
    }
    if case .char = self {
      text = LiteralScanner.string(Array(text.utf8.reversed().drop { $0 == 0x20 }.reversed()))
    }
    switch target {
    case .varchar(let limit?): return String(text.unicodeScalars.prefix(limit))
    case .char(let length):
      let cut = text.unicodeScalars.prefix(length)
      return String(cut) + String(repeating: " ", count: length - cut.count)
    default: return text
    }
  }

  /// A `jsonb` scalar to the type of its kind.
  private func castDocument(_ raw: RawValue, _ target: ColumnType, _ zone: Zone) throws(KizunaError)
    -> SQLValue
  {
    guard let document = try? JSONParser.parse(text(raw, zone)) else { throw noCast(target) }
    let kind: String
    switch document {
    case .number(let number):
      if target != .boolean {
        return try SQLValue.text(number).withRaw { value throws(KizunaError) in
          try ColumnType.numeric(precision: nil, scale: nil).cast(value, to: target, zone: zone)
        }
      }
      kind = "numeric"
    case .bool(let flag):
      if target == .boolean { return .integer(flag ? 1 : 0) }
      kind = "boolean"
    case .null: kind = "null"
    case .string: kind = "string"
    case .array: kind = "array"
    case .object: kind = "object"
    }
    throw .refused("22023", "cannot cast jsonb \(kind) to type \(target.baseName)")
  }

  private func castElements(_ raw: RawValue, to target: ColumnType, _ zone: Zone) throws(KizunaError)
    -> SQLValue
  {
    if self == target { return SQLValue(raw) }
    guard case .text(let bytes) = raw, let elements = (try? JSONParser.parse(bytes))?.elements else {
      return .null
    }
    var buffer = ByteBuffer()
    try append(cast: elements, to: target, zone, &buffer)
    return .text(buffer.string)
  }

  private func append(
    cast elements: [JSONValue], to target: ColumnType, _ zone: Zone, _ buffer: inout ByteBuffer
  ) throws(KizunaError) {
    buffer.append(UInt8(ascii: "["))
    for (index, element) in elements.enumerated() {
      if index > 0 { buffer.append(UInt8(ascii: ",")) }
      if case .array(let nested) = element, !isDocument {
        try append(cast: nested, to: target, zone, &buffer)
        continue
      }
      let value = try stored(json: element, zone: .utc)
      let result = try value.withRaw { raw throws(KizunaError) in try cast(raw, to: target, zone: zone) }
      target.appendJSON(result, to: &buffer)
    }
    buffer.append(UInt8(ascii: "]"))
  }
}
