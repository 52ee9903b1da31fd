/// What `Content-Range` says of the rows answered, and the status that follows from a counted total.
struct ContentRange: Equatable, Sendable {
  var status: Int
  var text: String
  /// The offset sentence of a 416; nil for a success.
  var refusal: String?

  /// A read of `rows` rows from `offset` on. Only a counted read can be partial (206) or beyond the end (416).
  static func read(offset: Int, rows: Int, total: Int?) -> ContentRange {
    let span = rows == 0 ? "*" : "\(offset)-\(offset + rows - 1)"
    guard let total else { return ContentRange(status: 200, text: "\(span)/*") }
    if offset > total {
      let refusal = "An offset of \(offset) was requested, but there are only \(total) rows."
      return ContentRange(status: 416, text: "*/\(total)", refusal: refusal)
    }
    return ContentRange(status: rows < total ? 206 : 200, text: "\(span)/\(total)")
  }

  /// An update names the rows from zero on; the total only if it was counted.
  static func update(rows: Int, counted: Bool) -> String {
    let span = rows == 0 ? "*" : "0-\(rows - 1)"
    return counted ? "\(span)/\(rows)" : "\(span)/*"
  }

  /// An insert or a delete names no rows.
  static func unnamed(rows: Int, counted: Bool) -> String { counted ? "*/\(rows)" : "*/*" }
}
