/// Reads types and the pieces of a column declaration.
struct DeclarationParser {
  var scanner: LiteralScanner

  init(_ text: String) { scanner = LiteralScanner(text) }

  static func invalid(_ message: String) -> KizunaError { KizunaError("CONFIG_INVALID", message) }

  /// What stands at the cursor, for messages.
  var rest: String {
    let tail = scanner.bytes[min(scanner.index, scanner.bytes.count)...].prefix(40)
    return tail.isEmpty ? "the end" : "\"\(LiteralScanner.string(tail))\""
  }

  mutating func end() throws(KizunaError) {
    scanner.skipSpace()
    if !scanner.isAtEnd { throw Self.invalid("unexpected \(rest)") }
  }

  mutating func take(_ byte: UInt8) -> Bool {
    scanner.skipSpace()
    return scanner.take(byte)
  }

  mutating func expect(_ byte: UInt8) throws(KizunaError) {
    if !take(byte) { throw Self.invalid("expected '\(LiteralScanner.string([byte]))' before \(rest)") }
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    LiteralScanner.isLetter(byte) || LiteralScanner.isDigit(byte) || byte == UInt8(ascii: "_")
      || byte == UInt8(ascii: "$") || byte >= 0x80
  }

  /// The next unquoted word in lowercase, without taking it.
  func peekWord() -> String? {
    var ahead = self
    return ahead.word()
  }

  mutating func word() -> String? {
    scanner.skipSpace()
    if LiteralScanner.isDigit(scanner.current) { return nil }
    let name = scanner.run(Self.isNameByte)
    return name.isEmpty ? nil : LiteralScanner.string(LiteralScanner.lowered(name))
  }

  /// Takes the words if they come next, in this order.
  mutating func take(words: String...) -> Bool {
    let start = scanner.index
    for expected in words where word() != expected {
      scanner.index = start
      return false
    }
    return true
  }

  /// A name: a word in lowercase, or as quoted.
  mutating func name() throws(KizunaError) -> String {
    scanner.skipSpace()
    if scanner.current == UInt8(ascii: "\"") { return try quoted(UInt8(ascii: "\"")) }
    guard let word = word() else { throw Self.invalid("expected a name before \(rest)") }
    return word
  }

  /// Text between quotes, doubled ones resolved.
  mutating func quoted(_ quote: UInt8) throws(KizunaError) -> String {
    try expect(quote)
    var text: [UInt8] = []
    while !scanner.isAtEnd {
      let byte = scanner.current
      scanner.index += 1
      if byte == quote && !scanner.take(quote) { return LiteralScanner.string(text) }
      text.append(byte)
    }
    throw Self.invalid("a quote is not closed")
  }

  /// A type with modifiers and array brackets.
  mutating func type() throws(KizunaError) -> ColumnType {
    scanner.skipSpace()
    if scanner.isAtEnd { throw Self.invalid("a type is missing") }
    var isQuoted = scanner.current == UInt8(ascii: "\"")
    var name = try name()
    var schema: String?
    while scanner.take(UInt8(ascii: ".")) {
      schema = name
      isQuoted = scanner.current == UInt8(ascii: "\"")
      name = try self.name()
    }
    var type = isQuoted ? try opaque(schema, name) : try named(name, schema)
    if try takesBrackets() { type = .array(type) }
    return type
  }

  private mutating func takesBrackets() throws(KizunaError) -> Bool {
    var isArray = take(words: "array")
    while take(UInt8(ascii: "[")) {
      scanner.skipSpace()
      _ = scanner.digits()
      try expect(UInt8(ascii: "]"))
      isArray = true
    }
    return isArray
  }

  private mutating func named(_ name: String, _ schema: String?) throws(KizunaError) -> ColumnType {
    if name == "enum", schema == nil, take(UInt8(ascii: "(")) { return .enumeration(try labels()) }
    if let type = try known(name) { return type }
    if name.utf8.first == UInt8(ascii: "_"), name.utf8.count > 1 {
      var element = DeclarationParser(String(name.dropFirst()))
      if let type = try element.known(String(name.dropFirst())) { return .array(type) }
    }
    return try opaque(schema, name)
  }

  private mutating func opaque(_ schema: String?, _ name: String) throws(KizunaError) -> ColumnType {
    if name.isEmpty { throw Self.invalid("a type name is empty") }
    let modifiers = try modifiers()
    let full = schema.map { "\($0).\(name)" } ?? name
    return .opaque(modifiers.isEmpty ? full : "\(full)(\(modifiers.joined(separator: ",")))")
  }

