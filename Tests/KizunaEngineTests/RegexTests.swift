import Testing

@testable import KizunaEngine

@Suite struct RegexTests {
  private func outcome(_ pattern: String, _ text: String, insensitive: Bool = false) -> RegexTable.Outcome {
    do throws(KizunaError) {
      let expression = try RegularExpression(pattern, caseInsensitive: insensitive)
      var text = text
      return text.withUTF8 { expression.matches($0) } ? .matches : .fails
    } catch {
      #expect(error.code == "LOCAL_UNSUPPORTED")
      #expect(error.sqlstate == "2201B")
      return .refused(error.message.replacingPrefix("invalid regular expression: "))
    }
  }

  @Test(arguments: RegexTable.syntax + RegexTable.more + RegexTable.insensitive + RegexTable.refused)
  func answersAsPostgres(_ row: RegexTable.Row) {
    #expect(outcome(row.pattern, row.text, insensitive: row.insensitive) == row.outcome)
  }

  @Test(arguments: [#"(a)\1"#, #"\1"#, #"(a)(b)\2"#])
  func refusesBackreferences(_ pattern: String) {
    #expect(outcome(pattern, "aa") == .refused("backreferences are not supported"))
  }

  @Test(arguments: ["a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b"])
  func refusesLookaround(_ pattern: String) {
    #expect(outcome(pattern, "ab") == .refused("lookaround is not supported"))
  }

  @Test(arguments: [
    "((a{255}){255}){255}", "(((){255}){255}){255}", String(repeating: "(", count: 5000),
  ])
  func refusesWhatIsTooLarge(_ pattern: String) {
    #expect(outcome(pattern, "a") == .refused("regular expression is too complex"))
  }

  @Test(arguments: ["(a*)*b", "(a|aa)+$b", "(a?){50}a{50}b", "(x+x+)+y|(a|a)*b", ".*.*.*=.*b"])
  func takesLinearTime(_ pattern: String) {
    let text = String(repeating: "a", count: 100_000)
    let clock = ContinuousClock()
    let time = clock.measure { #expect(outcome(pattern, text) == .fails) }
    #expect(time < .seconds(5))
  }

  @Test func survivesAFullCache() throws {
    // The automaton of this one has far more states than the cache holds.
    let expression = try RegularExpression("(a|b)*a(a|b){14}c", caseInsensitive: false)
    let matcher = RegexMatcher(expression)
    var seed: UInt64 = 7
    var text: [UInt8] = []
    for _ in 0..<60_000 {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      text.append(seed >> 63 == 0 ? UInt8(ascii: "a") : UInt8(ascii: "b"))
    }
    #expect(!text.withUnsafeBufferPointer { matcher.matches($0) })
    text += Array("aaaaaaaaaaaaaaac".utf8)
    #expect(text.withUnsafeBufferPointer { matcher.matches($0) })
  }

  @Test func tellsManyClassesApart() throws {
    let alphabet = (0..<300).map { String(Unicode.Scalar(0x4E00 + $0)!) }  // all are assigned
    let expression = try RegularExpression(
      "^(" + alphabet.joined(separator: "|") + ")+$", caseInsensitive: false)
    let matcher = RegexMatcher(expression)
    var text = alphabet.joined()
    #expect(text.withUTF8 { matcher.matches($0) })
    text += "x"
    #expect(!text.withUTF8 { matcher.matches($0) })
  }

  @Test func readsMalformedUTF8WithoutHarm() throws {
    let expression = try RegularExpression("^.+$", caseInsensitive: false)
    let bytes: [UInt8] = [0xF0, 0x9F, 0x61, 0xFF, 0xC3]
    #expect(bytes.withUnsafeBufferPointer { expression.matches($0) })
  }
}

extension String {
  fileprivate func replacingPrefix(_ prefix: String) -> String {
    hasPrefix(prefix) ? String(dropFirst(prefix.count)) : self
  }
}
