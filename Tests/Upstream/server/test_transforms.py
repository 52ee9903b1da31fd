"""Transforms run at the arbiter on the value that stands there."""

from __future__ import annotations

import pytest

from support import (BEN, World, applied, delete, entry, insert, plus, rejected, remove, task, union, update,
                     verdicts)

FLAVOURS = pytest.mark.parametrize("world", ["plain", "supabase"], indirect=True)


@FLAVOURS
def test_s_33_an_increment_adds_to_what_a_peer_left(world: World):
    world.tasks()
    world.put("tasks", id=1, likes=0)
    world.caller(BEN).push(update("tasks", "1", {"likes": 1}))
    sent = update("tasks", "1", transforms={"likes": plus(1)})
    assert world.caller().push(sent) == verdicts(applied(sent, task(1, likes=2)))


def test_s_34_a_later_assign_overwrites_and_a_later_increment_adds(world: World):
    world.tasks()
    world.put("tasks", id=1, likes=0)
    anna, ben = world.caller(), world.caller(BEN)
    anna.push(update("tasks", "1", transforms={"likes": plus(1)}))
    ben.push(update("tasks", "1", {"likes": 99}))
    assert world.row("tasks", 1)["likes"] == 99
    anna.push(update("tasks", "1", {"likes": 5}), update("tasks", "1", transforms={"likes": plus(1)}))
    assert world.row("tasks", 1)["likes"] == 6


def test_s_35_an_increment_of_text_refuses_the_assigns_beside_it(world: World):
    world.tasks()
    world.put("tasks", id=1, title="text", likes=1)
    sent = update("tasks", "1", {"likes": 7}, transforms={"title": plus(1)})
    assert world.caller().push(sent) == verdicts(rejected(sent, "CONSTRAINT", task(1, title="text", likes=1)))
    assert world.row("tasks", 1) == task(1, title="text", likes=1)


def test_s_35_in_hlc_a_refused_transform_leaves_no_stamp(world: World):
    world.tasks(conflict_mode="hlc")
    world.put("tasks", id=1, title="text", likes=1)
    anna = world.caller()
    later, earlier = "2026-01-02T00:00:00.000Z|0|a", "2026-01-01T00:00:00.000Z|0|a"
    bad = update("tasks", "1", {"likes": 7}, transforms={"title": plus(1)}, hlc=later)
    assert anna.push(bad)["verdicts"][0]["reason"] == "CONSTRAINT"
    good = update("tasks", "1", {"likes": 3}, hlc=earlier)
    assert anna.push(good) == verdicts(applied(good))
    assert world.row("tasks", 1)["likes"] == 3


def test_s_36_an_increment_of_a_removed_row_loses_to_the_removal(world: World):
    world.tasks()
    world.put("tasks", id=1, likes=1)
    anna = world.caller()
    anna.pull(entry("tasks"))
    world.caller(BEN).pull(entry("tasks"))
    world.caller(BEN).push(delete("tasks", "1"))
    sent = update("tasks", "1", transforms={"likes": plus(1)})
    assert anna.push(sent) == verdicts(rejected(sent, "DELETE_WINS", None))


def test_s_37_precondition_assign_and_increment_in_one_verdict(world: World):
    world.tasks()
    world.put("tasks", id=1, title="1", likes=4)
    sent = update("tasks", "1", {"title": "2"}, precondition={"title": "1"}, transforms={"likes": plus(1)})
    assert world.caller().push(sent) == verdicts(applied(sent, task(1, title="2", likes=5)))
    again = update("tasks", "1", {"title": "3"}, precondition={"title": "1"}, transforms={"likes": plus(1)})
    assert world.caller().push(again) == verdicts(rejected(again, "PRECONDITION",
                                                           task(1, title="2", likes=5)))


@FLAVOURS
def test_s_38_unions_of_two_devices_keep_both_then_remove_then_assign(world: World):
    world.tasks()
    world.put("tasks", id=1, tags=["s"])
    anna, ben = world.caller(), world.caller(BEN)
    steps = ((anna, union("b", "a"), ["s", "b", "a"]), (ben, union("c", "a", "c"), ["s", "b", "a", "c"]),
             (anna, remove("a", "z"), ["s", "b", "c"]))
    for caller, transform, expected in steps:
        sent = update("tasks", "1", transforms={"tags": transform})
        assert caller.push(sent) == verdicts(applied(sent, task(1, tags=expected)))
    ben.push(update("tasks", "1", {"tags": ["only"]}))
    assert world.row("tasks", 1)["tags"] == ["only"]


