import Foundation
import KizunaEngine

/// What a scheduler does in a run. All of it runs on the scheduler's own thread, which waits for what is
/// asynchronous.
final class SchedulerActions: Sendable {
  struct Settings: Sendable {
    var refreshSession: KizunaSyncScheduler.RefreshSession
    var sync: KizunaSyncScheduler.Sync?
    var onError: KizunaSyncScheduler.OnError?
  }

  let settings: Guarded<Settings>
  private let client: KizunaSyncClient
  private let reset: (@Sendable () async -> Bool)?

  init(
    client: KizunaSyncClient, refreshSession: @escaping KizunaSyncScheduler.RefreshSession,
    sync: KizunaSyncScheduler.Sync?, onError: KizunaSyncScheduler.OnError?,
    needsReset: (@Sendable () async -> Bool)?
  ) {
    self.client = client
    settings = Guarded(Settings(refreshSession: refreshSession, sync: sync, onError: onError))
    reset = needsReset
  }

  func prepare() -> Bool {
    let refreshSession = settings.with { $0.refreshSession }
    return Self.wait { await refreshSession() }
  }

  func run() -> SyncRunFailure? {
    let client = client
    let sync = settings.with { $0.sync }
    let error: (any Error)? = Self.wait {
      do {
        if let sync { try await sync() } else { try await client.sync() }
        return nil
      } catch {
        return error
      }
    }
    guard let error else { return nil }
    report(error)
    if let error = error as? KizunaSyncError {
      return SyncRunFailure(code: error.code, message: error.message)
    }
    return SyncRunFailure(code: nil, message: error.localizedDescription)
  }

  func needsReset() -> Bool {
    let client = client
    let reset = reset
    return Self.wait {
      if let reset { return await reset() }
      return (try? await client.checkpoint())?.softBlocked ?? false
    }
  }

  func report(_ error: any Error) { settings.with { $0.onError }?(error) }

  private static func wait<Answer: Sendable>(_ body: @escaping @Sendable () async -> Answer) -> Answer {
    let done = DispatchSemaphore(value: 0)
    let answer = Guarded<Answer?>(nil)
    Task.detached {
      let value = await body()
      answer.with { $0 = value }
      done.signal()
    }
    while true {
      done.wait()
      if let value = answer.with({ $0 }) { return value }
    }
  }
}
