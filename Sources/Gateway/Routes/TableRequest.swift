import KizunaEngine
import RESTDialect

/// One request on a relation, on its way through the checks. Lives on the server thread.
struct TableRequest {
  var name: String
  var schema: Route.Schema
  var method: DialectMethod
  var query: UnsafeBufferPointer<UInt8>
  var exchange: HTTPExchange
  var context: RequestContext

  /// The relation asked for; the configured tables and the engine's own relations are two schemas.
  func relation(_ catalog: Catalog) throws(Failure) -> TableSchema {
    let relations = schema == .public ? catalog.tables : catalog.relations
    return try NearestName.table(name, in: relations, schema: schema.rawValue)
  }

  func parsed() throws(Failure) -> Request {
    do throws(DialectError) { return try Request(query: query, method: method) } catch {
      throw Failure(error)
    }
  }

  /// Only GET heeds a `Range`; a window that cannot be is refused for every method but PUT.
  func window(_ request: Request) throws(Failure) -> Window {
    do throws(DialectError) {
      return try request.window(range: method == .get ? exchange.text("Range") : nil)
    } catch {
      throw Failure(error)
    }
  }

  func answerType() throws(Failure) -> AnswerType {
    do throws(DialectError) { return try AnswerType.negotiate(accept: exchange.header("Accept")) } catch {
      throw Failure(error)
    }
  }

  static func checkStrict(_ preferences: Preferences) throws(Failure) {
    if let error = preferences.strictFailure() { throw Failure(error) }
  }

  /// The address of what was read, without the gateway's prefix.
  func contentLocation(_ request: Request, maxHeaderBytes: Int) -> String? {
    var path = "/"
    Location.appendEncoded(name, to: &path)
    let text = ContentLocation.text(path: path, pairs: request.pairs)
    return text.utf8.count <= exchange.roomForHeader(of: maxHeaderBytes) ? text : nil
  }
}

extension GatewayServer {
  func serveTable(_ request: TableRequest) throws(Failure) {
    switch request.method {
    case .get, .head: try serveRead(request)
    case .options: try serveOptions(request)
    case .post, .patch, .put, .delete:
      if request.schema == .kizunasync {
        throw Failure(
          "PGRST117", "Unsupported HTTP method: \(request.exchange.methodName)",
          hint: "The engine's relations are read only.")
      }
      try serveWrite(request)
    }
  }

  private func serveOptions(_ request: TableRequest) throws(Failure) {
    let relation = try request.relation(engine.catalog)
    var headers = HeaderList()
    if relation.isInternal {
      headers.add("Allow", "OPTIONS,GET,HEAD")
    } else if relation.key.isEmpty {
      headers.add("Allow", "OPTIONS,GET,HEAD,POST,PATCH,DELETE")
    } else {
      headers.add("Allow", "OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE")
    }
    headers.add("Vary", "Accept, Prefer, Range")
    var context = request.context
    if context.crossOrigin == .none { context.crossOrigin = grantToAnyone() }
    request.exchange.send(Answer(status: 200, headers: headers), context)
  }
}
