/// The engine's own tables, and the relations through which they are read.
///
/// A row with writes in the outbox has one entry in `_kizunasync_base`: what the row was before the first of them,
/// and when it was deleted here, which is its local tombstone. Outbox entries point to it by number, so that their
/// index grows at its end: an index by table and key would touch a page at random for every write.
enum EngineTables {
  static let prefix = "_kizunasync_"
  /// Rises when the shape of these tables changes.
  static let format: Int64 = 1

  static let ddl = """
    CREATE TABLE IF NOT EXISTS _kizunasync_meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS _kizunasync_schema(
      "table" TEXT NOT NULL, "column" TEXT NOT NULL, sql_table TEXT NOT NULL, sql_column TEXT NOT NULL,
      type TEXT NOT NULL, key_position INTEGER, position INTEGER NOT NULL,
      PRIMARY KEY("table", "column")) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS _kizunasync_outbox(
      seq INTEGER PRIMARY KEY AUTOINCREMENT, mutation_id TEXT NOT NULL UNIQUE, write_id TEXT NOT NULL,
      "table" TEXT NOT NULL, pk TEXT NOT NULL, op TEXT NOT NULL, columns TEXT NOT NULL, transforms TEXT,
      precondition TEXT, attempts INTEGER NOT NULL DEFAULT 0, in_flight INTEGER NOT NULL DEFAULT 0,
      created_at TEXT NOT NULL, batch_id TEXT, hlc TEXT,
      base_id INTEGER NOT NULL);
    CREATE INDEX IF NOT EXISTS _kizunasync_outbox_in_flight ON _kizunasync_outbox(seq) WHERE in_flight = 1;
    CREATE INDEX IF NOT EXISTS _kizunasync_outbox_base ON _kizunasync_outbox(base_id);
    CREATE TABLE IF NOT EXISTS _kizunasync_base(
      id INTEGER PRIMARY KEY, "table" TEXT NOT NULL, pk TEXT NOT NULL, row TEXT, deleted_at TEXT,
      UNIQUE("table", pk));
    CREATE TABLE IF NOT EXISTS _kizunasync_server_tombstones(
      "table" TEXT NOT NULL, pk TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY("table", pk)) WITHOUT ROWID;
    CREATE VIEW IF NOT EXISTS _kizunasync_tombstones AS
      SELECT "table", pk, at, 'server' AS origin FROM _kizunasync_server_tombstones
      UNION ALL SELECT "table", pk, deleted_at, 'local' FROM _kizunasync_base AS b
        WHERE deleted_at IS NOT NULL AND NOT EXISTS (
          SELECT 1 FROM _kizunasync_server_tombstones AS s WHERE s."table" = b."table" AND s.pk = b.pk);
    CREATE TABLE IF NOT EXISTS _kizunasync_rejections(
      id INTEGER PRIMARY KEY AUTOINCREMENT, mutation_id TEXT NOT NULL UNIQUE, write_id TEXT,
      "table" TEXT NOT NULL, pk TEXT NOT NULL, kind TEXT NOT NULL, reason TEXT NOT NULL,
      changed_columns TEXT NOT NULL, server_row TEXT, at TEXT NOT NULL, dismissed INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE IF NOT EXISTS _kizunasync_overwrites(
      id INTEGER PRIMARY KEY AUTOINCREMENT, "table" TEXT NOT NULL, pk TEXT NOT NULL, "column" TEXT NOT NULL,
      loser_value TEXT, winner_mutation_id TEXT, conflict_mode TEXT NOT NULL, winner_seq TEXT,
      at TEXT NOT NULL, dismissed INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE IF NOT EXISTS _kizunasync_buckets(
      "table" TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY("table", key)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS _kizunasync_pushed(
      id INTEGER PRIMARY KEY AUTOINCREMENT, mutation_id TEXT NOT NULL UNIQUE);
    CREATE TABLE IF NOT EXISTS _kizunasync_pull_tombstones(
      "table" TEXT NOT NULL, pk TEXT NOT NULL, PRIMARY KEY("table", pk)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS _kizunasync_pull_conflicts(id INTEGER PRIMARY KEY, conflict TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS _kizunasync_pull_log(id INTEGER PRIMARY KEY, entries BLOB NOT NULL);
    CREATE TABLE IF NOT EXISTS _kizunasync_pull_sequences(
      "table" TEXT NOT NULL, pk TEXT NOT NULL, seq TEXT NOT NULL, PRIMARY KEY("table", pk)) WITHOUT ROWID;
    """

  /// What a transfer keeps beside its side tables.
  static let stagingTables = ["pull_tombstones", "pull_conflicts", "pull_log", "pull_sequences"]
  /// The table of this name holds a transfer's rows until it closes.
  static func sideName(_ sqlName: String) -> String { prefix + "staged_" + sqlName }
  /// The table of this name holds both, the table's rows and a transfer's, to take the table's place.
  static func filledName(_ sqlName: String) -> String { prefix + "filled_" + sqlName }
  /// The table of this name was replaced by a transfer, and is on its way out.
  static func retiredName(_ sqlName: String) -> String { prefix + "retired_" + sqlName }

  static let relations: [TableSchema] = [
    relation(
      "rejections",
      [
        ("mutation_id", .uuid), ("write_id", .uuid), ("table", .text), ("pk", .text), ("kind", .text),
        ("reason", .text), ("changed_columns", .array(.text)), ("server_row", .jsonb),
        ("at", .timestamptz), ("dismissed", .boolean),
      ], hidden: .dismissed(column: "dismissed"), order: "id DESC"),
    relation(
      "overwrites",
      [
        ("id", .bigint), ("table", .text), ("pk", .text), ("column", .text), ("loser_value", .jsonb),
        ("winner_mutation_id", .uuid), ("conflict_mode", .text), ("winner_seq", .text),
        ("at", .timestamptz), ("dismissed", .boolean),
      ], hidden: .dismissed(column: "dismissed"), order: "id DESC"),
    relation(
      "outbox",
      [
        ("seq", .bigint), ("mutation_id", .uuid), ("write_id", .uuid), ("table", .text), ("pk", .text),
        ("op", .text), ("columns", .jsonb), ("transforms", .jsonb), ("precondition", .jsonb),
        ("attempts", .integer), ("in_flight", .boolean), ("created_at", .timestamptz),
      ], hidden: nil, order: "seq"),
    relation(
      "tombstones",
      [("table", .text), ("pk", .text), ("at", .timestamptz), ("origin", .text)],
      hidden: nil, order: "\"table\", pk"),
  ]

  private static func relation(
    _ name: String, _ columns: [(String, ColumnType)], hidden: TableSchema.Hidden?, order: String
  ) -> TableSchema {
    TableSchema(
      name: name, sqlName: prefix + name, columns: columns.map { ColumnSchema(name: $0.0, type: $0.1) },
      key: [], syncMode: .localOnly, hidden: hidden, defaultOrder: order, isInternal: true)
  }
}

/// Names in SQL.
enum SQLName {
  /// The name in double quotes.
  static func quoted(_ name: String) -> String {
    "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
  }
  /// A text literal in single quotes. For text without NUL.
  static func literal(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
  }
  /// What SQLite takes for the same name: ASCII case folded.
  static func folded(_ name: String) -> String {
    String(decoding: name.utf8.map { $0 >= 0x41 && $0 <= 0x5A ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
