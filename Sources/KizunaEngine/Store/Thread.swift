import CSQLite
import Glibc

/// A plain thread that can be joined.
package final class Thread: @unchecked Sendable {
  private final class Start {
    let body: @Sendable () -> Void
    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  private var handle = pthread_t()

  /// `name` has at most 15 bytes (the kernel's limit).
  package init(name: String, _ body: @escaping @Sendable () -> Void) {
    let start = Unmanaged.passRetained(Start(body)).toOpaque()
    let result = pthread_create(
      &handle, nil,
      { context in
        // The new thread takes over the reference made above.
        let start = Unmanaged<Start>.fromOpaque(context.unsafelyUnwrapped).takeRetainedValue()
        start.body()
        return nil
      }, start)
    precondition(result == 0, "the system gives no more threads")
    name.withCString { csqlite_thread_name(handle, $0) }
  }

  package func join() { pthread_join(handle, nil) }
}

/// Milliseconds of the monotonic clock.
package func monotonicMilliseconds() -> Int64 {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
}

/// What the C library says of the call that failed last.
package enum SystemError {
  package static var text: String { strerror(errno).map { String(cString: $0) } ?? "error \(errno)" }
}

package enum Environment {
  package static func value(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
