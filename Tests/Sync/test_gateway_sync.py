"""The running gateway between its callers and its upstream: waiting for verdicts, sessions, interruptions."""

from __future__ import annotations

import json
import pathlib
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import ANA, TABLES, Device, World, bucket, eventually, key, live


# Waiting for the verdict


def test_a_write_that_waits_is_answered_when_it_is_applied(world: World):
    ana = live(world)
    answer = ana.insert("todos", {"id": key(1), "title": "x"}, Prefer="wait=20")
    assert answer.status == 201 and answer.json() == [key(1)]
    assert world.row("todos", key(1))["title"] == "x" and ana.depth() == 0
    answer = ana.request("DELETE", f"/rest/v1/todos?id=eq.{key(1)}", Prefer="wait=20, return=representation")
    assert answer.status == 200 and answer.json()[0]["title"] == "x"
    assert world.row("todos", key(1)) is None


def test_a_write_that_waits_is_told_of_its_refusal(world: World):
    ana = live(world)
    answer = ana.insert("todos", {"id": key(1), "title": "fine"}, {"id": key(2), "title": "forbidden"},
                        Prefer="wait=20")
    assert answer.status == 409
    error = answer.json()
    assert error["code"] == "KIZUNA_REJECTED" and set(error) == {"code", "message", "details", "hint"}
    [refused] = error["details"]
    assert (refused["table"], refused["pk"], refused["reason"]) == ("todos", key(2), "CONSTRAINT")
    assert refused["write_id"] == answer.headers["kizuna-write-id"]
    assert ana.rejections() == [refused]
    assert ana.keys("todos") == [key(1)] and world.row("todos", key(1)) is not None


@pytest.mark.parametrize("upstream", ["no token", "down", "paused"])
def test_a_write_that_is_not_judged_in_time_is_accepted(world: World, upstream: str):
    signed_out = upstream == "no token"
    ana = world.device("ana", "todos", live=True, session={}) if signed_out else live(world)
    if upstream == "down":
        world.upstream.offline()
    elif upstream == "paused":
        ana.call("pause")
    began = time.monotonic()
    answer = ana.insert("todos", {"id": key(1)}, Prefer="wait=1")
    assert answer.status == 202 and answer.json() == [key(1)]
    assert (0 if upstream == "paused" else 0.9) < time.monotonic() - began < 5
    assert ana.depth() == 1 and ana.keys("todos") == [key(1)]


def test_a_call_that_leaves_nothing_to_judge_does_not_wait(world: World):
    notes = {"columns": {"id": "uuid", "text": "text"}, "sync_mode": "local-only"}
    ana = world.device("ana", "todos", tables={"scratchpad": notes})
    began = time.monotonic()
    calls = [("POST", "todos", [{"id": key(1)}], "wait=20, tx=rollback"), ("POST", "todos", [], "wait=20"),
             ("PATCH", f"todos?id=eq.{key(9)}", {"title": "x"}, "wait=20"),
             ("DELETE", f"todos?id=eq.{key(9)}", None, "wait=20"),
             ("POST", "scratchpad", [{"id": key(1)}], "wait=20"),
             ("POST", "todos", [{"id": key(1), "n": "no number"}], "wait=20")]
    statuses = [ana.request(method, f"/rest/v1/{target}", body, Prefer=prefer).status
                for method, target, body, prefer in calls]
    assert statuses == [201, 201, 200, 200, 201, 400] and time.monotonic() - began < 5
    assert ana.depth() == 0


def test_an_update_of_many_rows_that_waits_is_told_of_each_refusal(world: World):
    for number in range(1, 6):
        world.todo(number, n=number)
    ana = live(world)
    world.change("todos", key(2), title="meanwhile")
    world.change("todos", key(4), title="meanwhile")
    answer = ana.request("PATCH", "/rest/v1/todos?n=gt.0&precondition.title=old", {"note": "x"}, Prefer="wait=20")
    assert answer.status == 409 and len(answer.json()["details"]) == 5
    answer = ana.request("PATCH", "/rest/v1/todos?n=gt.0&precondition.title=meanwhile", {"note": "x"},
                         Prefer="wait=20, return=representation")
    assert answer.status == 409
    assert sorted(each["pk"] for each in answer.json()["details"]) == [key(1), key(3), key(5)]
    assert [each["note"] for each in ana.rows("todos")] == [None, "x", None, "x", None]


