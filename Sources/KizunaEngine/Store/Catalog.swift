/// The relations of an open database at one moment. Replaced as a whole when a column is learnt.
package final class Catalog: Sendable {
  package let version: Int
  /// The configured tables, in configuration order.
  package let tables: [TableSchema]
  /// The engine's own relations.
  package let relations: [TableSchema]

  package init(version: Int, tables: [TableSchema], relations: [TableSchema]) {
    self.version = version
    self.tables = tables
    self.relations = relations
  }

  package func table(_ name: String) -> TableSchema? { tables.first { $0.name.sameBytes(as: name) } }
  package func relation(_ name: String) -> TableSchema? { relations.first { $0.name.sameBytes(as: name) } }
}
