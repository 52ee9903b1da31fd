/// Runs a regular expression over texts in time linear in their length: a deterministic automaton built while it
/// is used, over classes of scalars that the expression cannot tell apart. Its memory is bounded: a full cache is
/// dropped. One thread at a time.
final class RegexMatcher {
  /// What a state must know of the scalar before it.
  private enum Before: UInt8 { case start, other, word, newline }
  private struct Key: Hashable {
    var places: [Int32]
    var before: Before
  }
  private struct Class {
    /// Which of the expression's sets hold its scalars, as bits.
    var members: [UInt64]
    var isWord: Bool
    var isNewline: Bool
  }

  private static let unknown: Int32 = -1
  private static let matched: Int32 = -2
  private static let failed: Int32 = -3
  private static let maximumCells = 1 << 20
  private static let maximumPlaces = 1 << 20
  /// Class 0 is the end of the text.
  private static let end = 0

  let expression: RegularExpression
  /// As the expression was asked to be compiled.
  let caseInsensitive: Bool
  private var classes: [Class] = [Class(members: [], isWord: false, isNewline: false)]
  private var classNumbers: [[UInt64]: Int] = [:]
  private let asciiClasses: UnsafeMutablePointer<Int>
  private var otherClasses: [UInt32: Int] = [:]

  private var stride = 32
  private var table: UnsafeMutablePointer<Int32>
  private var tableStates = 16
  private var keys: [Key] = []
  private var numbers: [Key: Int32] = [:]
  private var placeCount = 0

  private var marks: [UInt32]
  private var mark: UInt32 = 0
  private var stack: [Int32] = []

  init(_ expression: RegularExpression, caseInsensitive: Bool = false) {
    self.expression = expression
    self.caseInsensitive = caseInsensitive
    marks = Array(repeating: 0, count: expression.instructions.count)
    asciiClasses = .allocate(capacity: 128)
    asciiClasses.initialize(repeating: 0, count: 128)
    table = .allocate(capacity: stride * tableStates)
    table.initialize(repeating: Self.unknown, count: stride * tableStates)
  }

  deinit {
    asciiClasses.deallocate()
    table.deallocate()
  }

  func matches(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
    var state = number(of: Key(places: [], before: expression.looksAtStart ? .start : .other))
    var index = 0
    while index < text.count {
      let byte = text[index]
      var kind: Int
      if byte < 0x80 {
        index += 1
        kind = asciiClasses[Int(byte)]
        if kind == 0 { kind = learnASCII(byte) }
      } else {
        kind = classOfOther(UTF8Text.next(text, &index))
      }
      if kind >= stride { widen(to: kind) }
      var next = table[Int(state) * stride + kind]
      if next == Self.unknown { next = build(state, kind) }
      if next < 0 { return next == Self.matched }
      state = next
    }
    var last = table[Int(state) * stride + Self.end]
    if last == Self.unknown { last = build(state, Self.end) }
    return last == Self.matched
  }

  private func learnASCII(_ byte: UInt8) -> Int {
    let kind = classify(UInt32(byte))
    asciiClasses[Int(byte)] = kind
    return kind
  }

  private func classOfOther(_ scalar: UInt32) -> Int {
    if let known = otherClasses[scalar] { return known }
    if otherClasses.count >= 1 << 16 { otherClasses.removeAll(keepingCapacity: true) }
    let kind = classify(scalar)
    otherClasses[scalar] = kind
    return kind
  }

  private func classify(_ scalar: UInt32) -> Int {
    let sets = expression.sets
    var members = [UInt64](repeating: 0, count: sets.count / 64 + 1)
    for (number, set) in sets.enumerated() where set.contains(scalar) {
      members[number / 64] |= 1 << UInt64(number % 64)
    }
    let isWord = expression.looksAtWords && ScalarClass.word.contains(scalar)
    let isNewline = expression.looksAtLines && scalar == 0x0A
    let signature = members + [(isWord ? 1 : 0) | (isNewline ? 2 : 0)]
    if let known = classNumbers[signature] { return known }
    classes.append(Class(members: members, isWord: isWord, isNewline: isNewline))
    classNumbers[signature] = classes.count - 1
    return classes.count - 1
  }

