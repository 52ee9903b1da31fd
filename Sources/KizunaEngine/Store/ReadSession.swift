/// A read connection and its cache of prepared statements. Belongs to one thread at a time.
package final class ReadSession {
  /// Bounds of a read on a server thread. Beyond them `run` throws `KizunaError` with code `SLOW_READ`: hand the
  /// read to a thread that may take its time.
  package struct Budget: Sendable {
    package var milliseconds: Int
    package var bytes: Int
    package init(milliseconds: Int, bytes: Int) {
      self.milliseconds = milliseconds
      self.bytes = bytes
    }
  }

  package struct Outcome: Sendable, Equatable {
    /// Rows written.
    package var rows: Int
    /// Rows that the filter matches, when the plan wants the count.
    package var total: Int?
  }

  /// Compiles a plan: checks columns (`42703`), operators (`42883`), literals (`22P02` …) and casts (`42704`).
  package func prepare(_ plan: ReadPlan, format: RowFormat) throws(KizunaError) -> PreparedRead {
    throw KizunaError("STORE", "unbuilt")
  }

  /// Appends the answer to `buffer`. Count and rows come from one snapshot.
  package func run(
    _ read: PreparedRead, zone: Zone = .utc, into buffer: inout ByteBuffer, budget: Budget
  ) throws(KizunaError) -> Outcome { Outcome(rows: 0, total: nil) }

  /// A read of any size. `start` is told how many rows will come before the first byte; `write` takes the
  /// answer in pieces and answers false to end it. Interrupted (`57014`) after `timeoutSeconds`.
  package func stream(
    _ read: PreparedRead, zone: Zone = .utc, timeoutSeconds: Int, start: (Outcome) -> Void,
    write: (consuming ByteBuffer) -> Bool
  ) throws(KizunaError) {}
}

/// A compiled read with its values, for the session that made it.
package final class PreparedRead {
  init() {}
}
