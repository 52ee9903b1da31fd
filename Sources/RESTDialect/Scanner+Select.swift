/// The grammars of `select`, `order`, `columns` and `on_conflict`.
extension Scanner {
  private static let plainEnd = "\"->>\", \"->\", \"::\", \".\", \")\", \",\" or end of input"

  /// What stands behind the last item's `)` is not looked at.
  mutating func selectList() throws(ParseFailure) -> [SelectItem] {
    try selectItems(depth: 0)
  }

  /// Ends where no comma follows an item. Blank is the empty list.
  private mutating func selectItems(depth: Int) throws(ParseFailure) -> [SelectItem] {
    guard depth <= Self.maxDepth else {
      throw ParseFailure(at: at, expecting: "", note: "embeds may be nested at most \(Self.maxDepth) deep")
    }
    skipBlanks()
    if atEnd || (depth > 0 && next(is: ASCII.close)) { return [] }
    var items: [SelectItem] = []
    repeat {
      skipBlanks()
      items.append(try selectItem(depth: depth))
      skipBlanks()
    } while take(ASCII.comma)
    return items
  }

  private mutating func selectItem(depth: Int) throws(ParseFailure) -> SelectItem {
    if take("...") {
      let name = try name()
      let hints = try hints()
      return .spread(name: name, hints: hints, select: try embedded(depth: depth))
    }
    if take(ASCII.star) {
      try endOfItem("\")\", \",\" or end of input")
      return .all
    }
    let alias = try alias()
    skipBlanks()
    if take("count()") {
      let cast = try cast()
      try endOfItem("\"::\", \")\", \",\" or end of input")
      return .countAll(alias: alias, cast: cast)
    }
    let name = try name()
    if next(is: ASCII.bang) || next(is: ASCII.open) {
      let hints = try hints()
      return .embed(name: name, alias: alias, hints: hints, select: try embedded(depth: depth))
    }
    return try fieldItem(name: name, alias: alias)
  }

  private mutating func fieldItem(name: String, alias: String?) throws(ParseFailure) -> SelectItem {
    let path = try jsonPath()
    skipBlanks()
    let cast = try cast()
    let aggregate = try aggregate()
    let aggregateCast = aggregate == nil ? nil : try self.cast()
    try endOfItem(Self.plainEnd)
    return .field(
      Field(name: name, path: path), alias: alias, cast: cast, aggregate: aggregate,
      aggregateCast: aggregateCast)
  }

  /// A name right before a single colon; otherwise the cursor stays.
  private mutating func alias() throws(ParseFailure) -> String? {
    let start = at
    let name = try name()
    if next(is: ASCII.colon), byte(1) != ASCII.colon {
      at += 1
      return name
    }
    at = start
    return nil
  }

  private mutating func cast() throws(ParseFailure) -> String? {
    guard take("::") else { return nil }
    guard let type = identifier(), !type.isEmpty else { throw failure("letter or digit") }
    return type
  }

  private mutating func aggregate() throws(ParseFailure) -> Aggregate? {
    guard take(ASCII.dot) else { return nil }
    let start = at
    while let byte = byte(), ASCII.isLetter(byte) { at += 1 }
    guard at - start <= 5, let aggregate = Aggregate(rawValue: text(start, at)) else {
      at = start
      throw failure("\"sum\", \"avg\", \"count\", \"max\" or \"min\"")
    }
    guard take("()") else { throw failure("\"()\"") }
    return aggregate
  }

  private mutating func hints() throws(ParseFailure) -> [String] {
    var hints: [String] = []
    while take(ASCII.bang) { hints.append(try name()) }
    return hints
  }

  private mutating func embedded(depth: Int) throws(ParseFailure) -> [SelectItem] {
    try expect(ASCII.open, "\"!\" or \"(\"")
    let items = try selectItems(depth: depth + 1)
    try expect(ASCII.close, "\",\" or \")\"")
    return items
  }

  private mutating func endOfItem(_ expecting: String) throws(ParseFailure) {
    skipBlanks()
    guard atEnd || next(is: ASCII.comma) || next(is: ASCII.close) else {
      throw failure(expecting, single: true)
    }
  }
}

extension Scanner {
  mutating func orderTerms() throws(ParseFailure) -> [OrderTerm] {
    var terms: [OrderTerm] = []
    repeat { terms.append(try orderTerm()) } while take(ASCII.comma)
    return terms
  }

  private mutating func orderTerm() throws(ParseFailure) -> OrderTerm {
    skipBlanks()
    let name = try name()
    var term: OrderTerm
    if take(ASCII.open) {
      term = OrderTerm(field: try field(), relation: name)
      try expect(ASCII.close, "\"->>\", \"->\" or \")\"")
    } else {
      term = OrderTerm(field: Field(name: name, path: try jsonPath()))
      skipBlanks()
    }
    if take(".asc") { term.direction = .ascending } else if take(".desc") { term.direction = .descending }
    if take(".nullsfirst") { term.nulls = .first } else if take(".nullslast") { term.nulls = .last }
    guard atEnd || next(is: ASCII.comma) else { throw orderFailure(after: term) }
    return term
  }

  private mutating func orderFailure(after term: OrderTerm) -> ParseFailure {
    let nulls = "\"nullsfirst\" or \"nullslast\""
    if term.nulls != nil { return failure("\",\" or end of input", single: true) }
    if take(ASCII.dot) { return failure(term.direction == nil ? "\"asc\", \"desc\", \(nulls)" : nulls) }
    return failure("delimiter (.), \",\" or end of input", single: true)
  }

  /// The names of `columns` and `on_conflict`.
  mutating func nameList() throws(ParseFailure) -> [String] {
    var names: [String] = []
    repeat {
      skipBlanks()
      names.append(try name())
      skipBlanks()
    } while take(ASCII.comma)
    guard atEnd else { throw failure("\",\" or end of input", single: true) }
    return names
  }
}

extension SelectItem {
  /// The key of the result: the alias, else the name the dialect derives. Nil for `*` and spreads, which have
  /// no key of their own.
  package var resultKey: String? {
    switch self {
    case .all, .spread: nil
    case .countAll(let alias, _): alias ?? Aggregate.count.rawValue
    case .embed(let name, let alias, _, _): alias ?? name
    case .field(let field, let alias, _, let aggregate, _):
      alias ?? aggregate?.rawValue ?? field.resultKey
    }
  }
}

extension Field {
  /// The last key of the JSON path, else the column.
  package var resultKey: String {
    for step in path.reversed() {
      if case .key(let key) = step.operand { return key }
    }
    return name
  }
}
