/// Turns a filter tree into SQL in three-valued logic, with its operands as parameters.
///
/// SQLite bounds the depth of an expression to 1,000, where a chain of ANDs is as deep as it is long, and its
/// parser's stack to 100, of which each pair of parentheses takes three. So negations are pushed down to the tests,
/// chains of one word are joined, and long ones are cut into pieces within pieces.
struct FilterCompiler {
  let relation: TableSchema
  var zone: Zone = .utc
  /// The Swift API matches patterns against the text of any scalar; over HTTP only text has `LIKE`.
  var matchesAnyText = false
  var text = SQLText()
  private var nesting = 0

  /// Parentheses around a test: what SQLite's parser has room for beside the statement around it.
  private static let nestingLimit = 20
  /// Members of one pair of parentheses: with `nestingLimit` it bounds the depth of the expression.
  private static let chainLimit = 32

  init(_ relation: TableSchema, zone: Zone = .utc, matchesAnyText: Bool = false) {
    self.relation = relation
    self.zone = zone
    self.matchesAnyText = matchesAnyText
  }

  mutating func compile(_ filter: Filter) throws(KizunaError) { try compile(filter, isNegated: false) }

  /// Under a negation `and` and `or` change places, which three-valued logic allows as two-valued does.
  private mutating func compile(_ filter: Filter, isNegated: Bool) throws(KizunaError) {
    switch filter {
    case .and, .or:
      let (parts, isAnd) = Self.members(of: filter, isNegated: isNegated)
      try chain(parts[...], isAnd ? " AND " : " OR ", empty: isAnd ? "1" : "0") {
        compiler, part throws(KizunaError) in
        try compiler.compile(part.filter, isNegated: part.isNegated)
      }
    case .not(let part): try compile(part, isNegated: !isNegated)
    case .test(let path, let test):
      text.append(isNegated ? "NOT (" : "(")
      try compile(test, on: try ColumnExpression(path, in: relation))
      text.append(")")
    case .search(let query, let columns):
      if isNegated { text.append("NOT ") }
      try compileSearch(query, columns)
    case .unknown: text.append("NULL")
    }
  }

  private struct Member {
    var filter: Filter
    var isNegated: Bool
  }

  /// The members of a conjunction or disjunction, those of a like one inside it being its own.
  private static func members(of filter: Filter, isNegated: Bool) -> (parts: [Member], isAnd: Bool) {
    var isAnd = false
    if case .and = filter { isAnd = true }
    isAnd = isAnd != isNegated
    var parts: [Member] = []
    var rest = [Member(filter: filter, isNegated: isNegated)]
    while let member = rest.popLast() {
      switch (member.filter, isAnd != member.isNegated) {
      case (.and(let inner), true), (.or(let inner), false):
        rest.append(contentsOf: inner.reversed().map { Member(filter: $0, isNegated: member.isNegated) })
      case (.not(let inner), _): rest.append(Member(filter: inner, isNegated: !member.isNegated))
      default: parts.append(member)
      }
    }
    return (parts, isAnd)
  }

  private mutating func chain<Part>(
    _ parts: ArraySlice<Part>, _ word: String, empty: String,
    _ write: (inout FilterCompiler, Part) throws(KizunaError) -> Void
  ) throws(KizunaError) {
    guard parts.count > 1 else {
      guard let only = parts.first else { return text.append(empty) }
      return try write(&self, only)
    }
    nesting += 1
    defer { nesting -= 1 }
    guard nesting <= Self.nestingLimit else {
      throw KizunaError(
        "LOCAL_UNSUPPORTED", sqlstate: "PGRST100",
        "the filter nests and/or more than \(Self.nestingLimit) deep",
        hint: "Write the conditions side by side.")
    }
    let size = parts.count <= Self.chainLimit ? 1 : (parts.count + Self.chainLimit - 1) / Self.chainLimit
    text.append("(")
    for start in stride(from: parts.startIndex, to: parts.endIndex, by: size) {
      if start > parts.startIndex { text.append(word) }
      try chain(parts[start..<min(start + size, parts.endIndex)], word, empty: empty, write)
    }
    text.append(")")
  }

