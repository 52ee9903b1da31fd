import KizunaEngine

/// The filters that reads and filter-targeted writes have in common; all that are chained must hold. A builder is an
/// object: every call changes it and answers it.
///
/// Null is unknown, as in SQL: a test of an empty cell neither selects a row nor, behind `not`, the rest. A call
/// without meaning here, or with an operand that JSON cannot carry, fails when the builder runs.
public class KizunaSyncFilterBuilder {
  let table: KizunaSyncTable
  private(set) var filters: [JSONValue] = []
  /// The first thing that was wrong.
  private var failure: (any Error)?

  init(_ table: KizunaSyncTable) { self.table = table }

  func fail(_ error: any Error) {
    if failure == nil { failure = error }
  }

  func checkChain() throws {
    if let failure { throw failure }
  }

  /// The value of a parameter as JSON; null once something was wrong.
  func converted(_ value: Any, _ name: String) -> JSONValue {
    do { return try JSONBridge.json(value, at: name) } catch {
      fail(error)
      return .null
    }
  }

  private func add(_ node: [String: Any]) -> Self {
    filters.append(converted(node, "filter"))
    return self
  }

  func add(search node: [String: Any]) { _ = add(node) }

  // MARK: Comparison

  @discardableResult
  public func eq(_ column: String, _ value: Any) -> Self { add(KizunaSyncQuery.eq(column, value)) }
  @discardableResult
  public func neq(_ column: String, _ value: Any) -> Self { add(KizunaSyncQuery.neq(column, value)) }
  @discardableResult
  public func gt(_ column: String, _ value: Any) -> Self { add(KizunaSyncQuery.gt(column, value)) }
  @discardableResult
  public func gte(_ column: String, _ value: Any) -> Self { add(KizunaSyncQuery.gte(column, value)) }
  @discardableResult
  public func lt(_ column: String, _ value: Any) -> Self { add(KizunaSyncQuery.lt(column, value)) }
  @discardableResult
  public func lte(_ column: String, _ value: Any) -> Self { add(KizunaSyncQuery.lte(column, value)) }

  /// nil tests for null.
  @discardableResult
  public func `is`(_ column: String, _ value: Bool?) -> Self { add(KizunaSyncQuery.is(column, value)) }
  @discardableResult
  public func `in`(_ column: String, _ values: [Any]) -> Self { add(KizunaSyncQuery.in(column, values)) }
  @discardableResult
  public func notIn(_ column: String, values: [Any?]) -> Self {
    add(KizunaSyncQuery.not(KizunaSyncQuery.in(column, values as [Any])))
  }
  /// True also of null against a value; never unknown.
  @discardableResult
  public func isDistinct(_ column: String, value: Any?) -> Self {
    add(KizunaSyncQuery.compare("isDistinct", column, value as Any))
  }
  /// Every column equals its value.
  @discardableResult
  public func match(_ query: [String: Any?]) -> Self {
    let keys = query.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    return add(KizunaSyncQuery.and(keys.map { KizunaSyncQuery.eq($0, query[$0] as Any) }))
  }

  // MARK: Patterns

  /// `%` or `*` is any run, `_` one character, and a backslash takes the next character as it is.
  @discardableResult
  public func like(_ column: String, _ pattern: String) -> Self { add(KizunaSyncQuery.like(column, pattern)) }
  @discardableResult
  public func ilike(_ column: String, _ pattern: String) -> Self {
    add(KizunaSyncQuery.ilike(column, pattern))
  }
  @discardableResult
  public func likeAllOf(_ column: String, patterns: [String]) -> Self {
    add(KizunaSyncQuery.and(patterns.map { KizunaSyncQuery.like(column, $0) }))
  }
  @discardableResult
  public func likeAnyOf(_ column: String, patterns: [String]) -> Self {
    add(KizunaSyncQuery.or(patterns.map { KizunaSyncQuery.like(column, $0) }))
  }
  @discardableResult
  public func iLikeAllOf(_ column: String, patterns: [String]) -> Self {
    add(KizunaSyncQuery.and(patterns.map { KizunaSyncQuery.ilike(column, $0) }))
  }
  @discardableResult
  public func iLikeAnyOf(_ column: String, patterns: [String]) -> Self {
    add(KizunaSyncQuery.or(patterns.map { KizunaSyncQuery.ilike(column, $0) }))
  }
  /// A regular expression somewhere in the text, as Postgres' `~`.
  @discardableResult
  public func match(_ column: String, pattern: String) -> Self {
    add(KizunaSyncQuery.pattern("regexMatch", column, pattern))
  }
  @discardableResult
  public func imatch(_ column: String, pattern: String) -> Self {
    add(KizunaSyncQuery.pattern("regexIMatch", column, pattern))
  }

  // MARK: Arrays and objects

  @discardableResult
  public func contains(_ column: String, _ value: Any) -> Self {
    add(KizunaSyncQuery.contains(column, value))
  }
  @discardableResult
  public func containedBy(_ column: String, _ value: Any) -> Self {
    add(KizunaSyncQuery.containedBy(column, value))
  }
  @discardableResult
  public func overlaps(_ column: String, value: [Any?]) -> Self {
    add(KizunaSyncQuery.compare("overlaps", column, value))
  }

  // MARK: Logic

  /// Nodes as `KizunaSyncQuery` builds them.
  @discardableResult
  public func and(_ filters: [[String: Any]]) -> Self { add(KizunaSyncQuery.and(filters)) }
  @discardableResult
  public func or(_ filters: [[String: Any]]) -> Self { add(KizunaSyncQuery.or(filters)) }
  @discardableResult
  public func not(_ filter: [String: Any]) -> Self { add(KizunaSyncQuery.not(filter)) }

  /// A clause as text: one of `eq neq gt gte lt lte like ilike is in`, perhaps behind `not.`, and its value, `(a,b)`
  /// for `in`. `null`, `true`, `false` and numbers are themselves; double quotes make anything text.
  @discardableResult
  public func filter(_ column: String, operator name: String, value: String) -> Self {
    do { filters.append(try ClauseGrammar.node(column, operator: name, value: value)) } catch { fail(error) }
    return self
  }

  // MARK: Without effect or meaning on a local store

  /// A local store has nothing to try again.
  @discardableResult
  public func retry(enabled: Bool) -> Self { self }
  @discardableResult
  public func dryRun() -> Self { refused("dryRun is the server's: no transaction is open to be rolled back") }
  @discardableResult
  public func geojson() -> Self { refused("geojson has no meaning: the store has no geometry") }
  @discardableResult
  public func explain(
    analyze: Bool = false, verbose: Bool = false, settings: Bool = false, buffers: Bool = false,
    wal: Bool = false, format: String = "text"
  ) -> Self {
    refused("explain shows a plan of Postgres, and none runs here")
  }
  @discardableResult
  public func setHeader(name: String, value: String) -> Self {
    refused("setHeader has no meaning: no request is sent")
  }

  private func refused(_ reason: String) -> Self {
    fail(KizunaSyncError.unsupported(reason))
    return self
  }
}
