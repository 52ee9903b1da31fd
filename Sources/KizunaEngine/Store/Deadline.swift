import CSQLite

/// Interrupts a connection's statement once a moment has passed. SQLite asks every few thousand steps of its
/// machine, on the thread that runs the statement.
final class Deadline {
  private let moment = UnsafeMutablePointer<Int64>.allocate(capacity: 1)
  private let connection: Connection

  init(_ connection: Connection) {
    self.connection = connection
    moment.initialize(to: 0)
    sqlite3_progress_handler(
      connection.handle, 4000,
      { context in
        guard let moment = context?.assumingMemoryBound(to: Int64.self).pointee, moment != 0 else { return 0 }
        return monotonicMilliseconds() > moment ? 1 : 0
      }, moment)
  }

  deinit {
    sqlite3_progress_handler(connection.handle, 0, nil, nil)
    moment.deallocate()
  }

  func arm(milliseconds: Int) { moment.pointee = monotonicMilliseconds() + Int64(milliseconds) }
  func disarm() { moment.pointee = 0 }
}
