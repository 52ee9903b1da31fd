"""Two writers of one column: by arrival, by hybrid logical clock, and what is told of the loser."""

from __future__ import annotations

import itertools

import pytest

from support import (BEN, CORA, Json, World, applied, delete, entry, insert, keys, plus, rejected, task,
                     until, update,
                     verdicts)

FLAVOURS = pytest.mark.parametrize("world", ["plain", "supabase"], indirect=True)


def stamp(day: int, counter: int = 0, node: str = "a") -> str:
    return f"2026-01-{day:02}T00:00:00.000Z|{counter}|{node}"


def server_stamp(world: World, shift: str = "0", node: str = "a") -> str:
    """A stamp at the server's clock, moved by an interval."""
    at = world.one("select to_char((clock_timestamp() + %s::interval) at time zone 'UTC',"
                   " 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')", (shift,))
    return f"{at}|0|{node}"


@pytest.fixture
def clocked(world: World) -> World:
    world.tasks(conflict_mode="hlc")
    world.put("tasks", id=1, title="first", likes=0)
    return world


# ---- arrival


def test_s_74_a_peers_row_beside_a_pending_edit(world: World):
    world.tasks()
    world.put("tasks", id=1)
    anna = world.caller()
    cursor = anna.pull(entry("tasks"))["cursor"]
    world.caller(BEN).push(insert("tasks", "2"))
    page = anna.pull(entry("tasks"), cursor=cursor)
    assert keys(page) == ["2"] and page["cursor"] == "2"


def test_s_75_a_pending_title_merges_with_a_peers_done(world: World):
    world.tasks()
    world.put("tasks", id=1)
    world.caller(BEN).push(update("tasks", "1", {"done": True}))
    sent = update("tasks", "1", {"title": "mine"})
    assert world.caller().push(sent) == verdicts(applied(sent))
    assert world.row("tasks", 1) == task(1, title="mine", done=True)


@FLAVOURS
def test_s_76_disjoint_columns_merge_and_the_later_of_one_column_stays(world: World):
    world.tasks()
    world.put("tasks", id=1)
    anna, ben = world.caller(), world.caller(BEN)
    steps = ((anna, {"title": "anna"}), (ben, {"likes": 2}), (ben, {"title": "ben"}))
    for caller, columns in steps:
        sent = update("tasks", "1", columns)
        assert caller.push(sent) == verdicts(applied(sent))
    page = anna.pull(entry("tasks"))
    assert page["rows"][0]["row"] == task(1, title="ben", likes=2) and "conflicts" not in page


def test_in_arrival_a_stamp_is_ignored(world: World):
    world.tasks()
    world.put("tasks", id=1)
    for day, title in ((9, "a"), (1, "b")):
        sent = update("tasks", "1", {"title": title}, hlc=stamp(day))
        assert world.caller().push(sent) == verdicts(applied(sent))
    assert world.row("tasks", 1)["title"] == "b" and world.count("hlc_state") == 0


# ---- the overwrite journal


@FLAVOURS
def test_s_77_an_overwritten_value_is_told_on_the_page_of_its_winner(world: World):
    world.tasks(conflict_journal=True)
    world.put("tasks", id=1, title="first")
    anna, ben = world.caller(), world.caller(BEN)
    cursor = ben.pull(entry("tasks"))["cursor"]
    ben.push(update("tasks", "1", {"title": "ben's"}))
    won = update("tasks", "1", {"title": "anna's"})
    anna.push(won)
    expected = [{"table": "tasks", "pk": "1", "column_name": "title", "loser_value": "ben's",
                 "winner_mutation_id": won["mutation_id"], "winner_seq": "3", "conflict_mode": "arrival"}]
    for caller in (anna, ben):
        page = caller.pull(entry("tasks"), cursor=cursor)
        assert [each | {"winner_seq": str(each["winner_seq"])} for each in page["conflicts"]] == expected
    assert "conflicts" not in ben.pull(entry("tasks"), cursor="3")


def test_a_winner_overtaken_before_the_pull_is_not_told(world: World):
    world.tasks(conflict_journal=True)
    world.put("tasks", id=1, title="first")
    world.caller().push(update("tasks", "1", {"title": "second"}))
    world.sql("update tasks set likes = 1")
    assert "conflicts" not in world.caller(BEN).pull(entry("tasks"))


