/// Walks a page once, without building it: every byte is checked, and the entries' places are noted.
struct PullPageReader {
  let catalog: Catalog
  var signal: JSONValue?
  var cursor: String?
  var hasMore: Bool?
  var rows: [PullPage.Entry]?
  var tombstones: [PullPage.Entry]?
  var conflicts: [JSONValue]?
  /// Entries of one table stand together more often than not.
  private var lastTable: (name: String, index: Int32)?

  init(catalog: Catalog) { self.catalog = catalog }

  mutating func read(_ bytes: UnsafeBufferPointer<UInt8>) throws(KizunaError) {
    var parser = JSONParser(bytes)
    do throws(JSONParser.Failure) {
      try parser.expect(UInt8(ascii: "{"))
    } catch { throw PullPage.malformed(error.reason) }
    if !parser.take(UInt8(ascii: "}")) {
      repeat {
        try member(&parser, bytes)
      } while parser.take(UInt8(ascii: ","))
      try Self.checked { () throws(JSONParser.Failure) in try parser.expect(UInt8(ascii: "}")) }
    }
    try Self.checked { () throws(JSONParser.Failure) in try parser.end() }
  }

  private static func checked<Value>(
    _ body: () throws(JSONParser.Failure) -> Value
  ) throws(KizunaError) -> Value {
    do throws(JSONParser.Failure) { return try body() } catch { throw PullPage.malformed(error.reason) }
  }

  private mutating func member(
    _ parser: inout JSONParser, _ bytes: UnsafeBufferPointer<UInt8>
  ) throws(KizunaError) {
    let key = try Self.key(&parser)
    switch key {
    case "rows": rows = try entries(&parser, bytes, withRows: true)
    case "tombstones": tombstones = try entries(&parser, bytes, withRows: false)
    default:
      let value: JSONValue
      switch key {
      case "cursor", "has_more", "signal", "conflicts":
        value = try Self.checked { () throws(JSONParser.Failure) in try parser.value(depth: 1) }
      default:
        _ = try Self.checked { () throws(JSONParser.Failure) in try parser.skip(depth: 1) }
        return
      }
      switch key {
      case "cursor": cursor = value.text
      case "has_more": hasMore = value.boolean
      case "signal": signal = value
      default:
        guard value.isNull || value.elements != nil else { throw PullPage.malformed("conflicts is no array") }
        conflicts = value.elements
      }
    }
  }

  private static func key(_ parser: inout JSONParser) throws(KizunaError) -> String {
    try checked { () throws(JSONParser.Failure) in
      let key = try parser.string()
      try parser.expect(UInt8(ascii: ":"))
      return key
    }
  }

  private mutating func entries(
    _ parser: inout JSONParser, _ bytes: UnsafeBufferPointer<UInt8>, withRows: Bool
  ) throws(KizunaError) -> [PullPage.Entry] {
    guard parser.take(UInt8(ascii: "[")) else { throw PullPage.malformed("its entries are no array") }
    var entries: [PullPage.Entry] = []
    if parser.take(UInt8(ascii: "]")) { return entries }
    repeat {
      entries.append(try entry(&parser, bytes, withRow: withRows))
    } while parser.take(UInt8(ascii: ","))
    guard parser.take(UInt8(ascii: "]")) else { throw PullPage.malformed("its entries do not end") }
    return entries
  }

  private mutating func entry(
    _ parser: inout JSONParser, _ bytes: UnsafeBufferPointer<UInt8>, withRow: Bool
  ) throws(KizunaError) -> PullPage.Entry {
    guard parser.take(UInt8(ascii: "{")) else { throw PullPage.malformed("an entry is no object") }
    var places: (table: Range<Int>?, pk: Range<Int>?, seq: Range<Int>?, row: Range<Int>?)
    if !parser.take(UInt8(ascii: "}")) {
      repeat {
        let part = try Self.part(&parser, bytes)
        let place = try Self.checked { () throws(JSONParser.Failure) in try parser.skip(depth: 3) }
        switch part {
        case .table: places.table = place
        case .pk: places.pk = place
        case .seq: places.seq = place
        case .row: places.row = place
        case .other: break
        }
      } while parser.take(UInt8(ascii: ","))
      guard parser.take(UInt8(ascii: "}")) else { throw PullPage.malformed("an entry does not end") }
    }
    guard let table = places.table, let pk = places.pk, let seq = places.seq else {
      throw PullPage.malformed("an entry lacks its table, pk or seq")
    }
    guard bytes[pk.lowerBound] == UInt8(ascii: "\""), pk.count > 2 else {
      throw PullPage.malformed("a pk is no text, or empty")
    }
    var row = 0..<0
    if withRow {
      guard let place = places.row, bytes[place.lowerBound] == UInt8(ascii: "{") else {
        throw PullPage.malformed("a row is no object")
      }
      row = place
    }
    return PullPage.Entry(
      table: try index(table, bytes), pk: PullPage.Span(pk), seq: PullPage.Span(try Self.digits(seq, bytes)),
      row: PullPage.Span(row))
  }

  private enum Part { case table, pk, seq, row, other }

  private static func part(
    _ parser: inout JSONParser, _ bytes: UnsafeBufferPointer<UInt8>
  ) throws(KizunaError) -> Part {
    let place = try checked { () throws(JSONParser.Failure) in
      let place = try parser.skipString()
      try parser.expect(UInt8(ascii: ":"))
      return place
    }
    guard let place else { return .other }
    func isName(_ name: StaticString) -> Bool {
      place.count == name.utf8CodeUnitCount
        && place.indices.allSatisfy { bytes[$0] == name.utf8Start[$0 - place.lowerBound] }
    }
    if isName("row") { return .row }
    if isName("pk") { return .pk }
    if isName("seq") { return .seq }
    return isName("table") ? .table : .other
  }

  /// Within the quotes. A number that is not text may have been rounded already.
  private static func digits(
    _ token: Range<Int>, _ bytes: UnsafeBufferPointer<UInt8>
  ) throws(KizunaError) -> Range<Int> {
    let digits = token.lowerBound + 1..<max(token.lowerBound + 1, token.upperBound - 1)
    guard bytes[token.lowerBound] == UInt8(ascii: "\""), !digits.isEmpty,
      digits.allSatisfy({ bytes[$0] &- 0x30 < 10 }),
      digits.count == 1 || bytes[digits.lowerBound] != UInt8(ascii: "0")
    else { throw PullPage.malformed("a seq is no decimal text") }
    return digits
  }

  private mutating func index(
    _ token: Range<Int>, _ bytes: UnsafeBufferPointer<UInt8>
  ) throws(KizunaError) -> Int32 {
    if let last = lastTable, last.name.utf8.count == token.count - 2,
      last.name.utf8.elementsEqual(bytes[token.lowerBound + 1..<token.upperBound - 1])
    {
      return last.index
    }
    let value = try Self.checked { () throws(JSONParser.Failure) in
      try JSONParser.parse(UnsafeBufferPointer(rebasing: bytes[token]))
    }
    guard let name = value.text else { throw PullPage.malformed("a table is no text") }
    guard
      let index = catalog.tables.firstIndex(where: {
        $0.name.sameBytes(as: name) && $0.syncMode != .localOnly
      })
    else {
      throw KizunaError(
        "UNKNOWN_TABLE", "the upstream sent rows of the table \(name), which is not synced here")
    }
    lastTable = (name, Int32(index))
    return Int32(index)
  }
}
