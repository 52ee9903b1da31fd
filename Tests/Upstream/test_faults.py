"""Faults strike the requests they were planned for, and the upstream serves on."""

from __future__ import annotations

import concurrent.futures
import http.client
import json
import pathlib
import time

import pytest

from client import Client

SUB = "a0000000-0000-4000-8000-000000000001"
SCHEMA = pathlib.Path(__file__).with_name("schema_for_tests.sql").read_text()
LOST = (http.client.HTTPException, ConnectionError)


@pytest.fixture
def upstream(make_database, make_upstream):
    return make_upstream(make_database(SCHEMA, pack=False))


@pytest.fixture
def client(upstream):
    return Client(upstream, SUB)


def marks(upstream):
    return upstream.database.scalar("select count(*) from marks")


@pytest.mark.parametrize("kind, args, committed", [
    ("drop_before", {}, 0), ("drop_before", {"reset": True}, 0),
    ("drop_after", {}, 1), ("drop_after", {"reset": True}, 1),
])
def test_dropped_requests_lose_their_answer(client, upstream, kind, args, committed):
    upstream.fail(kind, **args)
    with pytest.raises(LOST):
        client.call("mark", {"name": "x"})
    assert marks(upstream) == committed
    assert [each.status for each in upstream.requests] == [0]
    assert client.call("none").status == 200


@pytest.mark.parametrize("kind, args, status, body", [
    ("status", {}, 503, b""),
    ("status", {"code": 502, "body": "<html>"}, 502, b"<html>"),
    ("status", {"code": 500, "body": {"message": "x"}}, 500, b'{"message": "x"}'),
    ("body", {"data": b"not json"}, 200, b"not json"),
    ("body", {"data": {"verdicts": []}}, 200, b'{"verdicts": []}'),
    ("redirect", {"location": "http://127.0.0.1/x"}, 302, b""),
])
def test_answers_can_be_replaced(client, upstream, kind, args, status, body):
    for commit, marked in ((False, 0), (True, 1)):
        upstream.fail(kind, commit=commit, **args)
        reply = client.call("mark", {"name": "x"})
        assert (reply.status, reply.body, marks(upstream)) == (status, body, marked)
        assert reply.headers.get("Location") == args.get("location")


def test_errors_have_postgrest_bodies(client, upstream):
    upstream.fail("error", code="40P01", message="deadlock detected", status=500)
    reply = client.call("none")
    assert (reply.status, reply.json) == (500, {"code": "40P01", "message": "deadlock detected",
                                               "details": None, "hint": None})
    upstream.fail("expired")
    reply = client.call("none")
    assert (reply.status, reply.code, reply.json["message"]) == (401, "PGRST301", "JWT expired")


def test_a_truncated_answer_is_half_of_a_committed_one(client, upstream):
    upstream.fail("truncate", function="raw")
    with pytest.raises(http.client.IncompleteRead) as caught:
        client.call("raw")
    assert caught.value.partial == b'{"big": 12345678901234567890.10,  "b":1, "b":2}'[:23]


def test_oversize_answers_declare_or_stream_too_much(client, upstream):
    upstream.fail("oversize")
    client.connection.request("POST", "/rest/v1/rpc/none", b"{}", client.headers)
    answer = client.connection.getresponse()
    assert int(answer.headers["Content-Length"]) > 64 * 1024 * 1024
    client.connection.close()
    upstream.fail("oversize", mode="chunked")
    client.connection.request("POST", "/rest/v1/rpc/none", b"{}", client.headers)
    answer = client.connection.getresponse()
    assert len(answer.read(65 * 1024 * 1024)) == 65 * 1024 * 1024
    client.connection.close()


def test_faults_count_wait_and_choose_their_function(client, upstream):
    fault = upstream.fail("status", times=2, function="none", after=1, code=500)
    assert client.call("marks").status == 200
    assert [client.call("none").status for _ in range(4)] == [200, 500, 500, 200]
    assert fault.hits == 2
    upstream.fail("status", times=None, code=500)
    assert [client.call("none").status for _ in range(3)] == [500] * 3
    upstream.clear_faults()
    assert client.call("none").status == 200


def test_slow_faults_join_others(client, upstream):
    upstream.fail("delay", seconds=0.05)
    upstream.fail("delay_after", seconds=0.05)
    upstream.fail("status", code=500)
    started = time.monotonic()
    assert client.call("none").status == 500
    assert time.monotonic() - started >= 0.05


@pytest.mark.parametrize("where, visible", [("start", 0), ("commit", 0), ("answer", 1)])
def test_held_requests_wait_where_they_were_told(client, upstream, where, visible):
    held = upstream.fail("hold", function="mark", where=where)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        reply = pool.submit(client.call, "mark", {"name": "x"})
        assert held.reached.wait(5)
        assert (marks(upstream), reply.done()) == (visible, False)
        held.set()
        assert reply.result(5).status == 204
    assert marks(upstream) == 1


def test_clearing_lets_held_requests_go(client, upstream):
    held = upstream.fail("hold")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        reply = pool.submit(client.call, "none")
        assert held.reached.wait(5)
        upstream.clear_faults()
        assert reply.result(5).status == 200


def test_offline_refuses_connections_until_online_on_the_same_port(client, upstream):
    url = upstream.url
    assert client.call("none").status == 200
    upstream.offline()
    with pytest.raises(LOST):
        client.call("none")
    with pytest.raises(ConnectionRefusedError):
        Client(upstream, SUB).call("none")
    upstream.online()
    assert upstream.url == url
    assert Client(upstream, SUB).call("none").status == 200


def test_misspelt_faults_are_refused_at_once(upstream):
    with pytest.raises(ValueError, match="unknown fault"):
        upstream.fail("drop")
    with pytest.raises(ValueError, match="takes no"):
        upstream.fail("delay", second=1)


def test_faults_are_planned_over_http_too(client, upstream):
    assert client.post("/control/fail", {"kind": "status", "code": 500, "times": 2}).status == 200
    assert client.post("/control/fail", {"kind": "nonsense"}).status == 400
    assert client.call("none").status == 500
    client.post("/control/clear")
    assert client.call("none").status == 200
    client.connection.request("GET", "/control/requests")
    shown = json.loads(client.connection.getresponse().read())
    assert [each["status"] for each in shown] == [500, 200]
