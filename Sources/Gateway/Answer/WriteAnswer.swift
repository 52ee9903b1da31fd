import KizunaEngine
import RESTDialect

/// How a write is answered, settled before it runs.
struct WriteAnswer: Sendable {
  enum Action: Sendable {
    case insert(merges: Bool)
    case put, update, delete
  }
  enum Shape: Sendable, Equatable { case keys, minimal, headersOnly, representation }

  var action: Action
  var shape: Shape
  var type: AnswerType
  var table: TableSchema
  /// The caller asked for a total that a write can give.
  var isCounted: Bool
  var preferencesApplied: String?
  var profile: String?
  var writeId: String
  /// The seconds that the caller waits for the upstream's verdict; nil: not at all.
  var wait: Int?

  /// What a caller gets who asks for nothing: keys, or nothing where the table has none.
  static func shape(_ asked: Preferences.Return?, byDefault: Shape, table: TableSchema) -> Shape {
    switch asked {
    case .minimal: .minimal
    case .headersOnly: .headersOnly
    case .representation: .representation
    case nil: byDefault == .keys && table.key.isEmpty ? .minimal : byDefault
    }
  }

  /// `isPending`: the caller waited for a verdict that nobody gave in time.
  func answer(_ outcome: WriteOutcome, isPending: Bool = false) -> Answer {
    var headers = HeaderList()
    headers.add("Kizuna-Write-Id", text: writeId)
    if let range = contentRange(outcome) { headers.add("Content-Range", text: range) }
    if let location = location(outcome) { headers.add("Location", text: location) }
    if let preferencesApplied { headers.add("Preference-Applied", text: preferencesApplied) }
    headers.add("Vary", "Accept, Prefer, Range")
    var body = ByteBuffer(capacity: 64)
    switch shape {
    case .keys:
      headers.add("Content-Type", Answer.jsonType)
      Self.append(keys: outcome.keys, to: &body)
    case .representation:
      headers.add("Content-Type", type.contentType)
      if outcome.affected == 0 {
        body.append(ReadAnswer.emptyBody(type))
      } else {
        body.append(outcome.body)
      }
    case .minimal, .headersOnly: break
    }
    if let profile, showsBody { headers.add("Content-Profile", text: profile) }
    return Answer(status: isPending ? 202 : status(outcome), headers: headers, body: body)
  }

  private var showsBody: Bool { shape == .keys || shape == .representation }

  private func status(_ outcome: WriteOutcome) -> Int {
    switch action {
    case .insert(let merges): merges && outcome.inserted == 0 ? 200 : 201
    case .put: showsBody ? (outcome.inserted > 0 ? 201 : 200) : 204
    case .update, .delete: showsBody ? 200 : 204
    }
  }

  private func contentRange(_ outcome: WriteOutcome) -> String? {
    switch action {
    case .put: nil
    case .update: ContentRange.update(rows: outcome.affected, counted: isCounted)
    case .insert, .delete: ContentRange.unnamed(rows: outcome.affected, counted: isCounted)
    }
  }

  private func location(_ outcome: WriteOutcome) -> String? {
    guard case .insert = action, shape == .headersOnly, outcome.keys.count == 1 else { return nil }
    let text = Location.text(table: table, rowKey: outcome.keys[0])
    // A longer one might not fit into the connection's memory.
    return text.flatMap { $0.utf8.count <= 2048 ? $0 : nil }
  }

  private static func append(keys: [String], to body: inout ByteBuffer) {
    body.append(UInt8(ascii: "["))
    for (index, key) in keys.enumerated() {
      if index > 0 { body.append(UInt8(ascii: ",")) }
      body.appendJSON(string: key)
    }
    body.append(UInt8(ascii: "]"))
  }
}

extension GatewayConfiguration {
  /// What a write answers when the caller states no preference.
  var defaultShape: WriteAnswer.Shape {
    switch writeReturn {
    case .keys: .keys
    case .minimal: .minimal
    }
  }
}
