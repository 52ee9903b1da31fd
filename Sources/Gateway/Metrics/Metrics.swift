import Glibc
import KizunaEngine

/// What `/metrics` tells, at one moment.
struct Metrics: Sendable, Equatable {
  var version: String
  var uptimeMilliseconds: Int64
  var outboxDepth: Int
  /// 0 while nothing is queued.
  var oldestQueuedAgeMilliseconds: Int64
  var databaseBytes: Int64
  var walBytes: Int64
  var answers: [AnswerCounts.Entry]
  var sync: SyncMonitor.Counts

  static let contentType: StaticString = "text/plain; version=0.0.4; charset=utf-8"

  /// Asks the engine, which waits for its writer: not for a server thread.
  init(
    engine: Engine, version: String, startedAt: Int64, answers: [AnswerCounts.Entry], sync: SyncMonitor.Counts
  ) throws(KizunaError) {
    let status = try engine.status()
    self.init(
      version: version, uptimeMilliseconds: monotonicMilliseconds() - startedAt,
      outboxDepth: status.outboxDepth,
      oldestQueuedAgeMilliseconds: Self.age(of: status.oldestQueuedAt, at: .now()),
      databaseBytes: Self.size(of: engine.databasePath),
      walBytes: Self.size(of: engine.databasePath + "-wal"),
      answers: answers, sync: sync)
  }

  init(
    version: String, uptimeMilliseconds: Int64, outboxDepth: Int, oldestQueuedAgeMilliseconds: Int64,
    databaseBytes: Int64, walBytes: Int64, answers: [AnswerCounts.Entry], sync: SyncMonitor.Counts
  ) {
    self.version = version
    self.uptimeMilliseconds = uptimeMilliseconds
    self.outboxDepth = outboxDepth
    self.oldestQueuedAgeMilliseconds = oldestQueuedAgeMilliseconds
    self.databaseBytes = databaseBytes
    self.walBytes = walBytes
    self.answers = answers
    self.sync = sync
  }

  /// How long ago a stored moment was; never less than nothing, whatever the clock did meanwhile.
  static func age(of stored: String?, at now: Moment) -> Int64 {
    guard var stored, let moment = stored.withUTF8({ Moment(stored: $0) }) else { return 0 }
    return max(0, Int64(now.seconds - moment.seconds) * 1000 + Int64(now.micros - moment.micros) / 1000)
  }

  /// 0 for a file that is not there.
  private static func size(of path: String) -> Int64 {
    var facts = stat()
    return stat(path, &facts) == 0 ? Int64(facts.st_size) : 0
  }

  // MARK: Text

  /// The Prometheus text format, version 0.0.4.
  func text() -> ByteBuffer {
    var text = Exposition()
    text.metric("kizuna_build_info", "gauge", "The version that runs.")
    text.sample("kizuna_build_info", [("version", version)], "1")
    text.gauge("kizuna_uptime_seconds", "Time since the gateway started.", Self.seconds(uptimeMilliseconds))
    text.gauge("kizuna_outbox_depth", "Mutations that wait for the upstream.", String(outboxDepth))
    text.gauge(
      "kizuna_oldest_queued_age_seconds", "Age of the oldest mutation that waits; 0 when none does.",
      Self.seconds(oldestQueuedAgeMilliseconds))
    text.gauge("kizuna_database_bytes", "Size of the database file.", String(databaseBytes))
    text.gauge("kizuna_wal_bytes", "Size of the write-ahead log.", String(walBytes))
    text.metric("kizuna_http_requests_total", "counter", "Requests answered, by method and status.")
    for answer in answers {
      let labels = [("method", answer.method), ("status", String(answer.status))]
      text.sample("kizuna_http_requests_total", labels, String(answer.count))
    }
    text.metric("kizuna_sync_runs_total", "counter", "Background runs of sync that have ended.")
    text.sample("kizuna_sync_runs_total", [], String(sync.runs))
    text.counter("kizuna_sync_failures_total", "Background runs that failed, by code.", "code", sync.failures)
    text.counter(
      "kizuna_rejections_total", "Mutations that the upstream refused, by reason.", "reason", sync.rejections)
    return text.finish()
  }

  private static func seconds(_ milliseconds: Int64) -> String {
    let rest = String(milliseconds % 1000)
    return "\(milliseconds / 1000).\(String(repeating: "0", count: 3 - rest.utf8.count))\(rest)"
  }
}

/// Lines of the Prometheus text format.
private struct Exposition: ~Copyable {
  private var buffer = ByteBuffer(capacity: 2048)

  consuming func finish() -> ByteBuffer { buffer }

  mutating func metric(_ name: String, _ type: String, _ help: String) {
    buffer.append("# HELP \(name) \(help)\n# TYPE \(name) \(type)\n")
  }

  mutating func gauge(_ name: String, _ help: String, _ value: String) {
    metric(name, "gauge", help)
    sample(name, [], value)
  }

  mutating func counter(_ name: String, _ help: String, _ label: String, _ values: [String: Int]) {
    metric(name, "counter", help)
    for (value, count) in values.sorted(by: { $0.key < $1.key }) {
      sample(name, [(label, value)], String(count))
    }
  }

  mutating func sample(_ name: String, _ labels: [(name: String, value: String)], _ value: String) {
    buffer.append(name)
    for (index, label) in labels.enumerated() {
      buffer.append(index == 0 ? "{" : ",")
      buffer.append("\(label.name)=\"")
      appendEscaped(label.value)
      buffer.append("\"")
    }
    if !labels.isEmpty { buffer.append("}") }
    buffer.append(" \(value)\n")
  }

  private mutating func appendEscaped(_ value: String) {
    for byte in value.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        buffer.append(UInt8(ascii: "\\"))
        buffer.append(byte)
      case UInt8(ascii: "\n"): buffer.append("\\n")
      default: buffer.append(byte)
      }
    }
  }
}
