/// Names, JSON paths and fields: the words that all grammars of the query string share.
extension Scanner {
  /// A quoted or a plain name; the cursor stands behind it.
  mutating func name() throws(ParseFailure) -> String {
    if next(is: ASCII.quote) {
      guard let name = quoted() else {
        throw ParseFailure(at: bytes.count, expecting: "\"\\\"\"")
      }
      return name
    }
    let start = at
    guard let first = identifier() else { throw failure(Self.fieldName) }
    var name = first
    while next(is: ASCII.dash), byte(1) != ASCII.greater {
      at += 1
      guard let more = identifier() else { throw failure("letter or digit") }
      name += "-" + more
    }
    guard !name.isEmpty else { throw ParseFailure(at: start, expecting: Self.fieldName) }
    return name
  }

  /// Names joined by dots.
  mutating func names() throws(ParseFailure) -> [String] {
    var names = [try name()]
    while take(ASCII.dot) { names.append(try name()) }
    return names
  }

  /// Letters, digits, `_`, `$` and spaces, with outer spaces trimmed; nil if there is none here.
  mutating func identifier() -> String? {
    let start = at
    while at < bytes.count {
      let byte = bytes[at]
      if byte < 0x80 {
        guard
          ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == ASCII.underscore || byte == ASCII.space
            || byte == ASCII.dollar
        else { break }
        at += 1
      } else {
        let (scalar, length) = scalar(at: at)
        guard scalar.isLetter else { break }
        at += length
      }
    }
    return at > start ? String(bytes: bytes[start..<at].trimmed) : nil
  }

  /// `"…"` with `\x` for `x`; nil, and the cursor where it was, if the closing quote is missing.
  mutating func quoted() -> String? {
    guard next(is: ASCII.quote) else { return nil }
    var content: [UInt8] = []
    var index = at + 1
    while index < bytes.count {
      switch bytes[index] {
      case ASCII.quote:
        at = index + 1
        return String(decoding: content, as: UTF8.self)
      case ASCII.backslash:
        index += 1
        if index < bytes.count { content.append(bytes[index]) }
      default: content.append(bytes[index])
      }
      index += 1
    }
    return nil
  }

  mutating func field() throws(ParseFailure) -> Field {
    skipBlanks()
    let name = try name()
    let path = try jsonPath()
    skipBlanks()
    return Field(name: name, path: path)
  }

  mutating func jsonPath() throws(ParseFailure) -> [JSONStep] {
    var steps: [JSONStep] = []
    while take("->") {
      let asText = take(ASCII.greater)
      steps.append(JSONStep(try jsonOperand(), asText: asText))
    }
    return steps
  }

  private mutating func jsonOperand() throws(ParseFailure) -> JSONStep.Operand {
    let start = at
    let negative = take(ASCII.dash)
    let digits = at
    while let byte = byte(), ASCII.isDigit(byte) { at += 1 }
    if at > digits, endsIndex { return .index(wholeNumber(bytes[digits..<at], negative: negative)) }
    guard !negative else {
      throw at > digits
        ? failure("digit, \"->\", \"::\", \".\", \",\" or end of input", single: true) : failure("digit")
    }
    at = start
    return .key(try jsonKey())
  }

  private var endsIndex: Bool {
    atEnd || follows("->") || follows("::") || next(is: ASCII.dot) || next(is: ASCII.comma)
  }

  private mutating func jsonKey() throws(ParseFailure) -> String {
    let expecting = "\"-\", digit or any non reserved character different from: .,>()"
    if next(is: ASCII.quote) {
      guard let key = quoted() else { throw ParseFailure(at: bytes.count, expecting: "\"\\\"\"") }
      return key
    }
    var key = ""
    while true {
      let start = at
      while let byte = byte(), !Self.endsKey(byte) { at += 1 }
      guard at > start else { throw failure(expecting) }
      key += String(bytes: bytes[start..<at].trimmed)
      guard next(is: ASCII.dash), byte(1) != ASCII.greater else { break }
      at += 1
      key += "-"
    }
    return key
  }

  private static func endsKey(_ byte: UInt8) -> Bool {
    switch byte {
    case ASCII.open, ASCII.dash, ASCII.colon, ASCII.dot, ASCII.comma, ASCII.greater, ASCII.close: true
    default: false
    }
  }

  /// The scalar at `position` and its length; the bytes are known to be valid UTF-8.
  private func scalar(at position: Int) -> (Unicode.Scalar, Int) {
    let lead = bytes[position]
    let length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
    var value = UInt32(lead) & (length == 2 ? 0x1F : length == 3 ? 0x0F : 0x07)
    for index in position + 1..<min(position + length, bytes.count) {
      value = value << 6 | UInt32(bytes[index] & 0x3F)
    }
    return (Unicode.Scalar(value) ?? "\u{FFFD}", length)
  }
}

extension Unicode.Scalar {
  fileprivate var isLetter: Bool {
    switch properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter: true
    default: false
    }
  }
}

/// The number that ASCII digits spell; one too big for `Int` is the biggest.
func wholeNumber(_ digits: ArraySlice<UInt8>, negative: Bool) -> Int {
  var value = 0
  for digit in digits {
    let (product, overflow) = value.multipliedReportingOverflow(by: 10)
    let (sum, carry) = product.addingReportingOverflow(Int(digit - ASCII.zero))
    if overflow || carry { return negative ? .min : .max }
    value = sum
  }
  return negative ? -value : value
}
