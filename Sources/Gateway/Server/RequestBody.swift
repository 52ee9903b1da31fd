import Glibc

/// A body as it comes in, in memory that grows by doubling. Whoever holds it frees it.
struct RequestBody {
  private var storage: UnsafeMutablePointer<UInt8>?
  private var capacity = 0
  private(set) var count = 0
  /// All bytes seen, those beyond the limit included.
  private(set) var received = 0

  var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: storage, count: count) }

  /// Keeps the bytes unless the body outgrows `limit`; then everything kept is dropped. `expected` is the
  /// declared length, or 0: memory is taken as bytes arrive, never on a client's word.
  mutating func append(_ part: UnsafePointer<CChar>, count length: Int, expected: Int, limit: Int) {
    received += length
    guard received <= limit else { return discard() }
    if received > capacity {
      let doubled = max(received, capacity * 2, 4096)
      let size = expected >= received ? min(doubled, expected) : doubled
      guard let memory = realloc(storage, size) else { abort() }
      storage = memory.assumingMemoryBound(to: UInt8.self)
      capacity = size
    }
    guard let storage else { return }
    memcpy(storage + count, part, length)
    count += length
  }

  mutating func discard() {
    free(storage)
    storage = nil
    capacity = 0
    count = 0
  }
}
