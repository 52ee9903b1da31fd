"""The upstream keeps PostgREST's contract for calls of functions."""

from __future__ import annotations

import base64
import json
import pathlib

import psycopg2
import pytest

import tokens
from client import Client

SUB = "a0000000-0000-4000-8000-000000000001"
SCHEMA = pathlib.Path(__file__).with_name("schema_for_tests.sql").read_text()


@pytest.fixture
def upstream(make_database, make_upstream):
    return make_upstream(make_database(SCHEMA, pack=False))


@pytest.fixture
def client(upstream):
    return Client(upstream, SUB)


def test_arguments_reach_their_types_and_defaults_fill_in(client):
    reply = client.call("echo", {"a": {"x": [1, None]}, "b": "é%s"})
    assert reply.json == {"a": {"x": [1, None]}, "b": "é%s", "c": 5}
    assert client.call("echo", {"a": "text", "b": 7, "c": 6}).json == {"a": "text", "b": "7", "c": 6}
    assert client.call("list", {"items": ["a", "b, c"]}).json == 2


def test_json_travels_byte_for_byte(client):
    assert client.call("raw").body == b'{"big": 12345678901234567890.10,  "b":1, "b":2}'
    number = b'{"a":  1.00000000000000000000001, "b": null}'
    assert b'"a" : 1.00000000000000000000001' in client.call("echo", number).body


@pytest.mark.parametrize("function, body, status, expected", [
    ("mark", {"name": "x"}, 204, None),
    ("marks", {}, 200, []),
    ("numbers", {"n": 2}, 200, [{"i": 1, "t": "1"}, {"i": 2, "t": "2"}]),
    ("numbers", {"n": 0}, 200, []),
    ("none", {}, 200, None),
])
def test_results_have_postgrest_shapes(client, function, body, status, expected):
    reply = client.call(function, body)
    assert reply.status == status
    assert (json.loads(reply.body) if reply.body else None) == expected


@pytest.mark.parametrize("code, status", [
    ("P0001", 400), ("KZP01", 400), ("KZL02", 400), ("22023", 400), ("22P02", 400), ("23514", 400),
    ("23502", 400), ("23503", 409), ("23505", 409), ("25006", 405), ("28000", 403), ("40001", 500),
    ("40P01", 500), ("42501", 403), ("42P01", 404), ("42703", 400), ("0A000", 400), ("53300", 503),
    ("53400", 500), ("54000", 500), ("55000", 500), ("57014", 500), ("57P01", 503), ("58030", 500),
    ("08006", 503), ("P0002", 500), ("XX000", 500), ("PT418", 418),
])
def test_errors_of_postgres_have_postgrest_statuses(client, code, status):
    reply = client.call("raise", {"code": code})
    assert (reply.status, reply.json) == (status, {"code": code, "message": "planned",
                                                   "details": "the detail", "hint": "the hint"})


@pytest.mark.parametrize("function, body, status, code", [
    ("unknown", {}, 404, "PGRST202"),
    ("echo", {"a": 1}, 404, "PGRST202"),
    ("echo", {"a": 1, "b": "x", "z": 1}, 404, "PGRST202"),
    ("raw", {"z": 1}, 404, "PGRST202"),
    ("echo", b"{", 400, "PGRST102"),
    ("echo", b"[1]", 400, "PGRST102"),
    ("echo", b"\xff", 400, "PGRST102"),
    ("echo", b'{"a":NaN,"b":"x"}', 400, "PGRST102"),
    ("numbers", {"n": "many"}, 400, "22P02"),
    ("secret", {}, 403, "42501"),
])
def test_bad_calls_are_refused_with_postgrest_codes(client, function, body, status, code):
    reply = client.call(function, body)
    assert (reply.status, reply.code) == (status, code)
    assert set(reply.json) == {"code", "message", "details", "hint"}


def test_the_profile_selects_the_schema(client):
    assert client.call("hello").status == 404
    assert client.call("hello", Content_Profile="public").json == "hello"
    reply = client.call("hello", Content_Profile="secret")
    assert (reply.status, reply.code) == (406, "PGRST106")


def test_a_bare_postgrest_serves_at_its_root_without_a_key(client):
    assert client.post("/rpc/none", apikey=None).status == 200
    assert client.call("none", apikey=None).status == 401
    assert client.call("none", apikey="another").json["message"] == "Invalid API key"
    assert client.post("/elsewhere").code == "PGRST125"


def test_claims_and_headers_hold_for_the_transaction(client, upstream):
    token = upstream.token(SUB, team="seven")
    seen = client.call("caller", Authorization=f"Bearer {token}", X_Trace="t1").json
    assert (seen["user"], seen["session"], seen["sub"]) == ("authenticated", "authenticator", SUB)
    assert seen["claims"]["team"] == "seven"
    assert seen["headers"]["x-trace"] == "t1"
    assert (seen["method"], seen["path"]) == ("POST", "/rpc/caller")
    assert seen["search_path"] == '"kizunasync", "public"'


