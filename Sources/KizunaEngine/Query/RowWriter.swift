import CSQLite

/// Writes the rows of a statement as JSON or CSV bytes.
final class RowWriter: Sendable {
  /// What most cells are, so that the hot loop need not look into the type.
  enum CellKind: UInt8, Sendable { case text, integer, boolean, document, instant, other }

  /// One column in the hot loop: plain bytes, nothing counted.
  private struct Cell {
    var kind: CellKind
    /// Of `"name":` in `prefixes`.
    var start: Int32
    var length: Int32
  }

  let columns: [OutputColumn]
  let format: RowFormat
  let zone: Zone
  // Written once, by init; freed by deinit.
  private nonisolated(unsafe) let cells: UnsafeMutableBufferPointer<Cell>
  private nonisolated(unsafe) let prefixes: UnsafeMutableBufferPointer<UInt8>

  init(columns: [OutputColumn], format: RowFormat, zone: Zone) {
    self.columns = columns
    self.format = format
    self.zone = zone
    cells = .allocate(capacity: columns.count)
    var text = ByteBuffer(capacity: 256)
    for (index, column) in columns.enumerated() {
      let start = text.count
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text.appendJSON(string: column.name)
      text.append(UInt8(ascii: ":"))
      cells.initializeElement(
        at: index,
        to: Cell(
          kind: Self.kind(column, zone), start: Int32(start), length: Int32(text.count - start)))
    }
    prefixes = .allocate(capacity: text.count)
    _ = prefixes.initialize(from: text.bytes)
  }

  deinit {
    cells.deallocate()
    prefixes.deallocate()
  }

  private static func kind(_ column: OutputColumn, _ zone: Zone) -> CellKind {
    guard column.cast == nil else { return .other }
    switch column.type {
    case .uuid, .text, .varchar, .citext, .char, .enumeration, .date, .inet, .cidr: return .text
    case .smallint, .integer, .bigint: return .integer
    case .boolean: return .boolean
    case .json, .jsonb, .array: return zone == .utc ? .document : .other
    case .timestamptz: return zone == .utc ? .instant : .other
    default: return .other
    }
  }

  /// What stands before the first row.
  func begin(_ buffer: inout ByteBuffer) {
    switch format {
    case .array: buffer.append(UInt8(ascii: "["))
    case .object: break
    case .csv:
      for (index, column) in columns.enumerated() {
        if index > 0 { buffer.append(UInt8(ascii: ",")) }
        buffer.append(column.name)
      }
    }
  }

  func end(_ buffer: inout ByteBuffer) {
    if case .array = format { buffer.append(UInt8(ascii: "]")) }
  }

  func row(_ statement: Statement, number: Int, to buffer: inout ByteBuffer) throws(KizunaError) {
    switch format {
    case .array(let strips), .object(let strips):
      if number > 0 { buffer.append(UInt8(ascii: ",")) }
      if strips {
        buffer.append(UInt8(ascii: "{"))
        try strippedMembers(statement, to: &buffer)
        buffer.append(UInt8(ascii: "}"))
      } else {
        try object(statement, to: &buffer)
      }
    case .csv:
      buffer.append(UInt8(ascii: "\n"))
      try line(statement, to: &buffer)
    }
  }

  private func object(_ statement: Statement, to buffer: inout ByteBuffer) throws(KizunaError) {
    buffer.append(UInt8(ascii: "{"))
    let handle = statement.handle
    for index in 0..<cells.count {
      let cell = cells[index]
      buffer.append(
        UnsafeBufferPointer(rebasing: prefixes[Int(cell.start)..<Int(cell.start + cell.length)]))
      let column = Int32(truncatingIfNeeded: index)
      switch cell.kind {
      case .integer where sqlite3_column_type(handle, column) == SQLITE_INTEGER:
        buffer.append(integer: sqlite3_column_int64(handle, column))
      case .boolean where sqlite3_column_type(handle, column) == SQLITE_INTEGER:
        if sqlite3_column_int64(handle, column) != 0 { buffer.append("true") } else { buffer.append("false") }
      // A column of TEXT affinity holds text or null.
      case .text: Self.text(handle, column, to: &buffer)
      case .document: Self.document(handle, column, to: &buffer)
      case .instant:
        guard !Self.instant(handle, column, to: &buffer) else { continue }
        try value(statement.raw(column), columns[index], to: &buffer)
      default: try value(statement.raw(column), columns[index], to: &buffer)
      }
    }
    buffer.append(UInt8(ascii: "}"))
  }

  @inline(__always)
  private static func bytes(_ handle: OpaquePointer, _ column: Int32) -> UnsafeBufferPointer<UInt8>? {
    guard let text = sqlite3_column_text(handle, column) else { return nil }
    return UnsafeBufferPointer(start: text, count: Int(sqlite3_column_bytes(handle, column)))
  }

