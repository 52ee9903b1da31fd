import Glibc

/// A moment on both clocks: what waits goes by the monotonic one, what is shown by the wall's.
struct SchedulerTime: Sendable, Equatable {
  var monotonic: Int64
  var epoch: Int64

  static func now() -> SchedulerTime {
    var wall = timespec()
    clock_gettime(CLOCK_REALTIME, &wall)
    return SchedulerTime(
      monotonic: monotonicMilliseconds(), epoch: Int64(wall.tv_sec) * 1000 + Int64(wall.tv_nsec) / 1_000_000)
  }

  func adding(_ milliseconds: Int64) -> SchedulerTime {
    SchedulerTime(monotonic: monotonic + milliseconds, epoch: epoch + milliseconds)
  }

  func isReached(at now: SchedulerTime) -> Bool { monotonic <= now.monotonic }

  static func earlier(_ one: SchedulerTime?, _ other: SchedulerTime?) -> SchedulerTime? {
    guard let one else { return other }
    guard let other else { return one }
    return one.monotonic <= other.monotonic ? one : other
  }
}
