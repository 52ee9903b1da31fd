import CSQLite
import Glibc
import KizunaEngine

/// A few threads for whatever may take long or block. First come, first served; each thread has a reader of its own.
/// Long reads have one lane and functions, which wait for the writer or the network, another: neither may hold up
/// the other kind.
final class SlowLane: @unchecked Sendable {
  typealias Job = @Sendable (Worker) -> Void

  private let engine: Engine
  private let lock = csqlite_lock_new()
  // All below under the lock.
  private var jobs: [Job] = []
  private var next = 0
  private var isClosing = false
  private var threads: [pthread_t] = []

  init(engine: Engine) { self.engine = engine }

  deinit { csqlite_lock_free(lock) }

  /// Starts the threads; false if not one could be made.
  func start(threads count: Int = 4) -> Bool {
    for _ in 0..<count {
      var thread = pthread_t()
      // Retained for the thread, which releases it when it ends.
      let lane = Unmanaged.passRetained(self)
      let status = pthread_create(
        &thread, nil,
        { argument in
          guard let argument else { return nil }
          Unmanaged<SlowLane>.fromOpaque(argument).takeRetainedValue().serve()
          return nil
        }, lane.toOpaque())
      if status == 0 { threads.append(thread) } else { lane.release() }
    }
    return !threads.isEmpty
  }

  /// Queues a job; false once the lane closes, and the job is not run.
  func submit(_ job: @escaping Job) -> Bool {
    csqlite_lock_acquire(lock)
    defer { csqlite_lock_release(lock) }
    if isClosing { return false }
    jobs.append(job)
    csqlite_lock_signal(lock)
    return true
  }

  /// Finishes the jobs that wait and ends the threads.
  func stop() {
    csqlite_lock_acquire(lock)
    isClosing = true
    let ending = threads
    threads = []
    csqlite_lock_broadcast(lock)
    csqlite_lock_release(lock)
    for thread in ending { pthread_join(thread, nil) }
  }

  private func serve() {
    let worker = Worker(engine: engine, maxRows: nil)
    while let job = take() { job(worker) }
  }

  private func take() -> Job? {
    csqlite_lock_acquire(lock)
    defer { csqlite_lock_release(lock) }
    while next == jobs.count {
      if isClosing { return nil }
      _ = csqlite_lock_wait(lock, -1)
    }
    let job = jobs[next]
    next += 1
    if next == jobs.count {
      jobs.removeAll(keepingCapacity: true)
      next = 0
    } else if next >= 64 {
      jobs.removeFirst(next)
      next = 0
    }
    return job
  }
}
