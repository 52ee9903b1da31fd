"""Removed rows: who is told, what loses against a removal, and what may come back."""

from __future__ import annotations

import pytest

from support import ANA, TABLES, World, bucket, key, kinds, mutation


def gone(page: dict) -> list[str]:
    return [each["pk"] for each in page["tombstones"]]


def rows(page: dict) -> list[str]:
    return [each["pk"] for each in page["rows"]]


def test_s_54_a_deleted_row_goes_with_the_next_pull(world: World):
    world.todo(1)
    ana = world.device("ana", "todos")
    ana.sync()
    assert ana.keys("todos") == [key(1)]
    world.remove("todos", key(1))
    ana.sync()
    assert gone(ana.pages()[-1]) == [key(1)] and ana.rows("todos") == []
    assert [(each["pk"], each["origin"]) for each in ana.read("/sync/v1/tombstones")] == [(key(1), "server")]


def test_s_55_a_first_pull_brings_no_old_removals(world: World):
    world.todo(1)
    world.remove("todos", key(1))
    world.todo(2)
    ana = world.device("ana", "todos")
    ana.sync()
    assert gone(ana.pages()[0]) == [] and ana.keys("todos") == [key(2)]


def test_s_56_removals_belong_to_a_bucket_value(world: World):
    world.join("ana", 7, 8)
    world.add("recipes", slug="miso", kitchen_id=7)
    cursor = world.pull("ana", bucket("recipes", kitchen_id=7))["cursor"]
    world.remove("recipes", "miso")
    other = world.pull("ana", bucket("recipes", kitchen_id=8), cursor=cursor)
    assert (gone(other), rows(other)) == ([], []) and other["cursor"] != cursor
    assert gone(world.pull("ana", bucket("recipes", kitchen_id=7), cursor=cursor)) == ["miso"]


@pytest.mark.parametrize(("pulled", "reason"), [(True, "DELETE_WINS"), (False, "RLS_DENIED")])
def test_s_57_an_edit_of_a_deleted_row_depends_on_what_its_user_had(world: World, pulled: bool, reason: str):
    world.todo(1, title="one")
    ana = world.device("ana", "todos")
    if pulled:
        ana.pull()
    world.remove("todos", key(1))
    ana.apply("todos", key(1), "update", {"title": "two"})
    ana.push()
    [verdict] = ana.answers()[0]["verdicts"]
    assert (verdict["reason"], verdict["server_row"]) == (reason, None)
    assert ana.rows("todos") == [] and ana.rejections()[0]["reason"] == reason


@pytest.mark.parametrize("op", ["update", "insert"])
def test_s_58_nothing_follows_an_own_delete_in_one_push(world: World, op: str):
    world.todo(1, title="one")
    ana = world.device("ana", "todos")
    ana.apply("todos", key(1), "delete")
    ana.apply("todos", key(1), op, {"title": "again"})
    ana.push()
    [answer] = ana.answers()
    assert kinds(answer) == ["applied", "DELETE_WINS"]
    assert world.row("todos", key(1)) is None and ana.rows("todos") == []


def test_s_59_a_move_is_a_removal_for_those_who_stay_behind(world: World):
    world.join("ana", 7, 8)
    world.add("recipes", slug="miso", kitchen_id=7)
    ana = world.device("ana", "recipes", kitchen=7)
    ana.sync()
    both = [bucket("recipes", kitchen_id=7), bucket("recipes", kitchen_id=8)]
    cursor = world.pull("ana", *both)["cursor"]
    world.change("recipes", "miso", kitchen_id=8)
    ana.sync()
    page = ana.pages()[-1]
    assert (gone(page), rows(page)) == (["miso"], []) and ana.rows("recipes") == []
    moved = world.pull("ana", *both, cursor=cursor)
    assert (gone(moved), rows(moved)) == ([], ["miso"])
    assert int(page["tombstones"][0]["seq"]) < int(moved["rows"][0]["seq"])


def test_s_60_a_row_that_moves_there_and_back_is_kept(world: World):
    world.join("ana", 7, 8)
    world.add("recipes", slug="miso", kitchen_id=7, name="Miso")
    ana = world.device("ana", "recipes", kitchen=7)
    ana.sync()
    world.change("recipes", "miso", kitchen_id=8)
    world.change("recipes", "miso", kitchen_id=7)
    ana.sync()
    assert (gone(ana.pages()[-1]), rows(ana.pages()[-1])) == ([], ["miso"])
    assert ana.row("recipes", "miso")["name"] == "Miso"


