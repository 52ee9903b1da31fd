import Foundation

@testable import KizunaSync

/// What a filter says of one row: true (selected), false (not selected, `not` selects), unknown (neither), or a
/// refusal with its code.
enum Verdict: Equatable, CustomStringConvertible {
  case yes, no, unknown
  case refused(String)

  var description: String {
    switch self {
    case .yes: "T"
    case .no: "F"
    case .unknown: "U"
    case .refused(let code): code
    }
  }
}

/// A row's cells beside its key, a filter on them, and what must come of it. All columns are undeclared.
struct FilterRow: CustomStringConvertible, @unchecked Sendable {
  // The dictionaries hold JSON values only and never change.
  let number: Int
  let cells: [String: Any]
  let filter: [String: Any]
  let verdict: Verdict
  var id = "row"

  var description: String { "\(number): \(cells) \(filter) → \(verdict)" }
}

private typealias Q = KizunaSyncQuery

extension FilterRow {
  private static func row(
    _ number: Int, _ cells: [String: Any], _ filter: [String: Any], _ verdict: Verdict
  ) -> FilterRow { FilterRow(number: number, cells: cells, filter: filter, verdict: verdict) }

  private static func overlaps(_ column: String, _ value: Any) -> [String: Any] {
    Q.compare("overlaps", column, value)
  }
  private static func isDistinct(_ value: Any) -> [String: Any] { Q.compare("isDistinct", "memo", value) }
  private static func notIn(_ column: String, _ values: [Any]) -> [String: Any] {
    Q.not(Q.in(column, values))
  }
  private static func words(_ query: String, _ type: KizunaSyncTextSearchType) -> [String: Any] {
    Q.textSearch("label", query, type: type)
  }

  private static let null = NSNull()
  private static let upper = "A1B2C3D4-0000-4000-8000-00000000ABCD"
  /// One node that is false and one that is true of a weight of 1, and one that is unknown.
  private static var isFalse: [String: Any] { Q.eq("weight", 2) }
  private static var isTrue: [String: Any] { Q.eq("weight", 1) }
  private static var isUnknown: [String: Any] { Q.eq("memo", "x") }
  private static var mixed: [String: Any] { ["weight": 1, "memo": null] }

  static let comparisons: [FilterRow] = [
    row(1, ["label": "Crate 7"], Q.eq("label", "Crate 7"), .yes),
    row(2, ["weight": 12], Q.eq("weight", 12.0), .yes),
    row(3, ["weight": 12], Q.eq("weight", "12"), .no),
    row(4, ["weight": "12"], Q.neq("weight", 12), .yes),
    row(5, ["fragile": 1], Q.eq("fragile", true), .no),
    row(6, ["memo": null], Q.eq("memo", null), .unknown),
    row(7, [:], Q.eq("memo", "x"), .unknown),
    row(8, ["memo": null], Q.neq("memo", "x"), .unknown),
    row(9, ["label": "Zed"], Q.gt("label", "apple"), .no),
    row(10, ["label": "é"], Q.gt("label", "z"), .yes),
    row(11, ["weight": 9], Q.gt("weight", 10), .no),
    row(12, ["weight": "9"], Q.gt("weight", 10), .yes),
    row(13, ["weight": 2], Q.gte("weight", "10"), .yes),
    row(14, ["weight": 0.30000000000000004], Q.gt("weight", 0.3), .yes),
    row(15, ["stops": ["n"]], Q.lt("stops", "a"), .yes),
    row(29, ["memo": null], Q.is("memo", nil), .yes),
    row(29, [:], Q.is("memo", nil), .yes),
    row(30, ["flag": "true"], Q.is("flag", true), .no),
    row(30, ["flag": 1], Q.is("flag", true), .no),
    row(31, [:], Q.not(Q.is("flag", false)), .yes),
    row(32, ["label": "x"], Q.compare("is", "label", "x"), .refused("LOCAL_UNSUPPORTED")),
    row(51, ["memo": null], isDistinct("x"), .yes),
    row(51, ["memo": "x"], isDistinct("x"), .no),
    row(51, ["memo": "y"], isDistinct("x"), .yes),
    row(52, ["memo": null], isDistinct(null), .no),
    row(52, ["memo": "x"], isDistinct(null), .yes),
  ]

