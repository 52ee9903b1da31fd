/// KizunaSync: the engine as a Swift library. A thin face: it turns `[String: Any]` into the engine's values, hops
/// off the calling thread, and holds no logic of its own.
///
///     let kizunasync = KizunaSyncClient()
///     try await kizunasync.create(
///       KizunaSyncClientConfig(tables: ["todos": KizunaSyncTableConfig()], databasePath: path))
///     try await kizunasync.from("todos").insert(["title": "Buy milk"])
///     let rows = try await kizunasync.from("todos").select().eq("title", "Buy milk").execute()
///
/// Rows come back as `[String: Any]` of the values that `JSONSerialization` knows, as native Swift values where
/// JSON tells them apart: `Bool`, `Int`, `Double`, `String`, `[Any]`, `[String: Any]`, and `NSNull` for null.
/// A number that neither `Int` nor `Double` holds exactly is a `Decimal`, and beyond that its text.
public enum KizunaSyncOp: String, Sendable, CaseIterable {
  case insert, update, delete
}

/// How a count is made. Every count here is the exact local one.
public enum KizunaSyncCountOption: String, Sendable, CaseIterable {
  case exact, planned, estimated
}

/// How a text search reads its query: every word, one phrase, or words and quoted phrases.
public enum KizunaSyncTextSearchType: String, Sendable, CaseIterable {
  case plain, phrase, websearch
}
