import Testing

@testable import RESTDialect

@Suite struct FuzzTests {
  private static let seed: UInt64 = 0x5EED_0FD1_A1EC
  private static let rounds = 100_000

  private static let fragments = [
    "a", "id", "\"", "\\", "%22", "%", "%C3%A9", "%FF", "%00", "é", "é̈", " ", "+", "\t", "\n", ".", ",", ":",
    "::", "->",
    "->>", "-", ">", "(", ")", "{", "}", "!", "*", "=", "&", ";", "eq.", "not.", "in.(", "is.null",
    "like(any).", "fts(en).",
    "or=(", "and(", "select=", "order=", "limit=", "offset=", "columns=", "on_conflict=", "id=eq.1", "0",
    "-7", "asc",
    ".desc", ".nullsfirst", "count()", ".sum()", "...", "precondition.", "apikey=", "include_deleted=",
    "a.b.or=(", "99999999999999999999",
  ]

  private static let wholes = [
    "id=eq.1&name=not.like.a*&limit=10",
    "or=(title.ilike.*sea*,and(price.lt.5,not.or(lent.is.true,tags.cs.{old,worn})))",
    "select=w:info->size->>w::int,c:clients!fk!inner(*),price.sum()&order=a.desc.nullslast,f(g->h)",
    "id=in.(\"a,b\",c)&x=fts(french).y&limit=3&offset=-2",
    "columns=\"id\",\"title\"&on_conflict=id&precondition.a=1",
  ]

  private func input(_ generator: inout SeededGenerator) -> [UInt8] {
    var bytes: [UInt8] = []
    switch Int.random(in: 0..<4, using: &generator) {
    case 0:
      for _ in 0..<Int.random(in: 0..<24, using: &generator) {
        bytes.append(.random(in: 0...255, using: &generator))
      }
    case 1:
      bytes = Array(Self.wholes[Int.random(in: 0..<Self.wholes.count, using: &generator)].utf8)
      for _ in 0..<Int.random(in: 1..<4, using: &generator) {
        let at = Int.random(in: 0..<bytes.count, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: bytes[at] = .random(in: 0...255, using: &generator)
        case 1: bytes.insert(.random(in: 32...126, using: &generator), at: at)
        default: if bytes.count > 1 { bytes.remove(at: at) }
        }
      }
    default:
      for _ in 0..<Int.random(in: 1..<14, using: &generator) {
        bytes += Self.fragments[Int.random(in: 0..<Self.fragments.count, using: &generator)].utf8
      }
    }
    return bytes
  }

  @Test func anyBytesGiveAValueOrAnError() {
    print("fuzz seed \(Self.seed)")
    var generator = SeededGenerator(state: Self.seed)
    let methods: [DialectMethod] = [.get, .post, .patch, .put, .delete]
    for round in 0..<Self.rounds {
      withBytes(input(&generator)) { bytes in
        if let request = try? Request(query: bytes, method: methods[round % methods.count]) {
          _ = try? request.window(range: String(decoding: bytes, as: UTF8.self))
          _ = ContentLocation.text(path: "/t", pairs: request.pairs)
          _ = request.literals
        }
        let preferences = Preferences(headers: [bytes])
        _ = preferences.strictFailure() ?? nil
        _ = preferences.applied(method: .patch, hasResolutionTarget: true)
        _ = try? AnswerType.negotiate(accept: bytes)
        _ = try? Target.segments(Target.split(bytes).path)
        _ = try? CSVBody.parse(bytes)
        _ = try? FormBody.parse(bytes)
      }
    }
  }

  @Test func holesAreTheLiteralsOfTheRequest() {
    print("fuzz seed \(Self.seed)")
    var generator = SeededGenerator(state: Self.seed)
    let keys = ["a", "id", "a-b", "x_1", "select", "limit", "offset", "order", "b", "c"]
    let operators = ["eq.", "neq.", "not.gt.", "lte.", "like.", "not.ilike.", "is.null", "is.", "", "gte."]
    let literals = ["1", "", "a+b", "%41", "é", "%C3%A9", "a.b,c)", "%3B", "12", "%", "x=y"]
    var shape = RequestShape()
    var agreed = 0
    for _ in 0..<20_000 {
      // The lists are not empty, so each has a random element.
      let pairs = (0..<Int.random(in: 0..<5, using: &generator)).map { _ in
        keys.randomElement(using: &generator).unsafelyUnwrapped + "="
          + operators.randomElement(using: &generator).unsafelyUnwrapped
          + literals.randomElement(using: &generator).unsafelyUnwrapped
      }
      withBytes(pairs.joined(separator: "&")) { query in
        let path = UnsafeBufferPointer<UInt8>(start: nil, count: 0)
        guard shape.scan(path: path, query: query), let request = try? Request(query: query, method: .get)
        else { return }
        var decoded: [String] = []
        var output: [UInt8] = []
        for hole in shape.holes {
          let raw = UnsafeBufferPointer(rebasing: query[hole.start..<hole.end])
          switch hole.kind {
          case .filter:
            #expect(RequestShape.decode(raw, into: &output))
            decoded.append(String(decoding: output, as: UTF8.self))
          case .limit: #expect(request.limit == RequestShape.number(hole, in: query))
          case .offset: #expect(request.offset == RequestShape.number(hole, in: query))
          }
        }
        #expect(decoded == request.literals)
        agreed += 1
      }
    }
    #expect(agreed > 500)
  }
}