  static let patterns: [FilterRow] = [
    row(16, ["label": "Crate 7"], Q.like("label", "crate%"), .no),
    row(17, ["label": "Crate 7"], Q.ilike("label", "crate%"), .yes),
    row(18, ["label": "ABCDE"], Q.like("label", "BCD"), .no),
    row(19, ["label": "ABCDE"], Q.like("label", "AB*"), .yes),
    row(20, ["label": "50% off"], Q.like("label", #"50\% off"#), .yes),
    row(21, ["label": "50x off"], Q.like("label", #"50\% off"#), .no),
    row(22, ["label": "a_b"], Q.like("label", #"a\_b"#), .yes),
    row(22, ["label": "axb"], Q.like("label", #"a\_b"#), .no),
    row(23, ["weight": 120], Q.like("weight", "12_"), .yes),
    row(24, ["weight": 3.0], Q.like("weight", "3"), .yes),
    row(25, ["stops": ["n"]], Q.like("stops", "%"), .no),
    row(26, ["memo": null], Q.like("memo", "%"), .unknown),
    row(27, ["label": "🚚"], Q.like("label", "_"), .yes),
    row(28, ["label": "ÅNGSTRÖM"], Q.ilike("label", "ångström"), .yes),
    row(64, ["label": "Crate"], Q.pattern("regexMatch", "label", "^C"), .yes),
    row(64, ["label": "Crate"], Q.pattern("regexMatch", "label", "^c"), .no),
    row(65, ["label": "aa"], Q.pattern("regexMatch", "label", #"(a)\1"#), .refused("LOCAL_UNSUPPORTED")),
  ]

  static let lists: [FilterRow] = [
    row(33, ["weight": 4.0], Q.in("weight", [2, 4]), .yes),
    row(34, ["weight": null], Q.in("weight", []), .no),
    row(35, ["weight": null], Q.not(Q.in("weight", [])), .yes),
    row(36, ["weight": 4], Q.in("weight", [2, null]), .unknown),
    row(37, ["weight": 4], Q.in("weight", [4, null]), .yes),
    row(38, ["weight": 4], notIn("weight", [2, null]), .unknown),
    row(39, ["weight": null], notIn("weight", [2]), .unknown),
    row(40, ["stops": #"["n","s"]"#], Q.contains("stops", ["n"]), .yes),
    row(41, ["stops": #"["n","s"]"#], Q.contains("stops", ["n", "w"]), .no),
    row(42, ["stops": #"["n"]"#], Q.contains("stops", "n"), .no),
    row(43, ["meta": ["a": ["x": 1, "y": 2]]], Q.contains("meta", ["a": ["x": 1]]), .yes),
    row(44, ["memo": "{bad}"], Q.contains("memo", "{bad}"), .yes),
    row(45, ["label": "Crate"], Q.contains("label", [Any]()), .no),
    row(46, ["stops": "[]"], Q.containedBy("stops", ["n"]), .yes),
    row(47, ["label": "n"], Q.containedBy("label", ["n"]), .no),
    row(48, ["stops": #"["n","s"]"#], overlaps("stops", ["s", "x"]), .yes),
    row(49, ["label": "s"], overlaps("label", ["s"]), .no),
    row(50, ["stops": ["n"]], overlaps("stops", "[1,5)"), .refused("LOCAL_UNSUPPORTED")),
  ]

  static let logicAndText: [FilterRow] = [
    row(53, mixed, Q.and([isFalse, isUnknown]), .no),
    row(53, mixed, Q.or([isFalse, isUnknown]), .unknown),
    row(54, mixed, Q.and([isTrue, isUnknown]), .unknown),
    row(54, mixed, Q.or([isTrue, isUnknown]), .yes),
    row(55, ["fragile": true], Q.search("true"), .no),
    row(56, ["fragile": true], Q.search("true", columns: ["fragile"]), .yes),
    row(57, ["memo": null], Q.search("zz", columns: ["memo"]), .unknown),
    row(58, ["label": "any"], Q.search("  "), .yes),
    row(59, ["label": "Crate Seven A"], words("seven crate", .plain), .yes),
    row(60, ["label": "Crate Seven A"], words("seven crate", .phrase), .no),
    row(61, ["label": "Crate Seven A"], words(#""crate seven" a"#, .websearch), .yes),
    row(62, ["label": "red"], words("-blue", .websearch), .no),
    row(63, ["memo": null], Q.textSearch("memo", "  "), .unknown),
    FilterRow(
      number: 66, cells: [:], filter: Q.eq("id", upper), verdict: .yes, id: upper.lowercased()),
    row(67, ["other": upper.lowercased()], Q.eq("other", upper), .no),
    row(69, ["weight": 1], ["kind": "between", "column": "weight"], .refused("JSON")),
  ]

  static let all = comparisons + patterns + lists + logicAndText
}
