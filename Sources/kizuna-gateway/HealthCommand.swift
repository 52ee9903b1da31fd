import CCurl
import Gateway
import Glibc

/// Asks a running gateway whether it is ready.
enum HealthCommand {
  static func run(url: String?, arguments: CommandLineArguments) throws(CommandFailure) -> ExitCode {
    let target: HealthTarget
    if let url {
      target = try HealthTarget.named(url)
    } else {
      target = try HealthTarget(try Program.configuration(arguments).listen[0])
    }
    let reason = ask(target)
    guard let reason else {
      try Program.show("ready\n")
      return .success
    }
    throw CommandFailure(.notReady, "\(target.shown) is not ready: \(reason)")
  }

  /// nil: ready. Else why not.
  private static func ask(_ target: HealthTarget) -> String? {
    curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    guard let handle = curl_easy_init() else { return "libcurl cannot start" }
    defer { curl_easy_cleanup(handle) }
    ccurl_set_string(handle, CURLOPT_URL, target.url)
    ccurl_set_string(handle, CURLOPT_NOPROXY, "*")
    ccurl_set_long(handle, CURLOPT_TIMEOUT_MS, 5000)
    ccurl_set_long(handle, CURLOPT_NOSIGNAL, 1)
    if let socket = target.socket { ccurl_set_string(handle, CURLOPT_UNIX_SOCKET_PATH, socket) }
    // The body is of no interest; libcurl calls this on this thread while it performs.
    ccurl_set_writer(handle, { _, size, count, _ in size * count }, nil)
    var headers: UnsafeMutablePointer<curl_slist>?
    if target.isConfigured { headers = curl_slist_append(nil, "Host: localhost") }
    defer { curl_slist_free_all(headers) }
    ccurl_set_pointer(handle, CURLOPT_HTTPHEADER, headers)
    let code = curl_easy_perform(handle)
    guard code == CURLE_OK else { return String(cString: curl_easy_strerror(code)) }
    var status = 0
    ccurl_get_long(handle, CURLINFO_RESPONSE_CODE, &status)
    return (200..<300).contains(status) ? nil : "it answered \(status)"
  }
}
