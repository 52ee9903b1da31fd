"""What stays visible when verdicts and pages meet writes that still wait."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import ANA, BEN, Device, World, eventually, key, kinds

PLUS = {"n": {"op": "increment", "by": 1}}


def count(device: Device, number: int = 1) -> None:
    device.apply("todos", key(number), "update", transforms=PLUS)


def n(device: Device, number: int = 1) -> int:
    return device.row("todos", key(number))["n"]


@pytest.fixture
def ana(world: World) -> Device:
    """A gateway that has pulled one todo whose n is 0."""
    world.todo(1, title="one", n=0)
    device = world.device("ana", "todos")
    device.sync()
    return device


class Flight:
    """A push that is held at a moment of its way while the block runs, and lands after it."""

    def __init__(self, device: Device, where: str = "answer"):
        self.device, self.pool = device, ThreadPoolExecutor(1)
        self.held = device.world.upstream.fail("hold", function="push", where=where)

    def __enter__(self) -> None:
        self.pushed = self.pool.submit(self.device.push)
        assert self.held.reached.wait(10)

    def __exit__(self, *_: object) -> None:
        self.held.set()
        self.pushed.result(20)
        self.pool.shutdown()


def test_an_increment_whose_reply_was_lost_is_counted_once_in_the_end(world: World, ana: Device):
    count(ana)
    world.lose_reply()
    ana.push(expect="REMOTE")
    ana.pull()
    assert n(ana) == 2, "until the verdict is known the write lies over what was pulled"
    ana.push()
    assert n(ana) == 1 == world.row("todos", key(1))["n"]
    ana.pull()
    assert n(ana) == 1


def test_increments_before_during_and_after_a_push_are_each_counted_once(world: World, ana: Device):
    count(ana)
    count(ana)
    with Flight(ana):
        count(ana)
        assert n(ana) == 3
        world.change("todos", key(1), n=12)
    assert n(ana) == 3
    ana.pull()
    assert n(ana) == 13
    ana.sync()
    assert n(ana) == 13 == world.row("todos", key(1))["n"]


@pytest.mark.parametrize("answer", ["applied", "transform", "refused"])
def test_a_write_made_during_a_push_lies_over_its_verdict(world: World, ana: Device, answer: str):
    precondition = {"note": "nothing of the kind"} if answer == "refused" else None
    ana.apply("todos", key(1), "update", {"title": "first"}, transforms=PLUS if answer == "transform" else {},
              precondition=precondition or {})
    with Flight(ana):
        ana.update("todos", key(1), {"title": "second"})
    assert ana.row("todos", key(1))["title"] == "second" and ana.depth() == 1
    ana.sync()
    assert ana.row("todos", key(1))["title"] == "second" == world.row("todos", key(1))["title"]
    assert len(ana.rejections()) == (answer == "refused")


@pytest.mark.parametrize("transform", [False, True])
def test_a_delete_made_during_a_push_is_not_undone_by_its_verdict(world: World, ana: Device, transform: bool):
    ana.apply("todos", key(1), "update", {"title": "first"}, transforms=PLUS if transform else {})
    with Flight(ana):
        ana.delete("todos", key(1))
    assert ana.rows("todos") == [] and ana.depth() == 1
    ana.pull()
    assert ana.rows("todos") == []
    ana.sync()
    assert ana.rows("todos") == [] and world.row("todos", key(1)) is None and ana.rejections() == []


def test_writes_behind_a_refused_insert_do_not_bring_its_row_back(world: World):
    ana = world.device("ana", "todos")
    ana.todo(1, title="forbidden")
    with Flight(ana):
        ana.update("todos", key(1), {"note": "later"})
        count(ana)
    assert ana.rows("todos") == [] and ana.depth() == 2
    ana.pull()
    assert ana.rows("todos") == []
    ana.sync()
    assert [each["reason"] for each in ana.rejections()] == ["RLS_DENIED", "RLS_DENIED", "CONSTRAINT"]
    assert ana.rows("todos") == [] and world.row("todos", key(1)) is None


def test_a_pull_behind_a_refused_insert_may_bring_the_row(world: World):
    ana = world.device("ana", "todos")
    ana.todo(1, title="forbidden")
    ana.push()
    assert ana.rows("todos") == []
    world.todo(1, title="somebody else's")
    ana.pull()
    assert ana.row("todos", key(1))["title"] == "somebody else's"
    ana.update("todos", key(1), {"note": "mine"})
    ana.sync()
    assert world.row("todos", key(1))["note"] == "mine" and len(ana.rejections()) == 1


def test_a_pending_delete_hides_what_is_pulled(world: World, ana: Device):
    ana.delete("todos", key(1))
    world.change("todos", key(1), title="changed afar")
    ana.pull()
    assert ana.rows("todos") == [] and ana.depth() == 1
    ana.push()
    assert world.row("todos", key(1)) is None and ana.rows("todos") == []
    ana.pull()
    assert ana.rows("todos") == []


def test_a_refused_delete_shows_the_row_as_it_has_become(world: World, ana: Device):
    world.sql("revoke delete on todos from authenticated")
    ana.delete("todos", key(1))
    world.change("todos", key(1), title="changed afar")
    ana.pull()
    ana.push()
    assert kinds(ana.answers()[-1]) == ["COLUMN_DENIED"]
    assert ana.row("todos", key(1))["title"] == "changed afar"


def test_a_refused_delete_of_a_row_out_of_sight_brings_it_back_until_a_pull(world: World, ana: Device):
    world.sql("create policy kept on todos as restrictive for delete to authenticated using (false)")
    ana.delete("todos", key(1))
    ana.push()
    assert kinds(ana.answers()[-1]) == ["RLS_DENIED"] and ana.row("todos", key(1))["title"] == "one"
    ana.delete("todos", key(1))
    world.change("todos", key(1), user_id=BEN)
    ana.push()
    assert ana.answers()[-1]["verdicts"][0]["server_row"] is None
    assert ana.row("todos", key(1))["title"] == "one", "the last known row returns when none is sent"
    ana.pull()
    assert ana.rows("todos") == []


def test_a_row_written_and_removed_before_it_was_sent_travels_in_order(world: World):
    ana = world.device("ana", "todos")
    ana.todo(1, title="short-lived")
    ana.delete("todos", key(1))
    ana.todo(2, title="stays")
    ana.sync()
    assert [each["op"] for each in ana.sent()[0]] == ["insert", "delete", "insert"]
    assert kinds(ana.answers()[0]) == ["applied"] * 3
    assert ana.keys("todos") == [key(2)] and world.row("todos", key(1)) is None


def test_a_removal_and_a_pending_edit_of_a_moved_row(world: World):
    world.join("ana", 7, 8)
    world.add("recipes", slug="miso", kitchen_id=7, name="Miso", servings=1)
    ana = world.device("ana", "recipes", kitchen=7)
    ana.sync()
    ana.update("recipes", "miso", {"name": "mine"})
    world.change("recipes", "miso", kitchen_id=8)
    ana.pull()
    assert ana.rows("recipes") == [] and ana.depth() == 1
    ana.push()
    assert kinds(ana.answers()[-1]) == ["applied"] and world.row("recipes", "miso")["name"] == "mine"
    ana.pull()
    assert ana.rows("recipes") == [], "it is another bucket's row now"


def test_a_refill_keeps_pending_edits_and_removes_what_is_gone(world: World):
    for number in range(1, 5):
        world.todo(number, title=str(number), n=0)
    ana = world.device("ana", "todos", sync={"page_limit": 1})
    ana.sync()
    ana.update("todos", key(1), {"title": "edited"})
    ana.update("todos", key(2), {"title": "edited, and gone afar"})
    ana.delete("todos", key(3))
    count(ana, 4)
    world.remove("todos", key(2))
    world.reap()
    world.change("todos", key(4), n=10)
    ana.pull()
    ana.pull()
    assert ana.events_until("CHECKPOINT_EXPIRED") and ana.depth() == 4
    assert [(each["title"], each["n"]) for each in ana.rows("todos")] == [("edited", 0), ("4", 11)]
    ana.sync()
    assert [each["pk"] for each in ana.rejections()] == [key(2)] and ana.depth() == 0
    assert [(each["title"], each["n"]) for each in ana.rows("todos")] == [("edited", 0), ("4", 11)]
    assert world.row("todos", key(3)) is None and world.row("todos", key(4))["n"] == 11


def test_a_transfer_survives_a_kill_between_its_pages(world: World):
    for number in range(1, 7):
        world.todo(number)
    ana = world.device("ana", "todos", sync={"page_limit": 2}, kept=True)
    with ana.open(["pull"]):
        ana.call("pull_once")
    assert ana.rows("todos") == [] and ana.cursor() == "0"
    ana.gateway.kill()
    world.remove("todos", key(1))
    world.todo(7)
    ana.start()
    assert ana.rows("todos") == [] and ana.cursor() == "0"
    ana.sync()
    assert ana.keys("todos") == [key(number) for number in range(2, 8)]


def test_writes_during_a_transfer_are_kept(world: World):
    for number in range(1, 9):
        world.todo(number, title="afar")
    ana = world.device("ana", "todos", sync={"page_limit": 2})
    pages: list[str] = []

    def between(function: str, body: dict) -> None:
        pages.append(body["cursor"])
        ana.insert("todos", {"id": key(100 + len(pages)), "title": "local"})
        ana.apply("todos", key(len(pages)), "update", {"title": "local"})

    world.upstream.before = between
    with ana.open(["pull"]):
        for _ in range(4):
            ana.call("pull_once")
    world.upstream.before = None
    assert len(pages) == 4 and ana.depth() == 8
    assert [each["title"] for each in ana.rows("todos")] == ["local"] * 4 + ["afar"] * 4 + ["local"] * 4
    ana.sync()
    assert ana.depth() == 0 and ana.rejections() == []
    assert world.sql("select count(*) from todos where title = 'local'") == [(8,)]


def test_readers_see_the_old_checkpoint_or_the_new_one(world: World):
    for number in range(1, 301):
        world.todo(number, title="old")
    ana = world.device("ana", "todos", sync={"page_limit": 50})
    ana.sync()
    world.sql("update todos set title = 'new'")
    seen: set[tuple] = set()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            seen.add(tuple(sorted({each["title"] for each in ana.rows("todos", "select=title")})))

    looker = threading.Thread(target=look)
    looker.start()
    ana.sync()
    eventually(lambda: ("new",) in seen, "the new checkpoint shows")
    done.set()
    looker.join()
    assert seen <= {("old",), ("new",)}


def test_a_reset_gives_up_what_waits_and_starts_over(world: World, ana: Device):
    ana.update("todos", key(1), {"title": "forbidden"})
    ana.push()
    ana.update("todos", key(1), {"title": "waits"})
    client = ana.status()["client_id"]
    assert ana.call("reset") == []
    assert ana.rows("todos") == [] and ana.depth() == 0 and ana.rejections() == [] and ana.cursor() == "0"
    ana.sync()
    assert ana.row("todos", key(1))["title"] == "one" and ana.status()["client_id"] != client
    assert ana.status()["owner"] == ANA


def test_two_devices_of_one_user_end_alike_whatever_is_refused(world: World):
    world.todo(1, title="one", n=0, likes=0)
    devices = [world.device("ana", "todos") for _ in range(2)]
    for device in devices:
        device.sync()
    steps = ([{"title": "forbidden"}, {"n": -5}, {"note": "a"}, {"likes": 1}],
             [{"title": "b"}, {"locked": "x"}, {"n": 7}])
    for device, changes in zip(devices, steps):
        for change in changes:
            device.update("todos", key(1), change)
    for device in devices * 2:
        device.sync()
    rows = [device.row("todos", key(1)) for device in devices]
    assert rows[0] == rows[1]
    assert {name: rows[0][name] for name in ("title", "note", "n", "likes", "locked")} == {
        "title": "b", "note": "a", "n": 7, "likes": 1, "locked": None}
    assert [len(device.rejections()) for device in devices] == [2, 1]
