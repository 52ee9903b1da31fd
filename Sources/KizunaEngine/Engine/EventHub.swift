/// Delivers events on one thread of its own, one at a time, in emission order. A handler may call the engine.
final class EventHub: Sendable {
  private struct State {
    var handlers: [(id: Int, call: @Sendable (EngineEvent) -> Void)] = []
    var nextId = 0
    var isClosed = false
  }

  private let state = Guarded(State())
  private let queue = WorkQueue<EngineEvent>()
  private let thread = Guarded<Thread?>(nil)

  init() {
    let queue = queue
    let state = state
    let worker = Thread(name: "kizuna-events") {
      while let events = queue.takeAll() {
        for event in events {
          for handler in state.with({ $0.handlers }) { handler.call(event) }
        }
      }
    }
    thread.with { $0 = worker }
  }

  func emit(_ events: [EngineEvent]) {
    if !events.isEmpty { queue.add(events) }
  }

  func subscribe(_ call: @escaping @Sendable (EngineEvent) -> Void) -> @Sendable () -> Void {
    let state = state
    let id = state.with { state in
      state.nextId += 1
      state.handlers.append((state.nextId, call))
      return state.nextId
    }
    return { state.with { state in state.handlers.removeAll { $0.id == id } } }
  }

  /// Delivers what was emitted, then ends the thread. Not from a handler.
  func close() {
    queue.close()
    thread.with { thread in
      let ended = thread
      thread = nil
      return ended
    }?.join()
  }
}

/// A queue that one thread empties.
final class WorkQueue<Item>: @unchecked Sendable {
  private let lock = Lock()
  private var items: [Item] = []
  private var isClosed = false

  /// False once closed: the items were not taken.
  @discardableResult
  func add(_ new: [Item]) -> Bool {
    lock.locked {
      guard !isClosed else { return false }
      items.append(contentsOf: new)
      lock.signal()
      return true
    }
  }

  /// Everything that waits, oldest first; waits for the first item. nil once closed and empty.
  func takeAll() -> [Item]? {
    lock.locked {
      while items.isEmpty && !isClosed { lock.wait() }
      guard !items.isEmpty else { return nil }
      let taken = items
      items = []
      return taken
    }
  }

  func close() {
    lock.locked {
      isClosed = true
      lock.broadcast()
    }
  }
}
