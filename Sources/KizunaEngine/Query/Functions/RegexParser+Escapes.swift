/// What a backslash and a bracket stand for.
extension RegexParser {
  enum Escape {
    case scalar(UInt32)
    case shorthand(ScalarClass, isNegated: Bool)
    case assertion(RegexNode.Assertion)
  }

  mutating func escapedAtom() throws(KizunaError) -> RegexNode {
    switch try escape() {
    case .scalar(let scalar): return .set(.scalar(scalar, foldsCase: options.foldsCase))
    case .assertion(let kind): return .assertion(kind)
    case .shorthand(let scalarClass, let isNegated):
      var set = ScalarSet()
      set.insert(scalarClass, isNegated: isNegated)
      return .set(set)
    }
  }

  private mutating func escape() throws(KizunaError) -> Escape {
    position += 1
    guard !atEnd, let letter = Unicode.Scalar(pattern[position]) else {
      throw .badRegex("invalid escape \\ sequence")
    }
    position += 1
    switch letter {
    case "a": return .scalar(0x07)
    case "b": return .scalar(0x08)
    case "B": return .scalar(0x5C)
    case "e": return .scalar(0x1B)
    case "f": return .scalar(0x0C)
    case "n": return .scalar(0x0A)
    case "r": return .scalar(0x0D)
    case "t": return .scalar(0x09)
    case "v": return .scalar(0x0B)
    case "c":
      if atEnd { throw .badRegex("invalid escape \\ sequence") }
      position += 1
      return .scalar(pattern[position - 1] & 0x1F)
    case "u": return .scalar(try number(radix: 16, least: 4, most: 4))
    case "U": return .scalar(try number(radix: 16, least: 8, most: 8))
    case "x": return .scalar(try number(radix: 16, least: 1, most: 255))
    case "d": return .shorthand(.digit, isNegated: false)
    case "D": return .shorthand(.digit, isNegated: true)
    case "s": return .shorthand(.space, isNegated: false)
    case "S": return .shorthand(.space, isNegated: true)
    case "w": return .shorthand(.word, isNegated: false)
    case "W": return .shorthand(.word, isNegated: true)
    case "A": return .assertion(.textStart)
    case "Z": return .assertion(.textEnd)
    case "m": return .assertion(.wordStart)
    case "M": return .assertion(.wordEnd)
    case "y": return .assertion(.wordEdge)
    case "Y": return .assertion(.notWordEdge)
    case "0"..."9": return .scalar(try octal())
    case "a"..."z", "A"..."Z": throw .badRegex("invalid escape \\ sequence")
    default: return .scalar(letter.value)
    }
  }

  /// `\0…` and numbers above the count of groups are octal; the others would be backreferences.
  private mutating func octal() throws(KizunaError) -> UInt32 {
    position -= 1
    if pattern[position] != 0x30 {
      var end = position
      var value = 0
      while let digit = digit(at: end), value <= Self.maximumCount {
        value = value * 10 + digit
        end += 1
      }
      if end - position == 1 || value <= groups { throw .badRegex("backreferences are not supported") }
    }
    return try number(radix: 8, least: 1, most: 3)
  }

  private mutating func number(radix: UInt32, least: Int, most: Int) throws(KizunaError) -> UInt32 {
    var value: UInt32 = 0
    var count = 0
    while count < most, !atEnd, let digit = Self.digit(pattern[position]), digit < radix {
      value = value * radix + digit
      if value > 0x10FFFF { throw .badRegex("invalid escape \\ sequence") }
      position += 1
      count += 1
    }
    if count < least { throw .badRegex("invalid escape \\ sequence") }
    return value
  }

  private static func digit(_ scalar: UInt32) -> UInt32? {
    if scalar &- 0x30 < 10 { return scalar - 0x30 }
    let letter = (scalar | 0x20) &- 0x61
    return scalar < 0x80 && letter < 6 ? letter + 10 : nil
  }

  mutating func bracket() throws(KizunaError) -> RegexNode {
    if take("[[:<:]]") { return .assertion(.wordStart) }
    if take("[[:>:]]") { return .assertion(.wordEnd) }
    position += 1
    var set = ScalarSet(foldsCase: options.foldsCase)
    if take("^") {
      set.isNegated = true
      set.excludesNewline = options.stopsAtNewline
    }
    var isFirst = true
    while isFirst || !see("]") {
      if atEnd { throw .badRegex("brackets [] not balanced") }
      if see("-") && !isFirst && !see("-]") { throw .badRegex("invalid character range") }
      try member(of: &set)
      isFirst = false
    }
    position += 1
    return .set(set)
  }

  private mutating func member(of set: inout ScalarSet) throws(KizunaError) {
    if take("[:") {
      guard let scalarClass = ScalarClass(rawValue: try name(until: ":]")) else {
        throw .badRegex("invalid character class")
      }
      set.insert(scalarClass)
      return
    }
    if take("[=") {
      let scalar = try collatingElement(until: "=]")
      set.insert(scalar...scalar)
      return
    }
    if see("\\") {
      switch try escape() {
      case .shorthand(let scalarClass, let isNegated): set.insert(scalarClass, isNegated: isNegated)
      case .assertion: throw .badRegex("invalid escape \\ sequence")
      case .scalar(let scalar): try range(from: scalar, into: &set)
      }
      return
    }
    try range(from: try endpoint(), into: &set)
  }

  private mutating func range(from low: UInt32, into set: inout ScalarSet) throws(KizunaError) {
    guard see("-"), !see("-]") else {
      set.insert(low...low)
      return
    }
    position += 1
    let high = try endpoint()
    if high < low { throw .badRegex("invalid character range") }
    set.insert(low...high)
  }

  private mutating func endpoint() throws(KizunaError) -> UInt32 {
    if atEnd { throw .badRegex("brackets [] not balanced") }
    if take("[.") { return try collatingElement(until: ".]") }
    if see("[:") || see("[=") { throw .badRegex("invalid character range") }
    if see("\\") {
      guard case .scalar(let scalar) = try escape() else { throw .badRegex("invalid character range") }
      return scalar
    }
    position += 1
    return pattern[position - 1]
  }

  private mutating func collatingElement(until end: StaticString) throws(KizunaError) -> UInt32 {
    let name = try name(until: end).unicodeScalars
    guard let scalar = name.first, name.count == 1 else { throw .badRegex("invalid collating element") }
    return scalar.value
  }

  private mutating func name(until end: StaticString) throws(KizunaError) -> String {
    var name = String.UnicodeScalarView()
    while !see(end) {
      guard !atEnd, let scalar = Unicode.Scalar(pattern[position]) else {
        throw .badRegex("brackets [] not balanced")
      }
      name.append(scalar)
      position += 1
    }
    position += end.utf8CodeUnitCount
    return String(name)
  }
}
