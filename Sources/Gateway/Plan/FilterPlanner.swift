import KizunaEngine
import RESTDialect

/// Turns the dialect's filters, order terms and select items into the engine's.
enum FilterPlanner {
  /// All nodes joined with AND; nil without any.
  static func filter(_ nodes: [FilterNode]) throws(Failure) -> Filter? {
    if nodes.count == 1 { return try filter(nodes[0]) }
    return nodes.isEmpty ? nil : .and(try list(nodes))
  }

  private static func list(_ nodes: [FilterNode]) throws(Failure) -> [Filter] {
    var filters: [Filter] = []
    filters.reserveCapacity(nodes.count)
    for node in nodes { filters.append(try filter(node)) }
    return filters
  }

  private static func filter(_ node: FilterNode) throws(Failure) -> Filter {
    switch node {
    case .condition(let field, let negated, let operation):
      let test = Filter.test(path(field), try test(operation))
      return negated ? .not(test) : test
    case .and(let nodes, let negated):
      let tree = Filter.and(try list(nodes))
      return negated ? .not(tree) : tree
    case .or(let nodes, let negated):
      let tree = Filter.or(try list(nodes))
      return negated ? .not(tree) : tree
    }
  }

  private static func test(_ operation: Operation) throws(Failure) -> Test {
    switch operation {
    case .compare(let name, let literal, let quantifier):
      let comparison = comparison(name)
      guard let quantifier else { return .compare(comparison, .literal(literal)) }
      return .compareEach(comparison, literal: literal, all: quantifier == .all)
    case .pattern(let name, let literal, let quantifier):
      let pattern = pattern(name)
      guard let quantifier else { return .pattern(pattern, literal) }
      return .patternEach(pattern, literal: literal, all: quantifier == .all)
    case .structure(let name, let literal): return structure(name, literal)
    case .isDistinct(let literal): return .isDistinct(.literal(literal))
    case .inList(let literals): return .inList(literals.map { .literal($0) })
    case .isTest(let value): return .truth(truth(value))
    case .search:
      throw Failure("PGRST127", "Feature not implemented", details: "Full-text search is not available.")
    }
  }

  private static func comparison(_ name: ComparisonOperator) -> Comparison {
    switch name {
    case .eq: .eq
    case .neq: .neq
    case .gt: .gt
    case .gte: .gte
    case .lt: .lt
    case .lte: .lte
    }
  }

  private static func pattern(_ name: PatternOperator) -> Pattern {
    switch name {
    case .like: .like
    case .ilike: .ilike
    case .match: .match
    case .imatch: .imatch
    }
  }

  private static func structure(_ name: StructureOperator, _ literal: String) -> Test {
    switch name {
    case .cs: .structure(.contains, .literal(literal))
    case .cd: .structure(.containedBy, .literal(literal))
    case .ov: .structure(.overlaps, .literal(literal))
    case .sl, .sr, .nxr, .nxl, .adj: .range(name.rawValue)
    }
  }

  private static func truth(_ value: IsValue) -> TruthTest {
    switch value {
    case .null: .null
    case .notNull: .notNull
    case .true: .true
    case .false: .false
    case .unknown: .unknown
    }
  }

  static func path(_ field: Field) -> ColumnPath {
    if field.path.isEmpty { return ColumnPath(field.name) }
    let steps = field.path.map { step in
      switch step.operand {
      case .key(let key): ColumnPath.Step(.key(key), asText: step.asText)
      case .index(let index): ColumnPath.Step(.index(index), asText: step.asText)
      }
    }
    return ColumnPath(field.name, path: steps)
  }

  static func order(_ terms: [OrderTerm]) -> [OrderBy] {
    terms.map { term in
      OrderBy(
        path(term.field), descending: term.direction == .descending,
        nullsFirst: term.nulls.map { $0 == .first })
    }
  }

  /// nil for every column in table order.
  static func outputs(_ request: Request, of table: TableSchema) -> [Output]? {
    if !request.hasSelect { return nil }
    if request.select.count == 1, request.select[0] == .all { return nil }
    var outputs: [Output] = []
    for item in request.select {
      switch item {
      case .all: outputs += table.columns.map { Output($0.name, ColumnPath($0.name)) }
      case .field(let field, _, let cast, _, _):
        outputs.append(Output(item.resultKey ?? field.name, path(field), cast: cast))
      case .countAll, .embed, .spread: break
      }
    }
    return outputs
  }
}
