import KizunaEngine

/// A value of the configuration file with the path that leads to it, read with its type checked.
struct ConfigurationValue {
  let source: String
  let path: String
  let json: JSONValue

  func failure(_ reason: String) -> ConfigurationError { ConfigurationError(source, path, reason) }

  private func mismatch(_ wanted: String) -> ConfigurationError {
    failure("must be \(wanted), not \(Self.kind(json))")
  }

  private static func kind(_ json: JSONValue) -> String {
    switch json {
    case .null: "null"
    case .bool(let flag): flag ? "true" : "false"
    case .number(let text): text
    case .string: "a text"
    case .array: "an array"
    case .object: "an object"
    }
  }

  func text() throws(ConfigurationError) -> String {
    guard let text = json.text else { throw mismatch("a text") }
    guard !text.utf8.contains(0) else { throw failure("must not contain the NUL character") }
    return text
  }

  func name() throws(ConfigurationError) -> String {
    let text = try text()
    guard !text.isEmpty else { throw failure("must not be empty") }
    return text
  }

  func boolean() throws(ConfigurationError) -> Bool {
    guard let flag = json.boolean else { throw mismatch("true or false") }
    return flag
  }

  func integer(in range: ClosedRange<Int>) throws(ConfigurationError) -> Int {
    let wanted = "a whole number from \(range.lowerBound) to \(range.upperBound)"
    guard let number = json.int64, let integer = Int(exactly: number), range.contains(integer) else {
      throw mismatch(wanted)
    }
    return integer
  }

  /// One of the words that an enumeration is written with.
  func choice<Choice>(_ choices: [(String, Choice)]) throws(ConfigurationError) -> Choice {
    let names = choices.map(\.0)
    guard let text = json.text else { throw mismatch("one of \(names.joined(separator: ", "))") }
    guard let found = choices.first(where: { $0.0.sameBytes(as: text) }) else {
      throw failure("\"\(text)\" is no choice; \(Suggestion.text(for: text, among: names))")
    }
    return found.1
  }

  func list() throws(ConfigurationError) -> [ConfigurationValue] {
    guard let elements = json.elements else { throw mismatch("an array") }
    return elements.enumerated().map { index, element in
      ConfigurationValue(source: source, path: "\(path)[\(index)]", json: element)
    }
  }

  /// An array of names, none of them twice.
  func names() throws(ConfigurationError) -> [String] {
    var names: [String] = []
    for element in try list() {
      let name = try element.name()
      if names.contains(where: { $0.sameBytes(as: name) }) { throw failure("\"\(name)\" stands there twice") }
      names.append(name)
    }
    return names
  }

  /// An array of non-empty arrays of names.
  func nameLists() throws(ConfigurationError) -> [[String]] {
    var lists: [[String]] = []
    for element in try list() {
      let names = try element.names()
      if names.isEmpty { throw element.failure("must name at least one column") }
      lists.append(names)
    }
    return lists
  }

  /// The members of an object with free keys, in order.
  func entries() throws(ConfigurationError) -> [(name: String, value: ConfigurationValue)] {
    guard let members = json.members else { throw mismatch("an object") }
    var entries: [(name: String, value: ConfigurationValue)] = []
    // Swift would take canonically equivalent names for the same one.
    var seen: Set<[UInt8]> = []
    for member in members {
      let value = ConfigurationValue(
        source: source, path: path.isEmpty ? member.key : "\(path).\(member.key)", json: member.value)
      guard seen.insert(Array(member.key.utf8)).inserted else { throw value.failure("stands there twice") }
      entries.append((member.key, value))
    }
    return entries
  }

  /// An object of which all keys are known.
  func object(_ known: [String]) throws(ConfigurationError) -> ConfigurationObject {
    let entries = try entries()
    for entry in entries where !known.contains(where: { $0.sameBytes(as: entry.name) }) {
      throw entry.value.failure("unknown key; \(Suggestion.text(for: entry.name, among: known))")
    }
    return ConfigurationObject(owner: self, entries: entries)
  }
}

/// An object whose keys have been checked.
struct ConfigurationObject {
  let owner: ConfigurationValue
  let entries: [(name: String, value: ConfigurationValue)]

  /// The value of a key; nil when it is left out.
  subscript(key: String) -> ConfigurationValue? { entries.first { $0.name == key }?.value }

  /// The value of a key for which null says the same as leaving it out.
  func unlessNull(_ key: String) -> ConfigurationValue? {
    guard let value = self[key], !value.json.isNull else { return nil }
    return value
  }

  func required(_ key: String) throws(ConfigurationError) -> ConfigurationValue {
    guard let value = self[key] else { throw owner.failure("\(key) is missing") }
    return value
  }
}
