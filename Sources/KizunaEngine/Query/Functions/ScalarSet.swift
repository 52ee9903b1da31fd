/// A named class of scalars, as the brackets `[:alpha:]` and the escapes `\d \s \w` use them.
enum ScalarClass: String, Sendable, Hashable {
  case alnum, alpha, ascii, blank, cntrl, digit, graph, lower, print, punct, space, upper, word, xdigit

  func contains(_ scalar: UInt32) -> Bool {
    guard let value = Unicode.Scalar(scalar) else { return false }
    switch self {
    case .alpha: return Self.isAlpha(value)
    case .alnum: return Self.isAlpha(value) || Self.isDigit(value)
    case .word: return scalar == 0x5F || Self.isAlpha(value) || Self.isDigit(value)
    case .ascii: return scalar < 0x80
    case .digit: return Self.isDigit(value)
    case .xdigit: return Self.isDigit(value) || (scalar | 0x20) &- 0x61 < 6
    case .blank:
      return scalar == 0x09 || (value.properties.generalCategory == .spaceSeparator && Self.isSpace(value))
    case .space: return Self.isSpace(value)
    case .cntrl: return value.properties.generalCategory == .control
    case .lower: return value.properties.isLowercase
    case .upper: return value.properties.isUppercase
    case .punct: return Self.isPunctuation(value)
    case .graph: return !Self.isSpace(value) && Self.isPrintable(value)
    case .print: return Self.isPrintable(value)
    }
  }

  /// Digits are the ASCII ones; those of other scripts count as letters, as in the C library's locales.
  private static func isDigit(_ value: Unicode.Scalar) -> Bool { value.value &- 0x30 < 10 }

  private static func isAlpha(_ value: Unicode.Scalar) -> Bool {
    if value.isASCII { return (value.value | 0x20) &- 0x61 < 26 }
    return value.properties.isAlphabetic || value.properties.generalCategory == .decimalNumber
  }

  /// No-break spaces do not separate.
  private static func isSpace(_ value: Unicode.Scalar) -> Bool {
    switch value.value {
    case 0x85, 0xA0, 0x2007, 0x202F: false
    default: value.properties.isWhitespace
    }
  }

  private static func isPunctuation(_ value: Unicode.Scalar) -> Bool {
    switch value.properties.generalCategory {
    case .connectorPunctuation, .dashPunctuation, .openPunctuation, .closePunctuation, .initialPunctuation,
      .finalPunctuation, .otherPunctuation, .mathSymbol, .currencySymbol, .modifierSymbol, .otherSymbol:
      true
    default: false
    }
  }

  private static func isPrintable(_ value: Unicode.Scalar) -> Bool {
    switch value.properties.generalCategory {
    case .control, .unassigned, .surrogate, .lineSeparator, .paragraphSeparator: false
    default: true
    }
  }
}

/// The scalars that one place of a regular expression accepts.
struct ScalarSet: Sendable, Hashable {
  struct Term: Sendable, Hashable {
    var scalarClass: ScalarClass
    var isNegated: Bool
  }

  var ranges: [ClosedRange<UInt32>] = []
  var terms: [Term] = []
  var isNegated = false
  var foldsCase = false
  /// A negated set of a newline-sensitive expression.
  var excludesNewline = false

  static func scalar(_ value: UInt32, foldsCase: Bool) -> ScalarSet {
    var set = ScalarSet(foldsCase: foldsCase)
    set.insert(value...value)
    return set
  }

  mutating func insert(_ range: ClosedRange<UInt32>) {
    ranges.append(range)
    guard foldsCase, range.count == 1 else { return }
    for variant in [CaseFolding.lower(range.lowerBound), CaseFolding.upper(range.lowerBound)]
    where variant != range.lowerBound {
      ranges.append(variant...variant)
    }
  }

  mutating func insert(_ scalarClass: ScalarClass, isNegated: Bool = false) {
    let cased = scalarClass == .lower || scalarClass == .upper
    terms.append(Term(scalarClass: foldsCase && cased ? .alpha : scalarClass, isNegated: isNegated))
  }

  func contains(_ scalar: UInt32) -> Bool {
    if excludesNewline && scalar == 0x0A { return false }
    return isNegated != holds(scalar)
  }

  private func holds(_ scalar: UInt32) -> Bool {
    if ranges.contains(where: { $0.contains(scalar) }) { return true }
    if terms.contains(where: { $0.scalarClass.contains(scalar) != $0.isNegated }) { return true }
    guard foldsCase, !ranges.isEmpty else { return false }
    let lower = CaseFolding.lower(scalar)
    let upper = CaseFolding.upper(scalar)
    return ranges.contains { $0.contains(lower) || $0.contains(upper) }
  }
}
