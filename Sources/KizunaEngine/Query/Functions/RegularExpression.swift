/// A compiled regular expression: a nondeterministic automaton of bounded size, immutable. `RegexMatcher` runs it.
final class RegularExpression: Sendable {
  enum Kind: Sendable { case set, split, assertion, match }
  struct Instruction: Sendable {
    var kind: Kind
    /// A set's or assertion's number; a split's other way.
    var operand: Int32
    var next: Int32
  }

  static let maximumInstructions = 10_000
  /// Bounds repetition of what emits nothing.
  static let maximumWork = 100_000

  let instructions: [Instruction]
  let sets: [ScalarSet]
  let start: Int32
  /// Can match at the start of the text only.
  let isAnchored: Bool
  let looksAtStart: Bool
  let looksAtWords: Bool
  let looksAtLines: Bool

  init(_ pattern: String, caseInsensitive: Bool) throws(KizunaError) {
    let node = try RegexParser.parse(pattern, caseInsensitive: caseInsensitive)
    var compiler = Compiler()
    let end = try compiler.emit(.match, 0, 0)
    start = try compiler.compile(node, next: end)
    instructions = compiler.instructions
    sets = compiler.sets
    isAnchored = node.isAnchored
    let used = Set(compiler.assertions)
    looksAtStart = used.contains(.textStart) || used.contains(.lineStart)
    looksAtLines = used.contains(.lineStart) || used.contains(.lineEnd)
    looksAtWords = !used.isDisjoint(with: [.wordStart, .wordEnd, .wordEdge, .notWordEdge])
  }

  /// Searches the text, unanchored. Who searches many texts keeps a `RegexMatcher`.
  func matches(_ utf8: UnsafeBufferPointer<UInt8>) -> Bool { RegexMatcher(self).matches(utf8) }

  private struct Compiler {
    var instructions: [Instruction] = []
    var sets: [ScalarSet] = []
    var assertions: [RegexNode.Assertion] = []
    private var numbers: [ScalarSet: Int32] = [:]
    private var work = 0

    mutating func emit(_ kind: Kind, _ operand: Int32, _ next: Int32) throws(KizunaError) -> Int32 {
      if instructions.count >= maximumInstructions { throw .badRegex("regular expression is too complex") }
      instructions.append(Instruction(kind: kind, operand: operand, next: next))
      return Int32(instructions.count - 1)
    }

    /// The entry of the node's code, which goes on at `next`.
    mutating func compile(_ node: RegexNode, next: Int32) throws(KizunaError) -> Int32 {
      work += 1
      if work > maximumWork { throw .badRegex("regular expression is too complex") }
      switch node {
      case .empty: return next
      case .set(let set): return try emit(.set, number(of: set), next)
      case .assertion(let kind):
        assertions.append(kind)
        return try emit(.assertion, kind.rawValue, next)
      case .sequence(let nodes):
        var entry = next
        for node in nodes.reversed() { entry = try compile(node, next: entry) }
        return entry
      case .choice(let nodes):
        var entry = try compile(nodes[nodes.count - 1], next: next)
        for node in nodes.dropLast().reversed() {
          let other = try compile(node, next: next)
          entry = try emit(.split, entry, other)
        }
        return entry
      case .repetition(let node, let least, let most):
        return try repetition(of: node, least: least, most: most, next: next)
      }
    }

    private mutating func repetition(
      of node: RegexNode, least: Int, most: Int?, next: Int32
    ) throws(KizunaError) -> Int32 {
      var entry = next
      var copies = least
      if let most {
        for _ in 0..<(most - least) {
          let body = try compile(node, next: entry)
          entry = try emit(.split, next, body)
        }
      } else {
        let loop = try emit(.split, next, next)
        let body = try compile(node, next: loop)
        instructions[Int(loop)].next = body
        entry = least == 0 ? loop : body
        copies = max(least - 1, 0)
      }
      for _ in 0..<copies { entry = try compile(node, next: entry) }
      return entry
    }

    private mutating func number(of set: ScalarSet) -> Int32 {
      if let known = numbers[set] { return known }
      let number = Int32(sets.count)
      sets.append(set)
      numbers[set] = number
      return number
    }
  }
}
