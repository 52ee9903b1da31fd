/// The rows a read may answer: `limit` of them (nil is all) after the first `offset`.
package struct Window: Sendable, Equatable {
  package var offset: Int
  package var limit: Int?

  package init(offset: Int = 0, limit: Int? = nil) {
    self.offset = offset
    self.limit = limit
  }
}

extension Window {
  /// The window of the query string, cut down to that of a `Range` header (pass one for GET only).
  ///
  /// A negative offset counts as 0 and shortens the limit. `limit=0` beats a Range. An empty result that was not
  /// asked for by `limit=0` is `PGRST103`.
  package init(limit: Int?, offset: Int?, range: String? = nil) throws(DialectError) {
    let offset = offset ?? 0
    if limit == 0 {
      if offset > 0 { throw DialectError.rangeNotSatisfiable(.badLimit) }
      self.init(offset: 0, limit: 0)
      return
    }
    let header = Self.parse(range)
    if let header, let last = header.last, last < header.first {
      throw DialectError.rangeNotSatisfiable(.lowerAboveUpper)
    }
    if let limit, limit < 0 { throw DialectError.rangeNotSatisfiable(.badLimit) }

    let first = max(0, offset)
    var left = limit.map { offset < 0 ? $0.saturatingAdd(offset) : $0 }
    if let left, left < 0 { throw DialectError.rangeNotSatisfiable(.badLimit) }
    guard let header else {
      self.init(offset: first, limit: left)
      return
    }
    let start = max(first, header.first)
    left = left.map { $0.saturatingAdd(first - start) }
    if let last = header.last {
      let upTo = last.saturatingAdd(1 - start)
      left = min(left ?? upTo, upTo)
    }
    if let left, left <= 0 { throw DialectError.rangeNotSatisfiable(.badLimit) }
    self.init(offset: start, limit: left)
  }

  /// `5-9` or `5-`; anything else is no range.
  private static func parse(_ range: String?) -> (first: Int, last: Int?)? {
    guard let range else { return nil }
    let bytes = Array(range.utf8)[...].trimmed
    guard let dash = bytes.firstIndex(of: ASCII.dash) else { return nil }
    let first = bytes[..<dash]
    let last = bytes[(dash + 1)...]
    guard !first.isEmpty, first.allSatisfy(ASCII.isDigit), last.allSatisfy(ASCII.isDigit) else { return nil }
    return (
      wholeNumber(first, negative: false), last.isEmpty ? nil : wholeNumber(last, negative: false)
    )
  }
}

extension Request {
  package func window(range: String? = nil) throws(DialectError) -> Window {
    try Window(limit: limit, offset: offset, range: range)
  }

  /// PUT names one row by its key, so a window on it is refused.
  package func checkPutWindow() throws(DialectError) {
    if limit != nil || (offset ?? 0) != 0 { throw DialectError.windowOnPut }
  }
}

extension Int {
  fileprivate func saturatingAdd(_ other: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }
}
