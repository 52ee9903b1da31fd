extension Preferences {
  /// - Parameter headers: the value of each `Prefer` header, in order. The first token that names a preference
  ///   decides it; tokens are compared whole, so parameters or spaces around `=` make one unknown.
  package init(headers: [UnsafeBufferPointer<UInt8>]) {
    self.init()
    for header in headers {
      for token in Array(header).split(separator: ASCII.comma, omittingEmptySubsequences: false) {
        read(String(bytes: token.trimmed))
      }
    }
  }

  private mutating func read(_ token: String) {
    guard let equals = token.utf8.firstIndex(of: ASCII.equals) else {
      unknown.append(token)
      return
    }
    let value = String(token[token.utf8.index(after: equals)...])
    let known =
      switch token[..<equals] {
      case "return": take(value, \.return)
      case "count": take(value, \.count)
      case "resolution": take(value, \.resolution)
      case "missing": take(value, \.missing)
      case "handling": take(value, \.handling)
      case "tx": take(value, \.transaction)
      case "wait": takeWait(value)
      case "max-affected": takeMaxAffected(value)
      case "timezone": takeTimezone(value)
      default: false
      }
    if !known { unknown.append(token) }
  }

  private mutating func take<Value: RawRepresentable<String>>(
    _ value: String, _ preference: WritableKeyPath<Preferences, Value?>
  ) -> Bool {
    guard let parsed = Value(rawValue: value) else { return false }
    self[keyPath: preference] = self[keyPath: preference] ?? parsed
    return true
  }

  private mutating func takeWait(_ value: String) -> Bool {
    guard !value.isEmpty, value.utf8.allSatisfy(ASCII.isDigit) else { return false }
    wait = wait ?? wholeNumber(Array(value.utf8)[...], negative: false)
    return true
  }

  private mutating func takeMaxAffected(_ value: String) -> Bool {
    maxAffected = maxAffected ?? Int(value)
    return true
  }

  private mutating func takeTimezone(_ value: String) -> Bool {
    timezone = timezone ?? value
    return true
  }

  /// `PGRST122` if strict handling was asked for and something is unknown.
  package func strictFailure() -> DialectError? {
    handling == .strict && !unknown.isEmpty ? .invalidPreferences(unknown) : nil
  }

  /// The value of `Preference-Applied`, nil if nothing was.
  ///
  /// - Parameter hasResolutionTarget: whether the table has a primary key or the request an `on_conflict`.
  package func applied(method: DialectMethod, hasResolutionTarget: Bool) -> String? {
    var applied: [String] = []
    if method == .post, hasResolutionTarget, let resolution {
      applied.append("resolution=\(resolution.rawValue)")
    }
    if method == .post || method == .patch, let missing { applied.append("missing=\(missing.rawValue)") }
    if method.writes, let `return` { applied.append("return=\(`return`.rawValue)") }
    if let count { applied.append("count=\(count.rawValue)") }
    if let transaction { applied.append("tx=\(transaction.rawValue)") }
    if let handling { applied.append("handling=\(handling.rawValue)") }
    if let timezone { applied.append("timezone=\(timezone)") }
    if method == .patch || method == .delete, handling == .strict, let maxAffected {
      applied.append("max-affected=\(maxAffected)")
    }
    if method.writes, let wait { applied.append("wait=\(wait)") }
    return applied.isEmpty ? nil : applied.joined(separator: ", ")
  }
}
