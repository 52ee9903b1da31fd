/// Builds plans and filter nodes as plain dictionaries, for `query(table:plan:)` and
/// `applyWhere(table:op:filters:…)`. It only builds: the engine checks. `NSNull()` is the null operand.
public enum KizunaSyncQuery {
  public static func eq(_ column: String, _ value: Any) -> [String: Any] { compare("eq", column, value) }
  public static func neq(_ column: String, _ value: Any) -> [String: Any] { compare("neq", column, value) }
  public static func gt(_ column: String, _ value: Any) -> [String: Any] { compare("gt", column, value) }
  public static func gte(_ column: String, _ value: Any) -> [String: Any] { compare("gte", column, value) }
  public static func lt(_ column: String, _ value: Any) -> [String: Any] { compare("lt", column, value) }
  public static func lte(_ column: String, _ value: Any) -> [String: Any] { compare("lte", column, value) }

  public static func like(_ column: String, _ pattern: String) -> [String: Any] {
    Self.pattern("like", column, pattern)
  }
  public static func ilike(_ column: String, _ pattern: String) -> [String: Any] {
    Self.pattern("ilike", column, pattern)
  }

  /// nil tests for null.
  public static func `is`(_ column: String, _ value: Bool?) -> [String: Any] {
    compare("is", column, value as Any)
  }
  public static func `in`(_ column: String, _ values: [Any]) -> [String: Any] {
    ["kind": "in", "column": column, "values": values]
  }
  public static func contains(_ column: String, _ value: Any) -> [String: Any] {
    compare("contains", column, value)
  }
  public static func containedBy(_ column: String, _ value: Any) -> [String: Any] {
    compare("containedBy", column, value)
  }

  public static func and(_ filters: [[String: Any]]) -> [String: Any] { ["kind": "and", "filters": filters] }
  public static func or(_ filters: [[String: Any]]) -> [String: Any] { ["kind": "or", "filters": filters] }
  public static func not(_ filter: [String: Any]) -> [String: Any] { ["kind": "not", "filter": filter] }

  /// A substring, in these columns, or in every text and number.
  public static func search(_ query: String, columns: [String]? = nil) -> [String: Any] {
    var node: [String: Any] = ["kind": "search", "query": query]
    if let columns { node["columns"] = columns }
    return node
  }
  public static func textSearch(
    _ column: String, _ query: String, type: KizunaSyncTextSearchType = .plain
  ) -> [String: Any] {
    ["kind": "textSearch", "column": column, "query": query, "type": type.rawValue]
  }

  /// Nulls come last ascending and first descending, unless `nullsFirst` says where.
  public static func order(
    _ column: String, ascending: Bool = true, nullsFirst: Bool? = nil
  ) -> [String: Any] {
    var order: [String: Any] = ["column": column, "ascending": ascending]
    if let nullsFirst { order["nullsFirst"] = nullsFirst }
    return order
  }

  public static func plan(
    filters: [[String: Any]] = [], order: [[String: Any]] = [], limit: Int? = nil, projection: String? = nil,
    cardinality: String = "many", includeDeleted: Bool = false
  ) -> [String: Any] {
    var plan: [String: Any] = [
      "filters": filters, "orders": order, "cardinality": cardinality, "includeDeleted": includeDeleted,
    ]
    if let limit { plan["limit"] = limit }
    if let projection { plan["projection"] = projection }
    return plan
  }
  public static func many(filters: [[String: Any]] = []) -> [String: Any] { plan(filters: filters) }
  public static func single(filters: [[String: Any]]) -> [String: Any] {
    plan(filters: filters, cardinality: "single")
  }
  public static func maybeSingle(filters: [[String: Any]]) -> [String: Any] {
    plan(filters: filters, cardinality: "maybeSingle")
  }

  static func compare(_ kind: String, _ column: String, _ value: Any) -> [String: Any] {
    ["kind": kind, "column": column, "value": value]
  }
  static func pattern(_ kind: String, _ column: String, _ pattern: String) -> [String: Any] {
    ["kind": kind, "column": column, "pattern": pattern]
  }
}
