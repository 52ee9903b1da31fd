/// What an engine is opened with. Checked by `validate()`, which throws `CONFIG_INVALID` naming the field.
package struct EngineConfiguration: Sendable {
  package struct Table: Sendable {
    /// Declarations in order, as Postgres writes them (`"uuid not null"`); nil learns the columns from the rows.
    package var columns: [(name: String, declaration: String)]?
    package var key: [String] = ["id"]
    package var bucket: TableSchema.Bucket = .none
    package var softDeleteColumn: String?
    package var conflictMode: TableSchema.ConflictMode = .arrival
    package var syncMode: TableSchema.SyncMode = .readWrite
    package var unique: [[String]] = []
    package var indexes: [[String]] = []
    package var foreignKeys: [ForeignKey] = []
    /// column → storage bucket and owner column
    package var attachments: [(column: String, storageBucket: String, ownerColumn: String)] = []
    package init() {}
  }
  package struct Remote: Sendable {
    package var url: String
    package var publishableKey: String
    package var accessToken: String?
    package var restPath = "/rest/v1"
    package var schema = "kizunasync"
    package var localOnlyColumns: [String] = []
    package init(url: String, publishableKey: String) {
      self.url = url
      self.publishableKey = publishableKey
    }
  }
  package enum Durability: String, Sendable { case full, normal, off }

  /// nil or ":memory:": a private file in a fresh temporary directory (0700), gone at the end.
  package var databasePath: String?
  package var clientId: String?
  package var schemaVersion: Int64 = 1
  /// In configuration order: of two names that SQLite would confuse, the first keeps its own.
  package var tables: [(name: String, table: Table)] = []
  package var remote: Remote?
  package var attachmentRoot: String?
  /// Rows a pull page.
  package var defaultLimit: Int?
  package var attachmentAttempts: Int?
  package var durability: Durability = .full
  package var readTimeoutSeconds = 30
  /// Open the database for one who only reads or repairs: no writer lock is taken when false.
  package var unsafeFilesystem = false
  package init() {}
}
