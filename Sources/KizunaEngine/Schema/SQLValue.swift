/// A value as SQLite stores it.
package enum SQLValue: Sendable, Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])

  package var isNull: Bool { self == .null }
}

/// A borrowed look at a stored value: a column of the statement's current row. The pointers are good until the
/// statement steps again or the column is converted.
package enum RawValue {
  case null
  case integer(Int64)
  case real(Double)
  case text(UnsafeBufferPointer<UInt8>)
  case blob(UnsafeBufferPointer<UInt8>)
}

extension SQLValue {
  package init(_ raw: RawValue) {
    switch raw {
    case .null: self = .null
    case .integer(let value): self = .integer(value)
    case .real(let value): self = .real(value)
    case .text(let bytes): self = .text(String(decoding: bytes, as: UTF8.self))
    case .blob(let bytes): self = .blob(Array(bytes))
    }
  }

  package func withRaw<Result, Failure: Error>(
    _ body: (RawValue) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    switch self {
    case .null: return try body(.null)
    case .integer(let value): return try body(.integer(value))
    case .real(let value): return try body(.real(value))
    case .text(let text):
      let bytes = Array(text.utf8)
      return try Self.lend(bytes) { pointer throws(Failure) in try body(.text(pointer)) }
    case .blob(let bytes):
      return try Self.lend(bytes) { pointer throws(Failure) in try body(.blob(pointer)) }
    }
  }

  private static func lend<Result, Failure: Error>(
    _ bytes: [UInt8], _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: bytes.count)
    defer { copy.deallocate() }
    _ = copy.initialize(from: bytes)
    return try body(UnsafeBufferPointer(copy))
  }
}
