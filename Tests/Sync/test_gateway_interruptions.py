"""Upstreams that go away and come back, processes that end, and gateways that must agree in the end."""

from __future__ import annotations

import pathlib
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import ANA, Device, World, eventually, key, live


@pytest.mark.parametrize("moment", ["start", "commit", "answer"])
def test_a_kill_during_a_push_leaves_effects_once(world: World, moment: str):
    world.todo(2, n=0)
    ana = live(world, kept=True)
    eventually(lambda: ana.keys("todos") == [key(2)], "the first pull")
    held = world.upstream.fail("hold", function="push", where=moment)
    ana.todo(1, title="once")
    ana.apply("todos", key(2), "update", transforms={"n": {"op": "increment", "by": 1}})
    assert held.reached.wait(10)
    ana.gateway.kill()
    held.set()
    ana.start()
    eventually(lambda: ana.depth() == 0 and world.row("todos", key(2))["n"] == 1, "the resend")
    ana.call("sync")
    assert world.row("todos", key(1))["title"] == "once"
    assert ana.row("todos", key(2))["n"] == 1 == world.row("todos", key(2))["n"] and ana.rejections() == []


def test_while_the_upstream_is_down_everything_local_answers_at_once(world: World):
    ana = live(world, sync={"poll_interval_s": 1})
    world.upstream.offline()
    began = time.monotonic()
    for number in range(1, 11):
        ana.todo(number, title="offline")
    ana.update("todos", key(1), {"title": "changed offline"})
    ana.delete("todos", key(2))
    assert len(ana.keys("todos")) == 9 and time.monotonic() - began < 5
    eventually(lambda: ana.status()["consecutive_failures"] > 0, "the failure shows")
    assert ana.status()["last_error"]["code"] == "REMOTE" and ana.depth() == 12
    world.todo(20, title="meanwhile")
    world.upstream.online()
    eventually(lambda: len(ana.keys("todos")) == 10 and ana.depth() == 0, "both halves agree", timeout=60)
    assert world.row("todos", key(1))["title"] == "changed offline" and world.row("todos", key(2)) is None
    assert ana.status()["consecutive_failures"] == 0


def test_a_gateway_starts_and_writes_without_its_upstream(world: World):
    world.upstream.offline()
    ana = world.device("ana", "todos", live=True, kept=True)
    ana.todo(1, title="early")
    ana.restart()
    assert ana.row("todos", key(1))["title"] == "early"
    world.upstream.online()
    ana.call("drain", timeout_s=20)
    eventually(lambda: world.row("todos", key(1)), "the write arrives", timeout=60)


def test_drain_waits_until_the_outbox_is_empty_or_the_time_is_up(world: World):
    ana = live(world)
    ana.insert("todos", *({"id": key(each)} for each in range(50)))
    assert ana.call("drain") == {"drained": True, "outbox_depth": 0}
    assert world.sql("select count(*) from todos") == [(50,)]
    world.upstream.offline()
    ana.todo(99)
    assert ana.call("drain", timeout_s=1) == {"drained": False, "outbox_depth": 1}


def test_pause_holds_everything_back_and_resume_lets_it_go(world: World):
    ana = live(world)
    ana.call("pause")
    assert ana.status()["paused"] is True
    world.upstream.forget()
    ana.todo(1, title="held")
    world.todo(2, title="afar")
    ana.call("sync", expect="REMOTE")
    assert world.upstream.requests == [] and ana.depth() == 1 and ana.keys("todos") == [key(1)]
    ana.call("resume")
    eventually(lambda: ana.depth() == 0 and len(ana.keys("todos")) == 2, "both halves agree")
    assert ana.status()["paused"] is False


@pytest.mark.parametrize("function", ["push", "pull"])
def test_a_stop_does_not_wait_for_a_hanging_upstream(world: World, function: str):
    ana = live(world, kept=True)
    held = world.upstream.fail("hold", function=function, times=None)
    ana.todo(1, title="kept")
    assert held.reached.wait(10)
    began = time.monotonic()
    ana.gateway.process.send_signal(signal.SIGTERM)
    assert ana.gateway.process.wait(10) == 0 and time.monotonic() - began < 5
    ana.gateway.stop()
    world.upstream.clear_faults()
    ana.start()
    eventually(lambda: ana.depth() == 0 and world.row("todos", key(1)), "it travels after all")


