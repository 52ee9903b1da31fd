import KizunaEngine
import RESTDialect

/// The parts of a request that reach beyond one table: embeds, what addresses them, and aggregates.
enum RelatedParts {
  /// Refuses what addresses no embed, and what is not offered. Comes after the table was found. A write that
  /// answers no rows has no use for its select and order.
  static func check(
    _ request: Request, table: TableSchema, aggregates: Bool, answersRows: Bool = true
  ) throws(Failure) {
    for clause in request.embedded {
      guard let name = clause.path.first else { continue }
      if !embeds(request.select, name) { throw notEmbedded(name) }
    }
    if !answersRows { return }
    for term in request.order {
      guard let name = term.relation else { continue }
      if !embeds(request.select, name) { throw notEmbedded(name) }
      throw notOffered("Ordering by an embedded resource is not available.")
    }
    for item in request.select {
      switch item {
      case .embed, .spread: throw notOffered("Embedding of other tables is not available.")
      case .countAll: throw aggregates ? notOffered(Self.noAggregates) : notAllowed
      case .field(_, _, _, .some, _): throw aggregates ? notOffered(Self.noAggregates) : notAllowed
      case .field(let field, _, _, nil, _):
        if field.path.isEmpty, field.name == "count", table.index(of: "count") == nil {
          throw notOffered(Self.noAggregates)
        }
      case .all: break
      }
    }
  }

  private static func embeds(_ select: [SelectItem], _ name: String) -> Bool {
    select.contains { item in
      switch item {
      case .embed(let table, let alias, _, _): (alias ?? table).sameBytes(as: name)
      case .spread(let table, _, _): table.sameBytes(as: name)
      default: false
      }
    }
  }

  private static func notEmbedded(_ name: String) -> Failure {
    Failure(
      "PGRST108", "'\(name)' is not an embedded resource in this request",
      hint: "Verify that '\(name)' is included in the 'select' query parameter.")
  }

  private static let noAggregates = "Aggregate functions are not available."
  private static let notAllowed = Failure("PGRST123", "Use of aggregate functions is not allowed")
  private static func notOffered(_ details: String) -> Failure {
    Failure("PGRST127", "Feature not implemented", details: details)
  }
}