def test_others_are_served_while_one_waits(world: World):
    ana = live(world)
    held = world.upstream.fail("hold", function="push")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ana.insert, "todos", {"id": key(1)}, Prefer="wait=20")
        assert held.reached.wait(10)
        began = time.monotonic()
        ana.todo(2, title="meanwhile")
        assert len(ana.keys("todos")) == 2 and time.monotonic() - began < 2
        held.set()
        assert waiting.result().status == 201
    eventually(lambda: world.row("todos", key(2)), "the second write")


def test_a_write_id_is_carried_into_the_outbox_and_the_rejections(world: World):
    ana = world.device("ana", "todos")
    written = ana.insert("todos", {"id": key(1), "title": "forbidden"}, {"id": key(2), "title": "fine"})
    other = ana.insert("todos", {"id": key(3)})
    ids = [written.headers["kizuna-write-id"]] * 2 + [other.headers["kizuna-write-id"]]
    assert [each["write_id"] for each in ana.outbox()] == ids and len(set(ids)) == 2
    ana.sync()
    [entry] = ana.rejections()
    assert (entry["write_id"], entry["pk"]) == (ids[0], key(1))
    assert ana.call("dismiss_rejection", mutation_id=entry["mutation_id"]) is True and ana.rejections() == []
    assert ana.read("/sync/v1/rejections?include_dismissed=true") == [{**entry, "dismissed": True}]


def test_refusals_are_told_in_request_order_after_the_writes(world: World):
    ana = world.device("ana", "todos")
    ana.insert("todos", *({"id": key(each), "title": "forbidden"} for each in (1, 2, 3)))
    ids = [each["mutation_id"] for each in ana.outbox()]
    ana.push()
    seen = ana.events(lambda seen: [name for name, _ in seen].count("LOCAL_CHANGED") == 2)
    assert [name for name, _ in seen] == [
        "LOCAL_CHANGED", "QUEUE_DEPTH", *["MUTATION_REJECTED"] * 3, "LOCAL_CHANGED"]
    assert seen[1][1] == {"depth": 3}
    assert [data for name, data in seen if name == "MUTATION_REJECTED"] == [
        {"mutation_id": each, "reason": "CONSTRAINT"} for each in ids]
    assert [each["mutation_id"] for each in ana.rejections()] == ids[::-1]


# Tokens and sessions


@pytest.mark.parametrize("token", ["expired", "missing"])
def test_without_a_good_token_everything_local_goes_on(world: World, token: str):
    given = {"access_token": world.token("ana", ttl=-60)} if token == "expired" else {}
    ana = world.device("ana", "todos", live=True, session=given)
    ana.todo(1)
    for _ in range(6):
        message = ana.call("sync", expect="REMOTE")["message"]
        assert ("PGRST301" if token == "expired" else "AUTH_SESSION_MISSING") in message
    ana.todo(2)
    assert ana.keys("todos") == [key(1), key(2)] and ana.depth() == 2 and ana.rejections() == []
    eventually(lambda: ana.status()["last_error"]["code"] == "REMOTE", "the reason shows")
    if token == "missing":
        assert world.upstream.requests == []
    ana.call("set_access_token", token=world.token("ana"))
    ana.call("sync")
    assert ana.depth() == 0 and ana.status()["consecutive_failures"] == 0


def test_a_token_file_that_changes_is_read_again(world: World, tmp_path: pathlib.Path):
    file = tmp_path / "token"
    file.write_text(world.token("ana", ttl=-60) + "\n")
    ana = world.device("ana", "todos", live=True, session={"access_token_file": str(file)})
    ana.todo(1)
    assert "PGRST301" in ana.call("sync", expect="REMOTE")["message"]
    file.write_text(world.token("ana") + "\n")
    ana.call("sync")
    assert ana.depth() == 0 and world.row("todos", key(1)) is not None
    assert ana.status()["owner"] == ANA