def test_what_is_journaled(world: World):
    world.table("tasks", "id bigint primary key, title text, n numeric, likes integer, at timestamptz, tags"
                " text[]",
                conflict_journal=True)
    world.sql("insert into tasks values (1, null, 4.50, 1, '2026-01-01T10:00Z', '{a}')")
    anna = world.caller()

    def journaled(*mutations: dict) -> list[tuple]:
        world.sql("delete from kizunasync.overwrites")
        anna.push(*mutations)
        page = anna.pull(entry("tasks"))
        return sorted((each["column_name"], str(each["loser_value"])) for each in page.get("conflicts", []))

    assert journaled(insert("tasks", "2", {"title": "x"})) == []
    assert journaled(update("tasks", "1", {"title": "over null"})) == []
    assert journaled(update("tasks", "1", {"n": "4.5", "at": "2026-01-01T12:00:00+02:00", "title": "x"})) == [
        ("title", "over null")]
    assert journaled(update("tasks", "1", {"title": "x", "likes": 2})) == [("likes", "1")]
    assert journaled(update("tasks", "1", transforms={"likes": plus(1)})) == []
    assert journaled(update("tasks", "1", {"title": "y", "tags": ["b"]}, transforms={"likes": plus(1)})) == [
        ("tags", "['a']"), ("title", "x")]
    assert journaled(insert("tasks", "1", {"title": "z", "id": 1})) == [("title", "y")]
    assert journaled(update("tasks", "1", {"title": "no"}, precondition={"likes": 99})) == []
    assert journaled(update("tasks", "1", {"likes": None})) == [("likes", "4")]
    world.sql("update tasks set title = 'direct'")
    assert journaled(delete("tasks", "2")) == []


def test_a_journaled_value_of_an_unreadable_column_is_not_told(world: World):
    world.tasks(conflict_journal=True, grants="select (id, title), insert, update, delete")
    world.put("tasks", id=1, title="a", likes=1)
    anna = world.caller()
    anna.push(update("tasks", "1", {"title": "b", "likes": 2}))
    assert [each["column_name"] for each in anna.pull(entry("tasks"))["conflicts"]] == ["title"]


def test_a_conflict_goes_with_the_page_that_carries_its_row(world: World):
    world.tasks(conflict_journal=True)
    for number in (1, 2, 3):
        world.put("tasks", id=number, title="old")
    world.caller().push(*(update("tasks", str(number), {"title": "new"}) for number in (1, 2, 3)))
    pages = list(world.caller(BEN).pages(entry("tasks"), limit=1))
    assert [[each["pk"] for each in page["conflicts"]] for page in pages] == [["1"], ["2"], ["3"]]


# ---- hybrid logical clocks


@FLAVOURS
def test_s_78_an_older_stamp_is_superseded_and_columns_are_judged_alone(world: World):
    world.tasks(conflict_mode="hlc")
    world.put("tasks", id=1, title="first", likes=0)
    anna, ben = world.caller(), world.caller(BEN)
    won = update("tasks", "1", {"title": "anna"}, hlc=stamp(5))
    assert anna.push(won) == verdicts(applied(won))
    lost = update("tasks", "1", {"title": "ben"}, hlc=stamp(4))
    assert ben.push(lost) == verdicts(rejected(lost, "SUPERSEDED", task(1, title="anna", likes=0)))
    mixed = update("tasks", "1", {"title": "ben", "likes": 7}, hlc=stamp(4))
    assert ben.push(mixed) == verdicts(applied(mixed))
    assert world.row("tasks", 1) == task(1, title="anna", likes=7)


@pytest.mark.parametrize("stored, tried, wins", [
    (stamp(5), stamp(5), False), (stamp(5), stamp(6), True), (stamp(5, 9), stamp(5, 10), True),
    (stamp(5, 10), stamp(5, 9), False), (stamp(5, 10), stamp(6, 0), True),
    (stamp(5, 0, "a"), stamp(5, 0, "b"), True),
    (stamp(5, 0, "a"), stamp(5, 0, "B"), False), (stamp(5, 0, "z"), stamp(5, 0, "é"), True),
    (stamp(5, 0, "a"), stamp(5, 0, "a-"), True), (stamp(5, 0, "a10"), stamp(5, 0, "a9"), True),
    (stamp(5, 0, "\uffee"), stamp(5, 0, "\U0001f600"), True), (stamp(5, 2, "z"), stamp(5, 3, "a"), True),
    (stamp(5, 0, "a b"), stamp(5, 0, "a_"), True), (stamp(5, 3000000000), stamp(5, 3000000001), True),
    ("2026-01-05T00:00:00.001Z|0|a", "2026-01-05T00:00:00.002Z|0|a", True),
    ("2026-01-05T00:00:00.002Z|5|a", "2026-01-05T00:00:00.001Z|9|z", False),
])
def test_s_79_only_a_strictly_greater_stamp_wins(clocked: World, stored: str, tried: str, wins: bool):
    first, second = update("tasks", "1", {"title": "x"},
                           hlc=stored), update("tasks", "1", {"title": "y"}, hlc=tried)
    assert clocked.caller().push(first) == verdicts(applied(first))
    expected = applied(second) if wins else rejected(second, "SUPERSEDED", task(1, title="x", likes=0))
    assert clocked.caller(BEN).push(second) == verdicts(expected)


