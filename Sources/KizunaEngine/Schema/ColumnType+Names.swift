extension ColumnType {
  /// Reads a type as Postgres writes it, aliases, modifiers and array brackets included. A name that is not known
  /// becomes an opaque type; malformed text is `CONFIG_INVALID`.
  package init(parsing text: String) throws(KizunaError) {
    var parser = DeclarationParser(text)
    self = try parser.type()
    try parser.end()
  }

  /// The type that `::name` in a select list names; nil: Postgres has none of this name, or none kept apart here.
  package static func castTarget(_ name: String) -> ColumnType? {
    let folded = LiteralScanner.lowered(name)
    if !folded.utf8.allSatisfy({
      $0 != UInt8(ascii: "(") && $0 != UInt8(ascii: "[") && $0 != UInt8(ascii: "\"")
    }) {
      return nil
    }
    guard let type = try? ColumnType(parsing: folded), !type.isOpaque else { return nil }
    return type
  }

  private var isOpaque: Bool {
    switch self {
    case .opaque: true
    case .array(let element): element.isOpaque
    default: false
    }
  }

  /// The name with its modifiers: `character varying(64)`.
  package var postgresName: String {
    switch self {
    case .varchar(let length?): return "character varying(\(length))"
    case .char(let length): return "character(\(length))"
    case .numeric(let precision?, let scale): return "numeric(\(precision),\(scale ?? 0))"
    case .array(let element): return element.postgresName + "[]"
    default: return baseName
    }
  }

  /// The name that messages use.
  var baseName: String {
    switch self {
    case .uuid: return "uuid"
    case .text: return "text"
    case .varchar: return "character varying"
    case .char: return "character"
    case .citext: return "citext"
    case .smallint: return "smallint"
    case .integer: return "integer"
    case .bigint: return "bigint"
    case .real: return "real"
    case .double: return "double precision"
    case .numeric: return "numeric"
    case .boolean: return "boolean"
    case .json: return "json"
    case .jsonb: return "jsonb"
    case .date: return "date"
    case .time: return "time without time zone"
    case .timetz: return "time with time zone"
    case .timestamp: return "timestamp without time zone"
    case .timestamptz: return "timestamp with time zone"
    case .interval: return "interval"
    case .bytea: return "bytea"
    case .inet: return "inet"
    case .cidr: return "cidr"
    case .enumeration(let labels): return "enum(" + labels.map(Self.quoted).joined(separator: ",") + ")"
    case .array(let element): return element.baseName + "[]"
    case .opaque(let name): return name
    case .learnt(.integer): return "bigint"
    case .learnt(.number): return "double precision"
    case .learnt(.boolean): return "boolean"
    case .learnt(.json): return "jsonb"
    case .learnt: return "text"
    }
  }

  /// The name in the text of a refused literal, where Postgres is short about time zones.
  var literalName: String {
    switch self {
    case .time: "time"
    case .timestamp: "timestamp"
    default: baseName
    }
  }

  private static func quoted(_ label: String) -> String {
    var bytes = [UInt8(ascii: "'")]
    for byte in label.utf8 {
      if byte == UInt8(ascii: "'") { bytes.append(byte) }
      bytes.append(byte)
    }
    return LiteralScanner.string(bytes + [UInt8(ascii: "'")])
  }

  /// The declared type of the SQLite column; empty for none, so that values keep their kind.
  package var affinity: String {
    switch self {
    case .smallint, .integer, .bigint, .boolean: "INTEGER"
    case .real, .double: "REAL"
    case .bytea: "BLOB"
    case .learnt: ""
    default: "TEXT"
    }
  }

  /// The collation that a query names to order and compare stored values; nil where SQLite's own order is right.
  package var collation: String? {
    switch self {
    case .numeric: "kz_numeric"
    case .jsonb: "kz_jsonb"
    case .array: "kz_array"
    case .interval: "kz_interval"
    case .citext: "kz_citext"
    default: nil
    }
  }

  /// Types whose values Postgres turns into others by reading their text.
  var isString: Bool {
    switch self {
    case .text, .varchar, .char, .citext: true
    default: false
    }
  }
}