  private mutating func compile(_ test: Test, on column: ColumnExpression) throws(KizunaError) {
    switch test {
    case .compare(let comparison, let operand): try compare(comparison, operand, column)
    case .compareEach(let comparison, let literal, let all):
      let tests = try elements(literal).map { element in
        element.map { Test.compare(comparison, .literal($0)) }
      }
      try each(tests, all: all, column)
    case .pattern(let pattern, let operand): try match(pattern, operand, column)
    case .patternEach(let pattern, let literal, let all):
      let tests = try elements(literal).map { element in element.map { Test.pattern(pattern, $0) } }
      try each(tests, all: all, column)
    case .structure(let structure, let operand): try compileStructure(structure, operand, column)
    case .range(let name):
      throw OperatorRules.missing(OperatorRules.rangeSymbol(name), for: column.type)
    case .isDistinct(let operand):
      guard OperatorRules.hasOrder(column.type) else { throw OperatorRules.missing("=", for: column.type) }
      text.append("\(column.collated) IS NOT ")
      try bind(operand, column)
    case .inList(let operands): try compileList(operands, column)
    case .truth(let truth): try compileTruth(truth, column)
    case .textSearch(let kind, let query):
      text.append("kz_textsearch(\(textual(column)), ")
      text.bind(.text(query))
      text.append(", '\(kind.rawValue)')")
    }
  }

  // MARK: Comparisons

  private mutating func compare(
    _ comparison: Comparison, _ operand: Operand, _ column: ColumnExpression
  ) throws(KizunaError) {
    let symbol = OperatorRules.symbol(comparison)
    guard OperatorRules.hasOrder(column.type) else { throw OperatorRules.missing(symbol, for: column.type) }
    let isEquality = comparison == .eq || comparison == .neq
    if case .enumeration(let labels) = column.type, !isEquality {
      text.append("\(OperatorRules.rank(column.sql, labels)) \(symbol) ")
      switch operand {
      case .literal(let literal):
        text.bind(
          try LiteralReader.rank(of: literal, in: labels, column.type),
          reader: .rank(column.type, labels: labels))
      case .json(let value):
        let label = try column.type.stored(json: value, zone: zone)
        guard case .text(let name) = label else { return text.bind(.null) }
        text.bind(try LiteralReader.rank(of: name, in: labels, column.type))
      }
      return
    }
    if case .learnt(let type) = column.type, !isEquality {
      text.append("kz_any_compare(\(column.sql), ")
      switch operand {
      case .literal(let literal):
        text.bind(.text(try LiteralReader.json(literal, type).jsonText), reader: .learntJSON(type))
      case .json(.null): text.bind(.null)
      case .json(let value): text.bind(.text(value.jsonText))
      }
      return text.append(") \(symbol) 0")
    }
    text.append("\(column.collated) \(symbol) ")
    try bind(operand, column, isEquality: isEquality)
  }

  /// Binds an operand as the column's type reads it.
  private mutating func bind(
    _ operand: Operand, _ column: ColumnExpression, isEquality: Bool = false
  ) throws(KizunaError) {
    let lowercases = isEquality && column.isKey
    switch operand {
    case .literal(let literal):
      let reader: LiteralReader
      if case .learnt(let type) = column.type {
        reader = .learnt(type, lowercasesUUID: lowercases)
      } else {
        reader = .typed(column.type, lowercasesUUID: lowercases)
      }
      text.bind(try reader.value(of: literal, zone: zone), reader: reader)
    case .json(let value): text.bind(try stored(value, column, lowercases: lowercases))
    }
  }

  private func stored(
    _ value: JSONValue, _ column: ColumnExpression, lowercases: Bool
  ) throws(KizunaError) -> SQLValue {
    if case .learnt = column.type { return LiteralReader.stored(value, lowercases: lowercases) }
    if lowercases, case .string(let text) = value {
      return try column.type.stored(literal: LiteralReader.key(text), zone: zone)
    }
    // An operand is compared, not written: JSON null is no JSON document but SQL's null.
    return value.isNull ? .null : try column.type.stored(json: value, zone: zone)
  }