def signed_up(world: World, tmp_path: pathlib.Path, **session: str) -> Device:
    world.upstream.add_user("ana@example.test", "a secret", ANA)
    (tmp_path / "password").write_text("a secret\n")
    session = session or {"email": "ana@example.test", "password_file": str(tmp_path / "password")}
    return world.device("ana", "todos", live=True, session={"session": session}, kept=True)


def test_a_session_signs_in_by_password_and_renews_itself(world: World, tmp_path: pathlib.Path):
    world.upstream.expires_in = 2
    ana = signed_up(world, tmp_path)
    ana.call("sync")
    ana.todo(1)
    ana.call("sync")
    assert world.row("todos", key(1)) is not None and world.upstream.grants["password"] == 1

    def renewed() -> bool:
        ana.request("POST", "/sync/v1/rpc/sync", {})
        return world.upstream.grants.get("refresh_token", 0) >= 2

    eventually(renewed, "two renewals")
    assert world.upstream.grants["password"] == 1
    world.upstream.expires_in = 3600
    ana.restart()
    ana.call("sync")
    ana.todo(2)
    ana.call("sync")
    assert world.row("todos", key(2)) is not None and ana.status()["owner"] == ANA


def test_a_session_starts_from_a_refresh_token_and_rotates_it(world: World, tmp_path: pathlib.Path):
    world.upstream.add_user("ana@example.test", "a secret", ANA)
    file = tmp_path / "refresh"
    file.write_text(world.upstream.auth.refresh_token("ana@example.test") + "\n")
    ana = signed_up(world, tmp_path, refresh_token_file=str(file))
    ana.call("sync")
    ana.todo(1)
    ana.call("sync")
    ana.restart()
    ana.todo(2)
    ana.call("sync")
    assert world.sql("select count(*) from todos") == [(2,)]
    assert "password" not in world.upstream.grants and world.upstream.grants["refresh_token"] >= 2


def test_a_session_outlives_a_token_that_the_upstream_refuses_once(world: World, tmp_path: pathlib.Path):
    ana = signed_up(world, tmp_path)
    ana.call("sync")
    expired = world.upstream.fail("expired", function="push")
    ana.todo(1)

    def arrived() -> bool:
        ana.request("POST", "/sync/v1/rpc/sync", {})
        return ana.depth() == 0

    eventually(arrived, "the write arrives")
    assert expired.hits == 1 and world.upstream.grants["password"] == 1
    assert world.row("todos", key(1)) is not None


def test_a_refused_sign_in_keeps_everything_and_says_so(world: World, tmp_path: pathlib.Path):
    ana = signed_up(world, tmp_path)
    world.upstream.add_user("ana@example.test", "another secret", ANA)
    ana.restart()
    ana.todo(1)
    answer = ana.request("POST", "/sync/v1/rpc/sync", {})
    assert (answer.status, answer.json()["code"]) in {(502, "REMOTE"), (204, None)}
    assert ana.keys("todos") == [key(1)]


# What travels


def test_local_only_columns_never_travel_and_survive_a_pull(world: World):
    columns = {**TABLES["todos"]["columns"], "draft": "text", "scratch": "integer"}
    ana = world.device("ana", tables={"todos": {**TABLES["todos"], "columns": columns}},
                       remote={"local_only_columns": ["draft", "scratch"]})
    ana.todo(1, title="one", draft="mine", scratch=1)
    ana.update("todos", key(1), {"title": "two", "scratch": 2})
    ana.sync()
    for sent in [each for push in ana.sent() for each in push]:
        assert not {"draft", "scratch"} & sent["columns"].keys(), sent
    world.change("todos", key(1), note="afar")
    ana.sync()
    row = ana.row("todos", key(1))
    assert (row["title"], row["note"], row["draft"], row["scratch"]) == ("two", "afar", "mine", 2)
    assert ana.rejections() == []


def test_an_update_of_local_only_columns_alone_changes_nothing_upstream(world: World):
    columns = {**TABLES["todos"]["columns"], "draft": "text"}
    ana = world.device("ana", tables={"todos": {**TABLES["todos"], "columns": columns}},
                       remote={"local_only_columns": ["draft"]})
    ana.todo(1, title="one")
    ana.sync()
    ana.update("todos", key(1), {"draft": "mine"})
    ana.sync()
    assert ana.row("todos", key(1))["draft"] == "mine" and ana.rejections() == [] and ana.depth() == 0


