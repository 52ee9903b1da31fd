import KizunaEngine
import RESTDialect

extension GatewayServer {
  /// `/sync/v1/rpc/{name}`. A function may wait for the writer or the network, so it runs on a lane of its own.
  func serveFunction(
    name: String, query: UnsafeBufferPointer<UInt8>, exchange: HTTPExchange, context: RequestContext
  ) throws(Failure) {
    let byGet: Bool
    switch exchange.method {
    case .post: byGet = false
    case .get, .head: byGet = true
    default: throw Failure("PGRST101", "Only GET and POST verbs are allowed on RPC")
    }
    let arguments = try byGet ? Self.queryArguments(query) : Self.bodyArguments(exchange.body)
    let reply = FunctionReply(
      exchange: exchange, context: context, writeId: byGet ? nil : UUIDText.v7(),
      wait: FunctionTable.writes(name) ? exchange.preferences().wait.map { min($0, Self.longestWait) } : nil)
    exchange.suspend()
    let isTaken = functionLane.submit { [self] _ in
      do throws(FunctionFault) {
        let answer = try FunctionTable.call(
          name, arguments: arguments, byGet: byGet, engine: engine, writeId: reply.writeId ?? UUIDText.v7(),
          process: process)
        finish(answer, reply)
      } catch {
        var failure = Failure(error)
        // An answer that does not parse is not the caller's fault.
        if failure.code == "JSON", FunctionTable.asksUpstream(name) { failure.status = 502 }
        exchange.send(failure, context)
      }
    }
    if !isTaken { exchange.send(Failure.closing, context) }
  }

  /// Sends the answer, or leaves it to whoever comes to know it: no thread of the lane waits for the upstream.
  private func finish(_ answer: FunctionAnswer, _ reply: FunctionReply) {
    if case .afterDrain(let milliseconds) = answer { return drain(milliseconds, reply) }
    guard let seconds = reply.wait, let writeId = reply.writeId else { return reply.send(answer) }
    hold(writeId, seconds: seconds) { verdict in
      switch verdict {
      case .applied: reply.send(answer)
      case .pending: reply.send(answer, isPending: true)
      case .refused(let failure): reply.send(failure)
      }
    }
  }

  private func drain(_ milliseconds: Int, _ reply: FunctionReply) {
    engine.awaitDrained(milliseconds: milliseconds) { [self] result in
      switch result {
      case .success(let isDrained):
        // The engine's own threads may not wait for the count of what is left.
        let isTaken = functionLane.submit { [self] _ in
          do throws(KizunaError) {
            let depth = isDrained ? 0 : try engine.outboxDepth()
            reply.send(.value(["drained": .bool(isDrained), "outbox_depth": .integer(Int64(depth))]))
          } catch {
            reply.send(Failure(error))
          }
        }
        if !isTaken { reply.send(Failure.closing) }
      case .failure(let error): reply.send(Failure(error))
      }
    }
  }

  /// An empty body is `{}`.
  private static func bodyArguments(_ body: UnsafeBufferPointer<UInt8>) throws(Failure) -> JSONValue {
    if body.allSatisfy({ $0 == 0x20 || $0 == 0x0A || $0 == 0x0D || $0 == 0x09 }) { return .object([]) }
    do throws(JSONParser.Failure) { return try JSONParser.parse(body) } catch {
      throw Failure("PGRST102", "Empty or invalid json", details: "\(error.reason) at byte \(error.offset)")
    }
  }

  private static func queryArguments(_ query: UnsafeBufferPointer<UInt8>) throws(Failure) -> JSONValue {
    let pairs: [QueryPair]
    do throws(DialectError) { pairs = try FormBody.parse(query) } catch { throw Failure(error) }
    return .object(pairs.filter { $0.key != "apikey" }.map { JSONMember($0.key, .string($0.value)) })
  }
}

/// Where the answer to a function call goes.
private struct FunctionReply: Sendable {
  let exchange: HTTPExchange
  let context: RequestContext
  /// nil when called by GET.
  let writeId: String?
  /// The seconds that the caller of a write waits for its verdict.
  let wait: Int?

  /// `isPending`: nobody has judged the write in time.
  func send(_ answer: FunctionAnswer, isPending: Bool = false) {
    var headers = headers
    var body = ByteBuffer(capacity: 256)
    var status = 204
    if case .value(let value) = answer {
      headers.add("Content-Type", Answer.jsonType)
      body.append(json: value)
      status = 200
    }
    exchange.send(Answer(status: isPending ? 202 : status, headers: headers, body: body), context)
  }

  func send(_ failure: Failure) {
    var answer = Answer(failure)
    answer.headers.add(contentsOf: headers)
    exchange.send(answer, context)
  }

  private var headers: HeaderList {
    var headers = HeaderList()
    if let writeId { headers.add("Kizuna-Write-Id", text: writeId) }
    if let wait { headers.add("Preference-Applied", text: "wait=\(wait)") }
    return headers
  }
}

extension Failure {
  init(_ fault: FunctionFault) {
    switch fault {
    case .unknown(let name):
      self.init(
        "PGRST202", "Could not find the function kizunasync.\(name) in the schema cache",
        hint: "The functions are: \(FunctionTable.names.joined(separator: ", ")).")
    case .needsPost(let name):
      self.init("PGRST101", "The function \(name) changes something: call it by POST")
    case .badArguments(let name, let reason):
      self.init(
        "PGRST202", status: 400, "Could not call the function kizunasync.\(name): \(reason)",
        hint: "Arguments are the members of one JSON object.")
    case .failed(let error): self.init(error)
    }
  }
}
