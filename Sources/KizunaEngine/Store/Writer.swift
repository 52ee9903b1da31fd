import CSQLite

/// The one writer: a thread that owns the only write connection. It takes every job that waits, runs each in a
/// savepoint inside one transaction, commits once, then completes them all. So many callers share one fsync, and
/// no completion runs before its commit is durable.
final class Writer: Sendable {
  /// What a job does. Thrown errors undo the job and no other.
  struct Job: @unchecked Sendable {
    /// Undo even what succeeded.
    var isDryRun = false
    /// Whether its completion promises that what it did outlives a loss of power.
    var isDurable = true
    /// Whether it may throw when it has already written something. One that may not needs no savepoint, for which
    /// SQLite copies every page that the job changes.
    var mayFailHalfway = true
    var body: (WriteContext) throws(KizunaError) -> Void
    /// Runs on the writer thread; nil when the job's commit is durable (or its dry run over).
    var completion: @Sendable (KizunaError?) -> Void
  }

  private let queue = WorkQueue<Job>()
  private let thread = Guarded<Thread?>(nil)

  /// The context is used by the writer thread alone from here on.
  init(context: sending WriteContext, checkpointer: Checkpointer) {
    let queue = queue
    let owned = Transfer(context)
    let worker = Thread(name: "kizuna-writer") {
      let context = owned.value
      while let jobs = queue.takeAll() {
        for start in stride(from: 0, to: jobs.count, by: Self.batchLimit) {
          Self.run(jobs[start..<min(start + Self.batchLimit, jobs.count)], context)
          checkpointer.finish(context.connection)
        }
      }
      context.close()
    }
    thread.with { $0 = worker }
  }

  private struct Transfer: @unchecked Sendable {
    let value: WriteContext
    init(_ value: WriteContext) { self.value = value }
  }

  /// Bounds how long the first of a batch waits for the last.
  private static let batchLimit = 512

  func submit(_ job: Job) {
    if !queue.add([job]) { job.completion(Closing.error) }
  }

  /// Runs a job and waits for it. Not from the writer thread.
  func perform<Value>(
    isDryRun: Bool = false, isDurable: Bool = true,
    _ body: @escaping (WriteContext) throws(KizunaError) -> Value
  ) throws(KizunaError) -> Value {
    let slot = Slot<Value>()
    submit(
      Job(
        isDryRun: isDryRun, isDurable: isDurable,
        body: { context throws(KizunaError) in slot.value = try body(context) },
        completion: { slot.finish($0) }))
    return try slot.wait()
  }

  /// Finishes the jobs that wait, then ends the thread and closes the connection.
  func close() {
    queue.close()
    thread.with { thread in
      let ended = thread
      thread = nil
      return ended
    }?.join()
  }

  private final class Slot<Value>: @unchecked Sendable {
    private let lock = Lock()
    private var isDone = false
    private var error: KizunaError?
    var value: Value?

    func finish(_ error: KizunaError?) {
      lock.locked {
        self.error = error
        isDone = true
        lock.signal()
      }
    }

    func wait() throws(KizunaError) -> Value {
      lock.acquire()
      while !isDone { lock.wait() }
      lock.release()
      if let error { throw error }
      guard let value else { throw KizunaError("STORE", "a write ended without an outcome") }
      return value
    }
  }

  // MARK: On the writer thread

  private static func run(_ jobs: ArraySlice<Job>, _ context: WriteContext) {
    var failures = [KizunaError?](repeating: nil, count: jobs.count)
    var changes: [WriteContext.Change] = []
    do throws(KizunaError) {
      try context.demandDurability(jobs.contains { $0.isDurable })
      try context.connection.run("BEGIN IMMEDIATE")
      context.beginTransaction()
      for (index, job) in jobs.enumerated() {
        failures[index] = try runOne(job, context, &changes)
      }
      try context.connection.run("COMMIT")
      context.committed(changes)
    } catch {
      // The whole transaction is lost: no job of it may count as done.
      if !context.connection.isAutocommit { try? context.connection.run("ROLLBACK") }
      context.rolledBack()
      for index in failures.indices where failures[index] == nil { failures[index] = error }
    }
    for (index, job) in jobs.enumerated() { job.completion(failures[index]) }
  }

  /// The job's own failure, undone; throws when the transaction itself is lost.
  private static func runOne(
    _ job: Job, _ context: WriteContext, _ changes: inout [WriteContext.Change]
  ) throws(KizunaError) -> KizunaError? {
    let isGuarded = job.isDryRun || job.mayFailHalfway
    if isGuarded { try context.connection.run("SAVEPOINT job") }
    let changesBefore = context.connection.totalChanges
    let before = context.beginJob()
    var failure: KizunaError?
    do throws(KizunaError) {
      try job.body(context)
    } catch {
      failure = error
    }
    if context.connection.isAutocommit {
      throw failure ?? KizunaError("STORE", sqlstate: "XX000", "the transaction was lost")
    }
    if failure != nil || job.isDryRun {
      if isGuarded {
        try context.connection.run("ROLLBACK TO job")
      } else if let failure, context.connection.totalChanges != changesBefore {
        // It was not to fail here, and what it wrote cannot be told from the others' work.
        throw failure
      }
      context.undoJob(to: before)
    } else {
      changes.append(context.change)
    }
    if isGuarded { try context.connection.run("RELEASE job") }
    return failure
  }
}
