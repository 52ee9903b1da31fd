"""Local and foreign writes that meet, and conflicts by arrival and by clock."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone

import pytest

from support import World, bucket, eventually, key, kinds, mutation

CARDS = bucket("cards", kitchen_id=7)


def stamp(hours: float = 0, counter: int = 0) -> str:
    """The clock of another device: now, or so many hours from now."""
    at = datetime.now(timezone.utc) + timedelta(hours=hours)
    return f"{at.strftime('%Y-%m-%dT%H:%M:%S')}.{at.microsecond // 1000:03d}Z|{counter}|elsewhere"


def card(columns: dict, hlc: str, **more) -> dict:
    return mutation("cards", key(1), "update", columns, hlc=hlc, **more)


def tick() -> None:
    """Lets the clock of both halves move on by more than a stamp resolves."""
    now = time.time()
    eventually(lambda: time.time() > now + 0.003)


@pytest.fixture
def kitchen(world: World) -> World:
    world.join("ana", 7)
    world.join("ben", 7)
    world.add("cards", id=key(1), kitchen_id=7, title="title", body="body", n=0)
    world.add("posts", id=key(1), kitchen_id=7, title="title", body="body")
    return world


def test_s_74_a_pending_edit_does_not_hold_the_checkpoint_back(world: World):
    world.todo(1, title="one")
    ana = world.device("ana", "todos")
    ana.pull()
    ana.update("todos", key(1), {"title": "mine"})
    world.todo(2, title="two")
    ana.pull()
    assert ana.cursor() == "2" and ana.depth() == 1
    assert [each["title"] for each in ana.rows("todos")] == ["mine", "two"]


def test_s_75_a_pending_column_lies_over_a_peers_change_of_another(world: World):
    world.todo(1, title="one", n=1)
    ana = world.device("ana", "todos")
    ana.pull()
    ana.update("todos", key(1), {"title": "mine"})
    ana.apply("todos", key(1), "update", transforms={"n": {"op": "increment", "by": 1}})
    world.change("todos", key(1), done=True, n=10, title="theirs")
    ana.pull()
    row = ana.row("todos", key(1))
    assert (row["title"], row["done"], row["n"]) == ("mine", True, 11)
    ana.sync()
    row = ana.row("todos", key(1))
    assert (row["title"], row["done"], row["n"]) == ("mine", True, 11)
    assert world.row("todos", key(1))["n"] == 11


def test_s_76_by_arrival_columns_merge_and_the_later_write_stays(world: World):
    world.join("ana", 7)
    world.join("ben", 7)
    world.add("recipes", slug="miso", kitchen_id=7, name="Miso", servings=2)
    ana, ben = (world.device(user, "recipes", kitchen=7) for user in ("ana", "ben"))
    for device in (ana, ben):
        device.sync()
    ana.update("recipes", "miso", {"servings": 4})
    ben.update("recipes", "miso", {"name": "Ben's"})
    ana.sync()
    ben.sync()
    assert (world.row("recipes", "miso")["servings"], world.row("recipes", "miso")["name"]) == (4, "Ben's")
    ana.update("recipes", "miso", {"name": "Ana's"})
    ben.update("recipes", "miso", {"name": "Ben's again"})
    ben.sync()
    ana.sync()
    ben.sync()
    assert ana.row("recipes", "miso")["name"] == ben.row("recipes", "miso")["name"] == "Ana's"
    assert all("conflicts" not in page for page in ana.pages() + ben.pages())
    assert ana.rejections() == ben.rejections() == []


def test_s_77_an_overwrite_is_journalled_where_it_was_not_made(kitchen: World):
    ana, ben = (kitchen.device(user, "posts", kitchen=7) for user in ("ana", "ben"))
    for device in (ana, ben):
        device.sync()
    ben.update("posts", key(1), {"title": "Ben's"})
    ben.sync()
    ana.update("posts", key(1), {"title": "Ana's"})
    ana.sync()
    [conflict] = ana.pages()[-1]["conflicts"]
    winner = ana.sent()[0][0]["mutation_id"]
    assert (conflict["table"], conflict["pk"], conflict["column_name"], conflict["loser_value"]) == (
        "posts", key(1), "title", "Ben's")
    assert (conflict["winner_mutation_id"], conflict["conflict_mode"]) == (winner, "arrival")
    assert str(conflict["winner_seq"]) == ana.pages()[-1]["rows"][-1]["seq"]
    ben.sync()
    assert ben.row("posts", key(1))["title"] == "Ana's"
    [entry] = ben.overwrites()
    assert (entry["table"], entry["pk"], entry["column"]) == ("posts", key(1), "title")
    assert entry["loser_value"] == "Ben's"
    assert (entry["winner_mutation_id"], entry["conflict_mode"]) == (winner, "arrival")
    event = ben.events_until("COLUMN_OVERWRITTEN")[-1][1]
    assert (event["pk"], event["column"], event["loser_value"], event["winner_mutation_id"]) == (
        key(1), "title", "Ben's", winner)
    assert ben.call("dismiss_overwrite", id=entry["id"]) is True and ben.overwrites() == []
    assert ana.overwrites() == []
    ana.update("posts", key(1), {"body": "later"})
    assert "COLUMN_OVERWRITTEN" not in [name for name, _ in ana.events_until("QUEUE_DEPTH", 2)]


def test_s_78_by_clock_an_older_write_is_superseded(kitchen: World):
    ana, ben = (kitchen.device(user, "cards", kitchen=7) for user in ("ana", "ben"))
    for device in (ana, ben):
        device.sync()
    ana.update("cards", key(1), {"title": "older"})
    tick()
    ben.update("cards", key(1), {"title": "newer"})
    ben.sync()
    ana.push()
    [verdict] = ana.answers()[0]["verdicts"]
    assert verdict["reason"] == "SUPERSEDED" and verdict["server_row"]["title"] == "newer"
    assert ana.row("cards", key(1))["title"] == "newer"
    [entry] = ana.rejections()
    assert (entry["kind"], entry["reason"]) == ("SUPERSEDED", "SUPERSEDED")
    assert ana.events_until("MUTATION_REJECTED")[-1][1]["reason"] == "SUPERSEDED"


def test_s_78_by_clock_each_column_is_decided_alone(kitchen: World):
    ana, ben = (kitchen.device(user, "cards", kitchen=7) for user in ("ana", "ben"))
    for device in (ana, ben):
        device.sync()
    ana.update("cards", key(1), {"title": "ana", "body": "ana"})
    tick()
    ben.update("cards", key(1), {"body": "ben"})
    ben.sync()
    ana.sync()
    assert kinds(ana.answers()[0]) == ["applied"]
    assert (kitchen.row("cards", key(1))["title"], kitchen.row("cards", key(1))["body"]) == ("ana", "ben")
    assert (ana.row("cards", key(1))["title"], ana.row("cards", key(1))["body"]) == ("ana", "ben")


def test_s_79_an_equal_stamp_loses_and_a_future_one_is_clamped(kitchen: World):
    same = stamp(-1)
    assert kinds(kitchen.push("ben", card({"title": "first"}, same))) == ["applied"]
    assert kinds(kitchen.push("ben", card({"title": "second"}, same))) == ["SUPERSEDED"]
    kitchen.setting(hlc_max_skew_ms=0)
    ana = kitchen.device("ana", "cards", kitchen=7)
    ana.sync()
    assert kinds(kitchen.push("ben", card({"title": "from the future"}, stamp(+1)))) == ["applied"]
    tick()
    ana.update("cards", key(1), {"title": "now"})
    ana.sync()
    assert kinds(ana.answers()[0]) == ["applied"] and kitchen.row("cards", key(1))["title"] == "now"


def test_s_80_by_clock_a_transform_counts_although_its_assignments_lose(kitchen: World):
    ana, ben = (kitchen.device(user, "cards", kitchen=7) for user in ("ana", "ben"))
    for device in (ana, ben):
        device.sync()
    ana.apply("cards", key(1), "update", {"title": "older"}, transforms={"n": {"op": "increment", "by": 1}})
    tick()
    ben.update("cards", key(1), {"title": "newer"})
    ben.sync()
    ana.push()
    [verdict] = ana.answers()[0]["verdicts"]
    assert verdict["verdict"] == "applied"
    assert (verdict["server_row"]["title"], verdict["server_row"]["n"]) == ("newer", 1)
    assert (ana.row("cards", key(1))["title"], ana.row("cards", key(1))["n"]) == ("newer", 1)


def test_s_81_a_composite_key_travels_in_one_spelling(world: World):
    ana = world.device("ana", "pairs")
    ana.insert("pairs", {"b": 12, "a": 1, "v": "new"})
    ana.sync()
    assert world.sql("select a, b, v from pairs") == [(1, 12, "new")]
    patched = ana.request("PATCH", "/rest/v1/pairs?a=eq.1&b=eq.12", {"v": "changed"})
    assert patched.json() == ['["1", "12"]']
    ana.sync()
    assert world.sql("select v from pairs") == [("changed",)]
    assert ana.request("DELETE", "/rest/v1/pairs?a=eq.1").json() == ['["1", "12"]']
    ana.sync()
    assert world.sql("select count(*) from pairs") == [(0,)]
    assert [each["pk"] for push in ana.sent() for each in push] == ['["1", "12"]'] * 3
    pulled = {each["pk"] for page in ana.pages() for each in page["rows"] + page["tombstones"]}
    assert pulled == {'["1", "12"]'}
    wrong = world.try_push("ana", mutation("pairs", '["1","12"]', "delete"))
    assert (wrong.status, wrong.json()["code"]) == (400, "22023")


def test_the_clock_of_an_hlc_table_stamps_every_mutation_and_no_other_table(kitchen: World):
    ana = kitchen.device("ana", "cards", "posts", kitchen=7)
    ana.sync()
    ana.update("posts", key(1), {"title": "x"})
    ana.update("cards", key(1), {"title": "x"})
    ana.delete("cards", key(1))
    ana.push()
    post, first, second = ana.sent()[0]
    assert "hlc" not in post and first["hlc"] < second["hlc"]
    assert first["hlc"].split("|")[2] == second["hlc"].split("|")[2] != ""
