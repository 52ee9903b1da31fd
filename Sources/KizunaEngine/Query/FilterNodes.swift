extension Filter {
  /// A filter from the nodes of the Swift API and `apply_where`: `[{"kind":"eq","column":…,"value":…}, …]`, all
  /// joined with AND. A node that does not parse is `JSON`; an operand that has no meaning `LOCAL_UNSUPPORTED`.
  package init(nodes: JSONValue, table: TableSchema) throws(KizunaError) {
    guard let list = nodes.elements else { throw FilterNodes.malformed("filters are an array of nodes") }
    let decoder = FilterNodes(table: table)
    var parts: [Filter] = []
    for node in list { parts.append(try decoder.filter(node, depth: 0)) }
    self = .and(parts)
  }

  /// Refuses, at any depth, a node that names no rows: a write must say which rows it means.
  package static func checkNamesRows(_ nodes: JSONValue) throws(KizunaError) {
    guard let list = nodes.elements, !list.isEmpty else {
      throw KizunaError(
        "LOCAL_UNSUPPORTED", "a filter-targeted write needs at least one filter",
        hint: "Chain a filter first.")
    }
    for node in list { try FilterNodes.checkNamesRows(node, isNegated: false, depth: 0) }
  }
}

/// Reads filter nodes.
struct FilterNodes {
  let table: TableSchema

  private static let depthLimit = 128

  static func malformed(_ message: String) -> KizunaError { KizunaError("JSON", message) }
  static func unsupported(_ message: String) -> KizunaError { KizunaError("LOCAL_UNSUPPORTED", message) }

  /// The keys that a node of each kind has beside `kind`.
  private static let keys: [String: [String]] = [
    "eq": ["column", "value"], "neq": ["column", "value"], "gt": ["column", "value"],
    "gte": ["column", "value"], "lt": ["column", "value"], "lte": ["column", "value"],
    "like": ["column", "pattern"], "ilike": ["column", "pattern"], "regexMatch": ["column", "pattern"],
    "regexIMatch": ["column", "pattern"], "is": ["column", "value"], "isDistinct": ["column", "value"],
    "in": ["column", "values"], "contains": ["column", "value"], "containedBy": ["column", "value"],
    "overlaps": ["column", "value"], "and": ["filters"], "or": ["filters"], "not": ["filter"],
    "search": ["query", "columns"], "textSearch": ["column", "query", "type"],
  ]

  func filter(_ node: JSONValue, depth: Int) throws(KizunaError) -> Filter {
    guard depth < Self.depthLimit else { throw Self.unsupported("filters are nested too deeply") }
    guard let members = node.members, let kind = node["kind"]?.text, let keys = Self.keys[kind] else {
      throw Self.malformed("a filter node needs a known kind: \(node.jsonText.prefix(80))")
    }
    for member in members where member.key != "kind" && !keys.contains(member.key) {
      throw Self.malformed("a node of kind \(kind) has no key \(member.key)")
    }
    switch kind {
    case "and", "or":
      guard let list = node["filters"]?.elements else { throw Self.missing("filters", kind) }
      var parts: [Filter] = []
      for part in list { parts.append(try filter(part, depth: depth + 1)) }
      return kind == "and" ? .and(parts) : .or(parts)
    case "not":
      guard let part = node["filter"] else { throw Self.missing("filter", kind) }
      return .not(try filter(part, depth: depth + 1))
    case "search": return try search(node)
    default: return try test(kind, node)
    }
  }

  private static func missing(_ key: String, _ kind: String) -> KizunaError {
    malformed("a node of kind \(kind) needs \(key)")
  }

  private func search(_ node: JSONValue) throws(KizunaError) -> Filter {
    guard let query = node["query"]?.text else { throw Self.missing("query, a text", "search") }
    guard let columns = node["columns"], !columns.isNull else { return .search(query, columns: nil) }
    guard let list = columns.elements else { throw Self.missing("columns, an array of texts", "search") }
    var names: [String] = []
    for column in list {
      guard let name = column.text else { throw Self.missing("columns, an array of texts", "search") }
      if table.index(of: name) != nil { names.append(name) } else { try checkAbsent(name) }
    }
    return names.isEmpty && !list.isEmpty ? .unknown : .search(query, columns: names)
  }

  /// A column that no row has yet reads as null where columns are learnt; elsewhere it is a mistake.
  private func checkAbsent(_ name: String) throws(KizunaError) {
    if !table.learnsColumns {
      throw KizunaError(
        "LOCAL_UNSUPPORTED", sqlstate: "42703", "column \(table.name).\(name) does not exist")
    }
  }

