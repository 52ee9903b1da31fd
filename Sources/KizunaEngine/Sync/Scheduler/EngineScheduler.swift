extension SyncScheduler {
  /// Syncs `engine`: on local writes, every `pollIntervalSeconds` (0: without polling), and again after failures.
  /// Attempts are left out while the engine is paused.
  package static func forEngine(_ engine: Engine, pollIntervalSeconds: Int) -> SyncScheduler {
    SyncScheduler(
      options: Options(pollIntervalMilliseconds: pollIntervalSeconds * 1000),
      prepare: { !engine.isClosed && !engine.isPaused },
      run: {
        do throws(KizunaError) {
          try engine.sync()
          return nil
        } catch {
          return SyncRunFailure(error)
        }
      },
      needsReset: { (try? engine.checkpoint())?.softBlocked ?? false },
      attach: { scheduler in
        engine.subscribe { [weak scheduler] event in
          if case .queueDepth(let depth) = event, depth > 0 { scheduler?.wake(.localWrite) }
        }
      })
  }
}
