extension Engine {
  static func ownerBuckets(_ catalog: Catalog, _ owner: String?) -> [String: String] {
    guard let owner else { return [:] }
    var values: [String: String] = [:]
    for table in catalog.tables {
      if case .owner = table.bucket { values[table.name] = owner }
    }
    return values
  }

  /// Takes the token for this process, and reads its subject without verifying it. The first readable subject
  /// becomes the owner; another one blocks all sync until `reset`. An unreadable token changes neither.
  package func setAccessToken(_ token: String?) throws(KizunaError) {
    guard !closing.isClosed else { throw Closing.error }
    // In one step, so that a token which a source brings meanwhile does not come behind this one.
    tokenSource.with { source in
      source = nil
      session.with { state in
        state.accessToken = token
        state.tokenFault = nil
      }
    }
    guard let token, let subject = TokenSubject.read(token) else { return }
    try meet(subject)
  }

  func meet(_ subject: String) throws(KizunaError) {
    try scopeChanges.pass { () throws(KizunaError) in try meetAlone(subject) }
  }

  private func meetAlone(_ subject: String) throws(KizunaError) {
    let catalog = shared.catalog
    let (isNew, scope) = try writer.perform { context throws(KizunaError) -> (Bool, Int) in
      (try context.meet(subject: subject), context.identity.scope)
    }
    if isNew {
      session.with { state in
        for (table, value) in Self.ownerBuckets(catalog, subject) { state.buckets[table] = value }
        state.scope = max(state.scope, scope)
      }
    }
  }

  /// Sets bucket values for this process. Every key must be the bucket column of a configured table, else
  /// `BUCKET_UNSET` and nothing changes. Replacing a value that the store kept by another makes the next pull start
  /// over.
  package func setBucket(_ values: JSONValue) throws(KizunaError) {
    guard !closing.isClosed else { throw Closing.error }
    guard let members = values.members else { throw KizunaError("JSON", "bucket values are an object") }
    let tables = catalog.tables
    var assigned: [(table: String, key: String, value: String)] = []
    for member in members {
      let bucketed = tables.filter { $0.bucket.columnName?.sameBytes(as: member.key) == true }
      guard !bucketed.isEmpty else { throw Self.unknownBucket(member.key, tables) }
      guard let text = Self.bucketText(member.value) else {
        throw KizunaError("JSON", "the bucket value of \(member.key) is a text, a number or a boolean")
      }
      for table in bucketed { assigned.append((table.name, member.key, text)) }
    }
    let kept = assigned
    try scopeChanges.pass { () throws(KizunaError) in try keepBuckets(kept) }
  }

  private func keepBuckets(
    _ kept: [(table: String, key: String, value: String)]
  ) throws(KizunaError) {
    let scope = try writer.perform { context throws(KizunaError) -> Int in
      for entry in kept { try context.keepScope(entry.table, entry.key, entry.value) }
      return context.identity.scope
    }
    session.with { state in
      for entry in kept { state.buckets[entry.table] = entry.value }
      state.scope = max(state.scope, scope)
    }
  }

  private static func unknownBucket(_ key: String, _ tables: [TableSchema]) -> KizunaError {
    var known: [String] = []
    for table in tables {
      if let column = table.bucket.columnName, !known.contains(column) { known.append(column) }
    }
    let columns =
      known.isEmpty ? "no table has one" : "the configured ones are \(known.joined(separator: ", "))"
    return KizunaError("BUCKET_UNSET", "\(key) is no bucket column: \(columns)")
  }

  private static func bucketText(_ value: JSONValue) -> String? {
    switch value {
    case .null: ""
    case .string(let text), .number(let text): text
    case .bool(let flag): flag ? "true" : "false"
    default: nil
    }
  }
}

extension WriteContext {
  /// Whether this subject has just become the owner.
  func meet(subject: String) throws(KizunaError) -> Bool {
    guard let owner = identity.owner else {
      try Meta.set("owner", subject, connection)
      identity.owner = subject
      try refillOwnerScope()
      return true
    }
    guard !owner.sameBytes(as: subject), identity.softBlockReason != "identity_changed" else { return false }
    try latchBlock("identity_changed")
    return false
  }

  /// At open the owner's buckets are the owner's again, whatever was set in another process.
  func refillOwnerScope() throws(KizunaError) {
    guard let owner = identity.owner else { return }
    for table in catalog.tables {
      if case .owner(let column) = table.bucket { try keepScope(table.name, column, owner) }
    }
  }

  /// Keeps the last non-empty value of a table's bucket; a different one arms a fresh pull.
  func keepScope(_ table: String, _ key: String, _ value: String) throws(KizunaError) {
    guard !value.isEmpty else { return }
    let before = try connection.value(
      "SELECT value FROM _kizunasync_buckets WHERE \"table\" = ? AND key = ?", .text(table), .text(key))
    if case .text(let old)? = before, !old.sameBytes(as: value) {
      try Meta.set("restart_pull", "1", connection)
      identity.restartsPull = true
      identity.scope += 1
    }
    try connection.run(
      """
      INSERT INTO _kizunasync_buckets("table", key, value) VALUES(?,?,?)
      ON CONFLICT DO UPDATE SET value = excluded.value
      """, .text(table), .text(key), .text(value))
  }

  func seed(_ name: String, _ rows: [[JSONMember]]) throws(KizunaError) {
    guard let named = catalog.table(name) else { throw Self.unknown(name) }
    let at = Timestamp.now()
    for row in rows {
      let table = try learn(named, row.map(\.key), [row.map(\.value)])
      let builder = try RowBuilder(table, row.map(\.key), identity: identity, zone: .utc, at: at)
      let built = try builder.build(row.map(\.value), context: self)
      let statement = try connection.cached(
        shape(of: table).insert.replacingPrefix("INSERT INTO", by: "INSERT OR REPLACE INTO"))
      statement.bind(built.values)
      let code = statement.stepCode()
      statement.reset()
      try StoreFault.check(code, on: connection.handle)
    }
  }
}

extension String {
  fileprivate func replacingPrefix(_ prefix: String, by other: String) -> String {
    hasPrefix(prefix) ? other + dropFirst(prefix.count) : self
  }
}

/// The `sub` claim of a JSON web token, read without verifying.
enum TokenSubject {
  static func read(_ token: String) -> String? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = base64URL(parts[1]), let claims = try? JSONParser.parse(payload),
      let subject = claims["sub"]?.text, !subject.isEmpty
    else { return nil }
    return subject
  }

  private static func base64URL(_ text: Substring) -> String? {
    var bits: UInt32 = 0
    var count = 0
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      let value: UInt8
      switch byte {
      case 0x41...0x5A: value = byte - 0x41
      case 0x61...0x7A: value = byte - 0x61 + 26
      case 0x30...0x39: value = byte - 0x30 + 52
      case 0x2D, 0x2B: value = 62
      case 0x5F, 0x2F: value = 63
      case 0x3D: continue
      default: return nil
      }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
