import KizunaEngine

/// Rows as RFC 4180 text: `\n` between lines, none at the end; null is an empty field, arrays and objects are JSON.
struct CSVText {
  let text: String

  /// Without `columns`, the header is every key that the rows carry, in the order of its bytes.
  init(_ rows: [JSONValue], columns: [String]?) {
    let header = columns ?? Self.keys(of: rows)
    guard !header.isEmpty else {
      text = ""
      return
    }
    var lines = [header.map(Self.quoted).joined(separator: ",")]
    for row in rows {
      lines.append(header.map { Self.field(row[$0] ?? .null) }.joined(separator: ","))
    }
    text = lines.joined(separator: "\n")
  }

  private static func keys(of rows: [JSONValue]) -> [String] {
    var keys: Set<[UInt8]> = []
    for row in rows {
      for member in row.members ?? [] { keys.insert(Array(member.key.utf8)) }
    }
    return keys.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
  }

  private static func field(_ value: JSONValue) -> String {
    switch value {
    case .null: ""
    case .string(let text): quoted(text)
    default: quoted(value.jsonText)
    }
  }

  private static func quoted(_ text: String) -> String {
    let special: [UInt8] = [UInt8(ascii: "\""), UInt8(ascii: ","), 0x0A, 0x0D]
    guard text.utf8.contains(where: special.contains) else { return text }
    return "\"" + text.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"")
      + "\""
  }
}