def test_nothing_of_a_caller_is_left_for_the_next(make_database, make_upstream):
    upstream = make_upstream(make_database(SCHEMA, pack=False), pool=1)
    assert Client(upstream, SUB).call("caller").json["user"] == "authenticated"
    assert Client(upstream, SUB).call("raise", {"code": "P0001"}).status == 400
    anonymous = Client(upstream).call("caller").json
    assert (anonymous["user"], anonymous["sub"]) == ("anon", None)
    assert anonymous["claims"] == {"role": "anon"}
    with upstream.caller.connection() as connection, connection.cursor() as cursor:
        cursor.execute("select current_user, current_setting('request.jwt.claims', true)")
        assert cursor.fetchone() == ("authenticator", "")


def test_anonymous_callers_without_the_right_get_401(upstream):
    reply = Client(upstream).call("secret")
    assert (reply.status, reply.code, reply.headers["WWW-Authenticate"]) == (401, "42501", "Bearer")


def test_bad_tokens_are_refused(upstream, client):
    stranger = tokens.encode({"sub": SUB, "role": "authenticated"}, "another secret")
    unsigned = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=") + ".e30."
    for token, message in [
        (upstream.token(SUB, ttl=-1), "JWT expired"),
        (upstream.token(SUB, nbf=4102444800), "JWT not yet valid"),
        (upstream.token(SUB, exp="soon"), "The JWT 'exp' claim must be a number"),
        (stranger, "No suitable key or wrong key type"),
        (unsigned, "Wrong or unsupported encoding algorithm"),
        ("a.b", "Expected 3 parts in JWT; got 2"),
    ]:
        reply = client.call("none", Authorization=f"Bearer {token}")
        assert (reply.status, reply.code, reply.json["message"]) == (401, "PGRST301", message)


def test_roles_out_of_reach_are_refused(upstream, client):
    for role, status, code in [("nobody", 401, "22023"), ("postgres", 403, "42501")]:
        reply = client.call("none", Authorization=f"Bearer {upstream.token(SUB, role=role)}")
        assert (reply.status, reply.code) == (status, code)


def test_a_failed_call_leaves_nothing_and_errors_at_commit_count(client, upstream):
    assert client.call("mark_deferred", {"name": "one"}).status == 204
    reply = client.call("mark_deferred", {"name": "two"})
    assert (reply.status, reply.code) == (409, "23505")
    assert upstream.database.execute("select name from marks") == [("one",)]


def test_functions_made_later_are_found(client, upstream):
    assert client.call("late").status == 404
    upstream.database.execute("create function kizunasync.late() returns int language sql as 'select 1'")
    assert client.call("late").json == 1
    upstream.database.execute("drop function kizunasync.late();"
                              "create function kizunasync.late(n int) returns int language sql as 'select n'")
    assert client.call("late", {"n": 2}).json == 2


def test_a_connection_serves_many_requests_and_chunked_bodies(client):
    client.call("none")
    socket = client.connection.sock
    client.connection.request("POST", "/rest/v1/rpc/list", iter([b'{"items":', b'["a"]}']), client.headers,
                              encode_chunked=True)
    assert client.connection.getresponse().read() == b"1"
    assert client.call("none").status == 200
    assert client.connection.sock is socket


def test_hooks_see_each_call_and_what_it_did(client, upstream):
    seen = []
    upstream.before = lambda function, body: seen.append(
        ("before", function, body, upstream.database.scalar("select count(*) from marks")))
    upstream.after = lambda function, body, status, payload: seen.append(
        ("after", status, payload, upstream.database.scalar("select count(*) from marks")))
    client.call("mark", {"name": "x"})
    client.call("unknown")
    assert seen[:2] == [("before", "mark", {"name": "x"}, 0), ("after", 204, b"", 1)]
    assert [each[:2] for each in seen[2:]] == [("after", 404)]


def test_a_hook_that_raises_is_an_error_of_the_test(client, upstream):
    upstream.before = lambda *_: 1 / 0
    assert client.call("none").status == 500
    with pytest.raises(ZeroDivisionError):
        upstream.stop()
    upstream.errors.clear()


def test_requests_are_recorded_with_their_answers(client, upstream):
    client.call("echo", {"a": 1, "b": "x"})
    client.call("unknown", {"n": 1})
    echo, unknown = upstream.requests
    assert (echo.function, echo.body, echo.status) == ("echo", {"a": 1, "b": "x"}, 200)
    assert json.loads(echo.payload)["b"] == "x"
    assert echo.headers["authorization"].startswith("Bearer ")
    assert (unknown.function, unknown.status) == ("unknown", 404)
    assert upstream.wait_for(1, "echo") == upstream.calls("echo") == [echo]
    with pytest.raises(TimeoutError):
        upstream.wait_for(2, "echo", timeout=0.01)


def test_lost_database_connections_are_503_and_recover(client, upstream):
    assert client.call("none").status == 200
    upstream.database.execute("select pg_terminate_backend(pid) from pg_stat_activity "
                              "where usename = 'authenticator' and datname = current_database()")
    assert client.call("none").status == 503
    assert client.call("none").status == 200


def test_service_role_is_what_the_token_says(client, upstream):
    token = upstream.token(SUB, role="service_role")
    with pytest.raises(psycopg2.errors.InsufficientPrivilege), upstream.database.acting(SUB) as cursor:
        cursor.execute("select kizunasync.secret()")
    seen = client.call("hello", Authorization=f"Bearer {token}", Content_Profile="public")
    assert seen.json == "hello"
