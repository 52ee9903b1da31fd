import Glibc

/// New uuids in their lowercase text form, from the kernel's random numbers.
package enum UUIDText {
  /// Random.
  package static func v4() -> String {
    var bytes = pool.with { $0.take(16) }
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    return text(bytes)
  }

  /// Time-ordered: each one sorts after those that this process made before, whatever the clock does.
  package static func v7() -> String {
    let now = Moment.now()
    let milliseconds = UInt64(max(0, now.seconds)) * 1000 + UInt64(now.micros / 1000)
    return pool.with { state in
      var bytes = state.take(16)
      let (stamp, counter) = state.tick(milliseconds, seed: UInt32(bytes[6]) << 8 | UInt32(bytes[7]))
      for index in 0..<6 { bytes[index] = UInt8(truncatingIfNeeded: stamp >> UInt64(40 - index * 8)) }
      bytes[6] = 0x70 | UInt8(truncatingIfNeeded: counter >> 14 & 0x0F)
      bytes[7] = UInt8(truncatingIfNeeded: counter >> 6)
      bytes[8] = 0x80 | UInt8(truncatingIfNeeded: counter & 0x3F)
      return text(bytes)
    }
  }

  private static let pool = Guarded(State())

  private struct State {
    var random: [UInt8] = []
    var stamp: UInt64 = 0
    /// 18 bits between the time and the random tail; the stamp runs ahead of the clock when they are used up.
    var counter: UInt32 = 0

    mutating func take(_ count: Int) -> [UInt8] {
      if random.count < count {
        random = [UInt8](repeating: 0, count: 1024)
        arc4random_buf(&random, random.count)
      }
      let result = Array(random.suffix(count))
      random.removeLast(count)
      return result
    }

    mutating func tick(_ now: UInt64, seed: UInt32) -> (UInt64, UInt32) {
      if now > stamp {
        stamp = now
        counter = seed & 0xFFFF
      } else if counter < 0x3FFFF {
        counter += 1
      } else {
        stamp += 1
        counter = 0
      }
      return (stamp, counter)
    }
  }

  private static func text(_ bytes: [UInt8]) -> String {
    String(unsafeUninitializedCapacity: 36) { target in
      var at = 0
      for (index, byte) in bytes.enumerated() {
        if index == 4 || index == 6 || index == 8 || index == 10 {
          target[at] = UInt8(ascii: "-")
          at += 1
        }
        target[at] = ByteBuffer.hex(byte >> 4)
        target[at + 1] = ByteBuffer.hex(byte & 15)
        at += 2
      }
      return at
    }
  }
}
