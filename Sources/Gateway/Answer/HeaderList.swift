/// The headers of one answer, in the order they are sent. Most are constants, so a name and many a value is a
/// `StaticString` that costs nothing.
struct HeaderList: Sendable {
  enum Value: Sendable {
    case constant(StaticString)
    case text(String)
  }
  struct Field: Sendable {
    var name: StaticString
    var value: Value
  }

  private(set) var fields: [Field] = []

  init() {}

  mutating func add(_ name: StaticString, _ value: StaticString) {
    fields.append(Field(name: name, value: .constant(value)))
  }
  mutating func add(_ name: StaticString, text value: String) {
    fields.append(Field(name: name, value: .text(value)))
  }
  mutating func add(contentsOf other: HeaderList) { fields += other.fields }

  /// The value under a name, for tests and decisions made late.
  func value(_ name: String) -> String? {
    for field in fields where field.name.description == name {
      switch field.value {
      case .constant(let text): return text.description
      case .text(let text): return text
      }
    }
    return nil
  }
}
