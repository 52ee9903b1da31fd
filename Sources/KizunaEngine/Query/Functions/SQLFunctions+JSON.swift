/// Functions over columns that are kept as JSON text: json, jsonb and arrays.
extension SQLFunctions {
  static func jsonFunctions() -> [(String, Int32, FunctionCall.Callback)] {
    [
      // kz_path(json, steps, as_text): steps is a JSON array of keys and positions
      ("kz_path", 3, { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.path) }),
      // kz_jsonb_contains(a, b): a @> b
      (
        "kz_jsonb_contains", 2,
        { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.jsonbContains) }
      ),
      // kz_array_contains(a, b): a @> b; kz_array_overlaps(a, b): a && b
      (
        "kz_array_contains", 2,
        { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.arrayContains) }
      ),
      (
        "kz_array_overlaps", 2,
        { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.arrayOverlaps) }
      ),
    ]
  }

  /// A value that SQLite keeps between rows must be an object.
  private final class Kept<Value> {
    let value: Value
    init(_ value: Value) { self.value = value }
  }

  private static func path(_ call: FunctionCall) throws(KizunaError) {
    guard let steps = call.text(1), let document = call.text(0) else { return }
    let path = try call.cached(1) { () throws(KizunaError) in try JSONPath(steps) }
    guard let found = path.find(document) else { return }
    guard call.flag(2) else { return call.answer(text: found) }
    switch found.first {
    case UInt8(ascii: "n"): return
    case UInt8(ascii: "\""): answer(string: found, call)
    default: call.answer(text: found)
    }
  }

  private static func answer(string quoted: UnsafeBufferPointer<UInt8>, _ call: FunctionCall) {
    var scanner = JSONScanner(quoted)
    guard let content = scanner.string() else { return }
    if !content.isEscaped { return call.answer(text: content.raw) }
    if let text = JSONScanner.unescaped(quoted) { call.answer(text: text) }
  }

  private static func jsonbContains(_ call: FunctionCall) throws(KizunaError) {
    guard let left = call.text(0), let right = call.text(1) else { return }
    let wanted = try call.cached(1) { Kept(try? JSONParser.parse(right)) }
    guard let operand = wanted.value, let value = try? JSONParser.parse(left) else { return }
    call.answer(JSONEquality.jsonbContains(value, operand))
  }

  /// Either side may be the constant one: `<@` swaps them.
  private static func arrays(_ call: FunctionCall) throws(KizunaError) -> (ArrayOrder, ArrayOrder)? {
    guard let left = call.text(0), let right = call.text(1) else { return nil }
    let one = try call.cached(0) { Kept(ArrayOrder(left)) }
    let other = try call.cached(1) { Kept(ArrayOrder(right)) }
    guard let first = one.value, let second = other.value else { return nil }
    return (first, second)
  }

  private static func arrayContains(_ call: FunctionCall) throws(KizunaError) {
    guard let (left, right) = try arrays(call) else { return }
    call.answer(left.contains(right))
  }

  private static func arrayOverlaps(_ call: FunctionCall) throws(KizunaError) {
    guard let (left, right) = try arrays(call) else { return }
    call.answer(left.overlaps(right))
  }
}
