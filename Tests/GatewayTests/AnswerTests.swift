import RESTDialect
import Testing

@testable import Gateway
@testable import KizunaEngine

@Suite struct AnswerTests {
  @Test(
    arguments: [
      (0, 15, nil, 200, "0-14/*"), (5, 2, nil, 200, "5-6/*"), (9, 0, nil, 200, "*/*"),
      (0, 3, 3, 200, "0-2/3"),
      (0, 2, 15, 206, "0-1/15"), (14, 1, 15, 206, "14-14/15"), (0, 0, 0, 200, "*/0"),
      (15, 0, 15, 206, "*/15"),
      (0, 0, 15, 206, "*/15"), (16, 0, 15, 416, "*/15"), (1, 0, 0, 416, "*/0"),
    ] as [(Int, Int, Int?, Int, String)])
  func readsSayWhichRowsTheyAnswer(offset: Int, rows: Int, total: Int?, status: Int, text: String) {
    let range = ContentRange.read(offset: offset, rows: rows, total: total)
    #expect(range.status == status)
    #expect(range.text == text)
    #expect((range.refusal != nil) == (status == 416))
  }

  @Test(arguments: [
    ("PGRST100", 400), ("PGRST103", 416), ("PGRST105", 405), ("PGRST107", 406), ("PGRST116", 406),
    ("PGRST125", 404), ("PGRST205", 404), ("PGRST301", 401), ("PGRST003", 504), ("PGRSTX00", 500),
    ("23505", 409),
    ("23502", 400), ("22P02", 400), ("42883", 404), ("42P10", 400), ("42703", 400), ("42501", 403),
    ("57014", 500),
    ("57P01", 503), ("53100", 503), ("53400", 500), ("PT418", 418), ("XX000", 500), ("21000", 500),
    ("LOCAL_UNSUPPORTED", 400), ("BUCKET_UNSET", 409), ("REMOTE", 502), ("KZL01", 502), ("STORE", 503),
  ])
  func everyCodeHasItsStatus(code: String, status: Int) {
    #expect(ErrorTable.status(of: code) == status)
  }

  @Test func engineErrorsShowTheFinerCode() {
    let duplicate = Failure(KizunaError.refused("23505", "duplicate key"))
    #expect(duplicate.code == "23505")
    #expect(duplicate.status == 409)
    let full = Failure(KizunaError("STORE", sqlstate: "53100", "disk full"))
    #expect(full.code == "STORE")
    #expect(full.status == 507)
    #expect(Failure(KizunaError("STORE", sqlstate: "57014", "interrupted")).code == "57014")
    #expect(Failure(KizunaError("REMOTE", sqlstate: "57014", "interrupted there")).code == "REMOTE")
    #expect(Failure(KizunaError("UNKNOWN_TABLE", "x")).code == "PGRST205")
    #expect(Failure(KizunaError("REMOTE", sqlstate: "KZP03", "KZP03: x")).code == "REMOTE")
    #expect(Failure(KizunaError("PERMANENT_TRANSPORT", sqlstate: "KZL01", "KZL01: x")).status == 502)
  }

  @Test(arguments: [
    KizunaError("NOBODY_KNOWS", "select * from secrets"),
    KizunaError("STORE", sqlstate: "XX000", "could not prepare: no such column: secrets"),
  ])
  func theUnforeseenShowsNothingOfTheInside(error: KizunaError) {
    let failure = Failure(error)
    #expect(failure.code == "XX000")
    #expect(failure.status == 500)
    #expect(!failure.message.contains("secrets"))
    #expect(failure.details?.contains("secrets") == false)
  }

  @Test func anErrorHasAllFourKeys() {
    let answer = Answer(Failure("PGRST205", "no \"x\"", hint: "h"))
    #expect(answer.body.string == #"{"code":"PGRST205","details":null,"hint":"h","message":"no \"x\""}"#)
    #expect(answer.headers.value("Proxy-Status") == "PostgREST; error=PGRST205")
    #expect(answer.headers.value("Content-Type") == "application/json; charset=utf-8")
  }

