import KizunaEngine

/// What a database says of a text that is no JSON, for bodies that it is to judge.
enum JSONFault {
  static func refusal(_ bytes: UnsafeBufferPointer<UInt8>, _ fault: JSONParser.Failure) -> Failure {
    Failure("22P02", "invalid input syntax for type json", details: details(bytes, fault.offset))
  }

  private static func details(_ bytes: UnsafeBufferPointer<UInt8>, _ offset: Int) -> String {
    guard offset < bytes.count else { return "The input string ended unexpectedly." }
    var end = offset
    while end < bytes.count, isWord(bytes[end]) { end += 1 }
    if end == offset { end += 1 }
    return "Token \"\(String(decoding: bytes[offset..<end], as: UTF8.self))\" is invalid."
  }

  private static func isWord(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }
}