  private mutating func each(
    _ tests: [Test?], all: Bool, _ column: ColumnExpression
  ) throws(KizunaError) {
    try chain(tests[...], all ? " AND " : " OR ", empty: all ? "1" : "0") {
      compiler, test throws(KizunaError) in
      guard let test else { return compiler.text.append("NULL") }
      compiler.text.append("(")
      try compiler.compile(test, on: column)
      compiler.text.append(")")
    }
  }

  private func elements(_ literal: String) throws(KizunaError) -> [String?] {
    var result: [String?] = []
    for element in try PostgresArray.parse(literal) {
      switch element {
      case .null: result.append(nil)
      case .scalar(let text): result.append(text)
      case .array:
        throw .refused(
          "22P02", "malformed array literal: \"\(literal)\"", details: "One dimension is wanted here.")
      }
    }
    return result
  }

  // MARK: Lists

  /// Up to this many values are parameters of their own; longer lists travel as one JSON array.
  private static let listLimit = 64

  private mutating func compileList(
    _ operands: [Operand], _ column: ColumnExpression
  ) throws(KizunaError) {
    guard !operands.isEmpty else { return text.append("0") }
    guard OperatorRules.hasOrder(column.type) else { throw OperatorRules.missing("=", for: column.type) }
    let isHashed: Bool
    if case .bytea = column.type { isHashed = true } else { isHashed = false }
    var values: [SQLValue] = []
    values.reserveCapacity(operands.count)
    for operand in operands {
      var one = self
      one.text = SQLText()
      try one.bind(operand, column, isEquality: true)
      values.append(one.text.parameters[0].value)
    }
    if values.count <= Self.listLimit {
      text.append("\(column.collated) IN (")
      for (index, value) in values.enumerated() {
        if index > 0 { text.append(",") }
        text.bind(value)
      }
      return text.append(")")
    }
    text.append(isHashed ? "hex(\(column.sql))" : column.collated)
    text.append(" IN (SELECT value FROM json_each(")
    text.bind(.text(Self.jsonList(values)))
    text.append("))")
  }

  private static func jsonList(_ values: [SQLValue]) -> String {
    var buffer = ByteBuffer(capacity: values.count * 16)
    for (index, value) in values.enumerated() {
      buffer.append(index == 0 ? UInt8(ascii: "[") : UInt8(ascii: ","))
      switch value {
      case .null: buffer.append("null")
      case .integer(let integer): buffer.append(integer: integer)
      case .real(let real) where real.isFinite: buffer.append(real.description)
      case .real(let real): buffer.append(real > 0 ? "1e999" : "-1e999")
      case .text(let text): buffer.appendJSON(string: text)
      case .blob(let bytes):
        buffer.append(UInt8(ascii: "\""))
        for byte in bytes {
          for nibble in [byte >> 4, byte & 15] {
            let digit = ByteBuffer.hex(nibble)
            buffer.append(digit >= UInt8(ascii: "a") ? digit - 32 : digit)
          }
        }
        buffer.append(UInt8(ascii: "\""))
      }
    }
    buffer.append(UInt8(ascii: "]"))
    return buffer.string
  }

  // MARK: Patterns

  private mutating func match(
    _ pattern: Pattern, _ operand: String, _ column: ColumnExpression
  ) throws(KizunaError) {
    let isLearnt: Bool
    if case .learnt = column.type { isLearnt = true } else { isLearnt = false }
    guard isLearnt || matchesAnyText || OperatorRules.isTextual(column.type) else {
      throw OperatorRules.missing(OperatorRules.symbol(pattern), for: column.type)
    }
    let insensitive = pattern == .ilike || pattern == .imatch || column.type == .citext
    let isRegular = pattern == .match || pattern == .imatch
    let function = (isLearnt ? "kz_any_" : "kz_") + (isRegular ? "regex" : "like")
    text.append("\(function)(\(isLearnt ? column.sql : textual(column)), ")
    let reader: LiteralReader = isRegular ? .regularExpression(caseInsensitive: insensitive) : .pattern
    text.bind(try reader.value(of: operand, zone: zone), reader: reader)
    text.append(", \(insensitive ? 1 : 0))")
  }

