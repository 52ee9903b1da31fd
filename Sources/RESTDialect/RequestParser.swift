package enum DialectMethod: Sendable, Equatable {
  case get, head, post, patch, put, delete, options

  package var writes: Bool {
    switch self {
    case .post, .patch, .put, .delete: true
    case .get, .head, .options: false
    }
  }
}

extension Request {
  /// - Parameter query: what follows the `?` of the target, undecoded.
  ///
  /// Of several faults the one of the earliest step is thrown: order, logic trees, columns, select, filters,
  /// on_conflict. `columns` must parse whatever the method, and counts for POST and PATCH.
  package init(query: UnsafeBufferPointer<UInt8>, method: DialectMethod) throws(DialectError) {
    self.init()
    var parser = RequestParser()
    try parser.collect(query)
    try parser.parse(into: &self)
    if method != .post, method != .patch { columns = nil }
  }
}

/// Sorts the pairs of a query string by what their keys ask for, then parses them step by step.
private struct RequestParser {
  struct Pair {
    var key: [UInt8]
    var value: [UInt8]
  }

  var pairs: [Pair] = []
  /// Indices into `pairs`, so that filters and trees end up in the order of the query string.
  var order: [Int] = []
  var logic: [Int] = []
  var filters: [Int] = []
  var windows: [Int] = []
  var own: [Int] = []
  var select: [UInt8]?
  var columns: [UInt8]?
  var onConflict: [UInt8]?

  mutating func collect(_ query: UnsafeBufferPointer<UInt8>) throws(DialectError) {
    try PercentDecoding.pairs(of: query) { (key, value) throws(DialectError) in
      var pair = Pair(key: [], value: [])
      let fault =
        PercentDecoding.decode(key, plusIsSpace: true, into: &pair.key)
        ?? value.flatMap { PercentDecoding.decode($0, plusIsSpace: true, into: &pair.value) }
      if let fault { throw DialectError.undecodableQuery(fault) }
      if value != nil { classify(pair) }
    }
  }

  private mutating func classify(_ pair: Pair) {
    let index = pairs.count
    pairs.append(pair)
    let key = pair.key
    if key == "select" {
      select = select ?? pair.value
    } else if key == "columns" {
      columns = columns ?? pair.value
    } else if key == "on_conflict" {
      onConflict = onConflict ?? pair.value
    } else if key == "include_deleted" || key == "include_dismissed" || key == "apikey"
      || key.starts(with: "precondition.".utf8)
    {
      own.append(index)
    } else {
      let last = key[((key.lastIndex(of: ASCII.dot) ?? -1) + 1)...]
      if last.elementsEqual("order".utf8) {
        order.append(index)
      } else if last.elementsEqual("limit".utf8) || last.elementsEqual("offset".utf8) {
        windows.append(index)
      } else if last.elementsEqual("and".utf8) || last.elementsEqual("or".utf8) {
        logic.append(index)
      } else {
        filters.append(index)
      }
    }
  }

  func parse(into request: inout Request) throws(DialectError) {
    request.pairs = pairs.map { pair in
      QueryPair(
        key: String(decoding: pair.key, as: UTF8.self), value: String(decoding: pair.value, as: UTF8.self))
    }
    try parseOrder(into: &request)
    let trees = try parseLogic(into: &request)
    if let columns { request.columns = try names(columns, "columns parameter") }
    try parseSelect(into: &request)
    try parseFilters(joining: trees, into: &request)
    try parseOwnKeys(into: &request)
    if let onConflict { request.onConflict = try names(onConflict, "on_conflict parameter") }
    try parseWindows(into: &request)
  }

  private func parseOrder(into request: inout Request) throws(DialectError) {
    for index in order {
      let pair = pairs[index]
      let path = try embedPath(pair.key)
      let terms = try scan(pair.value, "order") { (scanner) throws(ParseFailure) in
        try scanner.orderTerms()
      }
      if !path.isEmpty {
        request.embedded.append(EmbeddedClause(path: path, clause: .order(terms)))
      } else if !request.hasOrder {
        request.order = terms
        request.hasOrder = true
      }
    }
  }

  /// The trees of the table itself, with their places in the query string.
  private func parseLogic(into request: inout Request) throws(DialectError) -> [(
    index: Int, node: FilterNode
  )] {
    var trees: [(index: Int, node: FilterNode)] = []
    for index in logic {
      let pair = pairs[index]
      let path = try scan(pair.key, "logic path") { (scanner) throws(ParseFailure) in
        try scanner.wholeNames()
      }
      let head = (path.contains("not") ? "not." : "") + (path.last ?? "and")
      let node = try scan(pair.value, "logic tree", prefix: Array(head.utf8)) {
        (scanner) throws(ParseFailure) in try scanner.logicTree()
      }
      let embeds = path.dropLast().filter { $0 != "not" }
      if embeds.isEmpty {
        trees.append((index, node))
      } else {
        request.embedded.append(EmbeddedClause(path: embeds, clause: .filter(node)))
      }
    }
    return trees
  }

  private func parseSelect(into request: inout Request) throws(DialectError) {
    guard let select else { return }
    request.select = try scan(select, "select parameter") { (scanner) throws(ParseFailure) in
      try scanner.selectList()
    }
    request.hasSelect = !request.select.isEmpty
  }

