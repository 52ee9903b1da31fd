import Foundation
import Testing

@testable import KizunaEngine

/// A directory that goes with the value.
final class TestDirectory {
  let path = NSTemporaryDirectory() + "kizuna-test-" + UUID().uuidString

  init() throws {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  var database: String { path + "/test.sqlite" }
}

/// What an engine tells from here on, in order.
final class EventLog: Sendable {
  private let told = Guarded<[EngineEvent]>([])
  private let engine: Engine
  /// Splits what was emitted before from what comes after.
  private static let start = EngineEvent.resetRequired(reason: "the log begins")

  init(_ engine: Engine) {
    self.engine = engine
    let told = told
    _ = engine.subscribe { event in told.with { $0.append(event) } }
    engine.events.emit([Self.start])
  }

  /// Closes the engine, which delivers everything first.
  func finish() -> [EngineEvent] {
    engine.close()
    let all = told.with { $0 }
    return Array(all.drop { $0 != Self.start }.dropFirst())
  }
}

extension EngineFixture {
  /// The code that an action fails with, `code/sqlstate` where there is a finer one; "-" when it succeeds.
  static func code(_ action: () throws -> Void) -> String {
    do {
      try action()
      return "-"
    } catch let error as KizunaError {
      return error.code + (error.sqlstate.map { "/" + $0 } ?? "")
    } catch {
      return "\(error)"
    }
  }

  static func message(_ action: () throws -> Void) -> String {
    do {
      try action()
      return "-"
    } catch {
      return (error as? KizunaError)?.message ?? "\(error)"
    }
  }

  func members(_ text: String) -> [JSONMember] { json(text).members ?? [] }

  @discardableResult
  func apply(
    _ op: Mutation.Op, _ table: String, _ pk: String?, _ columns: String = "{}", id: String? = nil,
    transforms: String? = nil, precondition: String? = nil
  ) -> String {
    Self.code {
      try engine.apply(
        Mutation(
          table: table, pk: pk, op: op, columns: members(columns), mutationId: id,
          transforms: transforms.map { json($0) }, precondition: precondition.map { json($0) }))
    }
  }

  func applyWhere(
    _ op: Mutation.Op, _ table: String, _ filters: String, _ columns: String = "{}",
    transforms: String? = nil, precondition: String? = nil, maxAffected: Int? = nil
  ) -> String {
    var keys: [String] = []
    let code = Self.code {
      keys = try engine.applyWhere(
        table: table, op: op, filters: json(filters), columns: members(columns),
        transforms: transforms.map { json($0) }, precondition: precondition.map { json($0) },
        maxAffected: maxAffected)
    }
    return code == "-" ? keys.joined(separator: ",") : code
  }

  func outbox(_ columns: String = "op, pk, columns") -> [String] {
    (try? sql("SELECT \(columns) FROM _kizunasync_outbox ORDER BY seq")) ?? ["?"]
  }

  /// A token of this subject, unsigned.
  static func token(_ subject: String) -> String {
    let payload = Data(#"{"sub":"\#(subject)","role":"authenticated"}"#.utf8).base64EncodedString()
      .replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
    return "e30.\(payload).x"
  }

  static func configuration(
    _ path: String?, _ tables: [(String, EngineConfiguration.Table)]
  ) -> EngineConfiguration {
    var configuration = EngineConfiguration()
    configuration.databasePath = path
    configuration.tables = tables.map { (name: $0.0, table: $0.1) }
    return configuration
  }
}
