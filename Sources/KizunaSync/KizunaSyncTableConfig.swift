import KizunaEngine

/// What limits a table's pull to some rows.
public enum KizunaSyncBucket: Sendable, Equatable {
  /// A shared table: every row that the server's policies permit.
  case none
  /// The rows whose column names the signed-in user; filled from the access token.
  case byOwner(String)
  /// The rows whose column holds a value that the app sets after every `create` by `setBucket`.
  case byColumn(String)
}

/// Which of two writes to a column wins: the one that arrives last, or the one made last.
public enum KizunaSyncConflictMode: String, Sendable, CaseIterable {
  case arrival, hlc
}

public enum KizunaSyncSyncMode: String, Sendable, CaseIterable {
  case readWrite = "read-write"
  /// Pulled, and never written here.
  case pullOnly = "pull-only"
}

/// Where the files of an attachment column go.
public struct KizunaSyncAttachmentSpec: Sendable, Equatable {
  public var storageBucket: String
  /// The column that names the file's owner.
  public var ownerColumn: String

  public init(storageBucket: String, ownerColumn: String) {
    self.storageBucket = storageBucket
    self.ownerColumn = ownerColumn
  }
}

/// A table's columns in order, each with its declaration as Postgres writes it:
/// `["id": "uuid", "title": "text not null"]`.
public struct KizunaSyncColumns: Sendable, ExpressibleByDictionaryLiteral {
  public let declarations: [(name: String, declaration: String)]

  public init(_ declarations: [(name: String, declaration: String)]) { self.declarations = declarations }

  public init(dictionaryLiteral elements: (String, String)...) {
    declarations = elements.map { (name: $0.0, declaration: $0.1) }
  }
}

public struct KizunaSyncTableConfig: Sendable {
  public var bucket: KizunaSyncBucket
  /// By column.
  public var attachments: [String: KizunaSyncAttachmentSpec]
  /// A row with a value here is deleted: default reads leave it out, and a delete by filter stamps it.
  public var softDeleteColumn: String?
  public var conflictMode: KizunaSyncConflictMode
  public var syncMode: KizunaSyncSyncMode
  /// The key columns, in order.
  public var key: [String]
  /// Typed columns: values and operands are cast to them as Postgres would. nil learns the columns, untyped, from the
  /// rows met.
  public var columns: KizunaSyncColumns?
  /// Lists of columns whose values no two rows share; checked on local writes, and usable as `onConflict`.
  public var unique: [[String]]

  public init(
    bucket: KizunaSyncBucket = .none, attachments: [String: KizunaSyncAttachmentSpec] = [:],
    softDeleteColumn: String? = nil, conflictMode: KizunaSyncConflictMode = .arrival,
    syncMode: KizunaSyncSyncMode = .readWrite, key: [String] = ["id"], columns: KizunaSyncColumns? = nil,
    unique: [[String]] = []
  ) {
    self.bucket = bucket
    self.attachments = attachments
    self.softDeleteColumn = softDeleteColumn
    self.conflictMode = conflictMode
    self.syncMode = syncMode
    self.key = key
    self.columns = columns
    self.unique = unique
  }
}

extension KizunaSyncTableConfig {
  /// Attachments in the order of their columns' bytes.
  private var sortedAttachments: [(column: String, spec: KizunaSyncAttachmentSpec)] {
    attachments.map { (column: $0.key, spec: $0.value) }
      .sorted { $0.column.utf8.lexicographicallyPrecedes($1.column.utf8) }
  }

  var engineTable: EngineConfiguration.Table {
    var table = EngineConfiguration.Table()
    table.columns = columns?.declarations
    table.key = key
    table.bucket =
      switch bucket {
      case .none: .none
      case .byOwner(let column): .owner(column)
      case .byColumn(let column): .column(column)
      }
    table.softDeleteColumn = softDeleteColumn
    table.conflictMode = conflictMode == .hlc ? .hlc : .arrival
    table.syncMode = syncMode == .pullOnly ? .pullOnly : .readWrite
    table.unique = unique
    table.attachments = sortedAttachments.map { ($0.column, $0.spec.storageBucket, $0.spec.ownerColumn) }
    return table
  }

  /// Values at their default are left out.
  var json: JSONValue {
    var members: [JSONMember] = []
    switch bucket {
    case .none: break
    case .byColumn(let column): members.append(JSONMember("bucket_column", .string(column)))
    case .byOwner(let column):
      members += [JSONMember("bucket_column", .string(column)), JSONMember("bucket_owner", .bool(true))]
    }
    if !attachments.isEmpty {
      let specs = sortedAttachments.map { column, spec in
        JSONMember(
          column,
          .object([
            JSONMember("storage_bucket", .string(spec.storageBucket)),
            JSONMember("owner_column", .string(spec.ownerColumn)),
          ]))
      }
      members.append(JSONMember("attachments", .object(specs)))
    }
    if let softDeleteColumn { members.append(JSONMember("soft_delete_column", .string(softDeleteColumn))) }
    if conflictMode != .arrival {
      members.append(JSONMember("conflict_mode", .string(conflictMode.rawValue)))
    }
    if syncMode != .readWrite { members.append(JSONMember("sync_mode", .string(syncMode.rawValue))) }
    if key != ["id"] { members.append(JSONMember("key", .texts(key))) }
    if let columns {
      let pairs = columns.declarations.map { JSONMember($0.name, .string($0.declaration)) }
      members.append(JSONMember("columns", .object(pairs)))
    }
    if !unique.isEmpty { members.append(JSONMember("unique", .array(unique.map { .texts($0) }))) }
    return .object(members)
  }
}

extension JSONValue {
  static func texts(_ texts: [String]) -> JSONValue { .array(texts.map { .string($0) }) }
}