  /// The text of a scalar cell, null for any other.
  private func textual(_ column: ColumnExpression) -> String {
    switch column.type {
    case .learnt: "kz_any_text(\(column.sql))"
    case .json, .jsonb, .array, .bytea: "NULL"
    case .boolean: "CASE \(column.sql) WHEN 1 THEN 'true' WHEN 0 THEN 'false' END"
    case .smallint, .integer, .bigint: "CAST(\(column.sql) AS TEXT)"
    case .real, .double: "kz_any_text(\(column.sql))"
    default: column.sql
    }
  }

  private mutating func compileSearch(_ query: String, _ columns: [String]?) throws(KizunaError) {
    guard query.utf8.contains(where: { $0 > 0x20 }) else { return text.append("1") }
    var tests: [String] = []
    for column in relation.columns where columns == nil {
      if column.type == .boolean { continue }
      let expression = textual(try ColumnExpression(ColumnPath(column.name), in: relation))
      let scalar =
        column.type.isLearnt
        ? "CASE typeof(\(SQLName.quoted(column.sqlName))) WHEN 'blob' THEN NULL ELSE \(expression) END"
        : expression
      if expression != "NULL" { tests.append("coalesce(kz_search(\(scalar), ?), 0)") }
    }
    for name in columns ?? [] {
      let expression = textual(try ColumnExpression(ColumnPath(name), in: relation))
      tests.append("kz_search(\(expression), ?)")
    }
    guard !tests.isEmpty else { return text.append("0") }
    for _ in tests { text.parameters.append(Parameter(value: .text(query), reader: nil)) }
    try chain(tests[...], " OR ", empty: "0") { compiler, test in compiler.text.append(test) }
  }

  // MARK: Arrays, JSON, truth

  private mutating func compileStructure(
    _ structure: Structure, _ operand: Operand, _ column: ColumnExpression
  ) throws(KizunaError) {
    let symbol = OperatorRules.symbol(structure)
    let function: String
    switch (column.type, structure) {
    case (.learnt, .contains): function = "kz_any_contains"
    case (.learnt, .containedBy): function = "kz_any_contained"
    case (.learnt, .overlaps): function = "kz_any_overlaps"
    case (.array, .overlaps): function = "kz_array_overlaps"
    case (.array, _): function = "kz_array_contains"
    case (.jsonb, .contains), (.jsonb, .containedBy): function = "kz_jsonb_contains"
    default: throw OperatorRules.missing(symbol, for: column.type)
    }
    if case .learnt(let type) = column.type {
      text.append("\(function)(\(column.sql), ")
      switch operand {
      case .literal(let literal):
        let value: JSONValue
        if let parsed = try? JSONParser.parse(literal) {
          value = parsed
        } else {
          value = try LiteralReader.json(literal, type)
        }
        text.bind(.text(value.jsonText))
      case .json(.null): text.bind(.null)
      case .json(let value): text.bind(.text(value.jsonText))
      }
      return text.append(")")
    }
    let isSwapped = structure == .containedBy
    text.append("\(function)(")
    if !isSwapped { text.append("\(column.sql), ") }
    try bind(operand, column)
    if isSwapped { text.append(", \(column.sql)") }
    text.append(")")
  }

  private mutating func compileTruth(
    _ truth: TruthTest, _ column: ColumnExpression
  ) throws(KizunaError) {
    switch truth {
    case .null: return text.append("\(column.sql) IS NULL")
    case .notNull: return text.append("\(column.sql) IS NOT NULL")
    case .true, .false, .unknown: break
    }
    switch column.type {
    case .boolean:
      text.append(column.sql + (truth == .unknown ? " IS NULL" : truth == .true ? " IS 1" : " IS 0"))
    case .learnt:
      let blob = truth == .true ? "x'74727565'" : "x'66616c7365'"
      text.append(column.sql + (truth == .unknown ? " IS NULL" : " IS \(blob)"))
    default:
      let word = truth == .unknown ? "UNKNOWN" : truth == .true ? "TRUE" : "FALSE"
      if matchesAnyText { return text.append("0") }
      throw .refused(
        "42804", "argument of IS \(word) must be type boolean, not type \(column.type.postgresName)")
    }
  }
}

extension ColumnType {
  var isLearnt: Bool {
    if case .learnt = self { return true }
    return false
  }
}
