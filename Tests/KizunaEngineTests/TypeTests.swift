import Testing

@testable import KizunaEngine

/// A value read as a type: what is shown of it, or why it is refused.
struct TypeRow: Sendable, CustomTestStringConvertible {
  enum Outcome: Sendable, Equatable {
    case shown(json: String, text: String)
    case refused(sqlstate: String, message: String, details: String?)
  }
  var type: String
  var source: String
  var target: String?
  var outcome: Outcome

  init(_ type: String, _ source: String, to target: String? = nil, _ json: String, _ text: String) {
    (self.type, self.source, self.target) = (type, source, target)
    outcome = .shown(json: json, text: text)
  }

  init(
    _ type: String, _ source: String, to target: String? = nil, refusal sqlstate: String, _ message: String,
    _ details: String? = nil
  ) {
    (self.type, self.source, self.target) = (type, source, target)
    outcome = .refused(sqlstate: sqlstate, message: message, details: details)
  }

  var testDescription: String { "\(type) \(source)\(target.map { " to \($0)" } ?? "")" }

  /// What `read` makes of the row's source, and the type of its result.
  func outcome(_ read: (ColumnType) throws -> (SQLValue, ColumnType)) throws -> Outcome {
    do {
      let (value, type) = try read(ColumnType(parsing: self.type))
      return .shown(json: shownJSON(value, type), text: shownText(value, type))
    } catch let error as KizunaError {
      return .refused(sqlstate: error.sqlstate ?? "", message: error.message, details: error.details)
    }
  }
}

func shownJSON(_ value: SQLValue, _ type: ColumnType, zone: Zone = .utc) -> String {
  var buffer = ByteBuffer()
  value.withRaw { type.appendJSON($0, to: &buffer, zone: zone) }
  return buffer.string
}

func shownText(_ value: SQLValue, _ type: ColumnType, zone: Zone = .utc) -> String {
  var buffer = ByteBuffer()
  value.withRaw { type.appendText($0, to: &buffer, zone: zone) }
  return buffer.string
}

@Suite struct TypeTests {
  @Test(arguments: ScalarLiteralRows.rows + TimeLiteralRows.rows + ArrayLiteralRows.rows)
  func literalsAreReadAndShownAsPostgresDoes(row: TypeRow) throws {
    let outcome = try row.outcome { (try $0.stored(literal: row.source, zone: .utc), $0) }
    #expect(outcome == row.outcome)
  }

  @Test(arguments: BodyRows.rows)
  func bodyValuesAreConvertedAsPostgresDoes(row: TypeRow) throws {
    let value = try JSONParser.parse(row.source)
    let outcome = try row.outcome { (try $0.stored(json: value, zone: .utc), $0) }
    #expect(outcome == row.outcome)
  }

  @Test(arguments: CastRows.rows)
  func castsGoThroughThePathsThatPostgresHas(row: TypeRow) throws {
    let target = try ColumnType(parsing: row.target ?? "")
    let outcome = try row.outcome { type in
      let value = try type.stored(literal: row.source, zone: .utc)
      return (try value.withRaw { try type.cast($0, to: target, zone: .utc) }, target)
    }
    #expect(outcome == row.outcome)
  }
}
