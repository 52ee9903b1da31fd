/// Writes the rows of a statement as JSON or CSV bytes.
struct RowWriter {
  /// What most cells are, so that the hot loop need not look into the type.
  enum CellKind: Sendable { case text, integer, boolean, document, other }

  let columns: [OutputColumn]
  let format: RowFormat
  let zone: Zone

  static func column(
    _ name: String, _ type: ColumnType, cast: ColumnType?, isFirst: Bool
  ) -> OutputColumn {
    var prefix = ByteBuffer(capacity: 32)
    if !isFirst { prefix.append(UInt8(ascii: ",")) }
    prefix.appendJSON(string: name)
    prefix.append(UInt8(ascii: ":"))
    let kind: CellKind =
      switch type {
      case _ where cast != nil: .other
      case .uuid, .text, .varchar, .citext, .char, .enumeration, .date, .inet, .cidr: .text
      case .smallint, .integer, .bigint: .integer
      case .boolean: .boolean
      case .json, .jsonb, .array: .document
      default: .other
      }
    return OutputColumn(name: name, type: type, cast: cast, prefix: prefix.array, kind: kind)
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
    case .array(let strips):
      if number > 0 { buffer.append(UInt8(ascii: ",")) }
      try object(statement, strips: strips, to: &buffer)
    case .object(let strips):
      if number > 0 { buffer.append(UInt8(ascii: ",")) }
      try object(statement, strips: strips, to: &buffer)
    case .csv:
      buffer.append(UInt8(ascii: "\n"))
      try line(statement, to: &buffer)
    }
  }

  private func object(
    _ statement: Statement, strips: Bool, to buffer: inout ByteBuffer
  ) throws(KizunaError) {
    buffer.append(UInt8(ascii: "{"))
    if strips {
      try strippedMembers(statement, to: &buffer)
    } else {
      for index in columns.indices {
        buffer.append(columns[index].prefix)
        try cell(statement.raw(Int32(index)), columns[index], to: &buffer)
      }
    }
    buffer.append(UInt8(ascii: "}"))
  }

  private func strippedMembers(
    _ statement: Statement, to buffer: inout ByteBuffer
  ) throws(KizunaError) {
    var isFirst = true
    for index in columns.indices {
      let raw = statement.raw(Int32(index))
      if case .null = raw { continue }
      if !isFirst { buffer.append(UInt8(ascii: ",")) }
      var value = ByteBuffer(capacity: 64)
      try cell(raw, columns[index], to: &value)
      if value.bytes.elementsEqual("null".utf8) {
        if !isFirst { buffer.truncate(to: buffer.count - 1) }
        continue
      }
      isFirst = false
      buffer.appendJSON(string: columns[index].name)
      buffer.append(UInt8(ascii: ":"))
      if value.bytes.first == UInt8(ascii: "{") || value.bytes.first == UInt8(ascii: "["),
        let parsed = try? JSONParser.parse(value.bytes)
      {
        buffer.append(json: parsed.strippingNulls)
      } else {
        buffer.append(value.bytes)
      }
    }
  }

  @inline(__always)
  private func cell(
    _ raw: RawValue, _ column: OutputColumn, to buffer: inout ByteBuffer
  ) throws(KizunaError) {
    switch (column.kind, raw) {
    case (.text, .text(let bytes)): buffer.appendJSON(string: bytes)
    case (.integer, .integer(let value)): buffer.append(integer: value)
    case (.boolean, .integer(let value)):
      if value != 0 { buffer.append("true") } else { buffer.append("false") }
    case (.document, .text(let bytes)): buffer.append(bytes)
    case (_, .null): buffer.append("null")
    default: try otherCell(raw, column, to: &buffer)
    }
  }

  @inline(never)
  private func otherCell(
    _ raw: RawValue, _ column: OutputColumn, to buffer: inout ByteBuffer
  ) throws(KizunaError) {
    guard let target = column.cast else { return column.type.appendJSON(raw, to: &buffer, zone: zone) }
    let value = try column.type.cast(raw, to: target, zone: zone)
    value.withRaw { target.appendJSON($0, to: &buffer, zone: zone) }
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
