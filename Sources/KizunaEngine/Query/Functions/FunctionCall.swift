import CSQLite

/// One call of an SQL function. SQLite makes it on the thread that steps the statement; what it lends is good
/// until the callback returns.
struct FunctionCall {
  typealias Callback = @convention(c) (OpaquePointer?, Int32, UnsafeMutablePointer<OpaquePointer?>?) -> Void

  let context: OpaquePointer
  let arguments: UnsafeMutablePointer<OpaquePointer?>

  /// Runs the body with the call; an error it throws becomes the statement's.
  static func run(
    _ context: OpaquePointer?, _ arguments: UnsafeMutablePointer<OpaquePointer?>?,
    _ body: (FunctionCall) throws(KizunaError) -> Void
  ) {
    guard let context, let arguments else { return }
    do throws(KizunaError) {
      try body(FunctionCall(context: context, arguments: arguments))
    } catch {
      sqlite3_result_error(context, error.message, -1)
    }
  }

  func isNull(_ index: Int) -> Bool { sqlite3_value_type(arguments[index]) == SQLITE_NULL }
  func flag(_ index: Int) -> Bool { sqlite3_value_int(arguments[index]) != 0 }

  /// The argument as UTF-8; nil for NULL. A number is printed, a blob read as text.
  func text(_ index: Int) -> UnsafeBufferPointer<UInt8>? {
    guard let start = sqlite3_value_text(arguments[index]) else { return nil }
    return UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(arguments[index])))
  }

  func cell(_ index: Int) -> AnyCell {
    let value = arguments[index]
    switch sqlite3_value_type(value) {
    case SQLITE_INTEGER: return AnyCell(.integer(sqlite3_value_int64(value)))
    case SQLITE_FLOAT: return AnyCell(.real(sqlite3_value_double(value)))
    case SQLITE_TEXT: return AnyCell(.text(text(index) ?? UnsafeBufferPointer(start: nil, count: 0)))
    case SQLITE_BLOB:
      let count = Int(sqlite3_value_bytes(value))
      let start = sqlite3_value_blob(value)?.assumingMemoryBound(to: UInt8.self)
      return AnyCell(.blob(UnsafeBufferPointer(start: start, count: start == nil ? 0 : count)))
    default: return AnyCell(.null)
    }
  }

  /// What was made of an argument that stays the same from row to row: SQLite keeps it for the statement's run
  /// and releases it. `fits` tells whether a kept one serves this call too.
  func cached<Value: AnyObject>(
    _ index: Int32, fits: (Value) -> Bool = { _ in true }, make: () throws(KizunaError) -> Value
  ) throws(KizunaError) -> Value {
    if let kept = sqlite3_get_auxdata(context, index) {
      let value = Unmanaged<Value>.fromOpaque(kept).takeUnretainedValue()
      if fits(value) { return value }
    }
    let value = try make()
    sqlite3_set_auxdata(context, index, Unmanaged.passRetained(value).toOpaque()) { kept in
      if let kept { Unmanaged<AnyObject>.fromOpaque(kept).release() }
    }
    return value
  }

  func answer(_ value: Bool?) {
    if let value { sqlite3_result_int(context, value ? 1 : 0) } else { sqlite3_result_null(context) }
  }

  func answer(_ value: Int?) {
    if let value { sqlite3_result_int64(context, Int64(value)) } else { sqlite3_result_null(context) }
  }

  func answer(text bytes: UnsafeBufferPointer<UInt8>?) {
    guard let bytes else { return sqlite3_result_null(context) }
    guard let start = bytes.baseAddress else { return csqlite_result_text_copy(context, "", 0) }
    start.withMemoryRebound(to: CChar.self, capacity: bytes.count) {
      csqlite_result_text_copy(context, $0, Int32(bytes.count))
    }
  }

  func answer(text: String) {
    var text = text
    text.withUTF8 { answer(text: $0) }
  }
}
