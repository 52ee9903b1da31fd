/// RESTDialect: requests as values. Pure parsing of the PostgREST dialect, no I/O and no SQL; it imports
/// nothing but the standard library. Any byte string gives a value or a `DialectError`.
///
/// A whole request on a table (its path segment and method are the router's business).
package struct Request: Sendable, Equatable {
  package var select: [SelectItem]
  /// Whether `select` was given and not empty; absent means every column in table order.
  package var hasSelect: Bool
  /// Simple filters and logic trees in the order of the query string; all joined with AND. In that order the
  /// literals of the whole tree are numbered by `FilterNode.literals`.
  package var filters: [FilterNode]
  package var order: [OrderTerm]
  package var hasOrder: Bool
  /// As given: a negative one is kept for the range step to refuse.
  package var limit: Int?
  package var offset: Int?
  package var columns: [String]?
  package var onConflict: [String]?
  /// The parts of the query string that address an embed: `a.b=…`, `a.order=…`.
  package var embedded: [EmbeddedClause]
  /// The gateway's own keys.
  package var includeDeleted: Bool
  package var includeDismissed: Bool
  package var preconditions: [Precondition]
  package var apiKey: String?
  /// Every pair as decoded, in order, for Content-Location.
  package var pairs: [QueryPair]

  package init() {
    select = []
    hasSelect = false
    filters = []
    order = []
    hasOrder = false
    embedded = []
    includeDeleted = false
    includeDismissed = false
    preconditions = []
    pairs = []
  }
}

package struct QueryPair: Sendable, Equatable {
  package var key: String
  package var value: String
  package init(key: String, value: String) {
    self.key = key
    self.value = value
  }
}

package struct Precondition: Sendable, Equatable {
  package var column: String
  package var value: String
  package init(column: String, value: String) {
    self.column = column
    self.value = value
  }
}

/// A column, and the JSON path behind it: `info->size->>w`.
package struct Field: Sendable, Equatable {
  package var name: String
  package var path: [JSONStep]
  package init(name: String, path: [JSONStep] = []) {
    self.name = name
    self.path = path
  }
}

/// One arrow of a JSON path; `asText` is `->>`.
package struct JSONStep: Sendable, Equatable {
  package enum Operand: Sendable, Equatable {
    case key(String)
    case index(Int)
  }
  package var operand: Operand
  package var asText: Bool
  package init(_ operand: Operand, asText: Bool) {
    self.operand = operand
    self.asText = asText
  }
}

package enum Aggregate: String, Sendable, Equatable { case sum, avg, count, max, min }

package indirect enum SelectItem: Sendable, Equatable {
  case all
  case field(Field, alias: String?, cast: String?, aggregate: Aggregate?, aggregateCast: String?)
  /// `count()`
  case countAll(alias: String?, cast: String?)
  case embed(name: String, alias: String?, hints: [String], select: [SelectItem])
  case spread(name: String, hints: [String], select: [SelectItem])
}

package enum Quantifier: Sendable, Equatable { case any, all }

package enum ComparisonOperator: String, Sendable, Equatable { case eq, neq, gt, gte, lt, lte }
package enum PatternOperator: String, Sendable, Equatable { case like, ilike, match, imatch }
/// Operators of arrays, JSON and ranges, under their names in the dialect.
package enum StructureOperator: String, Sendable, Equatable { case cs, cd, ov, sl, sr, nxr, nxl, adj }
package enum SearchOperator: String, Sendable, Equatable { case fts, plfts, phfts, wfts }
package enum IsValue: Sendable, Equatable { case null, notNull, `true`, `false`, unknown }

package enum Operation: Sendable, Equatable {
  case compare(ComparisonOperator, String, Quantifier?)
  case pattern(PatternOperator, String, Quantifier?)
  case structure(StructureOperator, String)
  case isDistinct(String)
  /// `in.()`, `in.(  )` and `in.("")` are the empty list.
  case inList([String])
  case isTest(IsValue)
  case search(SearchOperator, dictionary: String?, String)
}

package indirect enum FilterNode: Sendable, Equatable {
  case condition(Field, negated: Bool, Operation)
  case and([FilterNode], negated: Bool)
  case or([FilterNode], negated: Bool)
}

package struct OrderTerm: Sendable, Equatable {
  package enum Direction: Sendable, Equatable { case ascending, descending }
  package enum Nulls: Sendable, Equatable { case first, last }
  package var field: Field
  /// `name(field)`: order by a column of a to-one embed.
  package var relation: String?
  package var direction: Direction?
  package var nulls: Nulls?
  package init(field: Field, relation: String? = nil, direction: Direction? = nil, nulls: Nulls? = nil) {
    self.field = field
    self.relation = relation
    self.direction = direction
    self.nulls = nulls
  }
}

/// `a.b.rest=value`: `path` are the embeds, outermost first.
package struct EmbeddedClause: Sendable, Equatable {
  package enum Clause: Sendable, Equatable {
    case filter(FilterNode)
    case order([OrderTerm])
    case limit(Int?)
    case offset(Int?)
  }
  package var path: [String]
  package var clause: Clause
  package init(path: [String], clause: Clause) {
    self.path = path
    self.clause = clause
  }
}

/// A refusal with PostgREST's code (`PGRST100` …), its status and its words.
package struct DialectError: Error, Sendable, Equatable {
  package var code: String
  package var status: Int
  package var message: String
  package var details: String?
  package var hint: String?
  package init(_ code: String, status: Int, _ message: String, details: String? = nil, hint: String? = nil) {
    self.code = code
    self.status = status
    self.message = message
    self.details = details
    self.hint = hint
  }
}
