/// Tells changes of the health to whoever subscribed: in order, one at a time, without a thread of its own. Whoever
/// finds nobody delivering delivers all that waits.
final class HealthOutlet: Sendable {
  private struct State {
    var last: SyncHealth
    var handlers: [(id: Int, call: @Sendable (SyncHealth) -> Void)] = []
    var nextId = 0
    /// `id` nil: for everybody.
    var waiting: [(id: Int?, health: SyncHealth)] = []
    var isDelivering = false
  }

  private let state: Guarded<State>

  init(_ health: SyncHealth) { state = Guarded(State(last: health)) }

  /// Takes note of the health as it is now. Told by the next `deliver`.
  func offer(_ health: SyncHealth) {
    state.with { state in
      guard state.last != health else { return }
      state.last = health
      if !state.handlers.isEmpty { state.waiting.append((nil, health)) }
    }
  }

  func add(_ handler: @escaping @Sendable (SyncHealth) -> Void) -> Int {
    state.with { state in
      state.nextId += 1
      state.handlers.append((state.nextId, handler))
      state.waiting.append((state.nextId, state.last))
      return state.nextId
    }
  }

  func remove(_ id: Int) {
    state.with { state in state.handlers.removeAll { $0.id == id } }
  }

  /// Not under a lock that a handler could want.
  func deliver() {
    guard
      state.with({ state in
        defer { state.isDelivering = true }
        return !state.isDelivering
      })
    else { return }
    while let (calls, health) = next() {
      for call in calls { call(health) }
    }
  }

  /// nil ends the delivery: nothing waits.
  private func next() -> ([@Sendable (SyncHealth) -> Void], SyncHealth)? {
    state.with { state in
      guard !state.waiting.isEmpty else {
        state.isDelivering = false
        return nil
      }
      let (id, health) = state.waiting.removeFirst()
      // One who subscribed after a change was noted is told only of what followed.
      let calls = state.handlers.filter { id == nil || $0.id == id }.map(\.call)
      return (calls, health)
    }
  }
}
