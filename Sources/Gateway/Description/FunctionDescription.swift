import KizunaEngine

/// The paths of one of the engine's functions.
struct FunctionDescription {
  let name: String

  private struct Facts {
    var summary: String
    /// The members of the body in their order.
    var arguments: [JSONMember] = []
    var required: [String] = []
    /// Members of any other name are taken, too.
    var takesAny = false
    /// nil: 204.
    var answer: JSONValue?
    var mayFailUpstream = false
  }

  var path: JSONMember {
    let facts = Self.facts[name] ?? Facts(summary: "Calls \(name)", takesAny: true, answer: [:])
    var operations = [JSONMember("post", post(facts))]
    if FunctionTable.onlyReads(name) { operations.append(JSONMember("get", get(facts))) }
    return JSONMember("/rpc/\(name)", .object(operations))
  }

  private func post(_ facts: Facts) -> JSONValue {
    var schema: JSONValue = ["type": "object", "properties": .object(facts.arguments)]
    if !facts.required.isEmpty {
      schema = schema.adding([JSONMember("required", .array(facts.required.map { .string($0) }))])
    }
    schema = schema.adding([
      JSONMember("additionalProperties", facts.takesAny ? ["type": ["string", "null"]] : false)
    ])
    let body: JSONValue = [
      "required": .bool(!facts.required.isEmpty), "content": ["application/json": ["schema": schema]],
    ]
    let made = operation("call", facts, refusals: [400, 401, 403, 409, 413]).adding([
      JSONMember("requestBody", body)
    ])
    guard FunctionTable.writes(name) else { return made }
    return made.adding([JSONMember("parameters", [SharedParts.reference("parameters", "preferWait")])])
  }

  private func get(_ facts: Facts) -> JSONValue { operation("get", facts, refusals: [400, 401, 403]) }

  private func operation(_ verb: String, _ facts: Facts, refusals: [Int]) -> JSONValue {
    let answer = JSONMember(
      facts.answer == nil ? "204" : "200", answered(facts.answer == nil ? "Done." : "The result.", facts))
    var answers = [answer]
    if FunctionTable.writes(name) {
      answers.append(
        JSONMember("202", answered("Written here; the upstream has not judged it within `wait`.", facts)))
      answers.sort { $0.key < $1.key }
    }
    let statuses = refusals + (facts.mayFailUpstream ? [500, 502, 503] : [500, 503])
    return [
      "tags": ["functions"], "operationId": .string("\(verb).\(name)"), "summary": .string(facts.summary),
      "responses": .object(answers + SharedParts.errors(statuses)),
    ]
  }

  private func answered(_ text: JSONValue, _ facts: Facts) -> JSONValue {
    let made: JSONValue = ["description": text]
    guard let schema = facts.answer else { return made }
    return made.adding([JSONMember("content", ["application/json": ["schema": schema]])])
  }

  // MARK: Facts

  private static let text: JSONValue = ["type": "string"]
  private static let textOrNull: JSONValue = ["type": ["string", "null"]]
  private static let moment: JSONValue = ["type": ["string", "null"], "format": "date-time"]
  private static let object: JSONValue = ["type": "object"]
  private static let keys = SharedParts.reference("schemas", "kizuna.Keys")
  private static let flag: JSONValue = ["type": "boolean"]
  private static let number: JSONValue = ["type": "integer", "minimum": 0]

  private static let mutation = [
    JSONMember("table", text),
    JSONMember(
      "pk", ["type": ["string", "null"], "description": "The row's key; null on an insert: minted."]),
    JSONMember("op", ["type": "string", "enum": ["insert", "update", "delete"]]),
    JSONMember("columns", object),
    JSONMember("mutation_id", ["type": ["string", "null"], "format": "uuid"]),
    JSONMember("transforms", object), JSONMember("precondition", object),
  ]

