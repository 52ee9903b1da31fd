extension AnswerType {
  /// The first type that can be made, in order of q, then of specificity (parameters count for, stars against),
  /// then of position. Without a header JSON; plans are never made.
  package static func negotiate(accept: UnsafeBufferPointer<UInt8>?) throws(DialectError) -> AnswerType {
    guard let accept else { return .json }
    var ranges = MediaRange.all(in: accept)
    ranges.sort { ($0.quality, $0.specificity, $1.position) > ($1.quality, $1.specificity, $0.position) }
    for range in ranges {
      if let type = range.answerType { return type }
    }
    throw DialectError.noMediaType(ranges.map(\.shown))
  }

  package var contentType: StaticString {
    switch self {
    case .json, .array(stripped: false): "application/json; charset=utf-8"
    case .array(stripped: true): "application/vnd.pgrst.array+json;nulls=stripped; charset=utf-8"
    case .object(stripped: false): "application/vnd.pgrst.object+json; charset=utf-8"
    case .object(stripped: true): "application/vnd.pgrst.object+json;nulls=stripped; charset=utf-8"
    case .csv: "text/csv; charset=utf-8"
    case .geojson: "application/geo+json; charset=utf-8"
    case .plan: "application/vnd.pgrst.plan+json; charset=utf-8"
    }
  }
}

/// One element of `Accept`.
private struct MediaRange {
  /// As written.
  var name: String
  /// Lowercased.
  var type: String
  var parameters: [(name: String, value: String)] = []
  /// In millionths.
  var quality = 1_000_000
  var position: Int

  var specificity: Int { parameters.count - type.utf8.count { $0 == ASCII.star } }

  static func all(in accept: UnsafeBufferPointer<UInt8>) -> [MediaRange] {
    pieces(Array(accept)[...], at: ASCII.comma).enumerated().map { position, piece in
      MediaRange(piece, position: position)
    }
  }

  init(_ bytes: ArraySlice<UInt8>, position: Int) {
    let pieces = Self.pieces(bytes, at: ASCII.semicolon)
    let name = pieces[0].trimmed
    self.name = String(bytes: name)
    type = String(decoding: name.map(ASCII.lowercased), as: UTF8.self)
    self.position = position
    for piece in pieces.dropFirst() {
      let piece = piece.trimmed
      if piece.isEmpty { continue }
      let equals = piece.firstIndex(of: ASCII.equals) ?? piece.endIndex
      let name = String(decoding: piece[..<equals].map(ASCII.lowercased), as: UTF8.self)
      let value = piece[equals...].dropFirst()
      if name == "q" {
        quality = Self.quality(value.trimmed)
      } else {
        parameters.append((name, String(bytes: value.filter { $0 != ASCII.quote }[...])))
      }
    }
  }

  /// Splits outside of double quotes; at least one piece.
  static func pieces(_ bytes: ArraySlice<UInt8>, at separator: UInt8) -> [ArraySlice<UInt8>] {
    var pieces: [ArraySlice<UInt8>] = []
    var start = bytes.startIndex
    var quoted = false
    for index in bytes.indices {
      if bytes[index] == ASCII.quote {
        quoted.toggle()
      } else if bytes[index] == separator, !quoted {
        pieces.append(bytes[start..<index])
        start = index + 1
      }
    }
    pieces.append(bytes[start...])
    return pieces
  }

  /// A malformed weight is 1.
  static func quality(_ text: ArraySlice<UInt8>) -> Int {
    let parts = text.split(separator: ASCII.dot, maxSplits: 1, omittingEmptySubsequences: false)
    let whole = parts.first ?? []
    let fraction = parts.count == 2 ? parts[1] : []
    guard !text.isEmpty, whole.count <= 3, whole.allSatisfy(ASCII.isDigit), fraction.allSatisfy(ASCII.isDigit)
    else { return 1_000_000 }
    var quality = wholeNumber(whole, negative: false)
    for place in 0..<6 {
      let index = fraction.startIndex + place
      quality = quality * 10 + (index < fraction.endIndex ? Int(fraction[index] - ASCII.zero) : 0)
    }
    return quality
  }

  func parameter(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

  var answerType: AnswerType? {
    let stripped = parameter("nulls") == "stripped"
    return switch type {
    case "*/*", "application/json": .json
    case "application/vnd.pgrst.array", "application/vnd.pgrst.array+json":
      stripped ? .array(stripped: true) : .json
    case "application/vnd.pgrst.object", "application/vnd.pgrst.object+json": .object(stripped: stripped)
    case "text/csv": .csv
    case "application/geo+json": .geojson
    default: nil
    }
  }

  /// How a refusal names the type.
  var shown: String {
    let format: String
    switch type {
    case "application/vnd.pgrst.plan", "application/vnd.pgrst.plan+text": format = "text"
    case "application/vnd.pgrst.plan+json": format = "json"
    default: return name
    }
    let asked = parameter("options")?.split(separator: "|").map(String.init) ?? []
    let options = ["analyze", "verbose", "settings", "buffers", "wal"].filter(asked.contains)
    return "application/vnd.pgrst.plan+\(format); for=\"\(parameter("for") ?? "application/json")\""
      + (options.isEmpty ? "" : "; options=\(options.joined(separator: "|"))")
  }
}
