import CCurl
import Glibc

/// Posts JSON over one kept connection. One post at a time; others wait their turn.
///
/// Redirects are not followed, TLS is verified against the system's authorities, and answers are bounded by their
/// declared length and by what is read, decoded.
final class HTTPPoster: @unchecked Sendable {
  struct Answer: Sendable {
    var status: Int
    var body: [UInt8]
  }

  enum Fault: Error, Equatable {
    case cancelled
    case timedOut
    /// Without addresses or secrets.
    case failed(String)
  }

  struct Limits: Sendable {
    var connectMilliseconds = 10_000
    var wholeMilliseconds = 30_000
    var answerBytes = 64 * 1024 * 1024
  }

  private static let isInitialised = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

  private let lock = Lock()
  /// The handles are used under the lock, except to wake `multi`, which any thread may do while it lives.
  private let easy: UnsafeMutableRawPointer?
  private let multi: UnsafeMutableRawPointer?
  private let cancellations = AtomicWord()

  init() {
    easy = Self.isInitialised ? curl_easy_init() : nil
    multi = Self.isInitialised ? curl_multi_init() : nil
  }

  deinit {
    if let easy { curl_easy_cleanup(easy) }
    if let multi { curl_multi_cleanup(multi) }
  }

  /// Ends the post in flight; later ones fail at once.
  func cancel() {
    cancellations.add(1)
    if let multi { curl_multi_wakeup(multi) }
  }

  /// Any status is an answer. `headers` are whole lines; a line that would break the head is refused.
  func post(
    _ url: String, headers: [String], body: [UInt8], bypassingProxy: Bool, limits: Limits = Limits()
  ) throws(Fault) -> Answer {
    guard headers.allSatisfy(Self.isOneLine) else {
      throw .failed("the token or the key holds a character that no header may carry")
    }
    return try lock.locked { () throws(Fault) in
      guard let easy, let multi else { throw .failed("libcurl cannot start") }
      guard cancellations.value == 0 else { throw .cancelled }
      let inbox = Inbox(limit: limits.answerBytes)
      curl_easy_reset(easy)
      Self.configure(easy, limits, bypassingProxy: bypassingProxy)
      ccurl_set_string(easy, CURLOPT_URL, url)
      inbox.receive(from: easy)
      let list = Self.list(
        headers + ["Content-Type: application/json", "Accept: application/json", "Expect:"])
      defer { curl_slist_free_all(list) }
      ccurl_set_pointer(easy, CURLOPT_HTTPHEADER, list)
      let code = send(body, easy, multi)
      try check(code, inbox)
      var status = 0
      ccurl_get_long(easy, CURLINFO_RESPONSE_CODE, &status)
      return Answer(status: status, body: inbox.bytes)
    }
  }

  private static func isOneLine(_ header: String) -> Bool {
    header.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
  }

  private static func list(_ headers: [String]) -> UnsafeMutablePointer<curl_slist>? {
    headers.reduce(nil) { curl_slist_append($0, $1) }
  }

  private static func configure(_ easy: UnsafeMutableRawPointer, _ limits: Limits, bypassingProxy: Bool) {
    ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1)
    ccurl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
    ccurl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0)
    ccurl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 1)
    ccurl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 2)
    ccurl_set_long(easy, CURLOPT_TCP_NODELAY, 1)
    ccurl_set_long(easy, CURLOPT_TCP_KEEPALIVE, 1)
    ccurl_set_string(easy, CURLOPT_ACCEPT_ENCODING, "")
    ccurl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, limits.connectMilliseconds)
    ccurl_set_long(easy, CURLOPT_TIMEOUT_MS, limits.wholeMilliseconds)
    ccurl_set_offset(easy, CURLOPT_MAXFILESIZE_LARGE, Int64(limits.answerBytes))
    // A name that is still being looked up must hold up neither a deadline nor a cancellation.
    ccurl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
    if bypassingProxy { ccurl_set_string(easy, CURLOPT_NOPROXY, "*") }
  }

  /// Sends from the array's own memory: it stands still until the transfer has ended.
  private func send(
    _ body: [UInt8], _ easy: UnsafeMutableRawPointer, _ multi: UnsafeMutableRawPointer
  ) -> CURLcode? {
    ccurl_set_long(easy, CURLOPT_POST, 1)
    ccurl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, Int64(body.count))
    // Without a pointer libcurl would read standard input, so that an empty body needs one as well.
    let bytes = body.isEmpty ? [0] : body
    return bytes.withUnsafeBytes { bytes in
      ccurl_set_pointer(easy, CURLOPT_POSTFIELDS, bytes.baseAddress)
      curl_multi_add_handle(multi, easy)
      defer { curl_multi_remove_handle(multi, easy) }
      return transfer(multi)
    }
  }

  /// nil: cancelled. A wake-up that comes before the poll ends it just the same, so none is missed.
  private func transfer(_ multi: UnsafeMutableRawPointer) -> CURLcode? {
    var running: Int32 = 1
    while true {
      guard cancellations.value == 0 else { return nil }
      guard curl_multi_perform(multi, &running) == CURLM_OK else { return CURLE_FAILED_INIT }
      if running == 0 { break }
      guard curl_multi_poll(multi, nil, 0, 1000, nil) == CURLM_OK else { return CURLE_FAILED_INIT }
    }
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      if message.pointee.msg == CURLMSG_DONE { return message.pointee.data.result }
    }
    return CURLE_FAILED_INIT
  }

  private func check(_ code: CURLcode?, _ inbox: Inbox) throws(Fault) {
    guard let code else { throw .cancelled }
    if inbox.isOverfull || code == CURLE_FILESIZE_EXCEEDED {
      throw .failed("the answer is larger than \(inbox.limit) bytes")
    }
    switch code {
    case CURLE_OK: return
    case CURLE_OPERATION_TIMEDOUT: throw .timedOut
    default: throw .failed(String(cString: curl_easy_strerror(code)))
    }
  }
}

/// What comes back of one request.
private final class Inbox {
  let limit: Int
  private(set) var bytes: [UInt8] = []
  private(set) var isOverfull = false
  private var headBytes = 0
  private static let headLimit = 256 * 1024

  init(limit: Int) { self.limit = limit }

  /// libcurl calls both writers on the thread that performs the transfer, for as long as this value lives: the
  /// caller keeps it until the handle is done. Taking fewer bytes than offered ends the transfer.
  func receive(from easy: UnsafeMutableRawPointer) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    ccurl_set_writer(
      easy,
      { bytes, size, count, context in
        guard let context, let bytes else { return 0 }
        let inbox = Unmanaged<Inbox>.fromOpaque(context).takeUnretainedValue()
        return inbox.take(UnsafeRawBufferPointer(start: bytes, count: size * count)) ? size * count : 0
      }, context)
    ccurl_set_header_writer(
      easy,
      { _, size, count, context in
        guard let context else { return 0 }
        let inbox = Unmanaged<Inbox>.fromOpaque(context).takeUnretainedValue()
        inbox.headBytes += size * count
        return inbox.headBytes <= Inbox.headLimit ? size * count : 0
      }, context)
  }

  private func take(_ new: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count + new.count <= limit else {
      isOverfull = true
      return false
    }
    bytes.append(contentsOf: new)
    return true
  }
}
