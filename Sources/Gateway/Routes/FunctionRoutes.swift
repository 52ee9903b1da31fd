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
    let writeId = UUIDText.v7()
    let engine = engine
    let facts = process
    exchange.suspend()
    let isTaken = functionLane.submit { _ in
      do throws(FunctionFault) {
        let answer = try FunctionTable.call(
          name, arguments: arguments, byGet: byGet, engine: engine, writeId: writeId, process: facts)
        exchange.send(Self.answer(answer, writeId: byGet ? nil : writeId), context)
      } catch {
        exchange.send(Failure(error), context)
      }
    }
    if !isTaken { exchange.send(Failure.closing, context) }
  }

  private static func answer(_ answer: FunctionAnswer, writeId: String?) -> Answer {
    var headers = HeaderList()
    if let writeId { headers.add("Kizuna-Write-Id", text: writeId) }
    switch answer {
    case .nothing: return Answer(status: 204, headers: headers)
    case .value(let value):
      headers.add("Content-Type", Answer.jsonType)
      var body = ByteBuffer(capacity: 256)
      body.append(json: value)
      return Answer(status: 200, headers: headers, body: body)
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