  @Test func locationsEncodeNamesAndValues() {
    #expect(Location.text(table: Fixture.shelf, rowKey: "7") == "/shelf?id=eq.7")
    #expect(
      Location.text(table: Fixture.pairs, rowKey: "[\"R & é\", \"2001\"]")
        == "/car%20models?name=eq.R%20%26%20%C3%A9&year=eq.2001")
    #expect(Location.text(table: Fixture.heap, rowKey: "x") == nil)
  }

  // MARK: Reads

  private func readAnswer(_ type: AnswerType = .json, offset: Int = 0) -> ReadAnswer {
    ReadAnswer(
      type: type, offset: offset, contentLocation: "/shelf", preferencesApplied: "count=exact", profile: nil)
  }

  @Test func aCountedOffsetBeyondTheEndKeepsTheHeadersOfASuccess() {
    let answer = readAnswer(offset: 9).answer(
      ReadSession.Outcome(rows: 0, total: 3), body: ByteBuffer(capacity: 16))
    #expect(answer.status == 416)
    #expect(answer.headers.value("Content-Range") == "*/3")
    #expect(answer.headers.value("Proxy-Status") == nil)
    #expect(answer.headers.value("Preference-Applied") == "count=exact")
    #expect(answer.body.string.contains("An offset of 9 was requested, but there are only 3 rows."))
  }

  @Test func theSingularTypeDemandsOneRow() {
    let none = readAnswer(.object(stripped: false)).answer(
      ReadSession.Outcome(rows: 0, total: nil), body: ByteBuffer(capacity: 16))
    #expect(none.status == 406)
    #expect(none.body.string.contains("The result contains 0 rows"))
    #expect(none.headers.value("Content-Range") == nil)
  }

  @Test func noRowAtAllIsABareLineInCSV() {
    let outcome = ReadSession.Outcome(rows: 0, total: nil)
    let csv = readAnswer(.csv).answer(outcome, body: ByteBuffer(capacity: 16))
    #expect(csv.body.string == "\n")
    let json = readAnswer().answer(outcome, body: ByteBuffer(capacity: 16))
    #expect(json.body.string == "[]")
  }

  // MARK: Writes

  private func writeAnswer(
    _ action: WriteAnswer.Action, _ shape: WriteAnswer.Shape, isCounted: Bool = false,
    table: TableSchema = Fixture.shelf
  ) -> WriteAnswer {
    WriteAnswer(
      action: action, shape: shape, type: .json, table: table, isCounted: isCounted, preferencesApplied: nil,
      profile: nil, writeId: "w", wait: nil)
  }

  @Test func writesAnswerTheKeysTheyTouched() {
    let outcome = WriteOutcome(keys: ["a\"", "b"], affected: 2, inserted: 0)
    let answer = writeAnswer(.delete, .keys, isCounted: true).answer(outcome)
    #expect(answer.status == 200)
    #expect(answer.body.string == #"["a\"","b"]"#)
    #expect(answer.headers.value("Content-Range") == "*/2")
    #expect(answer.headers.value("Kizuna-Write-Id") == "w")
    #expect(WriteAnswer.shape(nil, byDefault: .keys, table: Fixture.heap) == .minimal)
  }

  @Test func statusesFollowWhatWasInserted() {
    let none = WriteOutcome(keys: ["1"], affected: 1, inserted: 0)
    let one = WriteOutcome(keys: ["1"], affected: 1, inserted: 1)
    let cases: [(WriteAnswer.Action, WriteAnswer.Shape, WriteOutcome, Int)] = [
      (.insert(merges: true), .minimal, none, 200), (.insert(merges: true), .minimal, one, 201),
      (.insert(merges: false), .keys, none, 201), (.put, .minimal, one, 204), (.put, .headersOnly, one, 204),
      (.put, .representation, one, 201), (.put, .keys, none, 200), (.update, .minimal, none, 204),
      (.update, .representation, none, 200), (.delete, .headersOnly, none, 204),
    ]
    for (action, shape, outcome, status) in cases {
      let answer = writeAnswer(action, shape).answer(outcome)
      #expect(answer.status == status)
    }
    let pending = writeAnswer(.update, .keys).answer(none, isPending: true)
    #expect(pending.status == 202)
  }

  @Test func onlyHeadersOnlyInsertsOfOneRowHaveALocation() {
    let one = WriteOutcome(keys: ["7"], affected: 1, inserted: 1)
    let with = writeAnswer(.insert(merges: false), .headersOnly).answer(one)
    #expect(with.headers.value("Location") == "/shelf?id=eq.7")
    let minimal = writeAnswer(.insert(merges: false), .minimal).answer(one)
    #expect(minimal.headers.value("Location") == nil)
    let put = writeAnswer(.put, .headersOnly).answer(one)
    #expect(put.headers.value("Location") == nil)
    #expect(put.headers.value("Content-Range") == nil)
  }
}
