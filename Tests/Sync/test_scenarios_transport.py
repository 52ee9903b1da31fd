"""Failures of the transport, answers against the contract, and concurrency."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from rpc import Refusal
from support import ANA, World, bucket, eventually, key, kinds


def test_s_82_five_permanent_failures_give_a_lone_entry_up(world: World):
    world.todo(1, title="before")
    ana = world.device("ana", "todos")
    ana.sync()
    ana.update("todos", key(1), {"title": "poison"})
    [poison] = [each["mutation_id"] for each in ana.outbox()]

    def refuse(function: str, body: dict) -> None:
        if function == "push" and body["batch"]["mutations"][0]["mutation_id"] == poison:
            raise Refusal(400, "42703", "there is no such column")

    world.upstream.before = refuse
    for _ in range(4):
        error = ana.sync(expect="PERMANENT_TRANSPORT")
        assert "42703" in error["message"] and ana.depth() == 1
    ana.todo(2, title="next")
    ana.sync()
    [entry] = ana.rejections()
    assert (entry["mutation_id"], entry["kind"]) == (poison, "DEAD_LETTER")
    assert entry["reason"] == "PERMANENT_TRANSPORT"
    assert ana.row("todos", key(1))["title"] == "before" == world.row("todos", key(1))["title"]
    assert ana.depth() == 0 and world.row("todos", key(2)) is not None
    alone = [each for each in ana.sent() if [one["mutation_id"] for one in each] == [poison]]
    assert len(alone) == 5, "a slice of two is not charged to either"
    names = [name for name, _ in ana.events_until("MUTATION_REJECTED")]
    assert names[-2:] == ["DEAD_LETTER", "MUTATION_REJECTED"]


def test_s_82_a_failure_still_lets_the_pull_run(world: World):
    ana = world.device("ana", "todos")
    ana.todo(1, title="poison")
    world.todo(2, title="from afar")
    world.upstream.fail("error", function="push", times=None, code="42703")
    ana.sync(expect="PERMANENT_TRANSPORT")
    assert ana.keys("todos") == [key(1), key(2)]


@pytest.mark.parametrize(("kind", "args"), [
    ("drop_before", {}), ("drop_before", {"reset": True}), ("status", {"code": 500}),
    ("status", {"code": 504}),
    ("error", {"code": "42501", "status": 403}), ("error", {"code": "40P01", "status": 500}),
    ("error", {"code": "57014", "status": 500}), ("error", {"code": "P0002"}), ("error", {"code": "TEAPOT"}),
    ("expired", {}), ("redirect", {}),
])
def test_s_83_what_may_pass_is_tried_for_ever(world: World, kind: str, args: dict):
    ana = world.device("ana", "todos")
    ana.todo(1, title="patient")
    world.todo(2, title="afar")
    fault = world.upstream.fail(kind, function="push", times=None, **args)
    for _ in range(10):
        ana.sync(expect="REMOTE")
    assert fault.hits >= 10 and ana.depth() == 1 and ana.rejections() == []
    assert ana.keys("todos") == [key(1)], "after a failure that may pass nothing is pulled"
    world.upstream.clear_faults()
    ana.sync()
    assert ana.depth() == 0 and world.row("todos", key(1)) is not None


def test_s_83_a_call_that_hangs_is_no_failure_of_the_entry(world: World):
    ana = world.device("ana", "todos")
    ana.todo(1, title="patient")
    held = world.upstream.fail("hold", function="push", where="start")
    with ana.open():
        called = threading.Thread(target=ana.request, args=("POST", "/sync/v1/rpc/push_once", {}))
        called.start()
        assert held.reached.wait(10)
        assert ana.row("todos", key(1))["title"] == "patient"
        assert [each["in_flight"] for each in ana.outbox()] == [True]
        assert ana.call("outbox_depth") == 0
        world.upstream.offline()
        called.join()
    world.upstream.online()
    assert ana.depth() == 1 and ana.rejections() == []
    ana.sync()
    assert ana.depth() == 0 and world.row("todos", key(1)) is not None


FIRST, SECOND = str(uuid.UUID(int=1)), str(uuid.UUID(int=2))


def applied(*ids: str) -> dict:
    return {"verdicts": [{"mutation_id": each, "verdict": "applied"} for each in ids]}


def aborted(**changed: str) -> dict:
    return {"batch": {"outcome": "aborted", "offender_mutation_id": FIRST, "reason": "CONSTRAINT",
                      "server_row": None, **changed}}


@pytest.mark.parametrize(("answer", "code"), [
    (applied(FIRST), "VERDICT_BIJECTION"),
    (applied(SECOND, FIRST), "VERDICT_BIJECTION"),
    (applied(FIRST, SECOND, SECOND), "VERDICT_BIJECTION"),
    (applied(FIRST, str(uuid.UUID(int=3))), "VERDICT_BIJECTION"),
    ({"verdicts": [{"mutation_id": FIRST, "verdict": "rejected", "reason": "BUSY", "server_row": None},
                   {"mutation_id": SECOND, "verdict": "applied"}]}, "UNKNOWN_VERDICT_REASON"),
    ({"verdicts": [{"mutation_id": FIRST, "verdict": "postponed"},
                   {"mutation_id": SECOND, "verdict": "applied"}]}, "UNKNOWN_VERDICT_REASON"),
    (aborted(), "MALFORMED_PUSH_RESPONSE"),
    ({}, "MALFORMED_PUSH_RESPONSE"),
    ({"signal": {"type": "CHECKPOINT_EXPIRED"}}, "UNKNOWN_SIGNAL"),
    ({"signal": {"type": "LATER"}}, "UNKNOWN_SIGNAL"),
])
def test_s_84_an_answer_against_the_contract_changes_nothing(world: World, answer: dict, code: str):
    world.todo(2, title="two")
    ana = world.device("ana", "todos")
    ana.sync()
    ana.apply("todos", key(1), "insert", {"title": "one"}, mutation_id=FIRST)
    ana.apply("todos", key(2), "update", {"title": "changed"}, mutation_id=SECOND)
    rows, outbox = ana.rows("todos"), ana.outbox()
    world.upstream.fail("body", function="push", times=None, data=answer)
    for _ in range(6):
        ana.push(expect=code)
    assert ana.rows("todos") == rows and ana.depth() == 2 and ana.rejections() == []
    assert [each["mutation_id"] for each in ana.outbox()] == [each["mutation_id"] for each in outbox]
    assert ana.blocked() is None
    world.upstream.clear_faults()
    ana.sync()
    assert ana.depth() == 0 and world.row("todos", key(2))["title"] == "changed"


@pytest.mark.parametrize(("answer", "code"), [
    (aborted(offender_mutation_id=str(uuid.UUID(int=3))), "UNKNOWN_BATCH_OFFENDER"),
    (aborted(outcome="undecided"), "MALFORMED_PUSH_RESPONSE"),
    (aborted(reason="BUSY"), "UNKNOWN_VERDICT_REASON"),
])
def test_s_84_an_abort_against_the_contract_changes_nothing(world: World, answer: dict, code: str):
    ana = world.device("ana", "todos")
    ana.batch(*({"table": "todos", "pk": key(each), "op": "insert", "columns": {}, "mutation_id": name}
                for each, name in ((1, FIRST), (2, SECOND))))
    world.upstream.fail("body", function="push", times=None, data=answer)
    ana.push(expect=code)
    assert ana.keys("todos") == [key(1), key(2)] and ana.depth() == 2 and ana.rejections() == []


def closing(**changed: object) -> dict:
    return {"cursor": "1", "has_more": False, "rows": [], "tombstones": [], "signal": None, **changed}


@pytest.mark.parametrize("data", ["this is no JSON", "[]", "null", {"rows": []}, closing(cursor=3),
                                  closing(signal={"type": "LATER"})])
def test_a_page_against_the_contract_changes_nothing(world: World, data: object):
    world.todo(1, title="one")
    ana = world.device("ana", "todos")
    ana.pull()
    world.todo(2, title="two")
    world.upstream.fail("body", function="pull", times=None, data=data)
    with ana.open():
        answer = ana.request("POST", "/sync/v1/rpc/pull_once", {})
    assert answer.status == 502, answer
    assert ana.keys("todos") == [key(1)] and ana.cursor() == "1" and ana.blocked() is None
    world.upstream.clear_faults()
    ana.pull()
    assert ana.keys("todos") == [key(1), key(2)]


@pytest.mark.parametrize("fault", ["drop_before", "truncate", "status"])
def test_s_85_a_transfer_that_breaks_off_starts_again_from_the_durable_cursor(world: World, fault: str):
    for number in (1, 2, 3):
        world.todo(number)
    ana = world.device("ana", "todos", sync={"page_limit": 1})
    world.upstream.fail(fault, function="pull", after=2, times=None)
    with ana.open():
        answer = ana.request("POST", "/sync/v1/rpc/sync", {})
    assert (answer.status, answer.json()["code"]) == (502, "REMOTE")
    assert ana.rows("todos") == [] and ana.cursor() == "0"
    world.upstream.clear_faults()
    before = len(ana.calls("pull"))
    ana.pull()
    assert [each.body["cursor"] for each in ana.calls("pull")][before:] == ["0", "0:1", "0:2"]
    assert ana.keys("todos") == [key(1), key(2), key(3)]


def test_s_86_an_open_transaction_is_delivered_once_it_commits(world: World):
    ana = world.device("ana", "todos")
    first, second = (world.database.connect(autocommit=False) for _ in range(2))
    for connection, number in ((first, 1), (second, 2)):
        connection.cursor().execute("insert into todos (id, user_id) values (%s, %s)", (key(number), ANA))
    second.commit()
    ana.pull()
    assert ana.keys("todos") == [key(2)]
    first.commit()
    ana.pull()
    assert ana.keys("todos") == [key(1), key(2)]
    first.close()
    second.close()


def test_s_87_a_looping_puller_misses_no_row_of_many_writers(world: World):
    ana = world.device("ana", "todos", sync={"page_limit": 7})

    def write(number: int) -> None:
        connection = world.database.connect(autocommit=False)
        with connection.cursor() as cursor:
            for step in range(3):
                cursor.execute("insert into todos (id, user_id, n) values (%s, %s, %s) "
                               "on conflict (id) do update set n = excluded.n", (key(number), ANA, step))
                connection.commit()
            if number % 10 == 0:
                cursor.execute("delete from todos where id = %s", (key(number),))
                connection.commit()
        connection.close()

    with ThreadPoolExecutor(25) as pool:
        written = [pool.submit(write, number) for number in range(100)]
        while not all(each.done() for each in written):
            ana.sync()
        for each in written:
            each.result()
    ana.sync()
    want = [(key(number), 2) for number in range(100) if number % 10]
    assert [(each["id"], each["n"]) for each in ana.rows("todos", "select=id,n")] == want


def test_s_88_an_update_that_changes_nothing_draws_no_number_and_rings_no_bell(hosted: World):
    hosted.todo(1, title="one")
    ana = hosted.device("ana", "todos")
    ana.pull()
    rings = "select count(*) from realtime.messages"
    [(before,)] = hosted.sql(rings)
    hosted.change("todos", key(1), title="one")
    ana.pull()
    assert ana.cursor() == "1" and ana.pages()[-1]["rows"] == []
    assert hosted.sql(rings) == [(before,)]
    hosted.change("todos", key(1), title="two")
    assert hosted.sql(rings) == [(before + 1,)]
    assert hosted.sql("select topic, event, private from realtime.messages")[-1] == (
        "kizunasync:todos", "changed", True)
    ana.pull()
    assert ana.cursor() == "2"


def test_s_89_rows_from_before_the_registration_are_delivered_and_seeded_once(world: World):
    world.add("strays", id=key(1), v="old")
    world.add("strays", id=key(2), v="old")
    world.sql("select kizunasync.register_table('strays', 'read-write')")
    ana = world.device("ana", tables={"strays": {"columns": {"id": "uuid", "v": "text"}}})
    ana.pull()
    assert ana.keys("strays") == [key(1), key(2)] and ana.cursor() == "2"
    world.sql("select kizunasync.register_table('strays', 'read-write')")
    ana.pull()
    assert ana.cursor() == "2" and ana.pages()[-1]["rows"] == []


def test_s_90_an_update_that_waited_for_a_delete_loses(world: World):
    world.todo(1, title="one")
    ana = world.device("ana", "todos")
    ana.pull()
    ana.update("todos", key(1), {"title": "two"})
    peer = world.database.connect(autocommit=False)
    peer.cursor().execute("delete from todos where id = %s", (key(1),))
    with ThreadPoolExecutor(1) as pool:
        pushed = pool.submit(ana.push)
        waiting = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = %s"
        eventually(lambda: world.sql(waiting, world.database.name) != [(0,)], "the push waits for the row")
        peer.commit()
        pushed.result()
    peer.close()
    [verdict] = ana.answers()[0]["verdicts"]
    assert (verdict["reason"], verdict["server_row"]) == ("DELETE_WINS", None) and ana.rows("todos") == []


def test_s_91_without_a_bell_the_next_poll_brings_it(world: World):
    ana = world.device("ana", "todos", live=True, sync={"poll_interval_s": 1})
    world.upstream.wait_for(1, "pull")
    world.todo(1, title="unannounced")
    eventually(lambda: ana.keys("todos") == [key(1)], "the poll brings the row")


def test_pushes_of_two_users_in_opposite_order_both_arrive(world: World):
    world.join("ana", 7)
    world.join("ben", 7)
    slugs = [f"r{each}" for each in range(20)]
    for slug in slugs:
        world.add("recipes", slug=slug, kitchen_id=7, servings=0)
    devices = [world.device(user, "recipes", kitchen=7) for user in ("ana", "ben")]
    for device, order in zip(devices, (slugs, slugs[::-1])):
        device.sync()
        for slug in order:
            device.apply("recipes", slug, "update", transforms={"servings": {"op": "increment", "by": 1}})
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda device: device.sync_until(lambda: device.depth() == 0), devices))
    assert world.sql("select distinct servings from recipes") == [(2,)]
    for device in devices:
        device.sync()
        assert {each["servings"] for each in device.rows("recipes")} == {2}


def test_numbers_and_texts_of_every_kind_survive_the_round_trip(world: World):
    ana, other = world.device("ana", "todos"), world.device("ana", "todos")
    row = {"title": "a\"b\\c\u2028\U0001f600é", "big": 9223372036854775807, "price": 12345678.9,
           "tags": ["x", "y,z", "\"", ""], "n": 2147483647,
           "meta": {"a": [1, 2.5, None, True], "b": {"c": "ü"}, "big": 12345678901234567890},
           "at": "2026-03-04T05:06:07.123456+00:00", "done": True, "note": ""}
    ana.todo(1, **row)
    ana.sync()
    other.sync()
    expected = ana.row("todos", key(1))
    assert other.row("todos", key(1)) == expected
    exact = ("title", "tags", "meta", "big", "note", "n", "done", "price")
    assert {name: expected[name] for name in exact} == {name: row[name] for name in exact}
    assert kinds(ana.answers()[0]) == ["applied"] and ana.pages()[-1]["rows"][0]["pk"] == key(1)
    assert world.pull("ana", bucket("todos", user_id=ANA))["rows"][0]["row"]["big"] == 9223372036854775807
