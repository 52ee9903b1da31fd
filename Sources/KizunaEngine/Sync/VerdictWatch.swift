/// Waits for the upstream's verdicts on the mutations of one call.
final class VerdictWatch: Sendable {
  /// Mutations of these calls (by write id) have left the outbox.
  func settled(_ counts: [String: Int]) {}
  /// The outbox was emptied: nothing will be judged any more.
  func settleAll() {}
  func close() {}
}
