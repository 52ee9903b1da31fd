/// The shape of a request target: its bytes with the literals of plain filters and the numbers of the window cut
/// out. Two targets of one shape need the same statement, so a server can keep that under the shape's key and
/// serve the next request without parsing it. Reused storage: after warm-up `scan` allocates nothing.
///
/// Only the common case has a shape. What `scan` accepts may still be faulty (a column that is not there, an
/// escape that is none); the first request of a shape takes the general path and is judged there.
package struct RequestShape: ~Copyable {
  package struct Hole: Sendable, Equatable {
    package enum Kind: Sendable { case filter, limit, offset }
    package var kind: Kind
    /// Offsets into the query; the bytes are undecoded.
    package var start: Int
    package var end: Int
  }

  /// In the order of the query. The filter holes are those of `Request.literals`, one by one.
  package private(set) var holes: [Hole] = []
  /// FNV-1a of `key`.
  package private(set) var hash: UInt64 = 0

  private var storage: UnsafeMutableBufferPointer<UInt8>
  private var count = 0

  /// What stands for a cut-out literal or number. Copied parts hold no control characters, so that a key cannot
  /// be forged.
  private static let filterMark: UInt8 = 1
  private static let numberMark: UInt8 = 2

  package init() { storage = .allocate(capacity: 1024) }

  deinit { storage.deallocate() }

  /// Valid until the next `scan`, and as long as the shape lives.
  package var key: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: storage[..<count]) }

  /// False if the target is not of the common case; key and holes then mean nothing.
  package mutating func scan(path: UnsafeBufferPointer<UInt8>, query: UnsafeBufferPointer<UInt8>) -> Bool {
    count = 0
    hash = 0xCBF2_9CE4_8422_2325
    holes.removeAll(keepingCapacity: true)
    reserve(path.count + query.count + 2)
    guard copy(path, 0, path.count) else { return false }
    put(ASCII.question)
    var seen = SeenNumbers()
    var start = 0
    while start < query.count {
      var equals = start
      while equals < query.count, Self.isPlain(query[equals]) { equals += 1 }
      if equals < query.count, equals == start, Self.isSeparator(query[equals]) {
        start += 1
        continue
      }
      guard equals < query.count, equals > start, query[equals] == ASCII.equals else { return false }
      var end = equals + 1
      while end < query.count, !Self.isSeparator(query[end]) { end += 1 }
      guard pair(query, start, equals, end, &seen) else { return false }
      put(ASCII.ampersand)
      start = end + 1
    }
    return true
  }

  /// Decodes the bytes of a hole, replacing what `output` holds; false if they are malformed, not UTF-8 or hold
  /// NUL, and then the general path has the error to show.
  package static func decode(_ raw: UnsafeBufferPointer<UInt8>, into output: inout [UInt8]) -> Bool {
    PercentDecoding.decode(raw, plusIsSpace: true, into: &output) == nil
  }

  /// The number in a hole of the window: one to nine digits.
  package static func number(_ hole: Hole, in query: UnsafeBufferPointer<UInt8>) -> Int {
    var value = 0
    for index in hole.start..<hole.end { value = value * 10 + Int(query[index] &- ASCII.zero) }
    return value
  }

  private struct SeenNumbers {
    var limit = false
    var offset = false
  }

  private enum KeyKind { case column, copied, limit, offset, tree }

  private mutating func pair(
    _ query: UnsafeBufferPointer<UInt8>, _ start: Int, _ equals: Int, _ end: Int, _ seen: inout SeenNumbers
  ) -> Bool {
    switch Self.kind(query, start, equals) {
    case .tree: return false
    case .copied: return copy(query, start, end)
    case .limit:
      if seen.limit { return false }
      seen.limit = true
      return number(query, start, equals, end, .limit)
    case .offset:
      if seen.offset { return false }
      seen.offset = true
      return number(query, start, equals, end, .offset)
    case .column: return filter(query, start, equals, end)
    }
  }

  private mutating func number(
    _ query: UnsafeBufferPointer<UInt8>, _ start: Int, _ equals: Int, _ end: Int, _ kind: Hole.Kind
  ) -> Bool {
    guard 1...9 ~= end - equals - 1 else { return false }
    for index in equals + 1..<end where !ASCII.isDigit(query[index]) { return false }
    guard copy(query, start, equals + 1) else { return false }
    put(Self.numberMark)
    holes.append(Hole(kind: kind, start: equals + 1, end: end))
    return true
  }

  private mutating func filter(
    _ query: UnsafeBufferPointer<UInt8>, _ start: Int, _ equals: Int, _ end: Int
  ) -> Bool {
    var word = equals + 1
    if Self.matches("not.", query, word, end) { word += 4 }
    var dot = word
    while dot < end, query[dot] != ASCII.dot, dot - word < 6 { dot += 1 }
    guard dot < end, query[dot] == ASCII.dot else { return false }
    if dot - word == 2, Self.matches("is", query, word, dot) { return copy(query, start, end) }
    guard Self.isComparison(query, word, dot), copy(query, start, dot + 1) else { return false }
    put(Self.filterMark)
    holes.append(Hole(kind: .filter, start: dot + 1, end: end))
    return true
  }

  private static func isComparison(_ query: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int) -> Bool {
    switch end - start {
    case 2:
      matches("eq", query, start, end) || matches("gt", query, start, end) || matches("lt", query, start, end)
    case 3:
      matches("neq", query, start, end) || matches("gte", query, start, end)
        || matches("lte", query, start, end)
    case 4: matches("like", query, start, end)
    case 5: matches("ilike", query, start, end)
    default: false
    }
  }

  private static func kind(_ query: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int) -> KeyKind {
    func isWord(_ word: StaticString) -> Bool { matches(word, query, start, end) }
    switch end - start {
    case 2: return isWord("or") ? .tree : .column
    case 3: return isWord("and") || isWord("not") ? .tree : .column
    case 5: return isWord("limit") ? .limit : isWord("order") ? .copied : .column
    case 6: return isWord("offset") ? .offset : isWord("select") || isWord("apikey") ? .copied : .column
    case 7: return isWord("columns") ? .copied : .column
    case 11: return isWord("on_conflict") ? .copied : .column
    case 15: return isWord("include_deleted") ? .copied : .column
    case 17: return isWord("include_dismissed") ? .copied : .column
    default: return .column
    }
  }

  private static func matches(
    _ word: StaticString, _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int
  ) -> Bool {
    let length = word.utf8CodeUnitCount
    guard start + length <= end else { return false }
    for index in 0..<length where bytes[start + index] != word.utf8Start[index] { return false }
    return true
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    ASCII.isLetter(byte) || ASCII.isDigit(byte) || byte == ASCII.underscore || byte == ASCII.dash
      || byte == ASCII.dollar
  }

  private static func isSeparator(_ byte: UInt8) -> Bool {
    byte == ASCII.ampersand || byte == ASCII.semicolon
  }

  private mutating func copy(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int) -> Bool {
    for index in start..<end {
      if bytes[index] < ASCII.space { return false }
      put(bytes[index])
    }
    return true
  }

  /// Room is there: a pair puts at most its own bytes, its separator and a mark in place of a literal, and
  /// `reserve` counted three bytes for every two of the target.
  private mutating func put(_ byte: UInt8) {
    storage[count] = byte
    count += 1
    hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
  }

  private mutating func reserve(_ bytes: Int) {
    let needed = bytes * 3 / 2 + 16
    if storage.count >= needed { return }
    storage.deallocate()
    storage = .allocate(capacity: needed * 2)
  }
}
