/// The `Prefer` headers of one request, as the PostgREST dialect reads them (RFC 7240).
package struct Preferences: Sendable, Equatable {
  package enum Return: String, Sendable {
    case minimal
    case headersOnly = "headers-only"
    case representation
  }
  package enum Count: String, Sendable { case exact, planned, estimated }
  package enum Resolution: String, Sendable {
    case mergeDuplicates = "merge-duplicates"
    case ignoreDuplicates = "ignore-duplicates"
  }
  package enum Missing: String, Sendable { case `default`, null }
  package enum Handling: String, Sendable { case strict, lenient }
  package enum Transaction: String, Sendable { case commit, rollback }

  package var `return`: Return?
  package var count: Count?
  package var resolution: Resolution?
  package var missing: Missing?
  package var handling: Handling?
  package var maxAffected: Int?
  package var timezone: String?
  package var transaction: Transaction?
  /// RFC 7240 `wait=N`, in seconds; the gateway's own.
  package var wait: Int?
  /// Tokens that are no known preference, in order; `handling=strict` refuses them with `PGRST122`.
  package var unknown: [String]

  package init() { unknown = [] }
}
