import KizunaEngine

/// The rows of a body, as columns and their values.
struct Payload: Sendable, Equatable {
  /// In the order of the body, or of `columns=`.
  var columns: [String] = []
  /// A value for each column; nil stands for the column's default.
  var rows: [[JSONValue?]] = []

  /// Refuses a column that the table lacks, unless the table learns its columns. Of several the first by name is
  /// reported.
  func checkNames(_ table: TableSchema) throws(Failure) {
    if table.learnsColumns { return }
    var missing: String?
    for column in columns where table.index(of: column) == nil {
      if let known = missing, known.utf8.lexicographicallyPrecedes(column.utf8) { continue }
      missing = column
    }
    if let missing {
      throw Failure(
        "PGRST204", "Could not find the '\(missing)' column of '\(table.name)' in the schema cache")
    }
  }
}

/// A body that was read. With `columns=` the database is to judge it, so that a fault comes out later than the
/// checks on names.
enum Body: Sendable {
  case rows(Payload)
  case judged(columns: [String], Result<Payload, Failure>)

  /// Names first; what the body itself is refused for is left in the result, for the step after the headers.
  func payload(for table: TableSchema) throws(Failure) -> Result<Payload, Failure> {
    switch self {
    case .rows(let payload):
      try payload.checkNames(table)
      return .success(payload)
    case .judged(let columns, let outcome):
      try Payload(columns: columns).checkNames(table)
      return outcome
    }
  }
}
