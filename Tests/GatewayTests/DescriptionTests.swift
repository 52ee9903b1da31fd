import Foundation
import KizunaEngine
import Testing

@testable import Gateway

@Suite struct DescriptionTests {
  private static let todos = TableSchema(
    name: "todos",
    columns: [
      ColumnSchema(name: "id", type: .uuid), column("title", .text, isNotNull: true),
      column("done", .boolean, isNotNull: true, default: .literal("f")),
      ColumnSchema(name: "order", type: .integer),
      column("list_id", .uuid, isNotNull: true), column("owner", .uuid, isNotNull: true),
    ],
    key: [0], bucket: .owner("owner"), hidden: .softDeleted(column: "gone"),
    foreignKeys: [ForeignKey(name: "f", columns: ["list_id"], table: "lists", references: ["id"])])

  private static let cache = TableSchema(
    name: "cache", columns: [ColumnSchema(name: "id", type: .text)], key: [0], syncMode: .pullOnly)

  private static let journal = TableSchema(
    name: "rejections", columns: [ColumnSchema(name: "pk", type: .text)], key: [],
    hidden: .dismissed(column: "dismissed"), isInternal: true)

  private static func column(
    _ name: String, _ type: ColumnType, isNotNull: Bool = false, default value: ColumnSchema.Default? = nil
  ) -> ColumnSchema {
    var column = ColumnSchema(name: name, type: type)
    column.isNotNull = isNotNull
    column.defaultValue = value
    return column
  }

  private func document(
    _ tables: [TableSchema] = [todos, cache, Fixture.pairs, Fixture.heap, Fixture.learnt],
    schema: Route.Schema = .public, needsKey: Bool = false
  ) -> JSONValue {
    APIDescription(schema: schema, version: "1.2", needsKey: needsKey)
      .document(Catalog(version: 1, tables: tables, relations: [Self.journal]))
  }

  private func at(_ value: JSONValue, _ path: String...) -> JSONValue? {
    path.reduce(Optional(value)) { value, key in value?[key] }
  }

  private func keys(_ value: JSONValue?) -> [String] { value?.members?.map(\.key) ?? [] }

  // MARK: Column types