  private func parseFilters(
    joining trees: [(index: Int, node: FilterNode)], into request: inout Request
  ) throws(DialectError) {
    var trees = trees[...]
    for index in filters {
      let pair = pairs[index]
      let (path, field) = try scan(pair.key, "tree path") { (scanner) throws(ParseFailure) in
        try scanner.filterKey()
      }
      let node = try scan(pair.value, "filter") { (scanner) throws(ParseFailure) in
        try scanner.condition(on: field, inTree: false)
      }
      while let tree = trees.first, tree.index < index {
        request.filters.append(tree.node)
        trees.removeFirst()
      }
      if path.isEmpty {
        request.filters.append(node)
      } else {
        request.embedded.append(EmbeddedClause(path: path, clause: .filter(node)))
      }
    }
    request.filters.append(contentsOf: trees.map(\.node))
  }

  private func parseOwnKeys(into request: inout Request) throws(DialectError) {
    for index in own {
      let pair = pairs[index]
      let value = String(decoding: pair.value, as: UTF8.self)
      if pair.key == "apikey" {
        request.apiKey = request.apiKey ?? value
      } else if pair.key == "include_deleted" {
        request.includeDeleted = try flag("include_deleted", value)
      } else if pair.key == "include_dismissed" {
        request.includeDismissed = try flag("include_dismissed", value)
      } else {
        let names = try scan(pair.key, "tree path") { (scanner) throws(ParseFailure) in
          try scanner.preconditionColumn()
        }
        request.preconditions.append(Precondition(column: names, value: value))
      }
    }
  }

  private func flag(_ key: String, _ value: String) throws(DialectError) -> Bool {
    switch value {
    case "true": return true
    case "false": return false
    default:
      throw DialectError(
        "PGRST100", status: 400, "\"failed to parse \(key) (\(value))\" (line 1, column 1)",
        hint: "Use \(key)=true or \(key)=false; a column of that name is reached as \"\(key)\", quoted.")
    }
  }

  private func parseWindows(into request: inout Request) throws(DialectError) {
    for index in windows {
      let pair = pairs[index]
      let path = try embedPath(pair.key)
      let number = integer(pair.value)
      let isLimit = pair.key.suffix(5).elementsEqual("limit".utf8)
      switch (path.isEmpty, isLimit) {
      case (true, true): request.limit = number
      case (true, false): request.offset = number
      case (false, true): request.embedded.append(EmbeddedClause(path: path, clause: .limit(number)))
      case (false, false): request.embedded.append(EmbeddedClause(path: path, clause: .offset(number)))
      }
    }
  }

  private func integer(_ value: [UInt8]) -> Int? {
    var digits = value[...].trimmed
    let negative = digits.first == ASCII.dash
    if negative { digits.removeFirst() }
    guard !digits.isEmpty, digits.allSatisfy(ASCII.isDigit) else { return nil }
    return wholeNumber(digits, negative: negative)
  }

  /// The embeds before the reserved word that ends the key.
  private func embedPath(_ key: [UInt8]) throws(DialectError) -> [String] {
    guard key.contains(ASCII.dot) else { return [] }
    return try scan(key, "tree path") { (scanner) throws(ParseFailure) in
      Array(try scanner.wholeNames().dropLast())
    }
  }

  private func names(_ value: [UInt8], _ kind: String) throws(DialectError) -> [String] {
    try scan(value, kind) { (scanner) throws(ParseFailure) in try scanner.nameList() }
  }

  private func scan<Value>(
    _ text: [UInt8], _ kind: String, prefix: [UInt8] = [],
    _ grammar: (inout Scanner) throws(ParseFailure) -> Value
  ) throws(DialectError) -> Value {
    var scanner = Scanner(prefix.isEmpty ? text : prefix + text)
    do throws(ParseFailure) {
      return try grammar(&scanner)
    } catch {
      throw error.error(kind, text, prefix: prefix)
    }
  }
}

extension Scanner {
  fileprivate mutating func wholeNames() throws(ParseFailure) -> [String] {
    let names = try names()
    guard atEnd else { throw failure("delimiter (.) or end of input", single: true) }
    return names
  }

  /// `embed.embed.column->path`.
  fileprivate mutating func filterKey() throws(ParseFailure) -> (path: [String], field: Field) {
    skipBlanks()
    var path = try names()
    let name = path.removeLast()
    let field = Field(name: name, path: try jsonPath())
    skipBlanks()
    guard atEnd else { throw failure("\"->>\", \"->\", delimiter (.) or end of input", single: true) }
    return (path, field)
  }

  fileprivate mutating func preconditionColumn() throws(ParseFailure) -> String {
    at = "precondition.".utf8.count
    let column = try name()
    guard atEnd else { throw failure("end of input", single: true) }
    return column
  }
}

extension [UInt8] {
  fileprivate static func == (bytes: [UInt8], word: StaticString) -> Bool {
    bytes.count == word.utf8CodeUnitCount && Scanner(bytes).follows(word)
  }
}

extension FilterNode {
  /// The literals of the operands, depth first, left to right: one of each operation, one of each element of an
  /// in-list, none of `is`.
  package var literals: [String] {
    var literals: [String] = []
    collectLiterals(into: &literals)
    return literals
  }

  fileprivate func collectLiterals(into literals: inout [String]) {
    switch self {
    case .and(let nodes, _), .or(let nodes, _):
      for node in nodes { node.collectLiterals(into: &literals) }
    case .condition(_, _, let operation):
      switch operation {
      case .compare(_, let literal, _), .pattern(_, let literal, _), .structure(_, let literal),
        .isDistinct(let literal), .search(_, _, let literal):
        literals.append(literal)
      case .inList(let elements): literals.append(contentsOf: elements)
      case .isTest: break
      }
    }
  }
}

extension Request {
  /// The literals of all filters, in the order of the query string; those of embeds are not among them.
  package var literals: [String] {
    var literals: [String] = []
    for filter in filters { filter.collectLiterals(into: &literals) }
    return literals
  }
}
