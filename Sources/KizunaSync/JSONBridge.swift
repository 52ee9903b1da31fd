import Foundation
import KizunaEngine

/// Between the platform's untyped values and the engine's JSON.
enum JSONBridge {
  /// Deeper nesting is refused, as `JSONSerialization` refuses it.
  static let depthLimit = 512

  /// An object's members in the order of their keys' bytes: a dictionary has no order of its own, and columns met
  /// for the first time should not come in a random one.
  static func members(_ values: [String: Any], at path: String) throws -> [JSONMember] {
    try members(values, path, depth: 0)
  }

  static func json(_ value: Any, at path: String) throws -> JSONValue { try json(value, path, depth: 0) }

  private static func members(_ values: [String: Any], _ path: String, depth: Int) throws -> [JSONMember] {
    let keys = values.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    return try keys.map { key in
      JSONMember(key, try json(values[key] ?? NSNull(), "\(path).\(key)", depth: depth + 1))
    }
  }

  private static func json(_ value: Any, _ path: String, depth: Int) throws -> JSONValue {
    guard depth <= depthLimit else { throw refused(path, "nested too deeply") }
    if let optional = value as? any OptionalValue {
      guard let wrapped = optional.wrapped else { return .null }
      return try json(wrapped, path, depth: depth)
    }
    switch value {
    case is NSNull: return .null
    case let text as String: return .string(text)
    case let text as Substring: return .string(String(text))
    // To `as` an NSNumber is a Bool, an integer and a float alike, so it is told apart by its class first.
    case let number as NSNumber where type(of: value) is AnyClass: return try self.number(number, path)
    case let flag as Bool: return .bool(flag)
    case let integer as any FixedWidthInteger: return .number(String(describing: integer))
    case let float as Float: return try floating(Double(float), shortest: float.description, path)
    case let double as Double: return try floating(double, shortest: double.description, path)
    case let float as CGFloat: return try floating(Double(float), shortest: float.description, path)
    case let decimal as Decimal: return try number(decimal, path)
    default: return try container(value, path, depth: depth)
    }
  }

  private static func container(_ value: Any, _ path: String, depth: Int) throws -> JSONValue {
    if let values = value as? [String: Any] {
      return .object(try members(values, path, depth: depth))
    }
    if let elements = value as? [Any] {
      return .array(
        try elements.enumerated().map { try json($1, "\(path)[\($0)]", depth: depth + 1) })
    }
    throw refused(path, "JSON has no form for a value of type \(type(of: value))")
  }

  private static func number(_ number: NSNumber, _ path: String) throws -> JSONValue {
    // Foundation has one class for its two booleans, and no other sign tells them from small integers.
    if type(of: number) == type(of: NSNumber(value: true)) { return .bool(number.boolValue) }
    if let decimal = number as? NSDecimalNumber { return try self.number(decimal.decimalValue, path) }
    switch UInt8(bitPattern: number.objCType.pointee) {
    case UInt8(ascii: "d"):
      return try floating(number.doubleValue, shortest: number.doubleValue.description, path)
    case UInt8(ascii: "f"):
      return try floating(number.doubleValue, shortest: number.floatValue.description, path)
    case UInt8(ascii: "Q"), UInt8(ascii: "L"): return .number(String(number.uint64Value))
    default: return .integer(number.int64Value)
    }
  }

  private static func number(_ decimal: Decimal, _ path: String) throws -> JSONValue {
    guard !decimal.isNaN else { throw refused(path, "JSON has no form for NaN") }
    return .number(decimal.description)
  }

  /// A float without fraction is written as the integer while that is exact, as JSON writers do.
  private static func floating(_ value: Double, shortest: String, _ path: String) throws -> JSONValue {
    guard value.isFinite else { throw refused(path, "JSON has no form for \(value)") }
    if value.rounded() == value, value.magnitude < 0x1p53 { return .integer(Int64(value)) }
    return .number(shortest)
  }

  private static func refused(_ path: String, _ reason: String) -> KizunaSyncSerializationError {
    KizunaSyncSerializationError(path: path, reason: reason)
  }
}

/// An optional of any kind, so that one inside an `Any` can be opened.
private protocol OptionalValue {
  var wrapped: Any? { get }
}

extension Optional: OptionalValue {
  fileprivate var wrapped: Any? { self }
}

extension JSONBridge {
  /// The platform's form of a JSON value. A repeated key's last value wins.
  static func any(_ value: JSONValue) -> sending Any {
    switch value {
    case .null: return NSNull()
    case .bool(let flag): return flag
    case .number(let text): return number(text)
    case .string(let text): return text
    case .array(let elements): return elements.map { any($0) }
    case .object(let members): return dictionary(members)
    }
  }

  static func dictionary(_ members: [JSONMember]) -> sending [String: Any] {
    var values: [String: Any] = [:]
    values.reserveCapacity(members.count)
    for member in members { values[member.key] = any(member.value) }
    return values
  }

  /// An `Int` where the text is one, else a `Double` or `Decimal` that stands for exactly this number, else the text.
  private static func number(_ text: String) -> any Sendable {
    if let integer = Int(text) { return integer }
    let exact = PlainDecimal(text)
    if let double = Double(text), double.isFinite, PlainDecimal(double.description) == exact { return double }
    if let decimal = Decimal(string: text), PlainDecimal(decimal.description) == exact { return decimal }
    return text
  }
}

/// A decimal number's text, brought to one form: its significant digits and the power of ten behind them.
private struct PlainDecimal: Equatable {
  private var isNegative = false
  private var digits: [UInt8] = []
  private var exponent = 0

  init(_ text: String) {
    var isFraction = false
    var rest = text.utf8[...]
    if rest.first == UInt8(ascii: "-") {
      isNegative = true
      rest = rest.dropFirst()
    }
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "."): isFraction = true
      case UInt8(ascii: "e"), UInt8(ascii: "E"):
        exponent += Int(Substring(rest)) ?? 0
        rest = rest.suffix(0)
      default:
        if !digits.isEmpty || byte != UInt8(ascii: "0") { digits.append(byte) }
        if isFraction { exponent -= 1 }
      }
    }
    while digits.last == UInt8(ascii: "0") {
      digits.removeLast()
      exponent += 1
    }
    if digits.isEmpty { exponent = 0 }
  }
}
