/// The upstream's functions over HTTP.
package final class CurlRemote: Remote {
  private let endpoint: Endpoint?
  private let path: String
  private let key: String
  private let schema: String
  private let limits: HTTPPoster.Limits
  private let poster = HTTPPoster()

  package convenience init(_ remote: EngineConfiguration.Remote) { self.init(remote, limits: .init()) }

  init(_ remote: EngineConfiguration.Remote, limits: HTTPPoster.Limits) {
    endpoint = Endpoint(remote.url)
    let parts = remote.restPath.split(separator: "/")
    path = parts.map { "/" + $0 }.joined()
    key = remote.publishableKey
    schema = remote.schema
    self.limits = limits
  }

  package func call(_ function: String, body: [UInt8], token: String) throws(RemoteFault) -> [UInt8] {
    guard let endpoint else { throw RemoteFault(Endpoint.refused) }
    let answer: HTTPPoster.Answer
    do throws(HTTPPoster.Fault) {
      answer = try poster.post(
        "\(endpoint.base)\(path)/rpc/\(function)",
        headers: ["Authorization: Bearer \(token)", "apikey: \(key)", "Content-Profile: \(schema)"],
        body: body, bypassingProxy: endpoint.isLoopback, limits: limits)
    } catch {
      throw Self.fault(error, endpoint.host)
    }
    if (200..<300).contains(answer.status) { return answer.body }
    throw Self.fault(answer, endpoint.host)
  }

  package func cancel() { poster.cancel() }

  static func fault(_ fault: HTTPPoster.Fault, _ host: String) -> RemoteFault {
    switch fault {
    case .cancelled: RemoteFault("the call to \(host) was cancelled")
    case .timedOut: RemoteFault("\(host) did not answer in time")
    case .failed(let reason): RemoteFault("\(host): \(reason)")
    }
  }

  /// The server's own words when they are of its form. A redirect is never of that form: whoever sends one is not
  /// the upstream.
  private static func fault(_ answer: HTTPPoster.Answer, _ host: String) -> RemoteFault {
    if (300..<400).contains(answer.status) {
      return RemoteFault(
        "\(host) answered \(answer.status): redirects are not followed",
        hint: "Configure the address that it redirects to.", status: answer.status)
    }
    let error = answer.body.withUnsafeBufferPointer { try? JSONParser.parse($0) }
    let code = error?["code"]?.text.flatMap { $0.isEmpty ? nil : $0 }
    let said = error?["message"]?.text
    let status = "\(host) answered \(answer.status)"
    guard let code else {
      return RemoteFault(said.map { "\(status): \($0.prefix(300))" } ?? status, status: answer.status)
    }
    return RemoteFault(
      code: code, said ?? status, details: error?["details"]?.text, hint: error?["hint"]?.text,
      status: answer.status)
  }
}
