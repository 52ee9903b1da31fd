import KizunaEngine

extension HTTPExchange {
  /// Sends a whole answer with the headers that the context grants. May run on any thread once the exchange is
  /// suspended.
  func send(_ answer: consuming Answer, _ context: RequestContext) {
    var headers = answer.headers
    context.crossOrigin.addHeaders(to: &headers)
    let status = answer.status
    if context.isHead {
      respond(Response(status: status, headers: headers.pairs, body: ByteBuffer(capacity: 16)))
    } else {
      respond(Response(status: status, headers: headers.pairs, body: answer.body))
    }
  }

  func send(_ failure: Failure, _ context: RequestContext) { send(Answer(failure), context) }

  /// Begins an answer of unknown length.
  func openStream(_ opening: ReadAnswer.Opening, _ context: RequestContext) -> ResponseStream {
    var headers = opening.headers
    context.crossOrigin.addHeaders(to: &headers)
    return respondStreaming(status: opening.status, headers: headers.pairs)
  }
}
