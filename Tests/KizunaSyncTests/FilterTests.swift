import Foundation
import Testing

@testable import KizunaSync

struct FilterTests {
  /// What the read and its negation select of a table with this one row.
  private func verdict(_ row: FilterRow, _ client: KizunaSyncClient) async throws -> Verdict {
    func selects(_ filter: [String: Any]) async throws -> Bool {
      let plan = KizunaSyncQuery.many(filters: [filter, KizunaSyncQuery.eq("id", row.id)])
      return try await (client.query(table: "crates", plan: plan) as? [Any])?.count == 1
    }
    do {
      let isSelected = try await selects(row.filter)
      let isNegationSelected = try await selects(KizunaSyncQuery.not(row.filter))
      return isSelected ? .yes : isNegationSelected ? .no : .unknown
    } catch let error as KizunaSyncError {
      return .refused(error.code)
    }
  }

  @Test(arguments: FilterRow.all)
  func aFilterIsTrueFalseOrUnknownOfARow(_ row: FilterRow) async throws {
    let live = try await LiveClient.open(["crates": KizunaSyncTableConfig()])
    var columns = row.cells
    columns["id"] = row.id
    try await live.client.from("crates").insert(columns)
    #expect(try await verdict(row, live.client) == row.verdict)
  }

  /// The same when the columns hold values of every kind elsewhere: an absent cell is then a stored null.
  @Test func otherRowsDoNotChangeWhatAFilterSays() async throws {
    let live = try await LiveClient.open(["crates": KizunaSyncTableConfig()])
    let crates = try live.client.from("crates")
    for (index, value) in ([1, 1.5, "text", true, ["n"], ["k": 1]] as [Any]).enumerated() {
      var other: [String: Any] = ["id": "other\(index)"]
      for column in ["label", "weight", "memo", "fragile", "stops", "meta", "flag", "other"] {
        other[column] = value
      }
      try await crates.insert(other)
    }
    for row in FilterRow.all {
      var columns = row.cells
      columns["id"] = row.id
      try await crates.insert(columns)
      #expect(try await verdict(row, live.client) == row.verdict, "\(row)")
      try await live.client.apply(table: "crates", pk: row.id, op: .delete)
    }
  }

  /// Nodes that name no rows are left out: a write refuses them, whatever a read makes of them.
  @Test(arguments: FilterRow.all.filter { ![35, 58, 63].contains($0.number) })
  func aWriteSelectsTheRowsThatAReadDoes(_ row: FilterRow) async throws {
    let live = try await LiveClient.open(["crates": KizunaSyncTableConfig()])
    var columns = row.cells
    columns["id"] = row.id
    try await live.client.from("crates").insert(columns)
    do {
      let keys = try await live.client.applyWhere(table: "crates", op: .delete, filters: [row.filter])
      #expect(keys == (row.verdict == .yes ? [row.id] : []))
    } catch let error as KizunaSyncError {
      #expect(.refused(error.code) == row.verdict)
    }
  }

  @Test(arguments: FilterRow.all.filter { if case .refused = $0.verdict { true } else { false } })
  func aRefusedFilterIsRefusedOverNoRowsToo(_ row: FilterRow) async throws {
    let live = try await LiveClient.open(["crates": KizunaSyncTableConfig()])
    try await live.client.from("crates").insert(row.cells.merging(["id": row.id]) { $1 })
    try await live.client.apply(table: "crates", pk: row.id, op: .delete)
    #expect(try await verdict(row, live.client) == row.verdict)
  }

  @Test(arguments: [false, 0, "", "2024-01-01T00:00:00.000Z"] as [any Sendable])
  func aRowWithAnyValueInTheSoftDeleteColumnIsHidden(_ mark: any Sendable) async throws {
    let config = KizunaSyncTableConfig(softDeleteColumn: "deleted_at")
    let live = try await LiveClient.open(["crates": config])
    let crates = try live.client.from("crates")
    try await crates.insert(["id": "a", "deleted_at": mark])
    #expect(try await live.rows("crates").isEmpty)
    #expect((try await crates.select().includeDeleted().execute() as? [Any])?.count == 1)
  }
}
