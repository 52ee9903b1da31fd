import Foundation
import KizunaEngine
import Testing

@testable import Gateway

@Suite struct MetricsTests {
  @Test func countsAreSummedOverThreads() {
    let one = AnswerCounts()
    let two = AnswerCounts()
    for _ in 0..<3 { one.add(.get, 200) }
    two.add(.get, 200)
    two.add(.other("BREW"), 405)
    two.add(.other("STEEP"), 405)
    two.add(.delete, 599)
    two.add(.get, 600)
    #expect(
      AnswerCounts.total([one, two]) == [
        .init(method: "GET", status: 200, count: 4), .init(method: "DELETE", status: 599, count: 1),
        .init(method: "other", status: 405, count: 2),
      ])
  }

  @Test func readingWhileAThreadCountsIsSafe() {
    let counts = AnswerCounts()
    let thread = KizunaEngine.Thread(name: "counter") { for _ in 0..<20_000 { counts.add(.get, 200) } }
    var last = 0
    for _ in 0..<20 {
      let now = AnswerCounts.total([counts]).first?.count ?? 0
      #expect(now >= last)
      last = now
    }
    thread.join()
    #expect(AnswerCounts.total([counts]).first?.count == 20_000)
  }

  @Test func textFollowsThePrometheusFormat() {
    let metrics = Metrics(
      version: "1\"2\\\n", uptimeMilliseconds: 61_005, outboxDepth: 3, oldestQueuedAgeMilliseconds: 0,
      databaseBytes: 4096, walBytes: 12, answers: [.init(method: "GET", status: 200, count: 7)],
      sync: .init(runs: 5, failures: ["STORE": 1, "REMOTE": 2], rejections: ["RLS_DENIED": 4]))
    let lines = metrics.text().string.split(separator: "\n").map(String.init)
    let samples = lines.filter { !$0.hasPrefix("#") }
    #expect(
      samples == [
        #"kizuna_build_info{version="1\"2\\\n"} 1"#, "kizuna_uptime_seconds 61.005", "kizuna_outbox_depth 3",
        "kizuna_oldest_queued_age_seconds 0.000", "kizuna_database_bytes 4096", "kizuna_wal_bytes 12",
        #"kizuna_http_requests_total{method="GET",status="200"} 7"#, "kizuna_sync_runs_total 5",
        #"kizuna_sync_failures_total{code="REMOTE"} 2"#, #"kizuna_sync_failures_total{code="STORE"} 1"#,
        #"kizuna_rejections_total{reason="RLS_DENIED"} 4"#,
      ])
    #expect(lines.contains("# TYPE kizuna_http_requests_total counter"))
    #expect(lines.count { $0.hasPrefix("# HELP ") } == 10)
  }

  @Test func ageIsNeverNegative() {
    let now = Moment(seconds: 1_700_000_010, micros: 250_000)
    #expect(Metrics.age(of: nil, at: now) == 0)
    #expect(Metrics.age(of: Moment(seconds: 1_700_000_000, micros: 0).stored, at: now) == 10_250)
    #expect(Metrics.age(of: Moment(seconds: 1_700_000_099, micros: 0).stored, at: now) == 0)
  }
}
