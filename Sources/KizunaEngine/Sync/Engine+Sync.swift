extension Engine {
  /// Pushes until the outbox is empty, then pulls until the sequence closes. A push that the upstream refused for
  /// good is reported after the pull, however that ends; one that may yet succeed ends the run at once. Nothing is
  /// sent, and nothing reported, while the store is blocked. `REMOTE` without an upstream or while paused.
  package func sync() throws(KizunaError) {
    try inTurn { () throws(KizunaError) in
      var refusal: KizunaError?
      do throws(KizunaError) {
        try PushRun(engine: self).pushAll()
      } catch {
        if error.code == "REMOTE" { throw error }
        refusal = error
      }
      do throws(KizunaError) {
        try PullRun(engine: self).pullAll()
      } catch {
        throw refusal ?? error
      }
      if let refusal { throw refusal }
    }
  }

  /// Sends the head of the outbox once.
  package func pushOnce() throws(KizunaError) {
    try inTurn { () throws(KizunaError) in try PushRun(engine: self).pushOnce() }
  }

  /// Asks for one page.
  package func pullOnce() throws(KizunaError) {
    try inTurn { () throws(KizunaError) in _ = try PullRun(engine: self).pullPage() }
  }

  private func inTurn(_ body: () throws(KizunaError) -> Void) throws(KizunaError) {
    try turnstile.pass { () throws(KizunaError) in
      try checkNetwork()
      // A blocked store asks nobody for anything, not even for a token.
      guard shared.identity.softBlockReason == nil else { return }
      try refreshToken(refused: nil)
      if let token = session.with({ $0.accessToken }) { try recognise(token) }
      if shared.identity.softBlockReason == nil { try body() }
    }
  }

  private func checkNetwork() throws(KizunaError) {
    guard !closing.isClosed else { throw Closing.error }
    guard remote != nil else {
      throw KizunaError(
        "REMOTE", "no upstream is configured: nothing is ever sent, and the outbox waits",
        hint: "Configure remote to sync.")
    }
    if isPaused { throw KizunaError("REMOTE", "sync is paused", hint: "Call resume first.") }
  }

  // MARK: One call

  /// Calls the upstream with the token of the store's owner. nil: the store is blocked, and nothing was sent. A
  /// refused token is asked for anew once. Fails with `REMOTE` or `PERMANENT_TRANSPORT`.
  func callRemote(_ function: String, _ body: [UInt8]) throws(KizunaError) -> [UInt8]? {
    try checkNetwork()
    guard let remote, let token = try tokenToSend() else { return nil }
    do throws(RemoteFault) {
      return try Self.checked(remote.call(function, body: body, token: token))
    } catch {
      guard error.refusesToken, let fresh = try freshToken(insteadOf: token) else { throw error.error }
      do throws(RemoteFault) {
        return try Self.checked(remote.call(function, body: body, token: fresh))
      } catch {
        throw error.error
      }
    }
  }

  /// A body that cannot be JSON (a proxy's page, half an answer) did not come from the function: a fault of the
  /// transport, to be tried again.
  private static func checked(_ body: [UInt8]) throws(RemoteFault) -> [UInt8] {
    func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || (0x09...0x0D).contains(byte) }
    let first = body.first { !isSpace($0) }
    let last = body.last { !isSpace($0) }
    switch (first, last) {
    case (UInt8(ascii: "{")?, UInt8(ascii: "}")?), (UInt8(ascii: "[")?, UInt8(ascii: "]")?): return body
    default: throw RemoteFault("the upstream's answer is no JSON")
    }
  }

  /// The token in use, if it is its owner's: the queue of one user never travels under another's token. nil: the
  /// store is blocked.
  private func tokenToSend() throws(KizunaError) -> String? {
    guard let token = session.with({ $0.accessToken }) else {
      throw (session.with { $0.tokenFault } ?? .sessionMissing).error
    }
    try recognise(token)
    return shared.identity.softBlockReason == nil ? token : nil
  }

  /// Makes the token's user the owner of a store that has none (`reset` leaves it so), and blocks one that has
  /// another.
  private func recognise(_ token: String) throws(KizunaError) {
    guard let subject = TokenSubject.read(token), shared.identity.owner?.sameBytes(as: subject) != true else {
      return
    }
    try meet(subject)
  }

  private func freshToken(insteadOf refused: String) throws(KizunaError) -> String? {
    guard tokenSource.with({ $0 }) != nil else { return nil }
    try refreshToken(refused: refused)
    guard let token = try tokenToSend(), !token.sameBytes(as: refused) else { return nil }
    return token
  }

  // MARK: Tokens

  /// Takes tokens from `source` from now on, until `setAccessToken` is called.
  package func setTokenSource(_ source: (any AccessTokenSource)?) {
    tokenSource.with { $0 = source }
  }

  /// Asks the source for the token of this moment; whose it is comes to light before it is sent. A source that gives
  /// none is no fault while the token in hand may still do.
  private func refreshToken(refused: String?) throws(KizunaError) {
    guard let source = tokenSource.with({ $0 }) else { return }
    let answer: Result<String?, RemoteFault>
    do throws(RemoteFault) { answer = .success(try source.token(refused: refused)) } catch {
      answer = .failure(error)
    }
    let isHeld: Bool? = tokenSource.with { current in
      // Whoever has set a token by hand meanwhile rules.
      guard current != nil else { return nil }
      return session.with { state in
        switch answer {
        case .success(let token):
          state.tokenFault = nil
          if let token { state.accessToken = token }
        case .failure(let fault): state.tokenFault = fault
        }
        return state.accessToken != nil
      }
    }
    guard let isHeld, case .failure(let fault) = answer else { return }
    if refused != nil || !isHeld { throw fault.error }
  }

  // MARK: Kept values

  /// Keeps a secret in the database, which only its owner can read. `reset` leaves it.
  package func keep(_ key: String, secret: String?) throws(KizunaError) {
    try writer.perform { context throws(KizunaError) in
      try Meta.set("kept_" + key, secret, context.connection)
    }
  }

  package func kept(_ key: String) throws(KizunaError) -> String? {
    try writer.perform { context throws(KizunaError) in try Meta.text("kept_" + key, context.connection) }
  }
}
