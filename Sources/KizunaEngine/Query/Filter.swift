/// A column of a relation, and the JSON path behind it.
package struct ColumnPath: Sendable, Hashable {
  package struct Step: Sendable, Hashable {
    package enum Operand: Sendable, Hashable {
      case key(String)
      case index(Int)
    }
    package var operand: Operand
    /// `->>`: the outcome is text.
    package var asText: Bool
    package init(_ operand: Operand, asText: Bool) {
      self.operand = operand
      self.asText = asText
    }
  }
  package var column: String
  package var path: [Step]
  package init(_ column: String, path: [Step] = []) {
    self.column = column
    self.path = path
  }
}

/// What a filter compares with.
package enum Operand: Sendable, Hashable {
  /// An untyped literal, read as the column's type the way Postgres reads it (HTTP).
  case literal(String)
  /// A JSON value: cast to a declared column's type, taken as it is beside an undeclared one (Swift API, bodies).
  case json(JSONValue)
}

package enum Comparison: String, Sendable, Hashable { case eq, neq, gt, gte, lt, lte }
package enum Pattern: String, Sendable, Hashable { case like, ilike, match, imatch }
package enum Structure: String, Sendable, Hashable {
  case contains = "cs"
  case containedBy = "cd"
  case overlaps = "ov"
}
package enum TruthTest: Sendable, Hashable { case null, notNull, `true`, `false`, unknown }
package enum TextSearchKind: String, Sendable, Hashable { case plain, phrase, websearch }

/// A condition on one column, in three-valued logic.
package enum Test: Sendable, Hashable {
  case compare(Comparison, Operand)
  /// The literal is a Postgres array: `like(any).{A*,*z}`. `all` false means any.
  case compareEach(Comparison, literal: String, all: Bool)
  case pattern(Pattern, String)
  case patternEach(Pattern, literal: String, all: Bool)
  case structure(Structure, Operand)
  /// A range operator, which no type kept here has; refused as Postgres does for a type without it.
  case range(String)
  case isDistinct(Operand)
  case inList([Operand])
  case truth(TruthTest)
  /// Swift API: substring search of one column, see `Filter.search` for several.
  case textSearch(TextSearchKind, String)
}

/// A filter tree. Operands are numbered depth first, left to right: `CompiledRead.parameters` follows that order.
package indirect enum Filter: Sendable, Hashable {
  case and([Filter])
  case or([Filter])
  case not(Filter)
  case test(ColumnPath, Test)
  /// Swift API: a substring in any of the columns; nil: in the string and number cells of every column.
  case search(String, columns: [String]?)
  /// Neither true nor false, like a comparison with null.
  case unknown
}

package struct OrderBy: Sendable, Hashable {
  package var column: ColumnPath
  package var descending: Bool
  /// Postgres' default: nulls last ascending, first descending.
  package var nullsFirst: Bool?
  package init(_ column: ColumnPath, descending: Bool = false, nullsFirst: Bool? = nil) {
    self.column = column
    self.descending = descending
    self.nullsFirst = nullsFirst
  }
}

/// One value of each answered row, under its key.
package struct Output: Sendable, Hashable {
  package var name: String
  package var source: ColumnPath
  /// The type name of a cast `::type`, as written.
  package var cast: String?
  package init(_ name: String, _ source: ColumnPath, cast: String? = nil) {
    self.name = name
    self.source = source
    self.cast = cast
  }
}

/// A read of one relation.
package struct ReadPlan: Sendable {
  package var relation: TableSchema
  /// nil: every column in table order.
  package var outputs: [Output]?
  package var filter: Filter?
  package var order: [OrderBy] = []
  package var limit: Int?
  package var offset: Int?
  /// Show soft-deleted or dismissed rows too.
  package var includeHidden = false
  /// Count the filter's rows, before the window, in the same snapshot.
  package var wantsCount = false
  package init(_ relation: TableSchema) { self.relation = relation }
}

/// How rows become bytes.
package enum RowFormat: Sendable, Hashable {
  case array(stripNulls: Bool)
  /// The rows without the brackets around them: for the one row of a singular answer.
  case object(stripNulls: Bool)
  case csv
}
