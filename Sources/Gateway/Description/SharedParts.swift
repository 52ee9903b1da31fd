import KizunaEngine

/// What every operation may refer to: parameters, headers, error answers, keys.
enum SharedParts {
  static func reference(_ kind: String, _ name: String) -> JSONValue {
    ["$ref": .string("#/components/\(kind)/\(name)")]
  }

  // MARK: Parameters

  static let parameters: [JSONMember] = [
    JSONMember(
      "select",
      query(
        "select",
        "Columns, in this order: `alias:column::type`, JSON paths `meta->a->>b`, `*`.",
        example: "id,title")),
    JSONMember(
      "order",
      query(
        "order", "`column[.asc|.desc][.nullsfirst|.nullslast]`, separated by commas. By default: key order.",
        example: "created_at.desc")),
    JSONMember("limit", count("limit", "The most rows to answer.")),
    JSONMember("offset", count("offset", "The rows to skip.")),
    JSONMember("and", query("and", "All of these: `(done.is.false,position.gt.3)`. Also as `not.and`.")),
    JSONMember("or", query("or", "One of these: `(done.is.true,position.is.null)`. Also as `not.or`.")),
    JSONMember(
      "columns",
      query("columns", "The columns to take from the body, separated by commas; others are ignored.")),
    JSONMember(
      "on_conflict",
      query(
        "on_conflict", "The columns whose values tell an existing row: the key (by default) or a unique set.")
    ),
    JSONMember("include_deleted", flag("include_deleted", "Also answers rows that were deleted softly.")),
    JSONMember("include_dismissed", flag("include_dismissed", "Also answers dismissed entries.")),
    JSONMember(
      "preferRead",
      prefer("`count=exact|planned|estimated`, `timezone=Europe/Paris`, `handling=strict|lenient`.")),
    JSONMember(
      "preferInsert",
      prefer(
        "`return=minimal|headers-only|representation`, `resolution=merge-duplicates|ignore-duplicates`, "
          + "`missing=default|null`, `count=exact`, `tx=commit|rollback`, `wait=SECONDS`, `handling=strict|lenient`."
      )),
    JSONMember(
      "preferWrite",
      prefer(
        "`return=minimal|headers-only|representation`, `count=exact`, `max-affected=N` (with `handling=strict`), "
          + "`tx=commit|rollback`, `wait=SECONDS`, `handling=strict|lenient`.")),
    JSONMember(
      "preferWait",
      prefer("`wait=SECONDS` holds the answer until the upstream has judged the write, at most 60 seconds.")),
    JSONMember("range", header("Range", "The rows to answer, counted from 0: `0-9`.")),
  ]

  private static func parameter(_ name: String, _ place: String, _ text: String, _ schema: JSONValue)
    -> JSONValue
  {
    ["name": .string(name), "in": .string(place), "description": .string(text), "schema": schema]
  }

  static func query(_ name: String, _ text: String, example: String? = nil) -> JSONValue {
    let made = parameter(name, "query", text, ["type": "string"])
    return example.map { made.adding([JSONMember("example", .string($0))]) } ?? made
  }

  private static func count(_ name: String, _ text: String) -> JSONValue {
    parameter(name, "query", text, ["type": "integer", "minimum": 0])
  }

  private static func flag(_ name: String, _ text: String) -> JSONValue {
    parameter(name, "query", text, ["type": "boolean", "default": false])
  }

  private static func header(_ name: String, _ text: String) -> JSONValue {
    parameter(name, "header", text, ["type": "string"])
  }

  private static func prefer(_ text: String) -> JSONValue {
    header("Prefer", "Preferences, separated by commas: " + text)
  }

  // MARK: Answers

  static let headers: [JSONMember] = [
    JSONMember("ContentRange", answered("`FIRST-LAST/TOTAL`, `*` for what is unknown or empty.")),
    JSONMember("ContentLocation", answered("The address of what was read.")),
    JSONMember("PreferenceApplied", answered("The preferences that were heeded.")),
    JSONMember("Location", answered("The address of the one row inserted, with `return=headers-only`.")),
    JSONMember("WriteId", answered("Names this write in the outbox and in rejections.")),
    JSONMember("ProxyStatus", answered("`PostgREST; error=CODE`, for answers to HEAD too.")),
  ]

  private static func answered(_ text: String) -> JSONValue {
    ["description": .string(text), "schema": ["type": "string"]]
  }

  static func headerReferences(_ names: KeyValuePairs<String, String>) -> JSONValue {
    .object(names.map { JSONMember($0.key, reference("headers", $0.value)) })
  }

  static let errorSchema: JSONValue = [
    "type": "object", "required": ["code", "message", "details", "hint"],
    "properties": [
      "code": [
        "type": "string",
        "description":
          "A code of PostgREST (`PGRST…`), an SQLSTATE (`23505`), or one of the gateway's own (`REMOTE`).",
      ],
      "message": ["type": "string"],
      "details": ["description": "A text, null, or the rejections of a refused write."],
      "hint": ["type": ["string", "null"]],
    ],
  ]

  static let keysSchema: JSONValue = [
    "type": "array", "items": ["type": "string"],
    "description":
      "Primary keys: the value itself, or a JSON array as text where the key has several columns.",
  ]

  /// Statuses of refusals, and what each stands for.
  private static let refusals: [(status: Int, text: String)] = [
    (400, "The request is malformed, names an unknown column, or carries a value that its type cannot hold."),
    (401, "No key, or a wrong one."),
    (403, "A foreign host, or a web page of an origin that is not listed."),
    (404, "There is no such function or path."),
    (405, "The method is not served here; `Allow` names those that are."),
    (406, "None of the accepted types can be made, or the result is not the single row asked for."),
    (
      409,
      "A key or unique value is taken, a bucket is unset, or the upstream refused a write that waited: "
        + "`KIZUNA_REJECTED`, with the rejections as `details`."
    ),
    (413, "The body is too large."),
    (416, "The range lies behind the last row."),
    (500, "The read took too long, or something unforeseen happened."),
    (502, "The upstream failed or cannot be reached."),
    (503, "The database is closed, busy or unreadable."),
    (507, "The disk is full."),
  ]

  static let responses: [JSONMember] = refusals.map { refusal in
    JSONMember(
      "error.\(refusal.status)",
      [
        "description": .string(refusal.text),
        "headers": headerReferences(["Proxy-Status": "ProxyStatus"]),
        "content": ["application/json": ["schema": reference("schemas", "kizuna.Error")]],
      ])
  }

  /// References to the refusals of these statuses.
  static func errors(_ statuses: [Int]) -> [JSONMember] {
    statuses.map { JSONMember(String($0), reference("responses", "error.\($0)")) }
  }

  // MARK: Keys

  static let securitySchemes: JSONValue = [
    "apikey": ["type": "apiKey", "in": "header", "name": "apikey"],
    "apikeyInQuery": ["type": "apiKey", "in": "query", "name": "apikey"],
    "bearer": ["type": "http", "scheme": "bearer"],
  ]

  static let security: JSONValue = [["apikey": []], ["bearer": []], ["apikeyInQuery": []]]
}
