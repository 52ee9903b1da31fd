import Foundation
import Testing

/// What `kizuna-gateway sql` prints, against the files that it is made of.
@Suite struct ServerHalfTests {
  private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(
    path: "../../docker/upstream")

  @Test func everyScriptIsPrintedInOrderThenTheTables() throws {
    let gateway = try startGateway()
    let (status, output, error) = try gateway.run("sql")
    #expect(status == 0 && error.isEmpty)
    let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
      .filter { $0.hasSuffix(".sql") && $0 != "example.sql" }.sorted()
    #expect(!names.isEmpty)
    var rest = output[...]
    for name in names {
      let script = try String(contentsOf: Self.folder.appending(path: name), encoding: .utf8)
      let range = try #require(rest.range(of: script), "\(name) is missing or out of order")
      rest = rest[range.upperBound...]
    }
    #expect(rest.contains("p_table => 'notes'"))
    #expect(rest.contains("p_soft_delete_column => 'deleted_at'"))
    #expect(!rest.contains("p_table => 'bulk'"))
    #expect(!rest.contains("create "))
  }
}