def test_s_79_a_stamp_of_the_future_is_clamped(clocked: World):
    clocked.set(hlc_max_skew_ms=0)
    anna, ben = clocked.caller(), clocked.caller(BEN)
    anna.push(update("tasks", "1", {"title": "far"}, hlc=server_stamp(clocked, "1 hour")))
    after = server_stamp(clocked)
    until(lambda: server_stamp(clocked) > after)
    sent = update("tasks", "1", {"title": "now"}, hlc=server_stamp(clocked))
    assert ben.push(sent) == verdicts(applied(sent))


def test_a_stamp_within_the_skew_is_kept(clocked: World):
    clocked.set(hlc_max_skew_ms=600_000)
    anna, ben = clocked.caller(), clocked.caller(BEN)
    anna.push(update("tasks", "1", {"title": "ahead"}, hlc=server_stamp(clocked, "5 minutes")))
    lost = update("tasks", "1", {"title": "now"}, hlc=server_stamp(clocked, "4 minutes"))
    assert ben.push(lost)["verdicts"][0]["reason"] == "SUPERSEDED"
    won = update("tasks", "1", {"title": "later"}, hlc=server_stamp(clocked, "6 minutes"))
    assert ben.push(won) == verdicts(applied(won))


def test_a_clamped_stamp_keeps_its_counter_and_node(clocked: World):
    clocked.set(hlc_max_skew_ms=0)
    sent = update("tasks", "1", {"title": "far"},
                  hlc=server_stamp(clocked, "1 hour").replace("|0|a", "|41|far-node"))
    clocked.caller().push(sent)
    kept = clocked.one("select h::text from kizunasync.hlc_state h")
    assert "41" in kept and "far-node" in kept


@FLAVOURS
def test_s_80_lost_assigns_beside_an_increment(world: World):
    world.tasks(conflict_mode="hlc")
    world.put("tasks", id=1, title="first", likes=0)
    anna, ben = world.caller(), world.caller(BEN)
    anna.push(update("tasks", "1", {"title": "anna"}, hlc=stamp(5)))
    sent = update("tasks", "1", {"title": "ben"}, transforms={"likes": plus(1)}, hlc=stamp(4))
    assert ben.push(sent) == verdicts(applied(sent, task(1, title="anna", likes=1)))


def test_transforms_are_never_compared(clocked: World):
    anna = clocked.caller()
    anna.push(update("tasks", "1", {"likes": 5}, hlc=stamp(9)))
    sent = update("tasks", "1", transforms={"likes": plus(1)}, hlc=stamp(1))
    assert anna.push(sent) == verdicts(applied(sent, task(1, title="first", likes=6)))
    assign = update("tasks", "1", {"likes": 2}, hlc=stamp(10))
    assert anna.push(assign) == verdicts(applied(assign))


def test_deletes_carry_a_stamp_that_is_not_compared_and_drop_the_stored_ones(clocked: World):
    anna = clocked.caller()
    anna.push(update("tasks", "1", {"title": "x"}, hlc=stamp(9)))
    sent = delete("tasks", "1", hlc=stamp(1))
    assert anna.push(sent) == verdicts(applied(sent))
    assert clocked.count("hlc_state") == 0
    clocked.put("tasks", id=1)
    again = update("tasks", "1", {"title": "y"}, hlc=stamp(2))
    assert anna.push(again) == verdicts(applied(again))


def test_direct_sql_stores_no_stamp_and_drops_none(clocked: World):
    anna = clocked.caller()
    anna.push(update("tasks", "1", {"title": "x"}, hlc=stamp(5)))
    clocked.sql("update tasks set title = 'direct', likes = 3")
    lost = update("tasks", "1", {"title": "y"}, hlc=stamp(4))
    assert anna.push(lost) == verdicts(rejected(lost, "SUPERSEDED", task(1, title="direct", likes=3)))
    won = update("tasks", "1", {"likes": 9}, hlc=stamp(1))
    assert anna.push(won) == verdicts(applied(won))