def test_local_only_tables_never_travel(world: World):
    notes = {"columns": {"id": "uuid", "text": "text"}, "sync_mode": "local-only"}
    ana = world.device("ana", "todos", tables={"scratchpad": notes})
    ana.insert("scratchpad", {"id": key(1), "text": "mine"})
    assert ana.depth() == 0
    ana.sync()
    assert ana.calls("push") == [] and ana.calls("pull")[0].body["buckets"] == [bucket("todos", user_id=ANA)]
    assert len(ana.rows("scratchpad")) == 1


def test_a_pull_only_table_is_read_and_never_written(world: World):
    world.add("units", code="kg", name="kilogram")
    ana = world.device("ana", "units")
    ana.sync()
    assert ana.rows("units") == [{"code": "kg", "name": "kilogram"}]
    refused = ana.insert("units", {"code": "lb"}, Prefer="return=minimal")
    assert (refused.status, refused.json()["code"]) == (400, "LOCAL_UNSUPPORTED")


@pytest.mark.parametrize("limit", [1, 3, None])
def test_the_page_limit_is_what_is_asked_for(world: World, limit: int | None):
    for number in range(1, 6):
        world.todo(number)
    ana = world.device("ana", "todos", sync={"page_limit": limit})
    ana.sync()
    assert {each.body.get("limit") for each in ana.calls("pull")} == {limit}
    assert len(ana.pages()) == (-(-5 // limit) if limit else 1) and len(ana.keys("todos")) == 5


def test_requests_carry_the_envelope_and_nothing_else(world: World):
    ana = world.device("ana", "todos")
    ana.todo(1, title="x")
    ana.update("todos", key(1), {"title": "y"})
    ana.sync()
    [push], [pull] = ana.calls("push"), ana.calls("pull")
    for call in (push, pull):
        assert call.headers["apikey"] == world.upstream.publishable_key
        assert call.headers["authorization"] == f"Bearer {ana.token}"
        assert call.headers["content-profile"] == "kizunasync" and "accept-profile" not in call.headers
        assert call.headers["content-type"] == call.headers["accept"] == "application/json"
        assert call.body["client_id"] == ana.status()["client_id"] and call.body["schema_version"] == 1
    assert set(pull.body) == {"buckets", "client_id", "cursor", "schema_version"}
    assert set(push.body) == {"batch", "client_id", "last_mutation_id", "schema_version"}
    assert push.body["last_mutation_id"] is None and push.body["batch"]["atomic"] is False
    assert [set(each) for each in push.body["batch"]["mutations"]] == [
        {"mutation_id", "table", "pk", "op", "columns"}] * 2
    ana.update("todos", key(1), {"title": "z"})
    ana.sync()
    assert ana.calls("push")[1].body["last_mutation_id"] == ana.sent()[0][1]["mutation_id"]


def test_a_parent_travels_before_its_child(world: World):
    ana = world.device("ana", "lists", "items")
    ana.insert("lists", {"id": key(1), "name": "groceries"})
    ana.insert("items", {"id": key(2), "list_id": key(1), "label": "milk"})
    ana.insert("items", {"id": key(3), "list_id": key(9), "label": "orphan"})
    ana.sync()
    assert [[each["table"] for each in push] for push in ana.sent()] == [["lists", "items", "items"]]
    assert [(each["pk"], each["reason"]) for each in ana.rejections()] == [(key(3), "CONSTRAINT")]
    assert world.row("items", key(2)) is not None and ana.keys("items") == [key(2)]


def test_no_secret_is_told_to_anyone(world: World):
    ana = live(world)
    ana.insert("todos", {"id": key(1), "title": "forbidden"}, Prefer="wait=20")
    told = ana.gateway.stderr() + json.dumps(ana.status()) + ana.request("GET", "/metrics").body.decode()
    assert ana.token not in told and world.upstream.publishable_key not in told
