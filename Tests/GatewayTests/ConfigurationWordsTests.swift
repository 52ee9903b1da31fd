import Testing

@testable import Gateway

@Suite struct ConfigurationWordsTests {
  @Test(arguments: [
    ("databse", "database"), ("data_base", "database"), ("datbaase", "database"), ("listne", "listen"),
    ("MAX_ROWS", "max_rows"), ("poll", "poll_interval_s"), ("remotes", "remote"), ("zzz", nil), ("", nil),
  ])
  func aMisspeltNameFindsTheKnownOne(_ name: String, _ known: String?) {
    let names = ["listen", "database", "max_rows", "remote", "poll_interval_s"]
    #expect(Suggestion.nearest(to: name, among: names) == known)
  }

  @Test func edits() {
    for (left, right, edits) in [
      ("", "", 0), ("a", "", 1), ("ab", "ba", 1), ("abc", "axc", 1), ("kitten", "sitting", 3),
    ] {
      #expect(Suggestion.distance(Array(left.utf8), Array(right.utf8)) == edits, "\(left) \(right)")
    }
  }

  @Test(arguments: [
    ("localhost:1", true), ("127.0.0.1:1", true), ("127.9.9.9:1", true), ("[::1]:1", true), ("unix:s", true),
    ("[::ffff:127.0.0.1]:1", true), ("0.0.0.0:1", false), ("[::]:1", false), ("10.0.0.1:1", false),
    ("[::2]:1", false), ("[fe80::1]:1", false),
  ])
  func loopbackIsToldFromTheNetwork(_ text: String, _ isLoopback: Bool) throws {
    let address = try ServerConfiguration.Address(parsing: text)
    #expect(address.isLoopback == isLoopback)
    #expect(address.text == text)
  }

  @Test func aLogLineIsOneLine() {
    let text = Log.compose(.warn, "two\nlines", ["key": "v\u{1B}[2J"], format: .text, time: "T")
    #expect(text == "T warn two\\u000alines key=v\\u001b[2J\n")
    let json = Log.compose(.info, "a \"b\"\n", ["k": "v"], format: .json, time: "T")
    #expect(json == #"{"time":"T","level":"info","message":"a \"b\"\n","k":"v"}"# + "\n")
  }
}
