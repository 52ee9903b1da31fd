import KizunaEngine

/// How a relation and its columns are called inside a description, whose names are narrower than Postgres'.
struct DescribedName {
  /// The relation's name among the components. Plain names stay as they are; others go by their place, behind a
  /// dot that no plain name holds, so that two relations never share one.
  let component: String
  /// The path, percent-encoded.
  let path: String
  private let table: TableSchema

  init(_ table: TableSchema, at index: Int) {
    self.table = table
    component = Self.isPlain(table.name) ? table.name : "table.\(index)"
    var path = "/"
    Location.appendEncoded(table.name, to: &path)
    self.path = path
  }

  /// The component of the filter on a column.
  func filter(_ column: Int) -> String {
    let name = table.columns[column].name
    return Self.isPlain(name) ? "filter.\(component).\(name)" : "filter.\(component).column.\(column)"
  }

  /// The query key that names a column: in double quotes where the bare name would be read as something else.
  static func queryKey(_ column: String) -> String {
    if isPlain(column), !reserved.contains(column), !column.utf8.contains(UInt8(ascii: "-")) { return column }
    var bytes = [UInt8(ascii: "\"")]
    for byte in column.utf8 {
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { bytes.append(UInt8(ascii: "\\")) }
      bytes.append(byte)
    }
    return String(decoding: bytes + [UInt8(ascii: "\"")], as: UTF8.self)
  }

  private static let reserved: Set<String> = [
    "select", "order", "limit", "offset", "columns", "on_conflict", "and", "or", "not", "apikey",
    "include_deleted", "include_dismissed",
  ]

  /// ASCII letters, digits, `_` and `-`, and at least one.
  private static func isPlain(_ name: String) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy { byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2D: true
        default: false
        }
      }
  }
}
