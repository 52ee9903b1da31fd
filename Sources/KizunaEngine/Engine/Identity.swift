import Glibc

/// Who this store is and whose rows it holds; kept in the database.
struct Identity: Sendable {
  /// Minted once; `reset` mints another.
  var clientId: String
  /// The subject of the first readable access token.
  var owner: String?
  /// `reset_required` or `identity_changed`: nothing is sent until `reset`.
  var softBlockReason: String?
  var cursor = "0"
  /// The last mutation that the upstream was seen to apply.
  var lastMutationId: String?
  /// The next pull starts over, since a bucket's scope was replaced.
  var restartsPull = false
  /// Moves when a bucket's scope is replaced: what was asked before is void. Not kept.
  var scope = 0
  var clock: OriginClock
}

/// The origin clock of `hlc` tables: a stamp never goes back, whatever the wall clock does.
struct OriginClock: Sendable {
  /// Milliseconds since the Unix epoch.
  private(set) var physical: Int64
  private(set) var counter: Int64
  let node: String

  init(physical: Int64 = 0, counter: Int64 = 0, node: String) {
    self.physical = physical
    self.counter = counter
    self.node = node
  }

  private static let furthestAhead: Int64 = 3_600_000

  /// `2024-01-01T00:00:00.000Z|0|node`
  mutating func tick(now: Int64 = OriginClock.wallMilliseconds()) -> String {
    let kept = physical > now + Self.furthestAhead ? 0 : physical
    if now > kept {
      physical = now
      counter = 0
    } else {
      counter = physical == kept ? counter + 1 : 0
      physical = kept
    }
    return "\(Self.text(physical))|\(counter)|\(node)"
  }

  static func wallMilliseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
  }

  static func text(_ milliseconds: Int64) -> String {
    var seconds = time_t(milliseconds / 1000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func digits(_ value: Int64, _ count: Int) -> String {
      let text = String(value)
      return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
    let date = [Int64(parts.tm_year) + 1900, Int64(parts.tm_mon) + 1, Int64(parts.tm_mday)]
    let clock = [Int64(parts.tm_hour), Int64(parts.tm_min), Int64(parts.tm_sec)]
    return digits(date[0], 4) + "-" + date[1...].map { digits($0, 2) }.joined(separator: "-") + "T"
      + clock.map { digits($0, 2) }.joined(separator: ":") + "." + digits(milliseconds % 1000, 3) + "Z"
  }
}

/// What every thread may read of an open engine, as of the last commit.
final class SharedState: Sendable {
  private let state: Guarded<(catalog: Catalog, identity: Identity)>
  /// Moves with every catalog published: readers look at it before every read.
  private let version = AtomicWord()

  init(catalog: Catalog, identity: Identity) { state = Guarded((catalog, identity)) }

  var catalog: Catalog { state.with { $0.catalog } }
  var identity: Identity { state.with { $0.identity } }
  func published() -> (Catalog, Identity) { state.with { ($0.catalog, $0.identity) } }
  var catalogVersion: Int { version.value }

  func publish(catalog: Catalog, identity: Identity) {
    state.with { state in
      if state.catalog !== catalog { version.add(1) }
      state = (catalog, identity)
    }
  }
}

/// Single values that the engine keeps in its database.
enum Meta {
  static func text(_ key: String, _ connection: Connection) throws(KizunaError) -> String? {
    switch try connection.value("SELECT value FROM _kizunasync_meta WHERE key = ?", .text(key)) {
    case .text(let text): text
    case .integer(let value): String(value)
    default: nil
    }
  }

  static func set(_ key: String, _ value: String?, _ connection: Connection) throws(KizunaError) {
    guard let value else {
      return try connection.run("DELETE FROM _kizunasync_meta WHERE key = ?", .text(key))
    }
    try connection.run(
      "INSERT INTO _kizunasync_meta(key, value) VALUES(?,?) ON CONFLICT DO UPDATE SET value = excluded.value",
      .text(key), .text(value))
  }

  /// Reads who the store is; mints what is missing. `configured` only seeds a store that keeps no client id.
  static func identity(configured: String?, _ connection: Connection) throws(KizunaError) -> Identity {
    let clientId = try text("client_id", connection) ?? configured?.lowercased() ?? UUIDText.v4()
    let node = try text("hlc_node", connection) ?? UUIDText.v4()
    try set("client_id", clientId, connection)
    try set("hlc_node", node, connection)
    let clock = OriginClock(
      physical: try text("hlc_physical", connection).flatMap { Int64($0) } ?? 0,
      counter: try text("hlc_counter", connection).flatMap { Int64($0) } ?? 0, node: node)
    return Identity(
      clientId: clientId, owner: try text("owner", connection),
      softBlockReason: try text("soft_block", connection),
      cursor: try text("cursor", connection) ?? "0",
      lastMutationId: try text("last_mutation_id", connection),
      restartsPull: try text("restart_pull", connection) != nil, clock: clock)
  }
}

extension WriteContext {
  func saveClock() throws(KizunaError) {
    try Meta.set("hlc_physical", String(identity.clock.physical), connection)
    try Meta.set("hlc_counter", String(identity.clock.counter), connection)
  }
}
