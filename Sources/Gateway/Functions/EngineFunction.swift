import KizunaEngine

/// What a function answers.
package enum FunctionAnswer: Sendable, Equatable {
  /// 204.
  case nothing
  /// 200 with this value.
  case value(JSONValue)
  /// 200 once the outbox is empty, or when so long has passed.
  case afterDrain(milliseconds: Int)
}

/// One of the engine's functions as HTTP callers see it.
struct EngineFunction: Sendable {
  /// May be called by GET.
  var onlyReads = false
  /// Queues mutations, on whose verdicts a caller may wait.
  var writes = false
  /// Calls the upstream: what it cannot make sense of is the upstream's fault.
  var asksUpstream = false
  var required: [String] = []
  var optional: [String] = []
  /// Takes any argument: the columns themselves.
  var takesAny = false
  var call: @Sendable (FunctionCall) throws(KizunaError) -> FunctionAnswer
}

/// A call with its checked arguments.
struct FunctionCall: Sendable {
  let engine: Engine
  let arguments: JSONValue
  let writeId: String
  let process: ProcessFacts

  func text(_ name: String) throws(KizunaError) -> String {
    guard let text = arguments[name]?.text else { throw Self.wrong(name, "a text") }
    return text
  }

  func optionalText(_ name: String) throws(KizunaError) -> String? {
    guard let value = arguments[name], !value.isNull else { return nil }
    guard let text = value.text else { throw Self.wrong(name, "a text or null") }
    return text
  }

  func object(_ name: String) throws(KizunaError) -> [JSONMember] {
    guard let value = arguments[name], !value.isNull else { return [] }
    guard let members = value.members else { throw Self.wrong(name, "an object") }
    return members
  }

  /// An argument as it is; null counts as absent.
  func value(_ name: String) -> JSONValue? {
    guard let value = arguments[name], !value.isNull else { return nil }
    return value
  }

  func integer(_ name: String, in range: ClosedRange<Int64>, default fallback: Int64? = nil)
    throws(KizunaError) -> Int64?
  {
    guard let value = value(name) else { return fallback }
    guard let number = value.int64, range.contains(number) else {
      throw Self.wrong(name, "a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }

  func op() throws(KizunaError) -> Mutation.Op {
    guard let op = Mutation.Op(rawValue: try text("op")) else {
      throw Self.wrong("op", "insert, update or delete")
    }
    return op
  }

  /// Has the scheduler look at once, for someone who waits.
  func wakeSync() { process.scheduler?.wake(.foreground, immediately: true) }

  static func wrong(_ name: String, _ wanted: String) -> KizunaError {
    KizunaError("JSON", sqlstate: "22023", "argument \(name) must be \(wanted)")
  }
}

/// What the process knows beside the engine.
package struct ProcessFacts: Sendable {
  package var version: String
  /// Asks the process to stop as SIGTERM does.
  package var stop: @Sendable () -> Void
  /// Syncs in the background; nil without an upstream.
  package var scheduler: SyncScheduler?

  package init(
    version: String, scheduler: SyncScheduler? = nil, stop: @escaping @Sendable () -> Void
  ) {
    self.version = version
    self.scheduler = scheduler
    self.stop = stop
  }
}
