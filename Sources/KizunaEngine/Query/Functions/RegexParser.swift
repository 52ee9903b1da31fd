/// Parses the advanced regular expressions of Postgres. What no linear-time matcher can do (backreferences,
/// lookaround) is refused.
struct RegexParser {
  struct Options {
    var foldsCase: Bool
    /// `.` and negated brackets pass over line feeds.
    var stopsAtNewline = false
    /// `^` and `$` hold at lines.
    var anchorsAtLines = false
    var isExpanded = false
    var isLiteral = false
  }

  /// Postgres' bound for counted repetition.
  static let maximumCount = 255
  static let maximumDepth = 250

  let pattern: [UInt32]
  var position = 0
  var options: Options
  private var depth = 0
  var groups = 0

  static func parse(_ pattern: String, caseInsensitive: Bool) throws(KizunaError) -> RegexNode {
    var parser = RegexParser(
      pattern: pattern.unicodeScalars.map(\.value), options: Options(foldsCase: caseInsensitive))
    try parser.director()
    if parser.options.isLiteral {
      let folds = parser.options.foldsCase
      return .sequence(parser.pattern[parser.position...].map { .set(.scalar($0, foldsCase: folds)) })
    }
    let node = try parser.choice()
    if !parser.atEnd { throw .badRegex("parentheses () not balanced") }
    return node
  }

  init(pattern: [UInt32], options: Options) {
    self.pattern = pattern
    self.options = options
  }

  var atEnd: Bool { position >= pattern.count }

  func see(_ text: StaticString) -> Bool {
    let length = text.utf8CodeUnitCount
    guard pattern.count - position >= length else { return false }
    for index in 0..<length where pattern[position + index] != UInt32(text.utf8Start[index]) { return false }
    return true
  }

  mutating func take(_ text: StaticString) -> Bool {
    guard see(text) else { return false }
    position += text.utf8CodeUnitCount
    return true
  }

  func digit(at index: Int) -> Int? {
    guard index < pattern.count, pattern[index] &- 0x30 < 10 else { return nil }
    return Int(pattern[index] - 0x30)
  }

  /// What may stand in front of an expression: `***=`, `***:` and the embedded options.
  private mutating func director() throws(KizunaError) {
    if take("***=") {
      options.isLiteral = true
      return
    }
    if !take("***:") && see("***") { throw .badRegex("quantifier operand invalid") }
    guard see("(?"), position + 2 < pattern.count, (pattern[position + 2] | 0x20) &- 0x61 < 26 else { return }
    position += 2
    while !atEnd, let letter = Unicode.Scalar(pattern[position]), letter != ")" {
      try option(letter)
      position += 1
    }
    if !take(")") { throw .badRegex("invalid embedded option") }
  }

  private mutating func option(_ letter: Unicode.Scalar) throws(KizunaError) {
    switch letter {
    case "i": options.foldsCase = true
    case "c": options.foldsCase = false
    case "n", "m": (options.stopsAtNewline, options.anchorsAtLines) = (true, true)
    case "p": (options.stopsAtNewline, options.anchorsAtLines) = (true, false)
    case "w": (options.stopsAtNewline, options.anchorsAtLines) = (false, true)
    case "s": (options.stopsAtNewline, options.anchorsAtLines) = (false, false)
    case "x": options.isExpanded = true
    case "t": options.isExpanded = false
    case "q": options.isLiteral = true
    case "b", "e": throw .badRegex("basic and extended expressions are not supported, only advanced ones")
    default: throw .badRegex("invalid embedded option")
    }
  }

  /// Comments, and in expanded form white space.
  private mutating func skip() {
    while !atEnd {
      if take("(?#") {
        while !atEnd && !see(")") { position += 1 }
        position += 1
      } else if options.isExpanded, UTF8Text.isSpace(pattern[position]) {
        position += 1
      } else if options.isExpanded, see("#") {
        while !atEnd && !see("\n") { position += 1 }
      } else {
        return
      }
    }
  }

  private mutating func choice() throws(KizunaError) -> RegexNode {
    depth += 1
    defer { depth -= 1 }
    if depth > Self.maximumDepth { throw .badRegex("regular expression is too complex") }
    var branches = [try branch()]
    while take("|") { branches.append(try branch()) }
    return branches.count == 1 ? branches[0] : .choice(branches)
  }

  private mutating func branch() throws(KizunaError) -> RegexNode {
    var nodes: [RegexNode] = []
    skip()
    while !atEnd && !see("|") && !see(")") {
      nodes.append(try quantified())
      skip()
    }
    return nodes.count == 1 ? nodes[0] : nodes.isEmpty ? .empty : .sequence(nodes)
  }

  private mutating func quantified() throws(KizunaError) -> RegexNode {
    let node = try atom()
    if case .assertion = node { return node }
    skip()
    guard let (least, most) = try quantifier() else { return node }
    return .repetition(node, least: least, most: most)
  }

  private mutating func atom() throws(KizunaError) -> RegexNode {
    let scalar = pattern[position]
    guard let character = Unicode.Scalar(scalar) else { throw .badRegex("invalid character") }
    switch character {
    case "*", "+", "?": throw .badRegex("quantifier operand invalid")
    case "{" where digit(at: position + 1) != nil: throw .badRegex("quantifier operand invalid")
    case "^":
      position += 1
      return .assertion(options.anchorsAtLines ? .lineStart : .textStart)
    case "$":
      position += 1
      return .assertion(options.anchorsAtLines ? .lineEnd : .textEnd)
    case "(": return try group()
    case "[": return try bracket()
    case "\\": return try escapedAtom()
    case ".":
      position += 1
      return .set(ScalarSet(isNegated: true, excludesNewline: options.stopsAtNewline))
    default:
      position += 1
      return .set(.scalar(scalar, foldsCase: options.foldsCase))
    }
  }

  private mutating func group() throws(KizunaError) -> RegexNode {
    position += 1
    var captures = true
    if take("?") {
      captures = false
      if see("=") || see("!") || see("<=") || see("<!") { throw .badRegex("lookaround is not supported") }
      if !take(":") { throw .badRegex("quantifier operand invalid") }
    }
    let node = try choice()
    if !take(")") { throw .badRegex("parentheses () not balanced") }
    if captures { groups += 1 }
    // A group of one assertion may be repeated, unlike the assertion itself.
    return .sequence([node])
  }

  private mutating func quantifier() throws(KizunaError) -> (Int, Int?)? {
    let result: (Int, Int?)
    if take("*") {
      result = (0, nil)
    } else if take("+") {
      result = (1, nil)
    } else if take("?") {
      result = (0, 1)
    } else if see("{"), digit(at: position + 1) != nil {
      position += 1
      result = try bounds()
    } else {
      return nil
    }
    // Which of several matches is preferred makes no difference to whether there is one.
    _ = take("?")
    return result
  }

  private mutating func bounds() throws(KizunaError) -> (Int, Int?) {
    let least = try count()
    var most: Int? = least
    if take(",") { most = digit(at: position) == nil ? nil : try count() }
    if atEnd { throw .badRegex("braces {} not balanced") }
    if !take("}") { throw .badRegex("invalid repetition count(s)") }
    if let most, most < least { throw .badRegex("invalid repetition count(s)") }
    return (least, most)
  }

  private mutating func count() throws(KizunaError) -> Int {
    var value = 0
    while let digit = digit(at: position) {
      value = value * 10 + digit
      position += 1
      if value > Self.maximumCount { throw .badRegex("invalid repetition count(s)") }
    }
    return value
  }
}
