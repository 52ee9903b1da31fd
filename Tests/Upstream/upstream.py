#!/usr/bin/env python3
"""The upstream for tests: PostgREST's RPC contract and Supabase Auth's token grants over a real PostgreSQL.

    with Postgres() as postgres, Upstream(postgres.database(schema)) as upstream:
        upstream.url                                        # http://127.0.0.1:41233
        upstream.token(sub, ttl=60)                         # a user's JWT
        upstream.publishable_key                            # the apikey that /rest/v1 and /auth/v1 demand
        upstream.add_user("ana@example.test", "secret", sub)
        upstream.fail("drop_after", function="push")        # commit the next push, then hang up
        upstream.calls("push")[-1].body["batch"]            # what was asked
        upstream.wait_for(2, "pull")                        # until two pulls were answered

As a script: `python3 Tests/Upstream/upstream.py --demo [--port P] [--directory DIR]`.
"""

from __future__ import annotations

import dataclasses
import threading
import time
import uuid
from typing import Any, Callable

import faults
import rpc
import sign_in
import tokens
from listener import Listener
from postgres import Database

JWT_SECRET = "a-secret-for-tests-with-at-least-32-characters"
PUBLISHABLE_KEY = "sb_publishable_test"


@dataclasses.dataclass
class Recorded:
    """One request, in order of arrival. `status` is None until it is answered, and 0 when the upstream hung
    up on purpose; `payload` is the answer's body."""

    function: str
    body: Any
    headers: dict[str, str]
    status: int | None = None
    payload: bytes = b""


class Upstream:
    """An HTTP server on 127.0.0.1 for one `Database`.

    Parameters: `schemas`, the exposed ones, the first being the default; `record=False` keeps no requests;
    `claims_code="PGRST303"` refuses expired tokens as PostgREST 13 does; `pool`, database connections.

    Attributes to set: `before(function, body)`, called before the transaction; `after(function, body, status,
    payload)`, called once it is committed and before the answer leaves; `expires_in`, the life of the tokens
    that Auth hands out. An exception of a hook answers 500 and is raised again by `stop()`.
    Attributes to read: `url`, `port`, `requests` (list of `Recorded`), `grants` (counts by grant type).
    """

    def __init__(self, database: Database, jwt_secret: str = JWT_SECRET, port: int = 0,
                 publishable_key: str = PUBLISHABLE_KEY, schemas: tuple[str, ...] = ("kizunasync", "public"),
                 record: bool = True, claims_code: str = "PGRST301", pool: int = 20):
        self.database = database
        self.jwt_secret = jwt_secret
        self.publishable_key = publishable_key
        self.schemas = schemas
        self.record = record
        self.claims_code = claims_code
        self.before: Callable[[str, dict], Any] | None = None
        self.after: Callable[[str, dict, int, bytes], Any] | None = None
        self.requests: list[Recorded] = []
        self.errors: list[BaseException] = []
        self.plan = faults.Plan()
        self.auth = sign_in.SignIn(self.token)
        self.caller = rpc.Caller(database.dsn("authenticator"), pool)
        self.closing = threading.Event()
        self._answered = threading.Condition()
        self._listener = Listener(self, port)

    def __enter__(self) -> Upstream:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def port(self) -> int:
        return self._listener.port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def grants(self) -> dict[str, int]:
        """How often Auth was asked, by grant type: `{"password": 1, "refresh_token": 2}`."""
        return dict(self.auth.counts)

    @property
    def expires_in(self) -> int:
        return self.auth.expires_in

    @expires_in.setter
    def expires_in(self, seconds: int) -> None:
        self.auth.expires_in = seconds

    def start(self) -> Upstream:
        self._listener.open()
        return self

    def stop(self) -> None:
        """Hangs up on everyone, and raises what a hook raised."""
        self.closing.set()
        self.plan.clear()
        self._listener.close()
        self.caller.close()
        if self.errors:
            raise self.errors[0]

    def token(self, sub: str, role: str = "authenticated", ttl: float = 3600, **claims: Any) -> str:
        """A signed JWT of that user; a negative `ttl` has expired."""
        now = int(time.time())
        return tokens.encode({"sub": str(sub), "role": role, "aud": "authenticated", "iat": now,
                              "exp": now + ttl, **claims}, self.jwt_secret)

    def add_user(self, email: str, password: str, sub: str | None = None) -> str:
        """A user who can sign in at `/auth/v1/token`; the answer is its `sub`."""
        sub = str(sub or uuid.uuid4())
        self.auth.add_user(email, password, sub)
        return sub

    def fail(self, kind: str, times: int | None = 1, function: str | None = None, after: int = 0,
             **args: Any) -> faults.Fault:
        """Plans a fault for the next `times` requests (None: all) to `function`, once `after` of them passed.

        `function`: an RPC's name; None is any RPC; `"token"` is Supabase Auth; `"*"` is both.
        Each request meets all slow faults that wait, and the first of the others:

        - `drop_before`, `drop_after` (`reset=False`): hang up before the transaction, or after its commit
        - `delay`, `delay_after` (`seconds=1`): wait before the transaction, or before the answer
        - `hold` (`where="commit"`): wait until the returned event is set, at `"start"` (no transaction yet),
          `"commit"` (all done but the commit) or `"answer"` (committed); `.reached` tells that it waits
        - `status` (`code=503, body=b""`): that status, with bytes, text or a JSON value as its body
        - `error` (`code, message="…", status=400, details=None, hint=None`): a PostgREST error
        - `expired`: 401 as of an expired JWT
        - `truncate`: commit, promise the whole answer, send half of it and hang up
        - `body` (`data, status=200`): these bytes, text or JSON value instead of the answer
        - `redirect` (`location="/elsewhere", status=302`)
        - `oversize` (`mode="declared"`): a body just beyond 64 MiB; `"chunked"`: one without end

        `status`, `error`, `body`, `redirect` and `oversize` take `commit=True` to run and commit first.
        The answer has `.hits` and `.reached` (a `threading.Event`).
        """
        return self.plan.add(faults.Fault(kind, times, function, after, args))

    def clear_faults(self) -> None:
        """Forgets planned faults and lets held requests go on."""
        self.plan.clear()

    def offline(self) -> None:
        """Refuses connections and cuts those that are open."""
        self._listener.close(keep_port=True)

    def online(self) -> None:
        """Accepts connections again, on the same port."""
        self._listener.open()

    def calls(self, function: str) -> list[Recorded]:
        """The recorded requests of one function; `"token"` for those to Auth."""
        with self._answered:
            return [each for each in self.requests if each.function == function]

    def wait_for(self, count: int, function: str, timeout: float = 10) -> list[Recorded]:
        """Waits until `count` requests of the function were answered, and returns them."""
        def answered() -> list[Recorded]:
            return [each for each in self.requests if each.function == function and each.status is not None]

        with self._answered:
            if not self._answered.wait_for(lambda: len(answered()) >= count, timeout):
                raise TimeoutError(f"{len(answered())} of {count} calls of {function} within {timeout} s")
            return answered()

    def forget(self) -> None:
        """Empties `requests`."""
        with self._answered:
            self.requests.clear()

    def recorded(self, function: str, body: Any, headers: dict[str, str]) -> Recorded:
        entry = Recorded(function, body, headers)
        if self.record:
            with self._answered:
                self.requests.append(entry)
        return entry

    def answered(self, entry: Recorded, status: int, payload: bytes) -> None:
        with self._answered:
            entry.payload = payload
            entry.status = status
            self._answered.notify_all()


if __name__ == "__main__":
    import demo

    demo.main()