@pytest.mark.parametrize("flavour", ["plain", "supabase"])
def test_two_gateways_converge(request: pytest.FixtureRequest, flavour: str):
    world: World = request.getfixturevalue("world" if flavour == "plain" else "hosted")
    devices = [live(world, sync={"poll_interval_s": 1}) for _ in range(2)]

    def write(device: Device, offset: int) -> None:
        for number in range(offset, offset + 10):
            device.todo(number, title=str(number))
            device.update("todos", key(number), {"title": "changed", "tags": ["a", "b"]})
            if number % 5 == 0:
                device.delete("todos", key(number))

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write, devices, (10, 30)))
    want = [key(number) for number in (*range(10, 20), *range(30, 40)) if number % 5]
    eventually(lambda: all(device.keys("todos") == want and device.depth() == 0 for device in devices),
               "both have all", timeout=60)
    assert devices[0].rows("todos") == devices[1].rows("todos")
    assert [str(each) for [each] in world.sql("select id from todos order by id")] == want


def test_users_see_their_own_rows_alone(world: World):
    ana, ben = live(world), live(world, user="ben")
    for number, device in enumerate((ana, ben), start=1):
        assert device.insert("todos", {"id": key(number)}, Prefer="wait=20").status == 201
    for number, device in enumerate((ana, ben), start=1):
        device.call("sync")
        assert device.keys("todos") == [key(number)]
        assert device.row("todos", key(number))["user_id"] == {1: ANA}.get(number, device.status()["owner"])


def test_a_stop_answers_the_write_that_waits_for_its_verdict(world: World):
    ana = live(world, kept=True)
    held = world.upstream.fail("hold", function="push", times=None)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ana.insert, "todos", {"id": key(1)}, Prefer="wait=30")
        assert held.reached.wait(10)
        began = time.monotonic()
        ana.gateway.process.send_signal(signal.SIGTERM)
        assert waiting.result(10).status == 202
        assert ana.gateway.process.wait(10) == 0 and time.monotonic() - began < 5


def test_the_phase_tells_what_goes_on(world: World):
    ana = live(world)
    eventually(lambda: ana.status()["phase"] == "idle", "idle")
    held = world.upstream.fail("hold", function="push")
    ana.todo(1)
    assert held.reached.wait(10) and ana.status()["phase"] == "syncing"
    held.set()
    eventually(lambda: ana.status()["phase"] == "idle" and ana.depth() == 0, "idle again")
    world.upstream.fail("status", times=None)
    ana.todo(2)
    eventually(lambda: ana.status()["phase"] == "backoff", "backoff")
    assert ana.status()["consecutive_failures"] >= 1 and ana.status()["next_attempt_at"]
    assert ana.status()["outbox_depth"] == 1 and ana.status()["oldest_queued_at"]
    ana.call("pause")
    assert ana.status()["phase"] == "offline"


def test_a_run_that_failed_is_tried_again_by_itself(world: World):
    ana = live(world, sync={"poll_interval_s": 1})
    fault = world.upstream.fail("status", function="push", times=2)
    ana.todo(1)
    eventually(lambda: ana.depth() == 0, "the write arrives", timeout=60)
    assert fault.hits == 2 and world.row("todos", key(1)) is not None


@pytest.mark.parametrize("mode", ["declared", "chunked"])
def test_an_answer_beyond_all_bounds_is_a_failure_like_others(world: World, mode: str):
    world.todo(1)
    ana = world.device("ana", "todos")
    world.upstream.fail("oversize", function="pull", mode=mode)
    ana.pull(expect="REMOTE")
    assert ana.rows("todos") == []
    ana.pull()
    assert ana.keys("todos") == [key(1)]


def test_a_refused_project_key_stops_nothing_locally(world: World):
    ana = world.device("ana", "todos", live=True, remote={"publishable_key": "sb_publishable_wrong"})
    ana.todo(1)
    for _ in range(6):
        ana.call("sync", expect="REMOTE")
    assert ana.depth() == 1 and ana.rejections() == [] and ana.keys("todos") == [key(1)]


def test_a_schema_that_is_not_exposed_is_a_failure_that_may_pass(world: World):
    ana = world.device("ana", "todos", remote={"schema": "elsewhere"})
    ana.todo(1)
    for _ in range(6):
        assert "PGRST106" in ana.sync(expect="REMOTE")["message"]
    assert ana.depth() == 1 and ana.rejections() == []


def test_a_bare_postgrest_is_reached_without_the_path_of_a_project(world: World):
    world.todo(1)
    ana = world.device("ana", "todos", remote={"url": world.upstream.url + "/", "rest_path": ""})
    ana.todo(2)
    ana.sync()
    assert ana.keys("todos") == [key(1), key(2)] and world.row("todos", key(2)) is not None


@pytest.mark.parametrize("variable", ["KIZUNA_ACCESS_TOKEN", "KIZUNA_ACCESS_TOKEN_FILE"])
def test_the_environment_may_hold_the_session(world: World, tmp_path: pathlib.Path, variable: str):
    (tmp_path / "token").write_text(world.token("ana"))
    value = world.token("ana") if variable == "KIZUNA_ACCESS_TOKEN" else str(tmp_path / "token")
    world.todo(1)
    ana = live(world, session={}, environment={variable: value})
    assert ana.keys("todos") == [key(1)] and ana.status()["owner"] == ANA


