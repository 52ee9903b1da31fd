import KizunaEngine
import RESTDialect

@testable import Gateway

/// A table made by hand, and the small steps that the planning tests share.
enum Fixture {
  static let shelf = TableSchema(
    name: "shelf",
    columns: [
      ColumnSchema(name: "id", type: .integer), ColumnSchema(name: "title", type: .text),
      ColumnSchema(name: "isbn", type: .text), ColumnSchema(name: "info", type: .jsonb),
    ],
    key: [0], unique: [["isbn"]])
  static let pairs = TableSchema(
    name: "car models",
    columns: [
      ColumnSchema(name: "name", type: .text), ColumnSchema(name: "year", type: .integer),
      ColumnSchema(name: "brand", type: .text),
    ],
    key: [0, 1], syncMode: .localOnly)
  static let heap = TableSchema(
    name: "heap", columns: [ColumnSchema(name: "a", type: .text)], key: [], syncMode: .localOnly)
  static let learnt = TableSchema(
    name: "learnt", columns: [ColumnSchema(name: "id", type: .learnt(.text))], key: [0], learnsColumns: true)

  static func equals(_ column: String, _ literal: String, negated: Bool = false) -> FilterNode {
    .condition(Field(name: column), negated: negated, .compare(.eq, literal, nil))
  }

  static func request(_ filters: [FilterNode] = []) -> Request {
    var request = Request()
    request.filters = filters
    return request
  }

  static func planner(
    _ table: TableSchema = shelf, _ request: Request = Request(), _ preferences: Preferences = Preferences(),
    type: AnswerType = .json, answersRows: Bool = false
  ) -> WritePlanner {
    WritePlanner(
      table: table, request: request, preferences: preferences, type: type, answersRows: answersRows,
      writeId: "w")
  }

  /// The code of the failure that a step throws; nil when it passes.
  static func code(_ step: () throws -> Void) -> String? {
    do {
      try step()
      return nil
    } catch {
      return (error as? Failure)?.code ?? "\(error)"
    }
  }

  static func read(
    _ text: String, columns: [String]? = nil, defaultsMissing: Bool = false, contentType: String? = nil
  ) throws -> Body {
    let bytes = Array(text.utf8)
    let type = contentType.map { Array($0.utf8) }
    return try bytes.withUnsafeBufferPointer { bytes in
      let reader = BodyReader(columns: columns, defaultsMissing: defaultsMissing)
      guard let type else { return try reader.read(bytes, contentType: nil) }
      return try type.withUnsafeBufferPointer { try reader.read(bytes, contentType: $0) }
    }
  }
}
