/// A parsed regular expression.
indirect enum RegexNode: Sendable {
  enum Assertion: Int32, Sendable {
    case textStart, textEnd, lineStart, lineEnd, wordStart, wordEnd, wordEdge, notWordEdge
  }

  case empty
  case set(ScalarSet)
  case assertion(Assertion)
  case sequence([RegexNode])
  case choice([RegexNode])
  case repetition(RegexNode, least: Int, most: Int?)

  /// Can match at the start of the text only.
  var isAnchored: Bool {
    switch self {
    case .assertion(let kind): kind == .textStart
    case .sequence(let nodes): nodes.first?.isAnchored ?? false
    case .choice(let nodes): nodes.allSatisfy(\.isAnchored)
    case .repetition(let node, let least, _): least > 0 && node.isAnchored
    case .empty, .set: false
    }
  }
}

extension KizunaError {
  /// A regular expression that cannot be compiled here.
  static func badRegex(_ reason: String) -> KizunaError {
    KizunaError("LOCAL_UNSUPPORTED", sqlstate: "2201B", "invalid regular expression: \(reason)")
  }
}
