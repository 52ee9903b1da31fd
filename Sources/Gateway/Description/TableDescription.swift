import KizunaEngine

/// The paths and components of one relation.
struct TableDescription {
  let table: TableSchema
  let name: DescribedName

  init(_ table: TableSchema, at index: Int) {
    self.table = table
    name = DescribedName(table, at: index)
  }

  // MARK: Components

  var rowSchema: JSONValue {
    let columns = table.columns.indices.map { index in
      JSONMember(table.columns[index].name, ColumnDescription(index, of: table).schema)
    }
    return ["type": "object", "properties": .object(columns)]
  }

  /// The columns that an insert must bring: those that can be neither null nor filled in.
  private var required: [JSONValue] {
    table.columns.enumerated().compactMap { index, column in
      let isFilled = column.defaultValue != nil || column.isIdentity || isOwner(column)
      return column.isNotNull && !table.isKey(index) && !isFilled ? .string(column.name) : nil
    }
  }

  private func isOwner(_ column: ColumnSchema) -> Bool {
    if case .owner(let name) = table.bucket { return name.sameBytes(as: column.name) }
    return false
  }

  /// One filter for each column, which reads and writes share.
  var filters: [JSONMember] {
    table.columns.indices.map { index in
      let column = table.columns[index]
      let text =
        "Filter on \(column.name) (\(column.type.postgresName)): `[not.]OPERATOR.VALUE`; operators "
        + Self.operators(of: column.type)
      return JSONMember(name.filter(index), SharedParts.query(DescribedName.queryKey(column.name), text))
    }
  }

  private static func operators(of type: ColumnType) -> String {
    let common = "`eq`, `neq`, `gt`, `gte`, `lt`, `lte`, `in.(a,b)`, `is.null`, `isdistinct`"
    switch type {
    case .boolean, .learnt(.boolean): return common + ", `is.true`, `is.false`"
    case .text, .varchar, .char, .citext, .opaque, .learnt(.text):
      return common + ", `like`, `ilike` (`*` for any text), `match`, `imatch`"
    case .array: return common + ", `cs.{a,b}`, `cd.{a,b}`, `ov.{a,b}`"
    case .json: return "`is.null`; values inside by their path, `column->>name=eq.x`"
    case .jsonb, .learnt(.json), .learnt(nil):
      return common + ", `cs`, `cd`; values inside by their path, `column->>name=eq.x`"
    default: return common
    }
  }

  // MARK: Paths

  var path: JSONMember {
    var operations = [JSONMember("get", get)]
    if !table.isInternal, table.syncMode != .pullOnly {
      operations.append(JSONMember("post", post))
      operations.append(JSONMember("patch", patch))
      if !table.key.isEmpty { operations.append(JSONMember("put", put)) }
      operations.append(JSONMember("delete", delete))
    }
    return JSONMember(name.path, .object(operations))
  }

  private func operation(
    _ verb: String, _ summary: String, parameters: [JSONValue], body: JSONValue? = nil, answers: [JSONMember]
  ) -> JSONValue {
    var members = [
      JSONMember("tags", [.string(table.name)]),
      JSONMember("operationId", .string("\(verb).\(name.component)")),
      JSONMember("summary", .string(summary)),
      JSONMember("parameters", .array(parameters)),
    ]
    if let body { members.append(JSONMember("requestBody", body)) }
    members.append(JSONMember("responses", .object(answers)))
    return .object(members)
  }

  private var filterReferences: [JSONValue] {
    table.columns.indices.map { SharedParts.reference("parameters", name.filter($0)) }
      + Self.shared(["and", "or"])
  }

  private static func shared(_ names: [String]) -> [JSONValue] {
    names.map { SharedParts.reference("parameters", $0) }
  }

  private var hiddenRows: [String] {
    switch table.hidden {
    case .softDeleted: ["include_deleted"]
    case .dismissed: ["include_dismissed"]
    case nil: []
    }
  }

  private var get: JSONValue {
    let headers = SharedParts.headerReferences([
      "Content-Range": "ContentRange", "Content-Location": "ContentLocation",
      "Preference-Applied": "PreferenceApplied",
    ])
    func answer(_ text: JSONValue) -> JSONValue {
      ["description": text, "headers": headers, "content": rowContent(alsoKeys: false)]
    }
    return operation(
      "read", "Reads rows of \(table.name); HEAD answers the same without a body",
      parameters: filterReferences
        + Self.shared(["select", "order", "limit", "offset"] + hiddenRows + ["preferRead", "range"]),
      answers: [
        JSONMember("200", answer("All the rows asked for.")),
        JSONMember("206", answer("A part of the rows counted.")),
      ] + SharedParts.errors([400, 401, 403, 406, 416, 500, 503]))
  }