  @inline(__always)
  private static func text(_ handle: OpaquePointer, _ column: Int32, to buffer: inout ByteBuffer) {
    if let bytes = bytes(handle, column) {
      buffer.appendJSON(string: bytes)
    } else {
      buffer.append("null")
    }
  }

  @inline(__always)
  private static func document(_ handle: OpaquePointer, _ column: Int32, to buffer: inout ByteBuffer) {
    if let bytes = bytes(handle, column) { buffer.append(bytes) } else { buffer.append("null") }
  }

  /// `2024-05-01 10:00:00.250000` as `"2024-05-01T10:00:00.25+00:00"`; false for what has another form.
  private static func instant(
    _ handle: OpaquePointer, _ column: Int32, to buffer: inout ByteBuffer
  ) -> Bool {
    guard let bytes = bytes(handle, column) else {
      buffer.append("null")
      return true
    }
    guard bytes.count == 26, bytes[0] &- 0x30 < 10, bytes[10] == 0x20 else { return false }
    var end = 26
    while bytes[end - 1] == UInt8(ascii: "0") { end -= 1 }
    if bytes[end - 1] == UInt8(ascii: ".") { end -= 1 }
    buffer.append(UInt8(ascii: "\""))
    buffer.append(UnsafeBufferPointer(rebasing: bytes[..<10]))
    buffer.append(UInt8(ascii: "T"))
    // Only the fraction may lose zeros.
    buffer.append(UnsafeBufferPointer(rebasing: bytes[11..<max(end, 19)]))
    buffer.append("+00:00\"")
    return true
  }

  private func value(
    _ raw: RawValue, _ column: OutputColumn, to buffer: inout ByteBuffer
  ) throws(KizunaError) {
    if case .null = raw { return buffer.append("null") }
    guard let target = column.cast else { return column.type.appendJSON(raw, to: &buffer, zone: zone) }
    let value = try column.type.cast(raw, to: target, zone: zone)
    value.withRaw { target.appendJSON($0, to: &buffer, zone: zone) }
  }

  private func strippedMembers(
    _ statement: Statement, to buffer: inout ByteBuffer
  ) throws(KizunaError) {
    var isFirst = true
    for index in columns.indices {
      let raw = statement.raw(Int32(index))
      if case .null = raw { continue }
      var value = ByteBuffer(capacity: 64)
      try self.value(raw, columns[index], to: &value)
      if value.bytes.elementsEqual("null".utf8) { continue }
      if !isFirst { buffer.append(UInt8(ascii: ",")) }
      isFirst = false
      buffer.appendJSON(string: columns[index].name)
      buffer.append(UInt8(ascii: ":"))
      let opening = value.bytes.first
      if opening == UInt8(ascii: "{") || opening == UInt8(ascii: "["),
        let parsed = try? JSONParser.parse(value.bytes)
      {
        buffer.append(json: parsed.strippingNulls)
      } else {
        buffer.append(value.bytes)
      }
    }
  }

  private func line(_ statement: Statement, to buffer: inout ByteBuffer) throws(KizunaError) {
    for index in columns.indices {
      if index > 0 { buffer.append(UInt8(ascii: ",")) }
      let column = columns[index]
      let raw = statement.raw(Int32(index))
      if case .null = raw { continue }
      var text = ByteBuffer(capacity: 64)
      if let target = column.cast {
        let value = try column.type.cast(raw, to: target, zone: zone)
        if value.isNull { continue }
        value.withRaw { target.appendText($0, to: &text, zone: zone) }
      } else {
        column.type.appendText(raw, to: &text, zone: zone)
      }
      Self.appendField(text.bytes, to: &buffer)
    }
  }

  /// Quoted when empty or when it holds a comma, quote, backslash, parenthesis or white space.
  private static func appendField(_ bytes: UnsafeBufferPointer<UInt8>, to buffer: inout ByteBuffer) {
    let needsQuotes =
      bytes.isEmpty
      || bytes.contains { byte in
        switch byte {
        case 0x2C, 0x22, 0x5C, 0x28, 0x29, 0x20, 0x09...0x0D: true
        default: false
        }
      }
    guard needsQuotes else { return buffer.append(bytes) }
    buffer.append(UInt8(ascii: "\""))
    for byte in bytes {
      if byte == 0x22 || byte == 0x5C { buffer.append(byte) }
      buffer.append(byte)
    }
    buffer.append(UInt8(ascii: "\""))
  }
}

extension JSONValue {
  /// Without null-valued members, at every depth; null array elements stay.
  var strippingNulls: JSONValue {
    switch self {
    case .object(let members):
      .object(members.filter { !$0.value.isNull }.map { JSONMember($0.key, $0.value.strippingNulls) })
    case .array(let elements): .array(elements.map(\.strippingNulls))
    default: self
    }
  }
}
