/// Operations of filters, and logic trees.
extension Scanner {
  private static let operators = "operator (eq, gt, ...)"

  /// `[not.]operation`. Inside a tree a value ends at `,` or `)` and may be quoted; outside it is the rest.
  mutating func condition(on field: Field, inTree: Bool) throws(ParseFailure) -> FilterNode {
    var negated = false
    if follows("not") {
      at += 3
      try expect(ASCII.dot, "delimiter (.)")
      negated = true
    }
    return .condition(field, negated: negated, try operation(negated: negated, inTree: inTree))
  }

  private mutating func operation(negated: Bool, inTree: Bool) throws(ParseFailure) -> Operation {
    let start = at
    while let byte = byte(), ASCII.isLetter(byte) { at += 1 }
    let word = at - start <= 10 ? text(start, at) : ""
    switch word {
    case "in":
      try expect(ASCII.dot, Self.operators)
      return .inList(try list())
    case "is":
      try expect(ASCII.dot, Self.operators)
      return .isTest(try isValue())
    case "isdistinct":
      return .isDistinct(try dotted(inTree))
    default: break
    }
    if let comparison = ComparisonOperator(rawValue: word) {
      let quantifier = comparison == .neq ? nil : try quantifier()
      return .compare(comparison, try dotted(inTree), quantifier)
    }
    if let pattern = PatternOperator(rawValue: word) {
      let quantifier = try quantifier()
      return .pattern(pattern, try dotted(inTree), quantifier)
    }
    if let structure = StructureOperator(rawValue: word) { return .structure(structure, try dotted(inTree)) }
    if let search = SearchOperator(rawValue: word) {
      let dictionary = try dictionary()
      return .search(search, dictionary: dictionary, try dotted(inTree))
    }
    at = start + knownPrefix(start)
    throw failure(at == start && !negated ? "\"not\" or \(Self.operators)" : Self.operators)
  }

  /// The length of the longest operator that the text at `start` begins with.
  private func knownPrefix(_ start: Int) -> Int {
    let words: [StaticString] = [
      "eq", "neq", "gt", "gte", "lt", "lte", "like", "ilike", "match", "imatch", "in", "is", "isdistinct",
      "cs",
      "cd", "ov", "sl", "sr", "nxr", "nxl", "adj", "fts", "plfts", "phfts", "wfts",
    ]
    var longest = 0
    for word in words where word.utf8CodeUnitCount > longest && follows(word, at: start) {
      longest = word.utf8CodeUnitCount
    }
    return longest
  }

  private mutating func dotted(_ inTree: Bool) throws(ParseFailure) -> String {
    try expect(ASCII.dot, Self.operators)
    if inTree { return treeValue() }
    defer { at = bytes.count }
    return text(at, bytes.count)
  }

  private mutating func quantifier() throws(ParseFailure) -> Quantifier? {
    if take("(any)") { return .any }
    if take("(all)") { return .all }
    if take(ASCII.open) { throw failure("\"any\" or \"all\"") }
    return nil
  }

  private mutating func dictionary() throws(ParseFailure) -> String? {
    guard take(ASCII.open) else { return nil }
    guard let dictionary = identifier() else { throw failure("letter or digit") }
    try expect(ASCII.close, "letter, digit or \")\"")
    return dictionary
  }

  private mutating func isValue() throws(ParseFailure) -> IsValue {
    let words: [(StaticString, IsValue)] = [
      ("not_null", .notNull), ("null", .null), ("true", .true), ("false", .false), ("unknown", .unknown),
    ]
    for (word, value) in words where followsIgnoringCase(word) {
      at += word.utf8CodeUnitCount
      return value
    }
    throw failure("isVal: (null, not_null, true, false, unknown)")
  }

  private func followsIgnoringCase(_ word: StaticString) -> Bool {
    guard at + word.utf8CodeUnitCount <= bytes.count else { return false }
    for index in 0..<word.utf8CodeUnitCount
    where ASCII.lowercased(bytes[at + index]) != word.utf8Start[index] { return false }
    return true
  }

  /// The parenthesised elements of `in`. A lone empty element is the empty list.
  private mutating func list() throws(ParseFailure) -> [String] {
    skipBlanks()
    try expect(ASCII.open, "\"(\"")
    skipBlanks()
    var elements: [String] = []
    repeat { elements.append(quotedElement() ?? plainElement()) } while take(ASCII.comma)
    try expect(ASCII.close, "\",\" or \")\"")
    skipBlanks()
    return elements.count == 1 && elements[0].isEmpty ? [] : elements
  }

  /// A quoted value counts as one only if `,`, `)` or nothing stands behind it.
  private mutating func quotedElement() -> String? {
    let start = at
    guard let element = quoted() else { return nil }
    if atEnd || next(is: ASCII.comma) || next(is: ASCII.close) { return element }
    at = start
    return nil
  }

  private mutating func plainElement() -> String {
    let start = at
    while let byte = byte(), byte != ASCII.comma, byte != ASCII.close { at += 1 }
    return text(start, at)
  }

  private mutating func treeValue() -> String {
    if let value = quotedElement() { return value }
    if next(is: ASCII.openBrace) {
      var end = at + 1
      while end < bytes.count, bytes[end] != ASCII.openBrace, bytes[end] != ASCII.closeBrace { end += 1 }
      if end < bytes.count, bytes[end] == ASCII.closeBrace {
        defer { at = end + 1 }
        return text(at, end + 1)
      }
    }
    return plainElement()
  }
}

extension Scanner {
  /// `[not.]and(…)`, `[not.]or(…)`; the cursor stands before the word.
  mutating func logicTree() throws(ParseFailure) -> FilterNode {
    guard let head = logicHead(needsParenthesis: false) else { throw failure("logic operator (and, or)") }
    return try logicGroup(head, depth: 1)
  }

  private typealias LogicHead = (isOr: Bool, negated: Bool)

  /// Without a parenthesis behind it `and` is the name of a column.
  private mutating func logicHead(needsParenthesis: Bool) -> LogicHead? {
    let start = at
    let negated = take("not.")
    let isOr = take("or")
    if isOr || take("and") {
      let end = at
      skipBlanks()
      let opens = next(is: ASCII.open)
      at = end
      if opens || !needsParenthesis { return (isOr, negated) }
    }
    at = start
    return nil
  }

  private mutating func logicGroup(_ head: LogicHead, depth: Int) throws(ParseFailure) -> FilterNode {
    guard depth <= Self.maxDepth else {
      throw ParseFailure(
        at: at, expecting: "", note: "logic operators may be nested at most \(Self.maxDepth) deep")
    }
    skipBlanks()
    try expect(ASCII.open, "\"(\"")
    var nodes: [FilterNode] = []
    repeat {
      nodes.append(try logicNode(depth: depth))
      skipBlanks()
    } while take(ASCII.comma)
    try expect(ASCII.close, "\",\" or \")\"")
    return head.isOr ? .or(nodes, negated: head.negated) : .and(nodes, negated: head.negated)
  }

  private mutating func logicNode(depth: Int) throws(ParseFailure) -> FilterNode {
    skipBlanks()
    if let head = logicHead(needsParenthesis: true) { return try logicGroup(head, depth: depth + 1) }
    let start = at
    let field: Field
    do {
      field = try self.field()
    } catch {
      guard error.at == start else { throw error }
      throw failure("\(Self.fieldName), negation operator (not) or logic operator (and, or)")
    }
    try expect(ASCII.dot, "\"->\" or delimiter (.)")
    return try condition(on: field, inTree: true)
  }
}