def test_sighup_reads_the_token_again(world: World, tmp_path: pathlib.Path):
    file = tmp_path / "token"
    file.write_text(world.token("ana", ttl=-60))
    ana = world.device("ana", "todos", live=True, session={"access_token_file": str(file)})
    ana.todo(1)
    eventually(lambda: ana.status()["last_error"], "the refusal")
    file.write_text(world.token("ana"))
    ana.gateway.process.send_signal(signal.SIGHUP)
    eventually(lambda: ana.depth() == 0, "the write arrives")


def test_events_go_on_where_a_listener_left_off(world: World):
    ana = live(world)
    ana.insert("todos", {"id": key(1), "title": "forbidden"}, Prefer="wait=20")
    seen = ana.events_until("MUTATION_REJECTED")
    assert [name for name, _ in seen].count("MUTATION_REJECTED") == 1
    assert seen[-1][1]["mutation_id"] == ana.rejections()[0]["mutation_id"]


def test_kills_at_any_moment_neither_lose_nor_repeat_what_was_acknowledged(world: World):
    world.todo(1, n=0)
    ana = live(world, kept=True)
    eventually(lambda: ana.keys("todos") == [key(1)], "the first pull")
    tried = acknowledged = 0
    for round in range(6):
        for step in range(5 + 3 * round):
            tried += 1
            ana.apply("todos", key(1), "update", transforms={"n": {"op": "increment", "by": 1}})
            acknowledged += 1
            if step == 3:
                world.change("todos", key(1), note=f"round {round}")
        world.upstream.fail("delay", function="push", seconds=0.05 * round)
        ana.gateway.kill()
        ana.start()
    eventually(lambda: ana.depth() == 0, "all sent")
    ana.call("sync")
    assert tried == acknowledged == world.row("todos", key(1))["n"] == ana.row("todos", key(1))["n"]
    assert ana.row("todos", key(1))["note"] == "round 5" and ana.rejections() == []


def test_a_bucket_that_changes_during_a_pull_voids_its_answer(world: World):
    world.join("ana", 7, 8)
    world.add("recipes", slug="miso", kitchen_id=7)
    world.add("recipes", slug="ramen", kitchen_id=8)
    ana = world.device("ana", "recipes", kitchen=7)
    held = world.upstream.fail("hold", function="pull", where="answer")
    with ThreadPoolExecutor(1) as pool, ana.open():
        pulled = pool.submit(ana.call, "pull_once")
        assert held.reached.wait(10)
        ana.call("set_bucket", kitchen_id=8)
        held.set()
        pulled.result()
    assert "miso" not in ana.keys("recipes")
    ana.pull()
    assert ana.keys("recipes") == ["ramen"]


def test_a_reset_during_a_push_waits_for_it_and_wins(world: World):
    world.todo(1, title="one")
    ana = world.device("ana", "todos")
    ana.sync()
    ana.update("todos", key(1), {"title": "two"})
    held = world.upstream.fail("hold", function="push", where="answer")
    with ThreadPoolExecutor(2) as pool, ana.open(["push"]):
        pushed = pool.submit(ana.call, "push_once")
        assert held.reached.wait(10)
        reset = pool.submit(ana.call, "reset")
        assert len(ana.rows("todos")) == 1 and not reset.done()
        held.set()
        pushed.result()
        assert reset.result() == []
    assert ana.rows("todos") == [] and ana.depth() == 0 and ana.cursor() == "0"
    ana.sync()
    assert ana.row("todos", key(1))["title"] == "two"


def test_another_users_token_during_a_push_sends_nothing_more(world: World):
    ana = world.device("ana", "todos")
    ana.insert("todos", *({"id": key(each)} for each in range(501)))
    held = world.upstream.fail("hold", function="push", where="answer")
    with ThreadPoolExecutor(1) as pool, ana.open():
        synced = pool.submit(ana.request, "POST", "/sync/v1/rpc/sync", {})
        assert held.reached.wait(10)
        ana.call("set_access_token", token=world.token("ben"))
        held.set()
        synced.result()
    assert ana.blocked() == "identity_changed" and ana.depth() == 1
    assert [len(each) for each in ana.sent()] == [500]
    assert world.sql("select count(*) from todos where user_id = %s", ANA) == [(500,)]


def test_each_of_many_waiting_writers_is_told_of_its_own_write(world: World):
    ana = live(world)
    titles = ["fine", "forbidden"] * 10
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda each: ana.insert("todos", {"id": key(each), "title": titles[each]},
                                                        Prefer="wait=30"), range(20)))
    assert [each.status for each in answers] == [201, 409] * 10
    for number, answer in enumerate(answers):
        told = answer.json() if answer.status == 201 else [each["pk"] for each in answer.json()["details"]]
        assert told == [key(number)]
