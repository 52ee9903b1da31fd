"""Batches that stand or fall as one, and transforms."""

from __future__ import annotations

import pytest

from support import ANA, World, key, kinds, mutation


def update(number: int, columns: dict | None = None, **more) -> dict:
    return {"table": "todos", "pk": key(number), "op": "update", "columns": columns or {}, **more}


def plus(by: int | str = 1) -> dict:
    return {"op": "increment", "by": by}


def test_s_29_a_refused_member_aborts_its_batch(world: World):
    world.todo(2, title="y", note="server")
    ana = world.device("ana", "todos")
    ana.sync()
    world.change("todos", key(2), note="newer")
    ana.batch({"table": "todos", "pk": key(1), "op": "insert", "columns": {"title": "x"}},
              update(2, {"title": "why"}, precondition={"note": "server"}))
    assert ana.keys("todos") == [key(1), key(2)]
    ana.push()
    [call] = ana.calls("push")
    offender = call.body["batch"]["mutations"][1]["mutation_id"]
    assert call.body["batch"]["atomic"] is True
    aborted = ana.answers()[0]["batch"]
    assert (aborted["outcome"], aborted["offender_mutation_id"], aborted["reason"]) == (
        "aborted", offender, "PRECONDITION")
    assert world.row("todos", key(1)) is None and ana.keys("todos") == [key(2)]
    assert (ana.row("todos", key(2))["title"], ana.row("todos", key(2))["note"]) == ("y", "newer")
    [entry] = ana.rejections()
    assert (entry["mutation_id"], entry["kind"]) == (offender, "BATCH_ABORTED")
    assert entry["reason"] == "PRECONDITION"
    names = [name for name, _ in ana.events_until("MUTATION_REJECTED")]
    assert names[-2:] == ["BATCH_ABORTED", "MUTATION_REJECTED"] and names.count("BATCH_ABORTED") == 1
    assert ana.depth() == 0


def test_s_30_effects_of_an_aborted_sibling_do_not_stay(world: World):
    world.todo(1, n=0, title="text")
    ana = world.device("ana", "todos")
    ana.sync()
    ana.batch(update(1, transforms={"n": plus()}), update(1, transforms={"title": plus()}))
    assert ana.row("todos", key(1))["n"] == 1
    ana.push()
    aborted = ana.answers()[0]["batch"]
    assert aborted["reason"] == "CONSTRAINT" and aborted["server_row"]["n"] == 1
    assert ana.row("todos", key(1))["n"] == 0 == world.row("todos", key(1))["n"]
    ana.pull()
    assert (ana.pages()[-1]["rows"], ana.pages()[-1]["tombstones"]) == ([], [])
    assert ana.row("todos", key(1))["n"] == 0


def test_s_31_a_batch_whose_reply_was_lost_takes_effect_once(world: World):
    world.todo(2, n=1)
    ana = world.device("ana", "todos")
    ana.sync()
    ana.batch({"table": "todos", "pk": key(1), "op": "insert", "columns": {"title": "x"}},
              update(2, transforms={"n": plus()}))
    world.lose_reply()
    ana.push(expect="REMOTE")
    assert ana.depth() == 2
    ana.push()
    first, second = ana.calls("push")
    assert first.body == second.body
    assert [kinds(each) for each in ana.answers()] == [["applied", "applied"]]
    assert world.row("todos", key(2))["n"] == 2 == ana.row("todos", key(2))["n"]
    ana.sync()
    assert ana.row("todos", key(2))["n"] == 2 and ana.keys("todos") == [key(1), key(2)]


def test_s_32_an_aborted_batch_may_be_resent(world: World):
    world.todo(2, note="in the way")
    batch = [mutation("todos", key(1), "insert", {"title": "x", "user_id": ANA}),
             mutation("todos", key(2), "update", {"title": "y"}, precondition={"note": "free"})]
    assert world.push("ana", *batch, atomic=True)["batch"]["reason"] == "PRECONDITION"
    assert world.row("todos", key(1)) is None
    world.change("todos", key(2), note="free")
    assert kinds(world.push("ana", *batch, atomic=True)) == ["applied", "applied"]
    assert world.row("todos", key(1)) is not None


def test_s_33_an_increment_counts_on_what_the_server_has(world: World):
    world.todo(1, n=0)
    ana = world.device("ana", "todos")
    ana.sync()
    world.change("todos", key(1), n=1)
    ana.apply("todos", key(1), "update", transforms={"n": plus()})
    assert ana.row("todos", key(1))["n"] == 1
    ana.push()
    [verdict] = ana.answers()[0]["verdicts"]
    assert verdict["verdict"] == "applied" and verdict["server_row"]["n"] == 2
    assert ana.row("todos", key(1))["n"] == 2


