import Glibc

extension ColumnType {
  /// Casts between number types: `numeric` rounds half away from zero, floating point half to even.
  func castNumber(_ raw: RawValue, _ target: ColumnType) throws(KizunaError) -> SQLValue {
    switch raw {
    case .integer(let number) where !isFloating: return try target.number(integer: number)
    case .integer(let number): return try target.number(floating: Double(number), isSingle: self == .real)
    case .real(let number): return try target.number(floating: number, isSingle: self == .real)
    case .text(let bytes):
      let text = String(decoding: bytes, as: UTF8.self)
      return isFloating
        ? try target.number(floating: .nan, isSingle: false) : try target.number(numeric: text)
    default: return .null
    }
  }

  private var isFloating: Bool { self == .real || self == .double }

  private func number(integer: Int64) throws(KizunaError) -> SQLValue {
    switch self {
    case .real: return .real(Double(Float(integer)))
    case .double: return .real(Double(integer))
    case .numeric(let precision, let scale):
      return .text(try NumericText.canonical(String(integer), precision: precision, scale: scale))
    default: return try ranged(integer)
    }
  }

  /// The integer, if this integer type holds it.
  private func ranged(_ value: Int64?) throws(KizunaError) -> SQLValue {
    if let value {
      switch self {
      case .smallint: if Int16(exactly: value) != nil { return .integer(value) }
      case .integer: if Int32(exactly: value) != nil { return .integer(value) }
      default: return .integer(value)
      }
    }
    throw .refused("22003", "\(baseName) out of range")
  }

  private func number(floating value: Double, isSingle: Bool) throws(KizunaError) -> SQLValue {
    switch self {
    case .double: return Self.float(value)
    case .real:
      let narrow = Float(value)
      if narrow.isInfinite && value.isFinite { throw .refused("22003", "value out of range: overflow") }
      if narrow == 0 && value != 0 { throw .refused("22003", "value out of range: underflow") }
      return Self.float(Double(narrow))
    case .numeric(let precision, let scale):
      let text = value.isFinite ? Self.decimal(value, digits: isSingle ? 6 : 15) : FloatText.text(value)
      return .text(try NumericText.canonical(text, precision: precision, scale: scale))
    default: return try ranged(Int64(exactly: value.rounded(.toNearestOrEven)))
    }
  }

  /// The value with as many significant digits as its type guarantees.
  private static func decimal(_ value: Double, digits: Int) -> String {
    var characters = [CChar](repeating: 0, count: 64)
    _ = withVaList([Int32(digits), value]) { vsnprintf(&characters, characters.count, "%.*g", $0) }
    return LiteralScanner.string(characters.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) })
  }

  private func number(numeric text: String) throws(KizunaError) -> SQLValue {
    switch self {
    case .real, .double: return Self.float(try FloatText.parse(text, isSingle: self == .real))
    case .numeric(let precision, let scale):
      return .text(try NumericText.canonical(text, precision: precision, scale: scale))
    default: break
    }
    switch try NumericText.parse(text) {
    case .finite(var decimal)?:
      decimal.round(toScale: 0)
      return try ranged(Int64(decimal.text))
    case .infinity?: throw .refused("0A000", "cannot convert infinity to \(baseName)")
    default: throw .refused("0A000", "cannot convert NaN to \(baseName)")
    }
  }
}
