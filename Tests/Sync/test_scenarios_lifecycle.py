"""Expired checkpoints, stale schemas, other users, other buckets."""

from __future__ import annotations

from support import ANA, BEN, World, bucket, key


def signals(device) -> list[str]:
    return [each["signal"]["type"] for each in device.pages() if each.get("signal")]


def test_s_66_an_expired_checkpoint_is_refilled_and_pending_writes_stay(world: World):
    world.todo(1, title="ghost")
    ana = world.device("ana", "todos")
    ana.pull()
    assert ana.cursor() == "1"
    world.remove("todos", key(1))
    assert world.reap() == 2
    world.todo(2, title="alive")
    ana.todo(3, title="pending")
    ana.pull()
    ana.pull()
    expired = next(each for each in ana.pages() if each["signal"])
    assert expired == {"cursor": "1", "has_more": False, "rows": [], "tombstones": [],
                       "signal": {"type": "CHECKPOINT_EXPIRED"}}
    assert [each.body["cursor"] for each in ana.calls("pull")][:3] == ["0", "1", "0"]
    assert ana.keys("todos") == [key(2), key(3)] and ana.depth() == 1
    assert ana.events_until("CHECKPOINT_EXPIRED")[-1] == ("CHECKPOINT_EXPIRED", {})
    ana.sync()
    assert world.row("todos", key(3))["title"] == "pending" and ana.depth() == 0


def test_s_67_a_bootstrap_closes_at_or_after_what_was_reaped(world: World):
    world.todo(1)
    world.todo(2)
    world.remove("todos", key(2))
    assert world.reap() == 3
    ana = world.device("ana", "todos")
    ana.pull()
    assert int(ana.cursor()) >= 3
    ana.pull()
    assert signals(ana) == [] and ana.keys("todos") == [key(1)]


def test_s_68_a_transfer_whose_start_expired_between_pages_starts_over(world: World):
    world.todo(1, title="old")
    ana = world.device("ana", "todos", sync={"page_limit": 1})
    ana.pull()
    assert ana.cursor() == "1"
    world.todo(2)
    world.remove("todos", key(2))
    world.todo(4)
    seen: list = []

    def between(function: str, body: dict) -> None:
        if body["cursor"] == "1:3":
            assert world.reap() == 3
        elif body["cursor"].startswith("0"):
            seen.append((ana.keys("todos"), ana.cursor()))

    world.upstream.before = between
    ana.sync()
    assert [each["cursor"] for each in ana.pages()][1:3] == ["1:3", "1:3"]
    assert signals(ana) == ["CHECKPOINT_EXPIRED"]
    assert seen[0] == ([key(1)], "1"), "rows and checkpoint stay until the refill closes"
    assert ana.keys("todos") == [key(1), key(4)] and ana.cursor() == "4"


def test_s_69_a_checkpoint_at_the_reaped_number_is_valid(world: World):
    world.todo(1)
    world.remove("todos", key(1))
    ana = world.device("ana", "todos")
    ana.pull()
    assert ana.cursor() == "2"
    assert world.reap() == 2
    ana.pull()
    assert signals(ana) == [] and ana.cursor() == "2"


def test_s_70_a_stale_schema_blocks_the_pull(world: World):
    world.todo(1, title="one")
    ana = world.device("ana", "todos")
    ana.pull()
    world.sql("select kizunasync.register_table('todos', 'read-write', p_bucket_column => 'user_id', "
              "p_min_schema_version => 2)")
    world.todo(2)
    ana.pull()
    assert signals(ana) == ["RESET_REQUIRED"] and ana.pages()[-1]["cursor"] == "1"
    assert (ana.blocked(), ana.cursor(), ana.keys("todos")) == ("reset_required", "1", [key(1)])
    requests = len(world.upstream.requests)
    ana.pull()
    ana.sync()
    assert len(world.upstream.requests) == requests
    assert ana.status()["needs_reset"] is True


def test_s_71_another_users_token_blocks_and_a_reset_starts_anew(world: World):
    world.todo(1)
    world.todo(2, user="ben")
    device = world.device("ana", "todos")
    device.sync()
    device.todo(3, title="ana's secret")
    client = device.status()["client_id"]
    requests = len(world.upstream.requests)
    bens = world.token("ben")
    device.call("set_access_token", token=bens)
    device.call("sync")
    assert device.blocked() == "identity_changed" and device.depth() == 1
    assert device.events_until("RESET_REQUIRED")[-1][1] == {"reason": "identity_changed"}
    device.call("set_access_token", token=device.token)
    device.sync()
    assert device.blocked() == "identity_changed", "the old owner's return releases nothing"
    device.call("set_access_token", token=bens)
    assert len(world.upstream.requests) == requests
    device.call("reset")
    assert device.rows("todos") == [] and device.depth() == 0 and device.blocked() is None
    assert device.cursor() == "0" and device.status()["client_id"] != client
    device.call("sync")
    assert device.keys("todos") == [key(2)] and device.status()["owner"] == BEN
    assert world.row("todos", key(3)) is None


def test_s_72_another_bucket_refills_the_store_and_the_same_one_does_not(world: World):
    world.join("ana", 7, 8)
    world.add("recipes", slug="miso", kitchen_id=7)
    world.add("recipes", slug="ramen", kitchen_id=8)
    ana = world.device("ana", "recipes", kitchen=7, kept=True)
    ana.pull()
    assert ana.keys("recipes") == ["miso"]
    ana.insert("recipes", {"slug": "udon", "kitchen_id": 8})
    ana.call("set_bucket", kitchen_id=8)
    ana.pull()
    assert ana.calls("pull")[-1].body["cursor"] == "0"
    assert ana.keys("recipes") == ["ramen", "udon"] and ana.depth() == 1
    cursor = ana.cursor()
    ana.restart(kitchen=8)
    ana.pull()
    last = ana.calls("pull")[-1].body
    assert last["cursor"] == cursor and str(last["buckets"][0]["params"]["kitchen_id"]) == "8"
    assert ana.pages()[-1]["rows"] == [] and ana.keys("recipes") == ["ramen", "udon"]


def test_s_73_a_client_id_belongs_to_one_user(world: World):
    world.sql("select kizunasync.register_table('todos', 'read-write', p_bucket_column => 'user_id', "
              "p_register_clients => true)")
    ben = world.device("ben", "todos")
    world.pull("ana", bucket("todos", user_id=ANA), client_id=ben.status()["client_id"])
    ben.todo(1, title="waits")
    for _ in range(6):
        assert "42501" in ben.sync(expect="REMOTE")["message"]
    assert ben.depth() == 1 and ben.rejections() == []


def test_a_column_bucket_must_be_named_before_the_first_pull(world: World):
    ana = world.device("ana", "recipes")
    ana.pull(expect="BUCKET_UNSET")
    assert ana.calls("pull") == []
    ana.call("set_bucket", expect="BUCKET_UNSET", nothing=1)