  private func test(_ kind: String, _ node: JSONValue) throws(KizunaError) -> Filter {
    guard let column = node["column"]?.text else { throw Self.missing("column, a text", kind) }
    let test = try operation(kind, node)
    guard table.index(of: column) != nil else {
      try checkAbsent(column)
      if case .pattern(let pattern, let text) = test, pattern == .match || pattern == .imatch {
        _ = try RegularExpression(text, caseInsensitive: pattern == .imatch)
      }
      return Self.overAbsent(test)
    }
    return .test(ColumnPath(column), test)
  }

  /// The test of a cell that is not there.
  private static func overAbsent(_ test: Test) -> Filter {
    switch test {
    case .truth(.null), .truth(.unknown): .and([])
    case .truth: .or([])
    case .isDistinct(.json(.null)): .or([])
    case .isDistinct: .and([])
    case .inList(let values) where values.isEmpty: .or([])
    default: .unknown
    }
  }

  private func operation(_ kind: String, _ node: JSONValue) throws(KizunaError) -> Test {
    switch kind {
    case "eq", "neq", "gt", "gte", "lt", "lte":
      guard let comparison = Comparison(rawValue: kind), let value = node["value"] else {
        throw Self.missing("value", kind)
      }
      return .compare(comparison, .json(value))
    case "like", "ilike", "regexMatch", "regexIMatch":
      guard let pattern = node["pattern"]?.text else { throw Self.missing("pattern, a text", kind) }
      let kinds: [String: Pattern] = [
        "like": .like, "ilike": .ilike, "regexMatch": .match, "regexIMatch": .imatch,
      ]
      return .pattern(kinds[kind] ?? .like, pattern)
    case "in":
      guard let values = node["values"]?.elements else { throw Self.missing("values, an array", kind) }
      return .inList(values.map { .json($0) })
    case "textSearch": return try textSearch(node)
    default: return try valueOperation(kind, node)
    }
  }

  private func valueOperation(_ kind: String, _ node: JSONValue) throws(KizunaError) -> Test {
    guard let value = node["value"] else { throw Self.missing("value", kind) }
    switch kind {
    case "is":
      switch value {
      case .null: return .truth(.null)
      case .bool(let flag): return .truth(flag ? .true : .false)
      default: throw Self.unsupported("is compares with null, true or false only")
      }
    case "isDistinct": return .isDistinct(.json(value))
    case "contains": return .structure(.contains, .json(value))
    case "containedBy": return .structure(.containedBy, .json(value))
    default: return .structure(.overlaps, .json(try Self.overlapOperand(value)))
    }
  }

  private static func overlapOperand(_ value: JSONValue) throws(KizunaError) -> JSONValue {
    if value.isNull || value.elements != nil { return value }
    if let text = value.text, let parsed = try? JSONParser.parse(text), parsed.elements != nil {
      return parsed
    }
    throw unsupported("overlaps compares with an array; ranges have no meaning here")
  }

  private func textSearch(_ node: JSONValue) throws(KizunaError) -> Test {
    guard let query = node["query"]?.text else { throw Self.missing("query, a text", "textSearch") }
    let type = node["type"]
    guard type == nil || type?.isNull == true || type?.text != nil else {
      throw Self.missing("type, a text", "textSearch")
    }
    guard let kind = TextSearchKind(rawValue: type?.text ?? "plain") else {
      throw Self.unsupported("the type of a text search is plain, phrase or websearch")
    }
    return .textSearch(kind, query)
  }

  static func checkNamesRows(
    _ node: JSONValue, isNegated: Bool, depth: Int
  ) throws(KizunaError) {
    guard depth < depthLimit else { throw unsupported("filters are nested too deeply") }
    switch node["kind"]?.text {
    case "and", "or":
      let parts = node["filters"]?.elements ?? []
      if parts.isEmpty { throw unsupported("an empty and/or names no rows") }
      for part in parts { try checkNamesRows(part, isNegated: isNegated, depth: depth + 1) }
    case "not":
      if let part = node["filter"] { try checkNamesRows(part, isNegated: !isNegated, depth: depth + 1) }
    case "search", "textSearch":
      let query = node["query"]?.text ?? ""
      if !query.utf8.contains(where: { $0 > 0x20 }) { throw unsupported("a blank search names no rows") }
    case "in" where isNegated:
      if node["values"]?.elements?.isEmpty == true {
        throw unsupported("not in an empty list names every row")
      }
    default: break
    }
  }
}
