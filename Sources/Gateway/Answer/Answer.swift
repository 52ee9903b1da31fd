import KizunaEngine

/// A whole answer: status, headers and body.
struct Answer: ~Copyable {
  static let jsonType: StaticString = "application/json; charset=utf-8"

  var status: Int
  var headers: HeaderList
  var body: ByteBuffer

  init(status: Int, headers: HeaderList = HeaderList(), body: consuming ByteBuffer = ByteBuffer(capacity: 16))
  {
    self.status = status
    self.headers = headers
    self.body = body
  }

  init(_ failure: Failure) {
    status = failure.status
    headers = HeaderList()
    headers.add("Content-Type", Self.jsonType)
    headers.add("Proxy-Status", text: "PostgREST; error=\(failure.code)")
    if failure.status == 401 { headers.add("WWW-Authenticate", "Bearer") }
    if failure.status == 503 { headers.add("Retry-After", "1") }
    body = ByteBuffer(capacity: 256)
    failure.write(into: &body)
  }

  /// A JSON value under the status.
  init(status: Int = 200, json: JSONValue) {
    self.status = status
    headers = HeaderList()
    headers.add("Content-Type", Self.jsonType)
    body = ByteBuffer(capacity: 256)
    body.append(json: json)
  }
}
