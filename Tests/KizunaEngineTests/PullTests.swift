import Testing

@testable import KizunaEngine

struct PullTests {
  private let todos = EngineFixture.table(["id": "text", "title": "text", "done": "boolean", "n": "integer"])

  private func row(_ id: String, _ title: String, done: Bool = false, n: Int = 0) -> String {
    #"{"id":"\#(id)","title":"\#(title)","done":\#(done),"n":\#(n)}"#
  }

  private func entry(_ id: String, _ seq: Int, _ title: String, done: Bool = false, n: Int = 0) -> String {
    "todos \(id) \(seq) \(row(id, title, done: done, n: n))"
  }

  @Test func anEmptyBucketClosesAtZero() throws {
    let fixture = try PullFixture([("todos", todos)])
    fixture.script.page("0")
    #expect(fixture.pullAll() == "-")
    #expect(fixture.rows("todos") == "[]")
    #expect(fixture.cursor == "0")
  }

  @Test func aPageWithMoreToComeShowsNothingAndTheLastOneShowsAll() throws {
    let fixture = try PullFixture([("todos", todos)])
    fixture.script.page("0:2", more: true, entry("a", 1, "A"), entry("b", 2, "B"))
    fixture.script.page("3", entry("c", 3, "C"))
    #expect(fixture.pull() == "-")
    #expect(fixture.rows("todos") == "[]")
    #expect(fixture.cursor == "0")
    #expect(fixture.pull() == "-")
    #expect(fixture.keys("todos") == "a,b,c")
    #expect(fixture.cursor == "3")
    #expect(fixture.script.cursors == ["0", "0:2"])
    #expect(fixture.leftovers == [])
  }

  @Test func aRemovalOnAnEarlierPageShowsWhenTheSequenceCloses() throws {
    let fixture = try PullFixture([("todos", todos)])
    fixture.script.page("1", entry("old", 1, "O"))
    fixture.script.page("1:3", more: true, entry("c", 3, "C"), "todos old 2")
    fixture.script.page("4", entry("d", 4, "D"))
    fixture.pullAll()
    fixture.pull()
    #expect(fixture.keys("todos") == "old")
    #expect(fixture.cursor == "1")
    fixture.pull()
    #expect(fixture.keys("todos") == "c,d")
    #expect(fixture.cursor == "4")
  }

  @Test func emptyPagesWithMoreToComeEndOnceTheSequenceCloses() throws {
    let fixture = try PullFixture([("todos", todos)])
    fixture.script.page("0:2", more: true)
    fixture.script.page("0:4", more: true)
    fixture.script.page("9", entry("a", 7, "A"))
    #expect(fixture.pullAll() == "-")
    #expect(fixture.keys("todos") == "a")
    #expect(fixture.cursor == "9")
  }

  @Test func cursorBytesTravelAsTheyCame() throws {
    let fixture = try PullFixture([("todos", todos)])
    fixture.script.page("0:31~12.30", more: true)
    fixture.script.page("00900719925474099301~5")
    fixture.pullAll()
    fixture.pull()
    #expect(fixture.script.cursors == ["0", "0:31~12.30", "00900719925474099301~5"])
  }

  @Test func anEmptyClosingPageMovesTheCursor() throws {
    let fixture = try PullFixture([("todos", todos)])
    fixture.script.page("7")
    fixture.pull()
    #expect(fixture.cursor == "7")
  }

