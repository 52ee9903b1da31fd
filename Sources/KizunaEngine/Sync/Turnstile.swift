/// Lets one caller in at a time, in the order in which they came.
final class Turnstile: @unchecked Sendable {
  private let lock = Lock()
  private var next = 0
  private var serving = 0

  func pass<Value>(_ body: () throws(KizunaError) -> Value) throws(KizunaError) -> Value {
    lock.locked {
      let ticket = next
      next += 1
      while serving != ticket { lock.wait() }
    }
    defer {
      lock.locked {
        serving += 1
        lock.broadcast()
      }
    }
    return try body()
  }
}
