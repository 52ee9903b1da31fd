import KizunaEngine

/// The OpenAPI 3.1 document of one schema: the configured tables, or the engine's own relations and functions. It
/// is made of the catalog at the moment it is asked for, so columns learnt meanwhile are in it.
struct APIDescription {
  var schema: Route.Schema
  var version: String
  /// Whether callers must name a key.
  var needsKey: Bool

  func document(_ catalog: Catalog) -> JSONValue {
    let tables = (schema == .public ? catalog.tables : catalog.relations).enumerated().map { index, table in
      TableDescription(table, at: index)
    }
    var paths = tables.map(\.path)
    if schema == .kizunasync {
      paths += FunctionTable.names.map { FunctionDescription(name: $0).path }
      paths.append(Self.events)
    }
    var document: JSONValue = [
      "openapi": "3.1.0", "info": info, "servers": [["url": .string(server)]], "paths": .object(paths),
      "components": components(tables),
    ]
    if needsKey { document = document.adding([JSONMember("security", SharedParts.security)]) }
    return document
  }

  private var server: String { schema == .public ? "/rest/v1" : "/sync/v1" }

  private var info: JSONValue {
    switch schema {
    case .public:
      [
        "title": "Kizuna gateway: tables", "version": .string(version),
        "description":
          "The configured tables in the PostgREST dialect. Reads and writes are answered from the local database; writes are queued and synced in the background.",
      ]
    case .kizunasync:
      [
        "title": "Kizuna gateway: engine", "version": .string(version),
        "description":
          "The engine's own relations, read with the dialect of the tables, its functions and its events.",
      ]
    }
  }

  private func components(_ tables: [TableDescription]) -> JSONValue {
    let rows = tables.map { JSONMember($0.name.component, $0.rowSchema) }
    let shared = [
      JSONMember("kizuna.Error", SharedParts.errorSchema), JSONMember("kizuna.Keys", SharedParts.keysSchema),
    ]
    var components: JSONValue = [
      "schemas": .object(rows + shared),
      "parameters": .object(SharedParts.parameters + tables.flatMap(\.filters)),
      "headers": .object(SharedParts.headers), "responses": .object(SharedParts.responses),
    ]
    if needsKey {
      components = components.adding([JSONMember("securitySchemes", SharedParts.securitySchemes)])
    }
    return components
  }

  private static let events = JSONMember(
    "/events",
    [
      "get": [
        "tags": ["events"], "operationId": "events",
        "summary": "Server-sent events: one a change, with rising ids",
        "parameters": [
          [
            "name": "Last-Event-ID", "in": "header", "schema": ["type": "integer", "minimum": 0],
            "description": "Resumes behind this event, as far as the last 1,000 reach back.",
          ]
        ],
        "responses": .object(
          [
            JSONMember(
              "200",
              [
                "description":
                  "A stream without end. `event` is LOCAL_CHANGED, QUEUE_DEPTH, MUTATION_REJECTED, BATCH_ABORTED, DEAD_LETTER, COLUMN_OVERWRITTEN, CHECKPOINT_EXPIRED or RESET_REQUIRED; `data` is a JSON object.",
                "content": ["text/event-stream": ["schema": ["type": "string"]]],
              ])
          ] + SharedParts.errors([401, 403, 405])),
      ]
    ])
}
