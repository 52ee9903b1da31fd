import Glibc
import KizunaEngine

/// The last thousand engine events as server-sent events, for clients that listen and clients that come back.
///
/// Ids rise, also across restarts: they count on from the microseconds since 1970 at which the process started, and
/// no process emits a million events a second.
package final class EventRing: @unchecked Sendable {
  package struct Entry: Sendable {
    package let id: Int64
    /// The event in the wire form of server-sent events, its empty last line included.
    package let bytes: [UInt8]
  }

  package static let capacity = 1000

  private let lock = Lock()
  private var entries: [Entry] = []
  private var nextId: Int64
  private var listeners: [(id: Int, call: @Sendable (Entry) -> Void)] = []
  private var nextListener = 0
  private var unsubscribe: (@Sendable () -> Void)?

  package init(engine: Engine) {
    nextId = OriginOfTime.microseconds()
    unsubscribe = engine.subscribe { [weak self] event in self?.add(event) }
  }

  package func close() {
    let end = lock.locked {
      listeners = []
      defer { unsubscribe = nil }
      return unsubscribe
    }
    end?()
  }

  /// Calls `listener` with every event from now on, on the thread of the events, after it has been told those kept
  /// since `lastId`. It must not block. Answers the way to stop.
  package func listen(since lastId: Int64?, _ listener: @escaping @Sendable (Entry) -> Void)
    -> @Sendable () -> Void
  {
    lock.acquire()
    defer { lock.release() }
    if let lastId {
      for entry in entries where entry.id > lastId { listener(entry) }
    }
    nextListener += 1
    let id = nextListener
    listeners.append((id, listener))
    return { [weak self] in
      guard let self else { return }
      lock.locked { self.listeners.removeAll { $0.id == id } }
    }
  }

  private func add(_ event: EngineEvent) {
    lock.locked {
      let entry = Entry(id: nextId, bytes: EventText.bytes(event, id: nextId))
      nextId += 1
      if entries.count == Self.capacity { entries.removeFirst() }
      entries.append(entry)
      for listener in listeners { listener.call(entry) }
    }
  }
}

enum OriginOfTime {
  static func microseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1_000_000 + Int64(now.tv_nsec) / 1000
  }
}

/// An event in the wire form of server-sent events.
enum EventText {
  static func bytes(_ event: EngineEvent, id: Int64) -> [UInt8] {
    let (name, data) = content(event)
    var buffer = ByteBuffer(capacity: 128)
    buffer.append("id: ")
    buffer.append(integer: id)
    buffer.append("\nevent: ")
    buffer.append(name)
    buffer.append("\ndata: ")
    buffer.append(json: .object(data))
    buffer.append("\n\n")
    return buffer.array
  }

  private static func content(_ event: EngineEvent) -> (String, [JSONMember]) {
    switch event {
    case .localChanged: ("LOCAL_CHANGED", [])
    case .queueDepth(let depth): ("QUEUE_DEPTH", [JSONMember("depth", .integer(Int64(depth)))])
    case .mutationRejected(let id, let reason):
      ("MUTATION_REJECTED", [JSONMember("mutation_id", .string(id)), JSONMember("reason", .string(reason))])
    case .batchAborted(let id, let reason):
      (
        "BATCH_ABORTED",
        [JSONMember("offender_mutation_id", .string(id)), JSONMember("reason", .string(reason))]
      )
    case .deadLetter(let id, let reason):
      ("DEAD_LETTER", [JSONMember("mutation_id", .string(id)), JSONMember("reason", .string(reason))])
    case .columnOverwritten(let table, let pk, let column, let loser, let winner, let mode):
      (
        "COLUMN_OVERWRITTEN",
        [
          JSONMember("table", .string(table)), JSONMember("pk", .string(pk)),
          JSONMember("column", .string(column)),
          JSONMember("loser_value", (try? JSONParser.parse(loser)) ?? .null),
          JSONMember("winner_mutation_id", .string(winner)), JSONMember("conflict_mode", .string(mode)),
        ]
      )
    case .checkpointExpired: ("CHECKPOINT_EXPIRED", [])
    case .resetRequired(let reason): ("RESET_REQUIRED", [JSONMember("reason", StatusAnswer.optional(reason))])
    }
  }
}