  private func widen(to kind: Int) {
    var wider = stride
    while wider <= kind { wider *= 2 }
    relocate(stride: wider, states: tableStates)
  }

  private func relocate(stride wider: Int, states: Int) {
    let fresh = UnsafeMutablePointer<Int32>.allocate(capacity: wider * states)
    fresh.initialize(repeating: Self.unknown, count: wider * states)
    for state in 0..<keys.count {
      for kind in 0..<stride { fresh[state * wider + kind] = table[state * stride + kind] }
    }
    table.deallocate()
    (table, stride, tableStates) = (fresh, wider, states)
  }

  private func number(of key: Key) -> Int32 {
    if let known = numbers[key] { return known }
    if keys.count == tableStates { relocate(stride: stride, states: tableStates * 2) }
    let number = Int32(keys.count)
    keys.append(key)
    numbers[key] = number
    placeCount += key.places.count + 8
    return number
  }

  /// The transition from a state by a class; a full cache is dropped before the new state enters it.
  private func build(_ state: Int32, _ kind: Int) -> Int32 {
    let cell = Int(state) * stride + kind
    guard let key = step(keys[Int(state)], kind) else {
      table[cell] = Self.matched
      return Self.matched
    }
    if kind == Self.end || (expression.isAnchored && key.places.isEmpty) {
      table[cell] = Self.failed
      return Self.failed
    }
    if numbers[key] == nil, keys.count * stride > Self.maximumCells || placeCount > Self.maximumPlaces {
      table.update(repeating: Self.unknown, count: stride * tableStates)
      keys.removeAll(keepingCapacity: true)
      numbers.removeAll(keepingCapacity: true)
      placeCount = 0
      return number(of: key)
    }
    let next = number(of: key)
    table[Int(state) * stride + kind] = next
    return next
  }

  /// Where the automaton stands behind a scalar of the class; nil when the expression has matched before it.
  private func step(_ key: Key, _ kind: Int) -> Key? {
    mark &+= 1
    if mark == 0 {
      for index in marks.indices { marks[index] = 0 }
      mark = 1
    }
    let next = classes[kind]
    var places: [Int32] = []
    stack.removeAll(keepingCapacity: true)
    stack.append(contentsOf: key.places)
    stack.append(expression.start)
    while let place = stack.popLast() {
      if marks[Int(place)] == mark { continue }
      marks[Int(place)] = mark
      let instruction = expression.instructions[Int(place)]
      switch instruction.kind {
      case .match: return nil
      case .split:
        stack.append(instruction.operand)
        stack.append(instruction.next)
      case .assertion:
        if holds(instruction.operand, key.before, next, atEnd: kind == Self.end) {
          stack.append(instruction.next)
        }
      case .set:
        let number = Int(instruction.operand)
        if kind != Self.end, next.members[number / 64] & (1 << UInt64(number % 64)) != 0 {
          places.append(instruction.next)
        }
      }
    }
    return Key(places: Self.distinct(places), before: before(next))
  }

  private static func distinct(_ places: [Int32]) -> [Int32] {
    if places.count < 2 { return places }
    var result: [Int32] = []
    result.reserveCapacity(places.count)
    for place in places.sorted() where result.last != place { result.append(place) }
    return result
  }

  private func before(_ kind: Class) -> Before { kind.isWord ? .word : kind.isNewline ? .newline : .other }

  private func holds(_ assertion: Int32, _ before: Before, _ next: Class, atEnd: Bool) -> Bool {
    let starts = before != .word && next.isWord
    let ends = before == .word && !next.isWord
    switch RegexNode.Assertion(rawValue: assertion) {
    case .textStart: return before == .start
    case .textEnd: return atEnd
    case .lineStart: return before == .start || before == .newline
    case .lineEnd: return atEnd || next.isNewline
    case .wordStart: return starts
    case .wordEnd: return ends
    case .wordEdge: return starts || ends
    case .notWordEdge: return !starts && !ends
    case nil: return false
    }
  }
}
