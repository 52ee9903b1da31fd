/// Where a path leads.
enum Route: Equatable, Sendable {
  enum Schema: String, Sendable {
    case `public`
    /// The engine's own relations and functions.
    case kizunasync
  }

  case table(String)
  case function(String)
  /// `/rest/v1/`: the description of a schema.
  case root
  case live, ready, metrics, index

  /// A route, and the schema that its prefix stands for. A prefix that serves both schemas takes the profile
  /// headers; see `schema(named:)`.
  struct Place: Equatable, Sendable {
    var route: Route
    /// nil: `public`, unless the request names another.
    var schema: Schema?
  }

  static func place(_ segments: [String]) throws(Failure) -> Place {
    switch segments.count {
    case 0: return Place(route: .index, schema: .public)
    case 1:
      switch segments[0] {
      case "": return Place(route: .index, schema: .public)
      case "live": return Place(route: .live, schema: .public)
      case "ready": return Place(route: .ready, schema: .public)
      case "metrics": return Place(route: .metrics, schema: .public)
      default: throw unknown
      }
    default:
      guard segments[1] == "v1" else { throw unknown }
      switch segments[0] {
      case "rest": return Place(route: try route(segments.dropFirst(2)), schema: nil)
      case "sync": return Place(route: try route(segments.dropFirst(2)), schema: .kizunasync)
      default: throw unknown
      }
    }
  }

  private static func route(_ rest: ArraySlice<String>) throws(Failure) -> Route {
    guard let first = rest.first else { return .root }
    if rest.count == 1 { return first.isEmpty ? .root : .table(first) }
    guard rest.count == 2, first == "rpc", let name = rest.last, !name.isEmpty else { throw unknown }
    return .function(name)
  }

  private static let unknown = Failure("PGRST125", "Invalid path specified in request URL")

  /// The schema that a profile header names.
  static func schema(named profile: String?) throws(Failure) -> Schema {
    guard let profile, !profile.isEmpty else { return .public }
    guard let schema = Schema(rawValue: profile) else {
      throw Failure(
        "PGRST106", "Invalid schema: \(profile)",
        hint: "Only the following schemas are exposed: public, kizunasync")
    }
    return schema
  }
}
