/// Functions over cells of columns without a declared type. Operands are JSON text.
extension SQLFunctions {
  static func cellFunctions() -> [(String, Int32, FunctionCall.Callback)] {
    [
      // kz_any_eq(cell, operand) → 1, 0 or NULL; kz_any_compare(cell, operand) → -1, 0, 1 or NULL
      (
        "kz_any_eq", 2,
        { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.anyEquals) }
      ),
      (
        "kz_any_compare", 2,
        { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.anyCompare) }
      ),
      // kz_any_in(cell, operands)
      ("kz_any_in", 2, { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.anyIn) }),
      (
        "kz_any_contains", 2,
        { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.anyContains) }
      ),
      (
        "kz_any_contained", 2,
        { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.anyContained) }
      ),
      (
        "kz_any_overlaps", 2,
        { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.anyOverlaps) }
      ),
      // kz_any_text(cell): NULL for arrays and objects
      (
        "kz_any_text", 1,
        { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.anyText) }
      ),
      // kz_any_json(cell): the cell as JSON text
      (
        "kz_any_json", 1,
        { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.anyJSON) }
      ),
      // kz_any_rank(cell): 0 for a number, 1 for anything else
      (
        "kz_any_rank", 1,
        { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.anyRank) }
      ),
    ]
  }

  private static func operand(_ call: FunctionCall) throws(KizunaError) -> AnyOperand? {
    guard let text = call.text(1) else { return nil }
    return try call.cached(1) { () throws(KizunaError) in try AnyOperand(json: text) }
  }

  private static func anyEquals(_ call: FunctionCall) throws(KizunaError) {
    if let operand = try operand(call) { call.answer(call.cell(0).equals(operand)) }
  }

  private static func anyCompare(_ call: FunctionCall) throws(KizunaError) {
    if let operand = try operand(call) { call.answer(call.cell(0).compare(operand)) }
  }

  private static func anyIn(_ call: FunctionCall) throws(KizunaError) {
    if let operand = try operand(call) { call.answer(try call.cell(0).isMember(of: operand)) }
  }

  private static func anyContains(_ call: FunctionCall) throws(KizunaError) {
    if let operand = try operand(call) { call.answer(call.cell(0).contains(operand)) }
  }

  private static func anyContained(_ call: FunctionCall) throws(KizunaError) {
    if let operand = try operand(call) { call.answer(call.cell(0).isContained(in: operand)) }
  }

  private static func anyOverlaps(_ call: FunctionCall) throws(KizunaError) {
    if let operand = try operand(call) { call.answer(try call.cell(0).overlaps(operand)) }
  }

  private static func anyText(_ call: FunctionCall) throws(KizunaError) {
    call.cell(0).withText { call.answer(text: $0) }
  }

  private static func anyJSON(_ call: FunctionCall) throws(KizunaError) {
    let cell = call.cell(0)
    switch cell.raw {
    case .null: return
    case .blob(let bytes) where JSONScanner.whole(bytes) != nil: call.answer(text: bytes)
    case .text(let bytes):
      var buffer = ByteBuffer(capacity: bytes.count + 16)
      buffer.appendJSON(string: bytes)
      call.answer(text: buffer.bytes)
    default: call.answer(text: cell.value.jsonText)
    }
  }

  private static func anyRank(_ call: FunctionCall) throws(KizunaError) {
    let cell = call.cell(0)
    if !cell.isNull { call.answer(cell.number == nil ? 1 : 0) }
  }
}
