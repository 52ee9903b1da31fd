import Gateway
import Glibc
import KizunaEngine

/// Serves until a signal says stop.
struct ServeCommand {
  let configuration: GatewayConfiguration

  /// The main thread waits for signals; every other thread is started with them blocked, so that they are
  /// delivered nowhere else.
  func run() throws(CommandFailure) {
    Log.configure(level: configuration.logLevel, format: configuration.logFormat)
    var signals = Self.signals
    pthread_sigmask(SIG_BLOCK, &signals, nil)

    let isNew = configuration.isThrowaway || !exists(configuration.database)
    let engine = try DatabaseOpening.open(configuration)
    defer { engine.close() }
    if configuration.isDemo && isNew { try seedDemo(engine) }
    UpstreamSession.begin(configuration, engine)
    let scheduler = makeScheduler(engine)

    let process = ProcessFacts(
      version: Version.text, scheduler: scheduler, stop: { kill(getpid(), SIGTERM) })
    let server = GatewayServer(configuration: configuration, engine: engine, process: process)
    let addresses = try start(server)
    try Program.show(
      "kizuna-gateway \(Version.text) listening on \(addresses.joined(separator: ", "))"
        + " · database \(configuration.shownDatabase) · upstream \(configuration.shownUpstream)\n")
    if configuration.isDemo {
      let web = addresses.first { $0.utf8.starts(with: "http:".utf8) }
      let trial = web.map { "; try curl \($0)/rest/v1/todos" } ?? ""
      Log.info("no kizuna.json here: serving the built-in demo, the tables lists and todos\(trial)")
    }
    scheduler?.start()
    waitForStop(&signals, scheduler)
    stop(server)
  }

  private static var signals: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for signal in [SIGTERM, SIGINT, SIGHUP] { sigaddset(&set, signal) }
    return set
  }

  private func seedDemo(_ engine: Engine) throws(CommandFailure) {
    do throws(KizunaError) {
      try Demo.seed(engine)
    } catch {
      throw CommandFailure(error, source: configuration.source)
    }
  }

  private func start(_ server: GatewayServer) throws(CommandFailure) -> [String] {
    do throws(GatewayStartError) {
      return try server.start()
    } catch {
      switch error {
      case .addressInUse(let address):
        throw CommandFailure(
          .unavailable,
          "\(address) is in use; stop what listens there, or choose another address with --listen")
      case .cannotBind("", let reason):
        throw CommandFailure(.unavailable, "the server cannot start: \(reason)")
      case .cannotBind(let address, let reason):
        throw CommandFailure(
          .unavailable, "cannot listen on \(address): \(reason); choose another address with --listen")
      }
    }
  }

  /// nil where nothing is ever sent.
  private func makeScheduler(_ engine: Engine) -> SyncScheduler? {
    guard !configuration.offline, configuration.remote != nil else { return nil }
    return SyncScheduler.forEngine(engine, pollIntervalSeconds: configuration.pollIntervalS)
  }

  private func waitForStop(_ signals: inout sigset_t, _ scheduler: SyncScheduler?) {
    while true {
      var received: Int32 = 0
      guard sigwait(&signals, &received) == 0 else { continue }
      if received != SIGHUP {
        Log.info("stopping")
        return
      }
      // A run looks for a new token first.
      scheduler?.wake(.foreground, immediately: true)
    }
  }

  /// What is acknowledged is durable, so that the process may end where an answer is stuck.
  private func stop(_ server: GatewayServer) {
    _ = KizunaEngine.Thread(name: "deadline") {
      let deadline = monotonicMilliseconds() + 4700
      while monotonicMilliseconds() < deadline { usleep(100_000) }
      Log.warn("still busy at the deadline; ending")
      _exit(ExitCode.success.rawValue)
    }
    server.stop(deadlineSeconds: 3)
  }
}

func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }
