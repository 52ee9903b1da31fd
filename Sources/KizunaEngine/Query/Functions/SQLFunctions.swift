import CSQLite

/// The SQL functions and collations that compiled queries call, all under the prefix `kz_`. NULL in is NULL out
/// where a function does not say otherwise. All depend on their arguments only, and none is meant for a schema:
/// a file must open in any SQLite tool.
enum SQLFunctions {
  /// Registers everything on a connection; once for each.
  static func register(on db: OpaquePointer) throws(KizunaError) {
    let functions: [(name: String, arguments: Int32, body: FunctionCall.Callback)] =
      patternFunctions() + jsonFunctions() + cellFunctions()
    let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
    for function in functions {
      try check(
        sqlite3_create_function_v2(
          db, function.name, function.arguments, flags, nil, function.body, nil, nil, nil), db)
    }
    try registerCollations(on: db)
  }

  /// The order of intervals, by the length Postgres compares them by.
  static func intervalCompare(
    _ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>
  ) -> Int { IntervalText.compare(left, right) }

  static func check(_ code: Int32, _ db: OpaquePointer) throws(KizunaError) {
    if code != SQLITE_OK { throw KizunaError("STORE", String(cString: sqlite3_errmsg(db))) }
  }

  private static func patternFunctions() -> [(String, Int32, FunctionCall.Callback)] {
    [
      // kz_like(text, pattern, insensitive)
      ("kz_like", 3, { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.like) }),
      // kz_regex(text, pattern, insensitive)
      ("kz_regex", 3, { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.regex) }),
      // kz_search(cell, query): a blank query is found in null too
      (
        "kz_search", 2, { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.search) }
      ),
      // kz_textsearch(cell, query, kind): kind is plain, phrase or websearch
      (
        "kz_textsearch", 3,
        { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.textSearch) }
      ),
      // kz_any_like(cell, pattern, insensitive), kz_any_regex(cell, pattern, insensitive)
      (
        "kz_any_like", 3,
        { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.anyLike) }
      ),
      (
        "kz_any_regex", 3,
        { context, _, arguments in FunctionCall.run(context, arguments, SQLFunctions.anyRegex) }
      ),
    ]
  }

  private static func pattern(_ call: FunctionCall) throws(KizunaError) -> LikePattern? {
    guard !call.isNull(1) else { return nil }
    let insensitive = call.flag(2)
    let make = {
      LikePattern(call.text(1) ?? UnsafeBufferPointer(start: nil, count: 0), insensitive: insensitive)
    }
    return try call.cached(1, fits: { $0.insensitive == insensitive }, make: make)
  }

  private static func matcher(_ call: FunctionCall) throws(KizunaError) -> RegexMatcher? {
    guard !call.isNull(1) else { return nil }
    let insensitive = call.flag(2)
    let make = { () throws(KizunaError) in
      let pattern = call.text(1).map { String(decoding: $0, as: UTF8.self) } ?? ""
      return RegexMatcher(
        try RegularExpression(pattern, caseInsensitive: insensitive), caseInsensitive: insensitive)
    }
    return try call.cached(1, fits: { $0.caseInsensitive == insensitive }, make: make)
  }

  private static func like(_ call: FunctionCall) throws(KizunaError) {
    guard let pattern = try pattern(call), let text = call.text(0) else { return }
    call.answer(pattern.matches(text))
  }

  private static func regex(_ call: FunctionCall) throws(KizunaError) {
    guard let matcher = try matcher(call), let text = call.text(0) else { return }
    call.answer(matcher.matches(text))
  }

  private static func anyLike(_ call: FunctionCall) throws(KizunaError) {
    let cell = call.cell(0)
    guard let pattern = try pattern(call), !cell.isNull else { return }
    call.answer(cell.withText { text in text.map { pattern.matches($0) } ?? false })
  }

  private static func anyRegex(_ call: FunctionCall) throws(KizunaError) {
    let cell = call.cell(0)
    guard let matcher = try matcher(call), !cell.isNull else { return }
    call.answer(cell.withText { text in text.map { matcher.matches($0) } ?? false })
  }

  private static func search(_ call: FunctionCall) throws(KizunaError) {
    guard !call.isNull(1) else { return }
    let query = try call.cached(1) {
      TextQuery(call.text(1) ?? UnsafeBufferPointer(start: nil, count: 0), .substring)
    }
    if query.isBlank { return call.answer(true) }
    let cell = call.cell(0)
    if cell.isNull { return }
    call.answer(cell.withText { text in text.map { query.matches($0) } ?? false })
  }

  private static func textSearch(_ call: FunctionCall) throws(KizunaError) {
    guard let name = call.text(2), !call.isNull(1) else { return }
    guard let kind = TextQuery.Kind(rawValue: String(decoding: name, as: UTF8.self)), kind != .substring
    else {
      throw KizunaError("LOCAL_UNSUPPORTED", "unknown kind of text search")
    }
    let make = { TextQuery(call.text(1) ?? UnsafeBufferPointer(start: nil, count: 0), kind) }
    let query = try call.cached(1, fits: { $0.kind == kind }, make: make)
    let cell = call.cell(0)
    if cell.isNull { return }
    call.answer(cell.withText { text in text.map { query.matches($0) } ?? false })
  }
}
