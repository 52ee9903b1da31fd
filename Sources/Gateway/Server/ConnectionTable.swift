import Glibc

/// The open connections: how many there may be, and their descriptors.
final class ConnectionTable: @unchecked Sendable {
  let limit: Int
  private let lock = ServerLock()
  private var count = 0
  private var descriptors: Set<Int32> = []

  init(limit: Int) { self.limit = limit }

  /// Room for one more connection, or not.
  var hasRoom: Bool { lock.holding { count < limit } }

  /// Before libmicrohttpd gets it.
  func reserve() { lock.holding { count += 1 } }

  /// libmicrohttpd did not take it.
  func giveBack() { lock.holding { count -= 1 } }

  func started(_ descriptor: Int32) { lock.holding { _ = descriptors.insert(descriptor) } }

  /// Before its descriptor is closed. True when the table was full.
  func closed(_ descriptor: Int32) -> Bool {
    lock.holding {
      descriptors.remove(descriptor)
      count -= 1
      return count == limit - 1
    }
  }

  /// Ends all of them; their threads then find them closed. The lock keeps the descriptors from being closed, and
  /// so from being reused, meanwhile.
  func shutDownAll() {
    lock.holding {
      for descriptor in descriptors { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
  }
}
