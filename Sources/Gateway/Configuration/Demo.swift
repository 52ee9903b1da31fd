import KizunaEngine

/// What is served when nothing is configured: two small tables, with ids that read well in a terminal.
extension GatewayConfiguration {
  package static var demo: GatewayConfiguration {
    var lists = EngineConfiguration.Table()
    lists.columns = [("id", "text"), ("name", "text not null")]
    var todos = EngineConfiguration.Table()
    todos.columns = [
      ("id", "text"), ("list_id", "text not null references lists(id)"), ("title", "text not null"),
      ("done", "boolean not null default false"), ("priority", "integer not null default 2"), ("due", "date"),
    ]
    todos.indexes = [["list_id"]]
    var configuration = GatewayConfiguration()
    configuration.source = "demo"
    configuration.isDemo = true
    configuration.tables = [("lists", lists), ("todos", todos)]
    return configuration
  }
}

package enum Demo {
  /// Written as rows that the upstream would have sent, so that the outbox starts empty.
  package static func seed(_ engine: Engine) throws(KizunaError) {
    try engine.seed(
      "lists",
      rows: [
        row(("id", "groceries"), ("name", "Groceries")), row(("id", "garden"), ("name", "Garden")),
      ])
    try engine.seed(
      "todos",
      rows: [
        todo("bread", "groceries", "Buy bread", done: true, priority: 1),
        todo("coffee", "groceries", "Buy coffee", done: false, priority: 1),
        todo("milk", "groceries", "Buy milk", done: false, priority: 2),
        todo("roses", "garden", "Cut the roses", done: false, priority: 3),
        todo("tomatoes", "garden", "Water the tomatoes", done: false, priority: 1),
      ])
  }

  private static func row(_ members: (String, String)...) -> [JSONMember] {
    members.map { JSONMember($0.0, .string($0.1)) }
  }

  private static func todo(
    _ id: String, _ list: String, _ title: String, done: Bool, priority: Int64
  ) -> [JSONMember] {
    row(("id", id), ("list_id", list), ("title", title))
      + [JSONMember("done", .bool(done)), JSONMember("priority", .integer(priority))]
  }
}
