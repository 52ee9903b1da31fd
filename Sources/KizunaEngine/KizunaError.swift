/// KizunaEngine: the local-first engine. Rooms from the top down: `Engine` (one open database), `Sync`, `Query`
/// (filters and plans, and their SQL), `Schema` (types, tables, conversions), `Store` (connections, writer,
/// readers), `JSON`. It knows no HTTP server and no Foundation.
///
/// The one error of the engine.
package struct KizunaError: Error, Sendable, Equatable {
  /// A code of the catalogue: `LOCAL_CONSTRAINT`, `UNKNOWN_TABLE`, `STORE` …
  package var code: String
  /// The finer code that an HTTP caller sees: a SQLSTATE (`22P02`, `23505`) or a `PGRST…`.
  package var sqlstate: String?
  package var message: String
  package var details: String?
  package var hint: String?

  package init(
    _ code: String, sqlstate: String? = nil, _ message: String, details: String? = nil, hint: String? = nil
  ) {
    self.code = code
    self.sqlstate = sqlstate
    self.message = message
    self.details = details
    self.hint = hint
  }

  /// A value or statement that Postgres would refuse: a `LOCAL_CONSTRAINT` with its SQLSTATE.
  package static func refused(
    _ sqlstate: String, _ message: String, details: String? = nil, hint: String? = nil
  ) -> KizunaError {
    KizunaError("LOCAL_CONSTRAINT", sqlstate: sqlstate, message, details: details, hint: hint)
  }
}