  @Test func bigintKeysKeepTheirOrderAndTheirText() throws {
    let table = EngineFixture.table(["id": "bigint", "title": "text"])
    let fixture = try PullFixture([("notes", table)])
    fixture.script.page(
      "3", #"notes 7 1 {"id":7,"title":"x"}"#, #"notes 10 2 {"id":10,"title":"y"}"#,
      #"notes 9 3 {"id":9007199254740993,"title":"z"}"#.replacingNine)
    fixture.pull()
    #expect(fixture.keys("notes") == "7,9,10")
  }

  @Test func aPulledRowThatIsRemovedGoes() throws {
    let fixture = try PullFixture([("todos", todos)])
    fixture.script.page("1", entry("a", 1, "A"))
    fixture.script.page("2", "todos a 2", "todos never 2")
    fixture.pull()
    fixture.pull()
    #expect(fixture.rows("todos") == "[]")
    #expect(fixture.sql("SELECT pk FROM _kizunasync_server_tombstones") == ["a"])
  }

  @Test func aRowThatComesAgainClearsItsShadow() throws {
    let fixture = try PullFixture([("todos", todos)])
    fixture.script.page("1", entry("a", 1, "A"))
    fixture.script.page("2", "todos a 2")
    fixture.script.page("2:3", more: true, entry("a", 3, "again"))
    fixture.script.page("4")
    fixture.pullAll()
    fixture.pullAll()
    fixture.pullAll()
    #expect(fixture.sql("SELECT pk FROM _kizunasync_server_tombstones") == [])
    #expect(fixture.keys("todos") == "a")
  }

  @Test func aRowReplacesTheWholeColumnMap() throws {
    let fixture = try PullFixture([("todos", todos)])
    fixture.script.page("1", entry("a", 1, "A", done: true, n: 3))
    fixture.script.page("2", #"todos a 2 {"id":"a","title":"B"}"#)
    fixture.script.page("2:3", more: true, #"todos a 3 {"id":"a","n":5,"unknown":{"x":1}}"#)
    fixture.script.page("4")
    fixture.pull()
    fixture.pull()
    #expect(fixture.rows("todos") == #"[{"id":"a","title":"B","done":null,"n":null}]"#)
    fixture.pullAll()
    #expect(fixture.rows("todos") == #"[{"id":"a","title":null,"done":null,"n":5}]"#)
  }

  @Test(arguments: [true, false])
  func aRemovalOverAPendingUpdateStaysGoneAndTheUpdateStaysQueued(isStaged: Bool) throws {
    let fixture = try PullFixture([("todos", todos)])
    fixture.script.page("1", entry("a", 1, "A"))
    fixture.pull()
    fixture.apply(.update, "todos", "a", #"{"title":"mine"}"#)
    if isStaged { fixture.script.page("1:2", more: true) }
    fixture.script.page("3", "todos a 3")
    #expect(fixture.pullAll() == "-")
    #expect(fixture.rows("todos") == "[]")
    #expect(fixture.depth == 1)
  }

  @Test(arguments: [true, false])
  func aPendingEditStaysVisibleOverWhatThePeersChanged(isStaged: Bool) throws {
    let fixture = try PullFixture([("todos", todos)])
    fixture.script.page("2", entry("a", 1, "A"), entry("z", 2, "Z"))
    fixture.pull()
    fixture.apply(.update, "todos", "a", #"{"title":"mine"}"#)
    if isStaged { fixture.script.page("2:3", more: true, entry("a", 3, "theirs", done: true)) }
    fixture.script.page("5", entry("a", 4, "theirs", done: true, n: 7), entry("b", 5, "B"))
    #expect(fixture.pullAll() == "-")
    #expect(
      fixture.rows("todos") == "[" + row("a", "mine", done: true, n: 7) + "," + row("b", "B") + ","
        + row("z", "Z") + "]")
    #expect(fixture.depth == 1)
    #expect(fixture.cursor == "5")
  }

  @Test func aPendingIncrementCountsOnTheNewBase() throws {
    let fixture = try PullFixture([("todos", todos)])
    fixture.script.page("1", entry("a", 1, "A", n: 1))
    fixture.pull()
    fixture.apply(.update, "todos", "a", "{}", transforms: #"{"n":{"op":"increment","by":10}}"#)
    fixture.script.page("1:2", more: true, entry("a", 2, "A", n: 5))
    fixture.script.page("2")
    fixture.pullAll()
    #expect(fixture.rows("todos") == "[" + row("a", "A", n: 15) + "]")
  }

  @Test func writesMadeBetweenPagesStayOnTop() throws {
    let fixture = try PullFixture([("todos", todos)])
    fixture.script.page("0:2", more: true, entry("a", 1, "A"), entry("b", 2, "B"))
    fixture.script.page("3", entry("c", 3, "C"))
    fixture.pull()
    fixture.apply(.insert, "todos", "n", #"{"title":"new"}"#)
    fixture.apply(.update, "todos", "a", #"{"title":"mine"}"#)
    fixture.apply(.delete, "todos", "b")
    fixture.pull()
    #expect(
      fixture.rows("todos") == "[" + row("a", "mine") + "," + row("c", "C")
        + #",{"id":"n","title":"new","done":null,"n":null}]"#)
    #expect(fixture.depth == 3)
  }

  @Test func theHigherNumberOfAKeyWinsAcrossPages() throws {
    let fixture = try PullFixture([("todos", todos)])
    fixture.script.page(
      "0:9", more: true, entry("a", 8, "late"), entry("b", 9, "late"), entry("c", 10, "old"))
    fixture.script.page("0:9", more: true, entry("a", 7, "early"), "todos b 3", entry("c", 100, "late"))
    fixture.script.page("12", "todos c 11", entry("d", 12, "D"))
    #expect(fixture.pullAll() == "-")
    #expect(
      fixture.rows("todos") == "[" + row("a", "late") + "," + row("b", "late") + "," + row("c", "late") + ","
        + row("d", "D") + "]")
  }

  @Test func aRowThatIsRemovedOnALaterPageIsNeverSeen() throws {
    let fixture = try PullFixture([("todos", todos)])
    fixture.script.page("0:1", more: true, entry("a", 1, "A"))
    fixture.script.page("0:3", more: true, "todos a 2", entry("b", 3, "B"))
    fixture.script.page("4", "todos b 4", entry("a", 5, "back"))
    fixture.pullAll()
    #expect(fixture.keys("todos") == "a")
  }

  @Test func compositeKeysTravelAsArrays() throws {
    let table = EngineFixture.table(["a": "integer", "b": "text", "v": "text"], key: ["a", "b"])
    let fixture = try PullFixture([("pairs", table)])
    fixture.script.then(
      #"{"rows":[{"table":"pairs","pk":"[\"1\", \"12\"]","seq":"1","row":{"a":1,"b":"12","v":"x"}}],"#
        + #""cursor":"1","has_more":false,"signal":null,"tombstones":[]}"#)
    fixture.pull()
    fixture.script.then(
      #"{"tombstones":[{"table":"pairs","pk":"[\"1\", \"12\"]","seq":"2","deleted_at":""}],"#
        + #""cursor":"2","has_more":false,"signal":null,"rows":[]}"#)
    #expect(fixture.rows("pairs") == #"[{"a":1,"b":"12","v":"x"}]"#)
    fixture.pull()
    #expect(fixture.rows("pairs") == "[]")
  }

  @Test func anUnchangedRowIsNotWrittenAgain() throws {
    let fixture = try PullFixture([("todos", todos)])
    fixture.script.page("1", entry("a", 1, "A"))
    fixture.pull()
    let before = fixture.sql("SELECT total_changes()")
    fixture.script.page("1", entry("a", 1, "A"))
    fixture.pull()
    #expect(fixture.sql("SELECT total_changes()") == before)
  }
}

extension String {
  fileprivate var replacingNine: String { split(separator: "9007199254740993").joined(separator: "9") }
}
