@testable import RESTDialect

func withBytes<Value, Failure: Error>(
  _ text: String, _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Value
) throws(Failure) -> Value {
  try withBytes(Array(text.utf8), body)
}

func withBytes<Value, Failure: Error>(
  _ bytes: [UInt8], _ body: (UnsafeBufferPointer<UInt8>) throws(Failure) -> Value
) throws(Failure) -> Value {
  try bytes.withUnsafeBufferPointer { (buffer) throws(Failure) in try body(buffer) }
}

/// Parses a query string as it stands in a URL.
func parse(_ query: String, _ method: DialectMethod = .get) throws(DialectError) -> Request {
  try withBytes(query) { (bytes) throws(DialectError) in try Request(query: bytes, method: method) }
}

func failure(_ query: String, _ method: DialectMethod = .get) -> DialectError? {
  do throws(DialectError) {
    _ = try parse(query, method)
    return nil
  } catch {
    return error
  }
}

func filters(_ query: String) throws -> [FilterNode] { try parse(query).filters }

func column(_ name: String, _ operation: Operation, negated: Bool = false) -> FilterNode {
  .condition(Field(name: name), negated: negated, operation)
}

func item(
  _ name: String, _ path: [JSONStep] = [], alias: String? = nil, cast: String? = nil,
  aggregate: Aggregate? = nil, aggregateCast: String? = nil
) -> SelectItem {
  .field(
    Field(name: name, path: path), alias: alias, cast: cast, aggregate: aggregate,
    aggregateCast: aggregateCast)
}

/// A small deterministic generator (SplitMix64), so that a failing run can be repeated from its seed.
struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