def test_an_insert_stamps_its_columns_and_over_a_row_acts_as_a_write(clocked: World):
    anna = clocked.caller()
    made = insert("tasks", "2", {"title": "x", "likes": 1}, hlc=stamp(5))
    assert anna.push(made) == verdicts(applied(made))
    lost = insert("tasks", "2", {"title": "y"}, hlc=stamp(4))
    assert anna.push(lost) == verdicts(rejected(lost, "SUPERSEDED", task(2, title="x", likes=1)))
    mixed = insert("tasks", "2", {"title": "y", "done": True}, hlc=stamp(4))
    assert anna.push(mixed) == verdicts(applied(mixed))
    assert clocked.row("tasks", 2) == task(2, title="x", likes=1, done=True)


def test_a_rejected_write_stores_no_stamp(clocked: World):
    anna = clocked.caller()
    bad = update("tasks", "1", {"title": "x", "likes": "many"}, hlc=stamp(9))
    assert anna.push(bad)["verdicts"][0]["reason"] == "CONSTRAINT"
    stale = update("tasks", "1", {"title": "x"}, precondition={"title": "no"}, hlc=stamp(9))
    assert anna.push(stale)["verdicts"][0]["reason"] == "PRECONDITION"
    good = update("tasks", "1", {"title": "y", "likes": 1}, hlc=stamp(2))
    assert anna.push(good) == verdicts(applied(good))


def test_a_row_out_of_reach_is_refused_before_stamps_are_read(world: World):
    world.tasks(conflict_mode="hlc", policy="owner is null", check="true")
    world.put("tasks", id=1)
    anna = world.caller()
    anna.push(update("tasks", "1", {"title": "x"}, hlc=stamp(5)))
    world.sql("update tasks set owner = %s", (BEN,))
    for sent in (update("tasks", "1", {"title": "y"}, hlc=stamp(4)),
                 insert("tasks", "1", {"title": "y"}, hlc=stamp(4)),
                 insert("tasks", "1", {"title": "y"}, hlc=stamp(9))):
        assert anna.push(sent) == verdicts(rejected(sent, "RLS_DENIED", None))


def test_a_losing_column_is_neither_written_nor_journaled(world: World):
    world.tasks(conflict_mode="hlc", conflict_journal=True)
    world.put("tasks", id=1, title="a", likes=1)
    anna = world.caller()
    first = update("tasks", "1", {"title": "b"}, hlc=stamp(5))
    mixed = update("tasks", "1", {"title": "c", "likes": 2}, hlc=stamp(4))
    anna.push(first, mixed)
    told = anna.pull(entry("tasks"))["conflicts"]
    assert [(each["column_name"], each["loser_value"], each["conflict_mode"])
            for each in told] == [("likes", 1, "hlc")]


@pytest.mark.parametrize("hlc", [
    None, "", "x", "2026-01-05T00:00:00Z|0|a", "2026-01-05T00:00:00.000|0|a", "2026-01-05T00:00:00.000Z|0|",
    "2026-01-05T00:00:00.000Z|-1|a", "2026-01-05T00:00:00.000Z|x|a", "2026-01-05T00:00:00.000Z|0",
    "2026-01-05 00:00:00.000Z|0|a", "2026-01-05T00:00:00.000000Z|0|a", "2026-01-05T00:00:00.000+00:00|0|a",
    "2026-13-05T00:00:00.000Z|0|a", 5, {"at": 1}], ids=str)
def test_a_malformed_stamp_refuses_the_whole_call(clocked: World, hlc: Json):
    for sent in (update("tasks", "1", {"title": "x"}, hlc=hlc), delete("tasks", "1", hlc=hlc)):
        assert clocked.caller().push_code(insert("tasks", "2", hlc=stamp(1)), sent).startswith("22")
    assert clocked.row("tasks", 2) is None


@pytest.mark.parametrize("op", ["insert", "update", "delete"])
def test_a_missing_stamp_refuses_the_whole_call(clocked: World, op: str):
    sent = {"insert": insert, "update": update, "delete": delete}[op]("tasks", "1")
    assert clocked.caller().push_code(sent) == "22023"


def test_i_35_the_outcome_does_not_depend_on_the_order_of_arrival(clocked: World):
    writes = [({"title": "a", "likes": 1}, stamp(3)), ({"title": "b"}, stamp(5)),
              ({"likes": 2, "done": True}, stamp(4)),
              ({"done": False, "title": "c"}, stamp(3, 1))]
    anna, ben, outcomes = clocked.caller(BEN), clocked.caller(CORA), set()
    for number, order in enumerate(itertools.permutations(writes), 100):
        clocked.put("tasks", id=number)
        for index, (columns, hlc) in enumerate(order):
            (anna, ben)[index % 2].push(update("tasks", str(number), columns, hlc=hlc))
        row = clocked.row("tasks", number)
        outcomes.add((row["title"], row["likes"], row["done"]))
    assert outcomes == {("b", 2, True)}
