/// Array literals: `{1,2}`, `{"a b",NULL}`, `{{1},{2}}`, with or without `[1:2]=` in front.
package enum PostgresArray {
  package indirect enum Element: Sendable, Hashable {
    case null
    case scalar(String)
    case array([Element])
  }

  /// Six levels, as in Postgres.
  static let maximumDepth = 6

  package static func parse(_ literal: String) throws(KizunaError) -> [Element] {
    var parser = Parser(literal: literal, scanner: LiteralScanner(literal))
    return try parser.document()
  }

  /// Appends a scalar's text as an element, quoted where the array syntax needs it.
  static func append(element bytes: UnsafeBufferPointer<UInt8>, to buffer: inout ByteBuffer) {
    guard needsQuotes(bytes) else {
      buffer.append(bytes)
      return
    }
    buffer.append(UInt8(ascii: "\""))
    for byte in bytes {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { buffer.append(UInt8(ascii: "\\")) }
      buffer.append(byte)
    }
    buffer.append(UInt8(ascii: "\""))
  }

  private static func needsQuotes(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    if bytes.isEmpty { return true }
    if bytes.count == 4, LiteralScanner.lowered(bytes) == Array("null".utf8) { return true }
    return bytes.contains { byte in
      switch byte {
      case UInt8(ascii: "{"), UInt8(ascii: "}"), UInt8(ascii: ","), UInt8(ascii: "\""), UInt8(ascii: "\\"):
        true
      default: LiteralScanner.isSpace(byte)
      }
    }
  }

  private struct Parser {
    let literal: String
    var scanner: LiteralScanner

    func malformed(_ details: String) -> KizunaError {
      .refused("22P02", "malformed array literal: \"\(literal)\"", details: details)
    }
    var unexpectedEnd: KizunaError { malformed("Unexpected end of input.") }
    var ragged: KizunaError {
      malformed("Multidimensional arrays must have sub-arrays with matching dimensions.")
    }

    mutating func document() throws(KizunaError) -> [Element] {
      scanner.skipSpace()
      let bounds = try dimensions()
      guard scanner.current == UInt8(ascii: "{") else {
        throw malformed(
          bounds.isEmpty
            ? "Array value must start with \"{\" or dimension information."
            : "Array contents must start with \"{\".")
      }
      let elements = try array(depth: 1)
      scanner.skipSpace()
      if !scanner.isAtEnd { throw malformed("Junk after closing right brace.") }
      let shape = try shape(of: elements)
      if !bounds.isEmpty, bounds != shape {
        throw malformed("Specified array dimensions do not match array contents.")
      }
      return elements
    }

    /// `[1:2][0:3]=`: the length of each dimension.
    private mutating func dimensions() throws(KizunaError) -> [Int] {
      var lengths: [Int] = []
      while scanner.take(UInt8(ascii: "[")) {
        let first = try bound()
        var lower = 1
        var upper = first
        if scanner.take(UInt8(ascii: ":")) {
          lower = first
          upper = try bound()
        }
        guard scanner.take(UInt8(ascii: "]")) else {
          throw malformed("Missing \"]\" after array dimensions.")
        }
        if upper < lower { throw .refused("2202E", "upper bound cannot be less than lower bound") }
        lengths.append(upper - lower + 1)
        scanner.skipSpace()
      }
      if lengths.isEmpty { return lengths }
      guard scanner.take(UInt8(ascii: "=")) else { throw malformed("Missing \"=\" after array dimensions.") }
      scanner.skipSpace()
      return lengths
    }

    private mutating func bound() throws(KizunaError) -> Int {
      let isNegative = scanner.take(UInt8(ascii: "-"))
      if !isNegative { _ = scanner.take(UInt8(ascii: "+")) }
      let digits = scanner.digits()
      if digits.isEmpty { throw malformed("\"[\" must introduce explicitly-specified array dimensions.") }
      let magnitude = LiteralScanner.number(digits)
      return isNegative ? -magnitude : magnitude
    }

    private func shape(of elements: [Element]) throws(KizunaError) -> [Int] {
      var inner: [Int]?
      for element in elements {
        if case .array(let nested) = element {
          let nestedShape = try shape(of: nested)
          if let inner, inner != nestedShape { throw ragged }
          inner = nestedShape
        }
      }
      return [elements.count] + (inner ?? [])
    }

    private mutating func array(depth: Int) throws(KizunaError) -> [Element] {
      if depth > PostgresArray.maximumDepth {
        throw .refused(
          "54000",
          "number of array dimensions (\(depth)) exceeds the maximum allowed (\(PostgresArray.maximumDepth))")
      }
      scanner.index += 1
      var elements: [Element] = []
      scanner.skipSpace()
      if depth == 1, scanner.take(UInt8(ascii: "}")) { return elements }
      var nests: Bool?
      while true {
        scanner.skipSpace()
        if scanner.isAtEnd { throw unexpectedEnd }
        let isNested = scanner.current == UInt8(ascii: "{")
        if let nests, nests != isNested {
          throw malformed(isNested ? "Unexpected \"{\" character." : "Unexpected array element.")
        }
        nests = isNested
        elements.append(isNested ? .array(try array(depth: depth + 1)) : try scalar())
        scanner.skipSpace()
        if scanner.take(UInt8(ascii: "}")) { return elements }
        if scanner.isAtEnd { throw unexpectedEnd }
        guard scanner.take(UInt8(ascii: ",")) else { throw malformed("Unexpected array element.") }
      }
    }

    private mutating func scalar() throws(KizunaError) -> Element {
      if scanner.current == UInt8(ascii: "\"") { return .scalar(try quoted()) }
      var text: [UInt8] = []
      /// The length up to the last byte that is not unescaped white space.
      var kept = 0
      var isEscaped = false
      scan: while true {
        if scanner.isAtEnd { throw unexpectedEnd }
        let byte = scanner.current
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: "}"): break scan
        case UInt8(ascii: "{"), UInt8(ascii: "\""):
          throw malformed(
            byte == UInt8(ascii: "{") ? "Unexpected \"{\" character." : "Unexpected array element.")
        case UInt8(ascii: "\\"):
          scanner.index += 1
          if scanner.isAtEnd { throw unexpectedEnd }
          text.append(scanner.current)
          kept = text.count
          isEscaped = true
        default:
          text.append(byte)
          if !LiteralScanner.isSpace(byte) { kept = text.count }
        }
        scanner.index += 1
      }
      if kept == 0 {
        throw malformed("Unexpected \"\(LiteralScanner.string([scanner.current]))\" character.")
      }
      text.removeSubrange(kept...)
      if !isEscaped, kept == 4, LiteralScanner.lowered(text) == Array("null".utf8) { return .null }
      return .scalar(LiteralScanner.string(text))
    }

    private mutating func quoted() throws(KizunaError) -> String {
      scanner.index += 1
      var text: [UInt8] = []
      while true {
        if scanner.isAtEnd { throw unexpectedEnd }
        if scanner.take(UInt8(ascii: "\"")) { return LiteralScanner.string(text) }
        if scanner.take(UInt8(ascii: "\\")), scanner.isAtEnd { throw unexpectedEnd }
        text.append(scanner.current)
        scanner.index += 1
      }
    }
  }
}
