import KizunaEngine
import RESTDialect

/// A dialect request on one relation becomes a read plan.
enum ReadPlanner {
  static func plan(
    _ request: Request, relation: TableSchema, window: Window, maxRows: Int?, preferences: Preferences
  ) throws(Failure) -> ReadPlan {
    var plan = ReadPlan(relation)
    plan.outputs = FilterPlanner.outputs(request, of: relation)
    plan.filter = try FilterPlanner.filter(request.filters)
    plan.order = FilterPlanner.order(request.order)
    plan.limit = limit(window, maxRows: maxRows)
    plan.offset = window.offset > 0 ? window.offset : nil
    plan.includeHidden = includesHidden(request, relation)
    plan.wantsCount = preferences.count != nil
    return plan
  }

  /// What the window lets through of what the server gives at most.
  static func limit(_ window: Window, maxRows: Int?) -> Int? {
    guard let maxRows else { return window.limit }
    return min(window.limit ?? maxRows, maxRows)
  }

  private static func includesHidden(_ request: Request, _ relation: TableSchema) -> Bool {
    switch relation.hidden {
    case .softDeleted: request.includeDeleted
    case .dismissed: request.includeDismissed
    case nil: false
    }
  }

  /// How the rows are written for an answer type; refuses the types that have no writer.
  static func format(_ type: AnswerType) throws(Failure) -> RowFormat {
    switch type {
    case .json: return .array(stripNulls: false)
    case .array(let stripped): return .array(stripNulls: stripped)
    case .object(let stripped): return .object(stripNulls: stripped)
    case .csv: return .csv
    case .geojson:
      throw Failure(
        "42883", "function st_asgeojson(record) does not exist",
        hint:
          "No function matches the given name and argument types. You might need to add explicit type casts.")
    case .plan:
      throw Failure(
        "PGRST107", "None of these media types are available: application/vnd.pgrst.plan+json")
    }
  }

  /// The zone named by `Prefer: timezone=`, UTC without one. Wrong even when the handling is lenient.
  static func zone(_ name: String?) throws(Failure) -> Zone {
    guard let name else { return .utc }
    if hasSeconds(name) {
      throw Failure(
        "22023", "time zone \"\(name)\" appears to use leap seconds",
        details: "PostgreSQL does not support leap seconds.")
    }
    if let zone = Zone(named: name) { return zone }
    throw Failure("22023", "invalid value for parameter \"TimeZone\": \"\(name)\"")
  }

  /// An offset with seconds that are not zero, `05:30:15`.
  private static func hasSeconds(_ name: String) -> Bool {
    var digits = name.utf8[...]
    if let sign = digits.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
      digits.removeFirst()
    }
    let parts = digits.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard parts.count == 3 else { return false }
    let numbers = parts.compactMap { part in
      part.count <= 2 ? Int(String(decoding: part, as: UTF8.self)) : nil
    }
    return numbers.count == 3 && numbers[2] != 0
  }
}
