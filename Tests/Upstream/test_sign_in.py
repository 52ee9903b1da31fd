"""The stand-in for Supabase Auth hands out tokens that the upstream takes, and rotates refresh tokens."""

from __future__ import annotations

import pathlib

import pytest

import tokens
from client import Client

SUB = "a0000000-0000-4000-8000-000000000001"
SCHEMA = pathlib.Path(__file__).with_name("schema_for_tests.sql").read_text()
PASSWORD = "/auth/v1/token?grant_type=password"
REFRESH = "/auth/v1/token?grant_type=refresh_token"


@pytest.fixture
def upstream(make_database, make_upstream):
    upstream = make_upstream(make_database(SCHEMA, pack=False))
    upstream.add_user("ana@example.test", "secret", SUB)
    return upstream


@pytest.fixture
def client(upstream):
    return Client(upstream)


def sign_in(client):
    return client.post(PASSWORD, {"email": "ana@example.test", "password": "secret"})


def test_a_password_opens_a_session(client, upstream):
    upstream.expires_in = 120
    session = sign_in(client).json
    assert (session["token_type"], session["expires_in"], session["user"]["id"]) == ("bearer", 120, SUB)
    claims = tokens.decode(session["access_token"], upstream.jwt_secret)
    assert claims["exp"] - claims["iat"] == 120
    seen = client.call("caller", Authorization=f"Bearer {session['access_token']}").json
    assert seen["sub"] == SUB


@pytest.mark.parametrize("email, password", [("ana@example.test", "wrong"), ("eve@example.test", "secret"),
                                             ("ana@example.test", None)])
def test_wrong_credentials_are_refused(client, email, password):
    reply = client.post(PASSWORD, {"email": email, "password": password})
    assert (reply.status, reply.json["error_code"]) == (400, "invalid_credentials")


def test_refresh_tokens_rotate_and_old_ones_are_refused(client, upstream):
    first = sign_in(client).json
    second = client.post(REFRESH, {"refresh_token": first["refresh_token"]}).json
    assert second["refresh_token"] != first["refresh_token"]
    assert second["access_token"] != first["access_token"]
    old = client.post(REFRESH, {"refresh_token": first["refresh_token"]})
    assert (old.status, old.json["error_code"], old.json["error"]) == (400, "refresh_token_already_used",
                                                                      "invalid_grant")
    assert client.post(REFRESH, {"refresh_token": second["refresh_token"]}).status == 200
    assert upstream.grants == {"password": 1, "refresh_token": 3}


def test_unknown_and_revoked_refresh_tokens_are_refused(client, upstream):
    session = sign_in(client).json
    upstream.auth.revoke()
    for token in ("made-up", session["refresh_token"]):
        reply = client.post(REFRESH, {"refresh_token": token})
        assert (reply.status, reply.json["error_code"]) == (400, "refresh_token_not_found")


def test_the_key_is_demanded(client):
    assert client.post(PASSWORD, {}, apikey=None).status == 401
    assert client.post("/auth/v1/token?grant_type=magic", {}).status == 400


def test_faults_reach_auth_by_name_only(client, upstream):
    upstream.fail("status", times=None, code=500)
    assert sign_in(client).status == 200
    upstream.clear_faults()
    upstream.fail("status", function="token", code=500)
    assert sign_in(client).status == 500
    assert sign_in(client).status == 200


def test_a_lost_answer_has_still_used_up_the_refresh_token(client, upstream):
    token = sign_in(client).json["refresh_token"]
    upstream.fail("status", function="token", code=502, commit=True)
    assert client.post(REFRESH, {"refresh_token": token}).status == 502
    assert client.post(REFRESH, {"refresh_token": token}).status == 400