def test_s_34_an_assignment_overwrites_what_was_counted_before_it(world: World):
    world.todo(1, n=0)
    world.todo(2, n=0)
    ana = world.device("ana", "todos")
    ana.sync()
    ana.apply("todos", key(1), "update", transforms={"n": plus()})
    ana.sync()
    world.change("todos", key(1), n=99)
    ana.sync()
    assert ana.row("todos", key(1))["n"] == 99
    ana.update("todos", key(2), {"n": 5})
    ana.apply("todos", key(2), "update", transforms={"n": plus()})
    assert ana.row("todos", key(2))["n"] == 6
    ana.sync()
    assert ana.row("todos", key(2))["n"] == 6 == world.row("todos", key(2))["n"]


def test_s_35_a_transform_of_the_wrong_type_takes_its_assignments_along(world: World):
    world.todo(1, title="text", note="old")
    ana = world.device("ana", "todos")
    ana.sync()
    ana.apply("todos", key(1), "update", {"note": "new"}, transforms={"title": plus()})
    ana.push()
    assert kinds(ana.answers()[0]) == ["CONSTRAINT"]
    assert (world.row("todos", key(1))["note"], ana.row("todos", key(1))["note"]) == ("old", "old")
    world.join("ana", 7)
    world.add("cards", id=key(1), kitchen_id=7, title="text", body="old")
    refused = mutation("cards", key(1), "update", {"body": "new"}, transforms={"title": plus()},
                       hlc="2026-01-02T00:00:00.000Z|0|node")
    older = mutation("cards", key(1), "update", {"body": "older"}, hlc="2026-01-01T00:00:00.000Z|0|node")
    assert kinds(world.push("ana", refused)) == ["CONSTRAINT"]
    assert kinds(world.push("ana", older)) == ["applied"], "a refusal must leave no stamp"
    assert world.row("cards", key(1))["body"] == "older"


def test_s_36_an_increment_of_a_deleted_row_loses(world: World):
    world.todo(1, n=0)
    ana = world.device("ana", "todos")
    ana.sync()
    world.remove("todos", key(1))
    ana.apply("todos", key(1), "update", transforms={"n": plus()})
    ana.push()
    assert kinds(ana.answers()[0]) == ["DELETE_WINS"] and ana.rows("todos") == []


def test_s_37_an_assignment_under_a_precondition_and_an_increment_are_one_verdict(world: World):
    world.todo(1, version=1, likes=3)
    ana = world.device("ana", "todos")
    ana.sync()
    world.change("todos", key(1), likes=10)
    ana.apply("todos", key(1), "update", {"version": 2}, transforms={"likes": plus()},
              precondition={"version": 1})
    ana.push()
    [verdict] = ana.answers()[0]["verdicts"]
    assert verdict["verdict"] == "applied"
    assert (verdict["server_row"]["version"], verdict["server_row"]["likes"]) == (2, 11)
    assert (ana.row("todos", key(1))["version"], ana.row("todos", key(1))["likes"]) == (2, 11)


def test_s_38_unions_of_two_devices_keep_both(world: World):
    world.todo(1, tags=["z"])
    phone, laptop = world.device("ana", "todos"), world.device("ana", "todos")
    for device, tag in ((phone, "a"), (laptop, "b")):
        device.sync()
        device.apply("todos", key(1), "update", transforms={"tags": {"op": "arrayUnion", "values": [tag]}})
        assert device.row("todos", key(1))["tags"] == ["z", tag]
    laptop.sync()
    phone.sync()
    assert world.row("todos", key(1))["tags"] == ["z", "b", "a"] == phone.row("todos", key(1))["tags"]
    laptop.apply("todos", key(1), "update", transforms={"tags": {"op": "arrayRemove", "values": ["a", "z"]}})
    laptop.sync()
    assert world.row("todos", key(1))["tags"] == ["b"] == laptop.row("todos", key(1))["tags"]
    world.change("todos", key(1), tags=["assigned"])
    laptop.sync()
    phone.sync()
    assert laptop.row("todos", key(1))["tags"] == ["assigned"] == phone.row("todos", key(1))["tags"]


@pytest.mark.parametrize(("column", "before", "by", "after"), [
    ("big", 1, "9007199254740993", 9007199254740994), ("big", 9007199254740993, -1, 9007199254740992),
    ("n", None, 1, 1),
])
def test_s_39_increments_are_exact(world: World, column: str, before: int | None, by: int | str, after: int):
    world.todo(1, **{column: before})
    ana = world.device("ana", "todos")
    ana.sync()
    ana.apply("todos", key(1), "update", transforms={column: plus(by)})
    assert ana.row("todos", key(1))[column] == after
    ana.sync()
    assert world.row("todos", key(1))[column] == after == ana.row("todos", key(1))[column]
