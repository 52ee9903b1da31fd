import KizunaEngine

extension HTTPExchange {
  /// Sends a whole answer with the headers that the context grants. May run on any thread once the exchange is
  /// suspended.
  func send(_ answer: consuming Answer, _ context: RequestContext) {
    var headers = answer.headers
    context.crossOrigin.addHeaders(to: &headers)
    let status = answer.status
    // An answer to HEAD is made without its body, which need not be kept.
    var response =
      context.isHead ? Response(status: status) : Response(status: status, body: answer.body)
    response.headers = headers.lines()
    respond(response)
  }

  func send(_ failure: Failure, _ context: RequestContext) { send(Answer(failure), context) }

  /// Begins an answer of unknown length.
  func openStream(_ opening: ReadAnswer.Opening, _ context: RequestContext) -> ResponseStream {
    var headers = opening.headers
    context.crossOrigin.addHeaders(to: &headers)
    return respondStreaming(status: opening.status, headers: headers.lines())
  }
}

extension HeaderList {
  /// The lines as they are sent.
  func lines() -> ResponseHeaders {
    var lines = ResponseHeaders()
    for field in fields {
      switch field.value {
      case .constant(let value): lines.add(field.name, value)
      case .text(let value): lines.add(field.name, value)
      }
    }
    return lines
  }
}