  @Test(arguments: [
    (ColumnType.uuid, #"{"type":"string","format":"uuid"}"#),
    (.bigint, #"{"type":"integer","format":"int64"}"#),
    (.smallint, #"{"type":"integer","format":"int32","minimum":-32768,"maximum":32767}"#),
    (.varchar(3), #"{"type":"string","maxLength":3}"#), (.varchar(nil), #"{"type":"string"}"#),
    (.numeric(precision: 5, scale: 1), #"{"type":"number","format":"decimal"}"#),
    (.timestamptz, #"{"type":"string","format":"date-time"}"#), (.jsonb, "{}"),
    (.array(.integer), #"{"type":"array","items":{"type":["integer","null"],"format":"int32"}}"#),
    (.enumeration(["a", "b"]), #"{"type":"string","enum":["a","b"]}"#),
    (.opaque("tsvector"), #"{"type":"string"}"#),
    (.learnt(nil), "{}"), (.learnt(.integer), #"{"type":"integer","format":"int64"}"#),
    (.learnt(.text), #"{"type":"string"}"#), (.learnt(.json), "{}"),
  ])
  func typesAreDescribedByTheJSONTheyShow(type: ColumnType, schema: String) {
    #expect(ColumnDescription.schema(of: type, isNullable: false).jsonText == schema)
  }

  @Test func nullableColumnsAllowNullAmongLabelsToo() {
    #expect(ColumnDescription.schema(of: .date, isNullable: true)["type"] == ["string", "null"])
    #expect(ColumnDescription.schema(of: .enumeration(["a"]), isNullable: true)["enum"] == ["a", .null])
  }

  @Test func columnsTellKeysDefaultsAndReferences() {
    let properties = at(document(), "components", "schemas", "todos", "properties") ?? .null
    #expect(keys(properties) == Self.todos.columns.map(\.name))
    #expect(at(properties, "id", "type") == "string")
    #expect(at(properties, "id", "description") == "uuid, primary key")
    #expect(at(properties, "done", "default") == false)
    #expect(at(properties, "list_id", "description") == "uuid, not null, references lists.id")
  }

  // MARK: Paths

  @Test func eachTableHasTheMethodsItTakes() {
    let paths = document()["paths"] ?? .null
    #expect(keys(paths) == ["/todos", "/cache", "/car%20models", "/heap", "/learnt"])
    #expect(keys(paths["/todos"]) == ["get", "post", "patch", "put", "delete"])
    #expect(keys(paths["/cache"]) == ["get"])
    #expect(keys(paths["/heap"]) == ["get", "post", "patch", "delete"])
  }

  @Test func insertsNeedWhatNobodyFillsIn() {
    let body = at(
      document(), "paths", "/todos", "post", "requestBody", "content", "application/json", "schema")
    #expect(body?["oneOf"]?.elements?.first?["required"] == ["title", "list_id"])
  }

  @Test func filtersAreNamedAsTheQueryNamesThem() {
    let parameters = at(document(), "components", "parameters") ?? .null
    #expect(at(parameters, "filter.todos.title", "name") == "title")
    #expect(at(parameters, "filter.todos.order", "name") == #""order""#)
    #expect(DescribedName.queryKey(#"a "b"\"#) == #""a \"b\"\\""#)
    #expect(DescribedName.queryKey("a.b") == #""a.b""#)
  }

  @Test func hiddenRowsHaveTheirSwitch() {
    func switches(_ document: JSONValue, _ path: String) -> Bool {
      at(document, "paths", path, "get", "parameters")?.elements?.contains([
        "$ref": path == "/todos"
          ? "#/components/parameters/include_deleted" : "#/components/parameters/include_dismissed"
      ]) == true
    }
    #expect(switches(document(), "/todos"))
    #expect(switches(document(schema: .kizunasync), "/rejections"))
  }

  @Test(arguments: [Route.Schema.public, .kizunasync])
  func everyReferenceLeadsSomewhere(schema: Route.Schema) {
    let document = document(schema: schema)
    var references: Set<String> = []
    func collect(_ value: JSONValue) {
      if let target = value["$ref"]?.text { references.insert(target) }
      for member in value.members ?? [] { collect(member.value) }
      for element in value.elements ?? [] { collect(element) }
    }
    collect(document)
    #expect(!references.isEmpty)
    for reference in references {
      let path = reference.split(separator: "/").dropFirst().map(String.init)
      #expect(path.reduce(Optional(document)) { $0?[$1] } != nil, "\(reference)")
    }
  }

  @Test func componentNamesStayWithinWhatOpenAPIAllows() {
    let components = document()["components"] ?? .null
    for kind in components.members ?? [] {
      for name in keys(kind.value) {
        #expect(
          name.utf8.allSatisfy {
            "abcdefghijklmnopqrstuvwxyz0123456789.-_".utf8.contains($0 | 0x20) || $0 == 0x5F
          })
      }
      #expect(Set(keys(kind.value)).count == keys(kind.value).count)
    }
  }

  @Test func errorsHaveAllFourKeys() {
    let error = at(document(), "components", "schemas", "kizuna.Error")
    #expect(error?["required"] == ["code", "message", "details", "hint"])
    #expect(keys(error?["properties"]) == ["code", "message", "details", "hint"])
  }

  @Test func keysAreAskedForOnlyWhereTheyAreNeeded() {
    #expect(document()["security"] == nil)
    #expect(document(needsKey: true)["security"]?.elements?.count == 3)
    #expect(at(document(needsKey: true), "components", "securitySchemes", "bearer", "scheme") == "bearer")
  }

  // MARK: The engine

  @Test func everyFunctionIsDescribedByHand() {
    #expect(FunctionDescription.described == FunctionTable.names)
  }

  @Test func functionsThatOnlyReadTakeGet() {
    let paths = document(schema: .kizunasync)["paths"] ?? .null
    #expect(keys(paths["/rejections"]) == ["get"])
    #expect(keys(paths["/rpc/status"]) == ["post", "get"])
    #expect(keys(paths["/rpc/apply"]) == ["post"])
    #expect(keys(at(paths, "/rpc/apply", "post", "responses")).prefix(2) == ["202", "204"])
    #expect(paths["/events"] != nil)
  }

  @Test func theWrittenDocumentNamesAllThatIsServed() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(
      path: "../../openapi/gateway.yaml")
    let text = try String(contentsOf: file, encoding: .utf8)
    for function in FunctionTable.names { #expect(text.contains("\n  /sync/v1/rpc/\(function):\n")) }
    for path in ["/", "/live", "/ready", "/metrics", "/rest/v1/", "/sync/v1/", "/sync/v1/events"] {
      #expect(text.contains("\n  \(path):\n"))
    }
    #expect(text.contains("\n  version: \(Version.text)\n"))
  }
}
