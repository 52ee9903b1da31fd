/// A body of the type `text/csv` (RFC 4180): a header line, then at least one row.
package enum CSVBody {
  package typealias Table = (header: [String], rows: [[String?]])

  /// The bare word `NULL` is null, an empty field the empty string. Blank lines are skipped.
  package static func parse(_ bytes: UnsafeBufferPointer<UInt8>) throws(DialectError) -> Table {
    guard isValidUTF8(bytes), !bytes.contains(0) else {
      throw DialectError.body("parse error (not UTF-8 text) at \"\"")
    }
    var reader = CSVReader(bytes: bytes)
    guard let header = try reader.record() else { throw Self.tooShort }
    var rows: [[String?]] = []
    while let row = try reader.record() {
      guard row.count == header.count else {
        throw DialectError.body("All lines must have same number of fields")
      }
      rows.append(row)
    }
    guard !rows.isEmpty else { throw Self.tooShort }
    return (header.map { $0 ?? "NULL" }, rows)
  }

  fileprivate static var tooShort: DialectError { .body("parse error (not enough input) at \"\"") }
}

private struct CSVReader {
  let bytes: UnsafeBufferPointer<UInt8>
  var at = 0

  init(bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  /// The fields of the next line that is not blank; nil at the end.
  mutating func record() throws(DialectError) -> [String?]? {
    while at < bytes.count, endsLine(bytes[at]) { at += 1 }
    guard at < bytes.count else { return nil }
    var fields = [try field()]
    while at < bytes.count, bytes[at] == ASCII.comma {
      at += 1
      fields.append(try field())
    }
    guard at == bytes.count || endsLine(bytes[at]) else { throw unexpected() }
    return fields
  }

  private func endsLine(_ byte: UInt8) -> Bool { byte == ASCII.newline || byte == ASCII.carriageReturn }

  private mutating func field() throws(DialectError) -> String? {
    if at < bytes.count, bytes[at] == ASCII.quote { return try quotedField() }
    let start = at
    while at < bytes.count, bytes[at] != ASCII.comma, bytes[at] != ASCII.quote, !endsLine(bytes[at]) {
      at += 1
    }
    let text = String(decoding: bytes.part(start, at), as: UTF8.self)
    return text == "NULL" ? nil : text
  }

  private mutating func quotedField() throws(DialectError) -> String {
    var content: [UInt8] = []
    at += 1
    while at < bytes.count {
      let byte = bytes[at]
      at += 1
      if byte != ASCII.quote {
        content.append(byte)
      } else if at < bytes.count, bytes[at] == ASCII.quote {
        content.append(byte)
        at += 1
      } else {
        return String(decoding: content, as: UTF8.self)
      }
    }
    throw CSVBody.tooShort
  }

  private func unexpected() -> DialectError {
    let rest = String(decoding: bytes.part(at, min(bytes.count, at + 20)), as: UTF8.self)
    return DialectError.body("parse error (endOfInput) at \"\(rest)\"")
  }
}
