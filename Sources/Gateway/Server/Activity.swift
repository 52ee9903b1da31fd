import CMicroHTTPD
import Glibc

/// How many requests are in the house, and whether the doors are closing: one word, so that a request and a stop
/// can never both believe to be first.
final class Activity: @unchecked Sendable {
  private static let stopping = 1 << 62
  private static let closed = 1 << 61

  private let word: OpaquePointer = cmicrohttpd_word_new()

  deinit { cmicrohttpd_word_free(word) }

  var isStopping: Bool { cmicrohttpd_word_load(word) & Self.stopping != 0 }

  var hasRequests: Bool { cmicrohttpd_word_load(word) & (Self.closed - 1) != 0 }

  func beginStopping() { cmicrohttpd_word_set(word, Self.stopping) }

  func enter() -> Bool {
    if cmicrohttpd_word_add(word, 1) & Self.closed == 0 { return true }
    leave()
    return false
  }

  func leave() { cmicrohttpd_word_add(word, -1) }

  /// Lets no request in as soon as none is there. False when some still are after that time.
  func close(withinMilliseconds limit: Int) -> Bool {
    let step = 5
    var waited = 0
    while cmicrohttpd_word_replace(word, Self.stopping, Self.stopping | Self.closed) == 0 {
      if waited >= limit { return false }
      usleep(UInt32(step * 1000))
      waited += step
    }
    return true
  }
}