  private static let matching = [
    JSONMember("table", text), JSONMember("op", ["type": "string", "enum": ["update", "delete"]]),
    JSONMember(
      "filters",
      [
        "type": "array", "items": object,
        "description": "Nodes such as {\"kind\": \"eq\", \"column\": \"list_id\", \"value\": \"7\"}.",
      ]), JSONMember("columns", object), JSONMember("transforms", object), JSONMember("precondition", object),
    JSONMember("max_affected", number),
  ]

  private static let facts: [String: Facts] = [
    "sync": Facts(summary: "Pushes what is queued, then pulls", mayFailUpstream: true),
    "push_once": Facts(summary: "Pushes one batch of the outbox", mayFailUpstream: true),
    "pull_once": Facts(summary: "Pulls what changed upstream", mayFailUpstream: true),
    "set_bucket": Facts(
      summary: "Chooses the scope that is synced: bucket columns and their values", takesAny: true),
    "set_access_token": Facts(
      summary: "Gives the token of the signed-in user, or null to sign out",
      arguments: [JSONMember("token", textOrNull)], required: ["token"]),
    "reset": Facts(
      summary: "Wipes the local sync state; answers the paths of stranded attachments",
      answer: ["type": "array", "items": text]),
    "apply": Facts(summary: "Applies one mutation", arguments: mutation, required: ["table", "pk", "op"]),
    "apply_where": Facts(
      summary: "Updates or deletes the rows that filters in the body match; answers their keys",
      arguments: matching, required: ["table", "op", "filters"], answer: keys),
    "batch": Facts(
      summary: "Applies mutations in one local transaction and one atomic batch upstream; answers the keys",
      arguments: [
        JSONMember(
          "mutations",
          [
            "type": "array",
            "items": ["type": "object", "required": ["table", "op"], "properties": .object(mutation)],
          ])
      ], required: ["mutations"], answer: keys),
    "dismiss_rejection": Facts(
      summary: "Hides a rejection; false if there is none", arguments: [JSONMember("mutation_id", text)],
      required: ["mutation_id"], answer: flag),
    "dismiss_overwrite": Facts(
      summary: "Hides an overwrite; false if there is none", arguments: [JSONMember("id", number)],
      required: ["id"], answer: flag),
    "checkpoint": Facts(
      summary: "How far pulls have come",
      answer: [
        "type": "object",
        "properties": ["cursor": text, "soft_blocked": flag, "soft_block_reason": textOrNull],
      ]),
    "outbox_depth": Facts(summary: "The number of queued mutations", answer: number),
    "status": Facts(summary: "What the engine does and how it fares", answer: status),
    "drain": Facts(
      summary: "Waits until the outbox is empty, at most so long",
      arguments: [
        JSONMember("timeout_s", ["type": "integer", "minimum": 0, "maximum": 3600, "default": 30])
      ],
      answer: ["type": "object", "properties": ["drained": flag, "outbox_depth": number]]),
    "pause": Facts(summary: "Keeps away from the upstream until resumed"),
    "resume": Facts(summary: "Ends a pause"),
    "shutdown": Facts(summary: "Stops the gateway as SIGTERM does"),
  ]

  private static let lastError: JSONValue = [
    "type": ["object", "null"],
    "description": "Why the last run failed; null once one has succeeded.",
    "properties": [
      "code": textOrNull, "message": text, "at": ["type": "string", "format": "date-time"],
    ],
  ]

  private static let status: JSONValue = [
    "type": "object",
    "properties": [
      "phase": ["type": "string", "enum": .array(SyncHealth.Phase.allCases.map { .string($0.rawValue) })],
      "consecutive_failures": number, "next_attempt_at": moment, "last_success_at": moment,
      "last_error": lastError, "needs_reset": flag, "soft_block_reason": textOrNull, "outbox_depth": number,
      "oldest_queued_at": moment, "cursor": text, "client_id": ["type": "string", "format": "uuid"],
      "owner": textOrNull, "buckets": object, "paused": flag, "upstream": textOrNull, "version": text,
    ],
  ]

  /// The functions described by hand; any other is described by its name alone.
  static var described: [String] { facts.keys.sorted() }
}
