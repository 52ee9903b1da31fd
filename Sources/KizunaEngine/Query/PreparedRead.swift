/// A compiled read with its values, for the session that made it.
package final class PreparedRead {
  let statement: Statement
  let count: Statement?
  let writer: RowWriter
  private let sql: String
  private var parameters: [Parameter]
  private let zone: Zone
  private var limit: Int64
  private var offset: Int64

  init(
    _ compiled: CompiledRead, statement: Statement, count: Statement?, format: RowFormat, zone: Zone,
    limit: Int?, offset: Int?
  ) {
    self.statement = statement
    self.count = count
    self.zone = zone
    writer = RowWriter(columns: compiled.outputs, format: format, zone: zone)
    sql = compiled.windowSQL
    parameters = compiled.parameters
    self.limit = Int64(limit ?? -1)
    self.offset = Int64(offset ?? 0)
  }

  var windowSQL: String { sql }
  var values: [SQLValue] { parameters.map(\.value) }

  package var wantsCount: Bool { count != nil }

  /// Whether the parameters are just this many literals of the request, in the order of the filters.
  package func takesLiterals(_ count: Int) -> Bool {
    parameters.count == count && parameters.allSatisfy { $0.reader != nil }
  }

  /// Replaces a literal of the filter. Each must be given anew before the next run.
  package func rebind(literal: String, at position: Int) throws(KizunaError) {
    guard let reader = parameters[position].reader else { return }
    parameters[position].value = try reader.value(of: literal, zone: zone)
  }

  package func rebind(limit: Int?, offset: Int?) {
    self.limit = Int64(limit ?? -1)
    self.offset = Int64(offset ?? 0)
  }

  func bindWindow() { bindWindow(to: statement) }

  func bindWindow(to statement: Statement) {
    statement.reset()
    for index in parameters.indices { statement.bind(Int32(index + 1), parameters[index].value) }
    statement.bind(Int32(parameters.count + 1), .integer(limit))
    statement.bind(Int32(parameters.count + 2), .integer(offset))
  }
}
