/// One answer to a pull, checked as a whole before anything of it is used. Rows stay where they are in its bytes
/// until they are stored, so that a page costs little more than itself.
struct PullPage {
  enum Signal: Sendable { case resetRequired, checkpointExpired }

  /// A place in the page's bytes.
  struct Span {
    var start: UInt32
    var end: UInt32
    init(_ range: Range<Int>) {
      start = UInt32(range.lowerBound)
      end = UInt32(range.upperBound)
    }
    var range: Range<Int> { Int(start)..<Int(end) }
  }

  /// A row, or the key of a removed one.
  struct Entry {
    /// Position among the catalog's tables.
    var table: Int32
    /// A JSON string.
    var pk: Span
    /// Digits.
    var seq: Span
    /// A JSON object; empty in a tombstone.
    var row: Span
  }

  let bytes: [UInt8]
  var signal: Signal?
  var cursor = ""
  var hasMore = false
  var rows: [Entry] = []
  var tombstones: [Entry] = []
  var conflicts: [PullConflict] = []

  /// `JSON` for what is no page, `UNKNOWN_SIGNAL` and `UNKNOWN_TABLE` for what names something unknown.
  init(_ bytes: [UInt8], catalog: Catalog) throws(KizunaError) {
    self.bytes = bytes
    guard bytes.count < Int(UInt32.max) else { throw Self.malformed("it is too large") }
    var reader = PullPageReader(catalog: catalog)
    let result: Result<Void, KizunaError> = bytes.withUnsafeBufferPointer { pointer in
      do throws(KizunaError) { return .success(try reader.read(pointer)) } catch { return .failure(error) }
    }
    try result.get()
    try take(reader)
  }

  private mutating func take(_ reader: PullPageReader) throws(KizunaError) {
    switch reader.signal {
    case nil, .null?: break
    case let signal?:
      guard let type = signal["type"]?.text else { throw Self.malformed("its signal has no type") }
      self.signal = try Self.signal(type)
      return
    }
    guard let cursor = reader.cursor, !cursor.isEmpty, let hasMore = reader.hasMore, let rows = reader.rows,
      let tombstones = reader.tombstones
    else { throw Self.malformed("cursor, has_more, rows and tombstones must all be there") }
    self.cursor = cursor
    self.hasMore = hasMore
    self.rows = rows
    self.tombstones = tombstones
    conflicts = try (reader.conflicts ?? []).map { value throws(KizunaError) in try PullConflict(value) }
  }

  private static func signal(_ type: String) throws(KizunaError) -> Signal {
    switch type {
    case "RESET_REQUIRED": return .resetRequired
    case "CHECKPOINT_EXPIRED": return .checkpointExpired
    default: throw KizunaError("UNKNOWN_SIGNAL", "the upstream answered a pull with the signal \(type)")
    }
  }

  static func malformed(_ reason: String) -> KizunaError {
    KizunaError("JSON", "the upstream's answer to a pull is no page: \(reason)")
  }

  // MARK: Parts of an entry

  func key(_ entry: Entry) throws(KizunaError) -> String {
    guard let text = try value(entry.pk).text else { throw Self.malformed("a pk is no text") }
    return text
  }

  func sequence(_ entry: Entry) -> PullSequence { PullSequence(bytes[entry.seq.range]) }
  func row(_ entry: Entry) throws(KizunaError) -> JSONValue { try value(entry.row) }

  /// The bytes as they came.
  func append(_ span: Span, to buffer: inout ByteBuffer) {
    bytes.withUnsafeBufferPointer { buffer.append(UnsafeBufferPointer(rebasing: $0[span.range])) }
  }

  private func value(_ span: Span) throws(KizunaError) -> JSONValue {
    let result: Result<JSONValue, JSONParser.Failure> = bytes.withUnsafeBufferPointer { pointer in
      do throws(JSONParser.Failure) {
        return .success(try JSONParser.parse(UnsafeBufferPointer(rebasing: pointer[span.range])))
      } catch { return .failure(error) }
    }
    do { return try result.get() } catch { throw Self.malformed(error.reason) }
  }

  /// The lowest and the highest number of the page; nil when it carries nothing.
  var sequences: (lowest: PullSequence, highest: PullSequence)? {
    // Each list ascends by right; a list that does not is looked at the slow way when it is staged.
    var found: (lowest: PullSequence, highest: PullSequence)?
    for entry in [rows.first, rows.last, tombstones.first, tombstones.last].compactMap({ $0 }) {
      let sequence = sequence(entry)
      found = found.map { (min($0.lowest, sequence), max($0.highest, sequence)) } ?? (sequence, sequence)
    }
    return found
  }
}

/// A number of the upstream's change sequence: decimal digits of any length.
struct PullSequence: Comparable {
  let digits: [UInt8]

  init(_ digits: some Sequence<UInt8>) { self.digits = Array(digits) }

  static func < (left: PullSequence, right: PullSequence) -> Bool {
    left.digits.count == right.digits.count
      ? left.digits.lexicographicallyPrecedes(right.digits) : left.digits.count < right.digits.count
  }
}

/// A column value that lost against another write, as the upstream's conflict journal tells it.
struct PullConflict: Sendable {
  var table: String
  var pk: String
  var column: String
  var loserValueJSON: String
  var winnerMutationId: String
  var winnerSequence: String?
  var mode: String
  /// As it came.
  let text: String

  init(_ value: JSONValue) throws(KizunaError) {
    guard let table = value["table"]?.text, let pk = value["pk"]?.text,
      let column = value["column_name"]?.text, let winner = value["winner_mutation_id"]?.text,
      let mode = value["conflict_mode"]?.text, TableSchema.ConflictMode(rawValue: mode) != nil
    else { throw PullPage.malformed("a conflict lacks a part, or its mode is unknown") }
    self.table = table
    self.pk = pk
    self.column = column
    self.mode = mode
    winnerMutationId = winner.lowercased()
    loserValueJSON = (value["loser_value"] ?? .null).jsonText
    switch value["winner_seq"] {
    case .string(let text)?, .number(let text)?: winnerSequence = text
    default: winnerSequence = nil
    }
    text = value.jsonText
  }

  init(text: String) throws(KizunaError) {
    guard let value = try? JSONParser.parse(text) else {
      throw KizunaError("JSON", "a staged conflict does not parse")
    }
    try self.init(value)
  }
}
