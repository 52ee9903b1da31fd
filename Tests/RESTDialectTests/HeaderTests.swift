import Testing

@testable import RESTDialect

@Suite struct PreferencesTests {
  private func preferences(_ values: String...) -> Preferences {
    let buffers = values.map { value in
      let copy = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: value.utf8.count)
      _ = copy.initialize(from: value.utf8)
      return copy
    }
    defer { for buffer in buffers { buffer.deallocate() } }
    return Preferences(headers: buffers.map { UnsafeBufferPointer($0) })
  }

  @Test func tokensOfAllHeadersAreRead() {
    let preferences = preferences(
      "return=representation,count=exact , missing=default",
      "resolution=ignore-duplicates, tx=rollback, wait=5, timezone=-4, handling=strict, max-affected=3")
    #expect(preferences.return == .representation)
    #expect(preferences.count == .exact)
    #expect(preferences.missing == .default)
    #expect(preferences.resolution == .ignoreDuplicates)
    #expect(preferences.transaction == .rollback)
    #expect(preferences.wait == 5)
    #expect(preferences.timezone == "-4")
    #expect(preferences.maxAffected == 3)
    #expect(preferences.unknown == [])
    #expect(preferences.strictFailure() == nil)
  }

  @Test func firstValueWins() {
    #expect(preferences("return=minimal, return=representation").return == .minimal)
    #expect(preferences("max-affected=x, max-affected=2").maxAffected == 2)
  }

  @Test(arguments: [
    ("handling=strict, anything", "anything"), ("handling=strict, count=exact, count=none", "count=none"),
    ("handling=strict,", ""),
    ("return=stripped-nulls, handling=strict, Count=exact", "return=stripped-nulls, Count=exact"),
    ("handling=strict, return = minimal", "return = minimal"), ("handling=strict, wait=-1", "wait=-1"),
    ("handling=strict, count=\u{301}exact", "count=\u{301}exact"),
  ])
  func strictHandlingNamesTheUnknown(header: String, unknown: String) {
    #expect(preferences(header).strictFailure()?.details == "Invalid preferences: " + unknown)
  }

  @Test func anyMaxAffectedAndTimezonePass() {
    #expect(preferences("handling=strict, max-affected=abc, timezone=Nowhere").strictFailure() == nil)
    #expect(preferences("anything").strictFailure() == nil)
  }

  @Test func appliedKeepsItsFixedOrder() {
    let all = preferences(
      "wait=2, max-affected=1, timezone=UTC, handling=strict, tx=commit, count=exact, return=minimal, missing=null",
      "resolution=merge-duplicates")
    let rest = "count=exact, tx=commit, handling=strict, timezone=UTC"
    #expect(
      all.applied(method: .post, hasResolutionTarget: true)
        == "resolution=merge-duplicates, missing=null, return=minimal, \(rest), wait=2")
    #expect(
      all.applied(method: .post, hasResolutionTarget: false)
        == "missing=null, return=minimal, \(rest), wait=2")
    #expect(
      all.applied(method: .patch, hasResolutionTarget: true)
        == "missing=null, return=minimal, \(rest), max-affected=1, wait=2")
    #expect(all.applied(method: .put, hasResolutionTarget: true) == "return=minimal, \(rest), wait=2")
    #expect(all.applied(method: .get, hasResolutionTarget: true) == rest)
    #expect(preferences("foo").applied(method: .get, hasResolutionTarget: true) == nil)
    #expect(
      preferences("handling=lenient, max-affected=10").applied(method: .delete, hasResolutionTarget: true)
        == "handling=lenient")
  }
}

@Suite struct NegotiationTests {
  @Test(
    arguments: [
      ("*/*", .json), ("application/json", .json), ("APPLICATION/JSON", .json),
      ("application/json; charset=utf-8", .json),
      ("*/*, text/csv", .csv), ("text/csv; version=1", .csv), ("text/unknowntype, */*", .json),
      ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", .json),
      ("application/json;q=0.5, text/csv;q=0.9", .csv), ("application/vnd.pgrst.array+json", .json),
      ("application/vnd.pgrst.array+json;nulls=stripped", .array(stripped: true)),
      ("application/vnd.pgrst.object", .object(stripped: false)),
      ("application/vnd.pgrst.object+json; nulls=stripped", .object(stripped: true)),
      ("application/geo+json", .geojson), ("application/vnd.pgrst.plan, text/csv", .csv),
      ("text/csv, application/json", .csv),
    ] as [(String, AnswerType)])
  func theBestTypeWins(accept: String, expected: AnswerType) throws {
    #expect(try withBytes(accept) { try AnswerType.negotiate(accept: $0) } == expected)
    #expect(try AnswerType.negotiate(accept: nil) == .json)
  }

  @Test(arguments: [
    ("text/html, application/pdf", "text/html, application/pdf"), ("", ""),
    ("application/*", "application/*"),
    ("text/html;q=0.1;level=1, a/b", "a/b, text/html"),
    ("application/vnd.pgrst.plan+json", "application/vnd.pgrst.plan+json; for=\"application/json\""),
    (
      "application/vnd.pgrst.plan+text; for=\"text/csv\"; options=verbose|analyze;",
      "application/vnd.pgrst.plan+text; for=\"text/csv\"; options=analyze|verbose"
    ),
  ])
  func otherTypesAreNotAvailable(accept: String, named: String) {
    let refusal = #expect(throws: DialectError.self) {
      try withBytes(accept) { try AnswerType.negotiate(accept: $0) }
    }
    #expect(refusal?.message == "None of these media types are available: " + named)
    #expect(refusal?.code == "PGRST107" && refusal?.status == 406)
  }

  @Test func contentTypeNamesTheForm() {
    #expect("\(AnswerType.json.contentType)" == "application/json; charset=utf-8")
    #expect("\(AnswerType.csv.contentType)" == "text/csv; charset=utf-8")
    #expect(
      "\(AnswerType.object(stripped: true).contentType)"
        == "application/vnd.pgrst.object+json;nulls=stripped; charset=utf-8")
  }
}
