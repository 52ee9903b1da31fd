extension Engine {
  /// Newest first; dismissed ones only when asked for.
  package func rejections(includeDismissed: Bool) throws(KizunaError) -> [Rejection] {
    try writer.perform { context throws(KizunaError) in
      let statement = try context.connection.cached(
        """
        SELECT mutation_id, "table", pk, kind, reason, changed_columns, server_row,
          CAST(round((julianday(at) - 2440587.5) * 86400000) AS INTEGER), dismissed FROM _kizunasync_rejections
        WHERE dismissed = 0 OR ? ORDER BY id DESC
        """)
      statement.bind([.integer(includeDismissed ? 1 : 0)])
      defer { statement.reset() }
      var entries: [Rejection] = []
      while try statement.step() {
        guard let columns = try? JSONParser.parse(statement.text(5) ?? "").elements else {
          throw KizunaError("JSON", "the changed columns of a rejection do not parse")
        }
        entries.append(
          Rejection(
            mutationId: statement.text(0) ?? "", table: statement.text(1) ?? "", pk: statement.text(2) ?? "",
            kind: statement.text(3) ?? "", reason: statement.text(4) ?? "",
            changedColumns: columns.compactMap(\.text), serverRowJSON: statement.text(6) ?? "",
            at: statement.integer(7), dismissed: statement.integer(8) != 0))
      }
      return entries
    }
  }

  /// False for an unknown id only.
  package func dismissRejection(_ mutationId: String) throws(KizunaError) -> Bool {
    try dismiss("rejections", "mutation_id", .text(mutationId.lowercased()))
  }

  package func overwrites(includeDismissed: Bool) throws(KizunaError) -> [Overwrite] {
    try writer.perform { context throws(KizunaError) in
      let statement = try context.connection.cached(
        """
        SELECT id, "table", pk, "column", loser_value, winner_mutation_id, conflict_mode, winner_seq,
          CAST(round((julianday(at) - 2440587.5) * 86400000) AS INTEGER), dismissed FROM _kizunasync_overwrites
        WHERE dismissed = 0 OR ? ORDER BY id DESC
        """)
      statement.bind([.integer(includeDismissed ? 1 : 0)])
      defer { statement.reset() }
      var entries: [Overwrite] = []
      while try statement.step() {
        entries.append(
          Overwrite(
            id: statement.integer(0), table: statement.text(1) ?? "", pk: statement.text(2) ?? "",
            column: statement.text(3) ?? "", loserValueJSON: statement.text(4) ?? "",
            winnerMutationId: statement.text(5) ?? "", conflictMode: statement.text(6) ?? "",
            winnerSeq: statement.text(7), at: statement.integer(8), dismissed: statement.integer(9) != 0))
      }
      return entries
    }
  }

  package func dismissOverwrite(_ id: Int64) throws(KizunaError) -> Bool {
    try dismiss("overwrites", "id", .integer(id))
  }

  private func dismiss(
    _ journal: String, _ column: String, _ value: SQLValue
  ) throws(KizunaError) -> Bool {
    try writer.perform { context throws(KizunaError) in
      let statement = try context.connection.cached(
        "UPDATE \(EngineTables.prefix)\(journal) SET dismissed = 1 WHERE \(column) = ? RETURNING 1")
      statement.bind([value])
      defer { statement.reset() }
      return try statement.step()
    }
  }
}