def test_s_61_a_moved_row_is_its_new_owners_to_edit(world: World):
    world.join("ana", 7)
    world.join("ben", 8)
    world.add("recipes", slug="miso", kitchen_id=7)
    ana = world.device("ana", "recipes", kitchen=7)
    ana.sync()
    world.change("recipes", "miso", kitchen_id=8)
    ben = world.device("ben", "recipes", kitchen=8)
    ben.sync()
    ben.update("recipes", "miso", {"name": "Ben's"})
    ben.sync()
    assert kinds(ben.answers()[0]) == ["applied"] and world.row("recipes", "miso")["name"] == "Ben's"


def test_s_62_a_row_recreated_out_of_sight_still_goes(world: World):
    world.join("ana", 7)
    world.add("recipes", slug="miso", kitchen_id=7)
    ana = world.device("ana", "recipes", kitchen=7)
    ana.sync()
    world.remove("recipes", "miso")
    world.add("recipes", slug="miso", kitchen_id=9)
    ana.sync()
    assert (gone(ana.pages()[-1]), rows(ana.pages()[-1])) == (["miso"], []) and ana.rows("recipes") == []


def test_s_63_a_filtered_row_that_was_granted_is_reported_removed(world: World):
    world.join("ana", 7)
    for slug, servings in (("miso", 2), ("ramen", 4)):
        world.add("recipes", slug=slug, kitchen_id=7, servings=servings)
    narrow = bucket("recipes", kitchen_id=7, servings=2)
    page = world.pull("ana", narrow)
    assert rows(page) == ["miso"]
    world.remove("recipes", "ramen")
    assert gone(world.pull("ana", narrow, cursor=page["cursor"])) == ["ramen"]


def test_s_64_a_removal_stays_over_a_pending_update(world: World):
    world.todo(1, title="one")
    ana = world.device("ana", "todos")
    ana.pull()
    ana.update("todos", key(1), {"title": "two"})
    world.remove("todos", key(1))
    ana.pull()
    assert ana.rows("todos") == [] and ana.depth() == 1
    ana.push()
    assert kinds(ana.answers()[0]) == ["DELETE_WINS"]
    assert ana.rows("todos") == [] and ana.depth() == 0


def test_s_65_a_soft_delete_table_refuses_hard_deletes_and_stamps_filtered_ones(world: World):
    world.add("tasks", id=key(1), user_id=ANA, title="one")
    ana = world.device("ana", "tasks")
    ana.sync()
    answer = ana.call("apply", expect="SOFT_DELETE_VIOLATION", table="tasks", pk=key(1), op="delete")
    assert answer["code"] == "SOFT_DELETE_VIOLATION"
    assert ana.depth() == 0 and ana.row("tasks", key(1))["title"] == "one"
    ana.delete("tasks", key(1))
    assert ana.rows("tasks") == [] and len(ana.rows("tasks", "include_deleted=true")) == 1
    ana.sync()
    assert [(each["op"], list(each["columns"])) for each in ana.sent()[0]] == [("update", ["deleted_at"])]
    assert world.row("tasks", key(1))["deleted_at"] is not None
    assert ana.rows("tasks") == [] and len(ana.rows("tasks", "include_deleted=true")) == 1


@pytest.mark.parametrize("reason", ["RLS_DENIED", "DELETE_WINS"])
def test_a_refused_delete_brings_the_row_back_unless_the_removal_wins(world: World, reason: str):
    world.todo(1, title="one")
    ana = world.device("ana", "todos")
    ana.pull()
    if reason == "RLS_DENIED":
        world.sql("revoke delete on todos from authenticated")
        reason = "COLUMN_DENIED"
    else:
        world.remove("todos", key(1))
    ana.delete("todos", key(1))
    assert ana.rows("todos") == []
    ana.push()
    assert kinds(ana.answers()[0]) == [reason]
    assert ana.keys("todos") == ([key(1)] if reason == "COLUMN_DENIED" else [])


def test_a_deleted_key_is_free_again_once_its_tombstone_is_reaped(world: World):
    world.todo(1)
    world.remove("todos", key(1))
    again = mutation("todos", key(1), "insert", {"user_id": ANA, "title": "again"})
    assert world.push("ana", again)["verdicts"][0]["verdict"] == "rejected"
    world.reap()
    assert kinds(world.push("ana", mutation("todos", key(1), "insert", {"user_id": ANA}))) == ["applied"]


def test_a_table_without_a_bucket_forgets_what_was_removed(world: World):
    world.add("labels", id=1, owner=ANA)
    ana = world.device("ana", tables={"labels": TABLES["labels"]})
    ana.sync()
    world.remove("labels", 1)
    ana.sync()
    assert ana.rows("labels") == []
