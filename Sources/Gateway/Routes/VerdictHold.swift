import KizunaEngine
import RESTDialect

/// What has become of a write whose caller waits for the upstream.
enum Verdict: Sendable {
  case applied
  case refused(Failure)
  /// Nobody has judged it in time, or nobody is there to.
  case pending
}

extension GatewayServer {
  /// No caller is held longer.
  static let longestWait = 60

  /// Holds the answer to a call that has been committed until the upstream has judged all of it, at most so long. No
  /// thread waits: `answer` is called later, on a thread of the engine that must not be blocked, or at once.
  func hold(_ writeId: String, seconds: Int, answer: @escaping @Sendable (Verdict) -> Void) {
    if seconds > 0 { process.scheduler?.wake(.localWrite, immediately: true) }
    engine.awaitVerdicts(writeId: writeId, milliseconds: seconds * 1000) { result in
      switch result {
      case .success(let rejections?): answer(rejections.isEmpty ? .applied : .refused(.rejected(rejections)))
      case .success(nil): answer(.pending)
      case .failure(let error):
        // The write itself is durable, whatever the look for its verdict met.
        Log.warn("the verdict on a write cannot be read: \(error.message)", ["write_id": writeId])
        answer(.pending)
      }
    }
  }
}

extension Failure {
  /// What the upstream refused has been taken back here. The details are what the relation `rejections` shows.
  static func rejected(_ rejections: [JSONValue]) -> Failure {
    let count = rejections.count
    let reasons = rejections.compactMap { $0["reason"]?.text }.reduce(into: [String]()) { seen, reason in
      if !seen.contains(reason) { seen.append(reason) }
    }
    var failure = Failure(
      "KIZUNA_REJECTED",
      "The upstream refused \(count == 1 ? "a mutation" : "\(count) mutations") of this write: "
        + reasons.joined(separator: ", "),
      hint:
        "What it refused has been undone here. /sync/v1/rejections keeps the refusals until they are dismissed."
    )
    failure.structuredDetails = .array(rejections)
    return failure
  }
}
