/// A text search without stemming: lower-case substrings that must all be present.
final class TextQuery {
  let kind: Kind
  private let needles: [[UInt8]]

  enum Kind: String {
    /// The trimmed query as one substring; blank matches every row, null cells too.
    case substring
    case plain, phrase, websearch
  }

  init(_ query: UnsafeBufferPointer<UInt8>, _ kind: Kind) {
    self.kind = kind
    let lowered = CaseFolding.lowered(query)
    needles = lowered.withUnsafeBufferPointer { text in
      switch kind {
      case .substring, .phrase:
        let phrase = Array(UTF8Text.trimmed(text))
        return phrase.isEmpty ? [] : [phrase]
      case .plain: return Self.words(text)
      case .websearch: return Self.phrasesAndWords(text)
      }
    }
  }

  var isBlank: Bool { needles.isEmpty }

  private static func words(_ text: UnsafeBufferPointer<UInt8>) -> [[UInt8]] {
    var words: [[UInt8]] = []
    var start: Int?
    var index = 0
    while index < text.count {
      let at = index
      if UTF8Text.isSpace(UTF8Text.next(text, &index)) {
        if let begin = start { words.append(Array(text[begin..<at])) }
        start = nil
      } else if start == nil {
        start = at
      }
    }
    if let begin = start { words.append(Array(text[begin...])) }
    return words
  }

  /// What stands between two double quotes is a phrase; the rest is words. An unclosed quote is an ordinary
  /// character.
  private static func phrasesAndWords(_ text: UnsafeBufferPointer<UInt8>) -> [[UInt8]] {
    var phrases: [[UInt8]] = []
    var rest: [UInt8] = []
    var index = 0
    while index < text.count {
      if text[index] == UInt8(ascii: "\""),
        let close = text[(index + 1)...].firstIndex(of: UInt8(ascii: "\""))
      {
        let phrase = UnsafeBufferPointer(rebasing: text[(index + 1)..<close])
        if !UTF8Text.trimmed(phrase).isEmpty { phrases.append(Array(phrase)) }
        rest.append(0x20)
        index = close + 1
      } else {
        rest.append(text[index])
        index += 1
      }
    }
    return phrases + rest.withUnsafeBufferPointer(words)
  }

  func matches(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    if needles.isEmpty { return true }
    let lowered = CaseFolding.lowered(text)
    return lowered.withUnsafeBufferPointer { haystack in
      needles.allSatisfy { needle in needle.withUnsafeBufferPointer { UTF8Text.contains(haystack, $0) } }
    }
  }
}