  private mutating func labels() throws(KizunaError) -> [String] {
    var labels: [String] = []
    repeat {
      scanner.skipSpace()
      guard scanner.current == UInt8(ascii: "'") else {
        throw Self.invalid("an enum label is a quoted 'text'")
      }
      let label = try quoted(UInt8(ascii: "'"))
      if labels.contains(where: { $0.sameBytes(as: label) }) {
        throw Self.invalid("the enum label '\(label)' occurs twice")
      }
      labels.append(label)
    } while take(UInt8(ascii: ","))
    try expect(UInt8(ascii: ")"))
    return labels
  }

  /// What stands between parentheses, split at commas.
  private mutating func modifiers() throws(KizunaError) -> [String] {
    guard take(UInt8(ascii: "(")) else { return [] }
    var result: [String] = []
    repeat {
      scanner.skipSpace()
      let item = scanner.run { $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: ")") }
      let text = LiteralScanner.string(LiteralScanner.trimmed(LiteralScanner.string(item)))
      if text.isEmpty { throw Self.invalid("a type modifier is empty") }
      result.append(text)
    } while take(UInt8(ascii: ","))
    try expect(UInt8(ascii: ")"))
    return result
  }

  /// One number between parentheses; nil without them.
  private mutating func length(_ range: ClosedRange<Int>, of type: String) throws(KizunaError) -> Int? {
    let given = try modifiers()
    if given.isEmpty { return nil }
    guard given.count == 1, let value = Int(given[0]), range.contains(value) else {
      throw Self.invalid("\(type) takes one number between \(range.lowerBound) and \(range.upperBound)")
    }
    return value
  }

  private mutating func known(_ name: String) throws(KizunaError) -> ColumnType? {
    switch name {
    case "uuid": return .uuid
    case "text": return .text
    case "citext": return .citext
    case "smallint", "int2": return .smallint
    case "integer", "int", "int4": return .integer
    case "bigint", "int8": return .bigint
    case "real", "float4": return .real
    case "float8": return .double
    case "double" where take(words: "precision"): return .double
    case "float":
      return try length(1...53, of: "float").map { $0 <= 24 ? .real : .double } ?? .double
    case "numeric", "decimal", "dec": return try numeric()
    case "boolean", "bool": return .boolean
    case "json": return .json
    case "jsonb": return .jsonb
    case "date": return .date
    case "bytea": return .bytea
    case "inet": return .inet
    case "cidr": return .cidr
    case "bpchar":
      return try length(1...10_485_760, of: name).map { .char($0) } ?? .varchar(nil)
    case "varchar": return .varchar(try length(1...10_485_760, of: name))
    case "character", "char", "nchar": return try character()
    case "national" where take(words: "character") || take(words: "char"): return try character()
    case "time", "timestamp":
      _ = try length(0...6, of: name)
      return zoned(name == "time")
    case "timetz", "timestamptz":
      _ = try length(0...6, of: name)
      return name == "timetz" ? .timetz : .timestamptz
    case "interval": return try interval()
    default: return nil
    }
  }

  private mutating func character() throws(KizunaError) -> ColumnType {
    if take(words: "varying") { return .varchar(try length(1...10_485_760, of: "character varying")) }
    return .char(try length(1...10_485_760, of: "character") ?? 1)
  }

  private mutating func zoned(_ isTime: Bool) -> ColumnType {
    if take(words: "with", "time", "zone") { return isTime ? .timetz : .timestamptz }
    _ = take(words: "without", "time", "zone")
    return isTime ? .time : .timestamp
  }

  private mutating func interval() throws(KizunaError) -> ColumnType {
    let fields = ["year", "month", "day", "hour", "minute", "second"]
    if let first = peekWord(), fields.contains(first) {
      _ = word()
      if take(words: "to") { _ = word() }
    }
    _ = try length(0...6, of: "interval")
    return .interval
  }

  private mutating func numeric() throws(KizunaError) -> ColumnType {
    let given = try modifiers()
    if given.isEmpty { return .numeric(precision: nil, scale: nil) }
    guard given.count <= 2, let precision = Int(given[0]), (1...1000).contains(precision) else {
      throw Self.invalid("numeric takes a precision between 1 and 1000, and perhaps a scale")
    }
    guard let scale = given.count == 2 ? Int(given[1]) : 0, (-1000...1000).contains(scale) else {
      throw Self.invalid("the scale of numeric is a number between -1000 and 1000")
    }
    return .numeric(precision: precision, scale: scale)
  }
}
