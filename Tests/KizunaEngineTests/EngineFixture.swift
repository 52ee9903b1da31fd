import Foundation
import Testing

@testable import KizunaEngine

/// An engine on a database of its own, closed and removed with the value.
final class EngineFixture {
  let engine: Engine
  let directory: String

  init(
    _ tables: [(String, EngineConfiguration.Table)], at path: String? = nil, remote: (any Remote)? = nil,
    localOnly: [String] = []
  ) throws {
    directory = NSTemporaryDirectory() + "kizuna-test-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    var configuration = EngineConfiguration()
    configuration.databasePath = path ?? directory + "/test.sqlite"
    configuration.tables = tables.map { (name: $0.0, table: $0.1) }
    if remote != nil {
      configuration.remote = EngineConfiguration.Remote(url: "http://127.0.0.1:9", publishableKey: "key")
      configuration.remote?.localOnlyColumns = localOnly
    }
    engine = try Engine.open(configuration, remote: remote)
  }

  deinit {
    engine.close()
    try? FileManager.default.removeItem(atPath: directory)
  }

  static func table(
    _ columns: KeyValuePairs<String, String>, key: [String] = ["id"],
    _ change: (inout EngineConfiguration.Table) -> Void = { _ in }
  ) -> EngineConfiguration.Table {
    var table = EngineConfiguration.Table()
    table.columns = columns.map { (name: $0.key, declaration: $0.value) }
    table.key = key
    change(&table)
    return table
  }

  static let todos = table([
    "id": "text", "list_id": "text", "title": "text not null", "done": "boolean", "n": "integer",
  ])

  func json(_ text: String) -> JSONValue { (try? JSONParser.parse(text)) ?? .null }

  @discardableResult
  func insert(_ table: String, _ rows: String) throws -> WriteOutcome {
    let list = json(rows).elements ?? []
    let names = list.first?.members?.map(\.key) ?? []
    let schema = try #require(engine.catalog.table(table))
    let values = list.map { row in names.map { row[$0] } }
    return try engine.write(
      WritePlan(schema, .insert(columns: names, rows: values, .refuse), writeId: UUIDText.v7()))
  }

  /// The rows of a table or relation as JSON text.
  func rows(_ table: String, _ plan: String = "{}") throws -> String {
    try engine.query(table: table, plan: json(plan)).jsonText
  }

  /// What a statement on the engine's own tables answers, as text, one row a line.
  func sql(_ text: String) throws -> [String] {
    try engine.writer.perform { context throws(KizunaError) in
      let statement = try context.connection.prepare(text)
      var lines: [String] = []
      while try statement.step() {
        lines.append(
          (0..<statement.columnCount).map { index in
            switch statement.value(index) {
            case .null: "null"
            case .integer(let value): String(value)
            case .real(let value): String(value)
            case .text(let text): text
            case .blob(let bytes): String(decoding: bytes, as: UTF8.self)
            }
          }.joined(separator: "|"))
      }
      return lines
    }
  }
}