@FLAVOURS
def test_s_39_increments_are_exact_and_start_from_nothing(world: World):
    world.table("counts", "id bigint primary key, big bigint, small smallint, n integer")
    world.sql("insert into counts values (1, 1, 1, 1), (2, null, null, null)")
    anna = world.caller()
    sent = update("counts", "1", transforms={"big": plus("9007199254740993")})
    assert anna.push(sent) == verdicts(applied(sent, {"id": 1, "big": 9007199254740994, "small": 1, "n": 1}))
    nulls = update("counts", "2", transforms={"big": plus(1), "small": plus(-2), "n": plus("3")})
    assert anna.push(nulls) == verdicts(applied(nulls, {"id": 2, "big": 1, "small": -2, "n": 3}))
    for column, by in (("n", 2147483647), ("small", 40000), ("big", "9223372036854775807")):
        over = update("counts", "1", transforms={column: plus(by)})
        assert anna.push(over)["verdicts"][0]["reason"] == "CONSTRAINT", column


def test_a_transform_on_a_column_of_the_wrong_type_is_a_broken_constraint(world: World):
    world.table("kinds", "id bigint primary key, t text, b boolean, u uuid, j jsonb, n integer, a integer[],"
                " at timestamptz,"
                         " tags text[]")
    world.sql("insert into kinds (id, n, tags) values (1, 1, '{x}')")
    cases = [(column, plus(1)) for column in ("t", "b", "u", "j", "a", "at", "tags")]
    cases += [(column, make("1")) for column in ("t", "b", "j", "n", "a") for make in (union, remove)]
    for column, transform in cases:
        sent = update("kinds", "1", transforms={column: transform})
        assert world.caller().push(sent)["verdicts"][0]["reason"] == "CONSTRAINT", (column, transform)
    assert world.row("kinds", 1)["n"] == 1 and world.row("kinds", 1)["tags"] == ["x"]


@pytest.mark.parametrize("before, transform, after", [
    (None, union("a", "b", "a"), ["a", "b"]),
    (None, remove("a"), []),
    (["a", "b", "a", "c", "a"], remove("a"), ["b", "c"]),
    (["a", "a"], union("b", "a"), ["a", "a", "b"]),
    ([], union("é", "", "a,b", '"', "NULL"), ["é", "", "a,b", '"', "NULL"]),
    (["a"], remove("a"), []),
    (["a", None, "b"], remove("a"), [None, "b"]),
    (["b"], union("a"), ["b", "a"]),
], ids=str)
def test_sets_keep_their_order(world: World, before: list, transform: dict, after: list):
    world.tasks()
    world.put("tasks", id=1, tags=before)
    sent = update("tasks", "1", transforms={"tags": transform})
    assert world.caller().push(sent) == verdicts(applied(sent, task(1, tags=after)))


def test_a_transform_answers_only_readable_columns_and_only_readable_rows(world: World):
    world.create("tasks", "id bigint primary key, likes integer, secret text, owner text", policy=None,
                 grants="select (id, likes, owner), update")
    world.sql("create policy see on tasks for select to authenticated using (owner = 'me');"
              " create policy change on tasks for update to authenticated using (true)")
    world.register("tasks")
    world.sql("insert into tasks values (1, 1, 'hush', 'me'), (2, 1, 'hush', 'you')")
    seen, hidden = (update("tasks", pk, transforms={"likes": plus(1)}) for pk in "12")
    assert world.caller().push(seen, hidden) == verdicts(
        applied(seen, {"id": 1, "likes": 2, "owner": "me"}), rejected(hidden, "RLS_DENIED", None))


def test_a_transform_on_an_absent_row_is_refused(world: World):
    world.tasks()
    sent = update("tasks", "1", transforms={"likes": plus(1)})
    assert world.caller().push(sent) == verdicts(rejected(sent, "RLS_DENIED", None))


def test_two_transforms_of_one_column_in_a_push_add_up(world: World):
    world.tasks()
    made = insert("tasks", "1")
    adds = [update("tasks", "1", transforms={"likes": plus(by)}) for by in (2, -5, "7")]
    assert world.caller().push(made, *adds) == verdicts(
        applied(made), *(applied(sent, task(1, likes=total)) for sent, total in zip(adds, (2, -3, 4))))
