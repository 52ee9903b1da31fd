import KizunaEngine

/// Reads the textual clause of `filter(_:operator:value:)`: an operator, perhaps behind `not.`, and a value in
/// PostgREST's manner.
enum ClauseGrammar {
  /// The filter node of a clause; `LOCAL_UNSUPPORTED` if it has no meaning.
  static func node(
    _ column: String, operator given: String, value: String
  ) throws(KizunaSyncError) -> JSONValue {
    let isNegated = given.hasPrefix("not.")
    let name = isNegated ? String(given.dropFirst(4)) : given
    var members = [JSONMember("kind", .string(name)), JSONMember("column", .string(column))]
    switch name {
    case "eq", "neq", "gt", "gte", "lt", "lte", "is":
      members.append(JSONMember("value", try token(value).json))
    case "like", "ilike":
      members.append(JSONMember("pattern", .string(try token(value).pattern)))
    case "in":
      members.append(JSONMember("values", .array(try list(value).map(\.json))))
    default:
      throw .unsupported("filter has no operator \(given)")
    }
    let node = JSONValue.object(members)
    guard isNegated else { return node }
    return .object([JSONMember("kind", .string("not")), JSONMember("filter", node)])
  }

  /// A value's bytes, each with whether it stood in double quotes.
  private struct Token {
    var bytes: [UInt8] = []
    var isQuoted: [Bool] = []
    /// Quotes were met, even empty ones: the token is text.
    var hasQuotes = false

    mutating func append(_ byte: UInt8, quoted: Bool) {
      bytes.append(byte)
      isQuoted.append(quoted)
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    var json: JSONValue {
      let text = text
      if hasQuotes { return .string(text) }
      switch text {
      case "null": return .null
      case "true": return .bool(true)
      case "false": return .bool(false)
      default: return ClauseGrammar.isNumber(text) ? .number(text) : .string(text)
      }
    }

    /// A bare `*` is any run; one in quotes is itself, which the pattern spells with a backslash.
    var pattern: String {
      var result: [UInt8] = []
      for (byte, quoted) in zip(bytes, isQuoted) {
        switch (byte, quoted) {
        case (UInt8(ascii: "*"), false): result.append(UInt8(ascii: "%"))
        case (UInt8(ascii: "*"), true): result += [UInt8(ascii: "\\"), byte]
        default: result.append(byte)
        }
      }
      return String(decoding: result, as: UTF8.self)
    }
  }

  /// Whether the text is what the number it names would print as: `007`, `1.50` and what no integer holds stay text.
  private static func isNumber(_ text: String) -> Bool {
    if let integer = Int64(text) { return String(integer) == text }
    guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == 0x2D || $0 == 0x2E }),
      let double = Double(text), double.isFinite, double.rounded() != double
    else { return false }
    return double.description == text
  }

  private static func token(_ text: String) throws(KizunaSyncError) -> Token {
    var rest = text.utf8[...]
    return try token(&rest, endsAt: nil, of: text)
  }

  /// Reads up to the end, or, inside a list, to the comma or the closing parenthesis.
  private static func token(
    _ rest: inout Substring.UTF8View, endsAt isEnd: ((UInt8) -> Bool)?, of text: String
  ) throws(KizunaSyncError) -> Token {
    var token = Token()
    var depth = 0
    while let byte = rest.first {
      if depth == 0, isEnd?(byte) == true { break }
      rest = rest.dropFirst()
      switch byte {
      case UInt8(ascii: "\""):
        token.hasQuotes = true
        try quoted(&rest, into: &token, of: text)
        continue
      case UInt8(ascii: "(") where isEnd != nil: depth += 1
      case UInt8(ascii: ")") where isEnd != nil: depth -= 1
      default: break
      }
      token.append(byte, quoted: false)
    }
    return token
  }

  private static func quoted(
    _ rest: inout Substring.UTF8View, into token: inout Token, of text: String
  ) throws(KizunaSyncError) {
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\"") { return }
      if byte == UInt8(ascii: "\\"), let next = rest.first,
        next == UInt8(ascii: "\"") || next == UInt8(ascii: "\\")
      {
        rest = rest.dropFirst()
        token.append(next, quoted: true)
      } else {
        token.append(byte, quoted: true)
      }
    }
    throw .unsupported("a quote is not closed in \(text)")
  }

  /// `(a,b,c)`; `()` is empty.
  private static func list(_ text: String) throws(KizunaSyncError) -> [Token] {
    let open = UInt8(ascii: "(")
    let close = UInt8(ascii: ")")
    let comma = UInt8(ascii: ",")
    var rest = text.utf8[...]
    guard rest.popFirst() == open else { throw .unsupported("in takes (a,b,c), not \(text)") }
    if rest.elementsEqual([close]) { return [] }
    var tokens: [Token] = []
    while true {
      tokens.append(try token(&rest, endsAt: { $0 == comma || $0 == close }, of: text))
      switch rest.popFirst() {
      case comma: continue
      case close where rest.isEmpty: return tokens
      default: throw .unsupported("the parentheses do not match in \(text)")
      }
    }
  }
}