  private var post: JSONValue {
    operation(
      "insert", "Inserts rows, or upserts them, and queues them for the upstream",
      parameters: Self.shared(["columns", "on_conflict", "select", "order", "preferInsert"]),
      body: body(insertSchema, alsoArray: true),
      answers: answers(
        201, "Inserted: the keys, or the rows.",
        [
          (200, "Every row was there already: `resolution=merge-duplicates`."),
          (202, "Written here; the upstream has not judged it within `wait`."),
        ], refusals: [400, 401, 403, 406, 409, 413, 500, 503, 507]))
  }

  private var patch: JSONValue {
    operation(
      "update", "Updates the rows that the filters match; at least one filter is needed",
      parameters: filterReferences + Self.shared(["columns", "select", "order", "preferWrite"]),
      body: body(SharedParts.reference("schemas", name.component), alsoArray: false),
      answers: answers(
        200, "Updated: the keys, or the rows as they are afterwards.",
        [
          (202, "Written here; the upstream has not judged it within `wait`."),
          (204, "Updated: `return=minimal`."),
        ], refusals: [400, 401, 403, 406, 409, 413, 500, 503, 507]))
  }

  private var put: JSONValue {
    operation(
      "put", "Inserts or replaces the one row whose key columns the filters name with `eq`",
      parameters: filterReferences + Self.shared(["select", "preferWrite"]),
      body: body(insertSchema, alsoArray: true),
      answers: answers(
        200, "Replaced: the key, or the row.",
        [
          (201, "Inserted: the key, or the row."),
          (202, "Written here; the upstream has not judged it within `wait`."),
          (204, "Done: `return=minimal`."),
        ], refusals: [400, 401, 403, 405, 406, 409, 413, 500, 503, 507]))
  }

  private var delete: JSONValue {
    operation(
      "delete", "Deletes the rows that the filters match; at least one filter is needed",
      parameters: filterReferences + Self.shared(["select", "order", "preferWrite"]),
      answers: answers(
        200, "Deleted: the keys, or the rows as they were.",
        [
          (202, "Deleted here; the upstream has not judged it within `wait`."),
          (204, "Deleted: `return=minimal`."),
        ], refusals: [400, 401, 403, 406, 409, 500, 503, 507]))
  }

  // MARK: Bodies and answers

  private var insertSchema: JSONValue {
    let row = SharedParts.reference("schemas", name.component)
    return required.isEmpty ? row : ["allOf": [row], "required": .array(required)]
  }

  private func body(_ row: JSONValue, alsoArray: Bool) -> JSONValue {
    let schema: JSONValue = alsoArray ? ["oneOf": [row, ["type": "array", "items": row]]] : row
    return [
      "required": true,
      "content": [
        "application/json": ["schema": schema], "text/csv": ["schema": ["type": "string"]],
        "application/x-www-form-urlencoded": ["schema": row],
      ],
    ]
  }

  private func rowContent(alsoKeys: Bool) -> JSONValue {
    let row = SharedParts.reference("schemas", name.component)
    let rows: JSONValue = ["type": "array", "items": row]
    let keys = SharedParts.reference("schemas", "kizuna.Keys")
    return [
      "application/json": ["schema": alsoKeys ? ["anyOf": [keys, rows]] : rows],
      "application/vnd.pgrst.object+json": ["schema": row],
      "application/vnd.pgrst.array+json;nulls=stripped": ["schema": rows],
      "text/csv": ["schema": ["type": "string"]],
    ]
  }

  private func answers(
    _ status: Int, _ text: String, _ others: [(status: Int, text: String)], refusals: [Int]
  ) -> [JSONMember] {
    let headers = SharedParts.headerReferences([
      "Kizuna-Write-Id": "WriteId", "Content-Range": "ContentRange", "Location": "Location",
      "Preference-Applied": "PreferenceApplied",
    ])
    let all = ([(status: status, text: text)] + others).sorted { $0.status < $1.status }
    let good = all.map { answer in
      var value: JSONValue = ["description": .string(answer.text), "headers": headers]
      if answer.status != 204 {
        value = value.adding([JSONMember("content", rowContent(alsoKeys: !table.key.isEmpty))])
      }
      return JSONMember(String(answer.status), value)
    }
    return good + SharedParts.errors(refusals)
  }
}
