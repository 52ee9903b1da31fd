import Synchronization

/// How many answers one server thread has sent, by method and status. Only that thread adds, so adding is a load
/// and a store; any thread may read.
final class AnswerCounts: @unchecked Sendable {
  struct Entry: Sendable, Equatable {
    var method: String
    var status: Int
    var count: Int
  }

  /// `HTTPExchange.Method` in order; every other method counts as one, so that callers cannot make up rows.
  private static let methods = ["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS", "other"]
  private static let statuses = 100..<600

  /// A row of statuses for each method. Atomics live in memory of their own, since they must not move.
  private let cells: UnsafeMutablePointer<Atomic<Int>>

  private static var size: Int { methods.count * statuses.count }

  init() {
    cells = .allocate(capacity: Self.size)
    for index in 0..<Self.size { (cells + index).initialize(to: Atomic(0)) }
  }

  deinit {
    cells.deinitialize(count: Self.size)
    cells.deallocate()
  }

  func add(_ method: HTTPExchange.Method, _ status: Int) {
    guard Self.statuses.contains(status) else { return }
    let cell = cells + (Self.row(method) * Self.statuses.count + status - Self.statuses.lowerBound)
    cell.pointee.store(cell.pointee.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
  }

  private static func row(_ method: HTTPExchange.Method) -> Int {
    switch method {
    case .get: 0
    case .head: 1
    case .post: 2
    case .patch: 3
    case .put: 4
    case .delete: 5
    case .options: 6
    case .other: 7
    }
  }

  /// The sums over several threads, without those that are zero.
  static func total(_ all: [AnswerCounts]) -> [Entry] {
    var entries: [Entry] = []
    for (row, method) in methods.enumerated() {
      for (column, status) in statuses.enumerated() {
        let cell = row * statuses.count + column
        let sum = all.reduce(0) { $0 + ($1.cells + cell).pointee.load(ordering: .relaxed) }
        if sum > 0 { entries.append(Entry(method: method, status: status, count: sum)) }
      }
    }
    return entries
  }
}
