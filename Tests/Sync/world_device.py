"""A gateway of one user: local writes and reads, steps of sync, and what travelled."""

from __future__ import annotations

import contextlib
import http.client
import json
import threading
import time
import urllib.parse
from typing import TYPE_CHECKING, Any, Callable, Iterable, Iterator

from gateway import Answer, Gateway, executable
from upstream import Recorded
from world_tables import key, key_of

if TYPE_CHECKING:
    from support import World

DEADLINE = 30.0


def eventually(condition: Callable[[], Any], what: str = "", timeout: float = DEADLINE) -> Any:
    """The first true value of `condition`; a failure when there is none in time."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {timeout} s: {what or condition}"
        time.sleep(0.01)
    return value


def more(pulls: list[Recorded]) -> bool:
    """Whether the last of these pulls was answered with a page that is not the closing one."""
    return bool(pulls) and pulls[-1].status == 200 and json.loads(pulls[-1].payload)["has_more"]


class Device:
    """A gateway process of one user.

    `live=True` leaves the gate open, so that its scheduler runs as it does for users; `kept=True` keeps its
    database in a file, for tests that restart it; `session` says where its token comes from; `remote` and
    `sync` extend those parts of its configuration.
    """

    def __init__(self, world: World, user: str, tables: dict[str, dict], live: bool = False,
                 kept: bool = False, session: dict | None = None, sync: dict | None = None,
                 remote: dict | None = None, environment: dict[str, str] | None = None, **config: Any):
        self.world = world
        self.user = user
        self.token = world.token(user)
        self.live = live
        if not live:
            world.upstream.allowed[self.token] = set()
        upstream = {"url": world.upstream.url, "publishable_key": world.upstream.publishable_key,
                    **({"access_token": self.token} if session is None else session), **(remote or {})}
        settings = {
            "tables": tables, "remote": upstream,
            "sync": {"poll_interval_s": 3600, **(sync or {})}, **config}
        if not kept:
            settings.setdefault("database", ":memory:")
        self.gateway = Gateway(executable(), settings, environment=environment)

    def start(self) -> None:
        """Starts the process; a held back one has then tried to sync by itself, in vain."""
        self.gateway.start()
        if not self.live:
            eventually(lambda: self.status()["last_error"], "the first attempt")

    def restart(self, kitchen: int | None = None) -> None:
        """Ends the process as the user would and starts it again with the same database."""
        assert self.gateway.stop() == 0, self.gateway.stderr()
        self.start()
        if kitchen is not None:
            self.call("set_bucket", kitchen_id=kitchen)

    def close(self) -> None:
        if self.gateway.process:
            self.gateway.kill()
        self.gateway.owned.cleanup()

    # Local writes and reads

    def request(self, method: str, target: str, body: Any = None, **headers: str) -> Answer:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.gateway.request(method, target, body, sent)

    def insert(self, table: str, *rows: dict[str, Any], **headers: str) -> Answer:
        answer = self.request("POST", f"/rest/v1/{table}", list(rows), **headers)
        assert headers or answer.status == 201, answer
        return answer

    def todo(self, number: int, **columns: Any) -> str:
        """Inserts a todo here and answers its key."""
        self.insert("todos", {"id": key(number), **columns})
        return key(number)

    def update(self, table: str, pk: Any, values: dict[str, Any],
               precondition: dict[str, Any] | None = None, **headers: str) -> Answer:
        query = {key_of(table): f"eq.{pk}",
                 **{f"precondition.{name}": value for name, value in (precondition or {}).items()}}
        answer = self.request("PATCH", f"/rest/v1/{table}?{urllib.parse.urlencode(query)}", values, **headers)
        assert headers or (answer.status == 200 and len(answer.json()) == 1), answer
        return answer

    def delete(self, table: str, pk: Any) -> None:
        answer = self.request("DELETE", f"/rest/v1/{table}?{key_of(table)}=eq.{pk}")
        assert answer.status == 200 and len(answer.json()) == 1, answer

    def apply(self, table: str, pk: str, op: str, columns: dict | None = None, **more: Any) -> None:
        """`more`: `transforms`, `precondition`, `mutation_id`."""
        if columns is not None:
            more["columns"] = columns
        self.call("apply", table=table, pk=pk, op=op, **more)

    def batch(self, *mutations: dict[str, Any]) -> None:
        self.call("batch", mutations=list(mutations))

    def read(self, relation: str) -> list[dict[str, Any]]:
        answer = self.request("GET", relation)
        assert answer.status == 200, answer
        return answer.json()

    def rows(self, table: str, query: str = "") -> list[dict[str, Any]]:
        return self.read(f"/rest/v1/{table}?{query}")

    def row(self, table: str, pk: Any) -> dict[str, Any] | None:
        found = self.rows(table, f"{key_of(table)}=eq.{pk}")
        return found[0] if found else None

    def keys(self, table: str) -> list[Any]:
        return [each[key_of(table)] for each in self.rows(table)]

    # The engine's own relations and functions

    def call(self, function: str, expect: str | None = None, **arguments: Any) -> Any:
        """Calls a function. `expect` names the error it must answer; the answer is then that error."""
        answer = self.gateway.request("POST", f"/sync/v1/rpc/{function}", arguments, timeout=60)
        if expect:
            assert answer.status >= 400 and answer.json()["code"] == expect, answer
            return answer.json()
        assert answer.status in (200, 204), f"{function}: {answer}"
        return answer.json() if answer.status == 200 else None

    def outbox(self) -> list[dict[str, Any]]:
        return self.read("/sync/v1/outbox")

    def rejections(self) -> list[dict[str, Any]]:
        return self.read("/sync/v1/rejections")

    def overwrites(self) -> list[dict[str, Any]]:
        return self.read("/sync/v1/overwrites")

    def depth(self) -> int:
        """How many writes wait, those included that are just being tried."""
        return len(self.outbox())

    def cursor(self) -> str:
        return self.call("checkpoint")["cursor"]

    def blocked(self) -> str | None:
        """The reason of the soft block; None when there is none."""
        checkpoint = self.call("checkpoint")
        assert checkpoint["soft_blocked"] == (checkpoint["soft_block_reason"] is not None)
        return checkpoint["soft_block_reason"]

    def status(self) -> dict[str, Any]:
        return self.call("status")

    # Steps

    def sync(self, expect: str | None = None) -> Any:
        return self._step("sync", {"push", "pull"}, expect)

    def push(self, expect: str | None = None) -> Any:
        return self._step("push_once", {"push"}, expect)

    def pull(self, expect: str | None = None) -> Any:
        """Pulls up to the closing page; one call of the function may bring just a page."""
        while True:
            answer = self._step("pull_once", {"pull"}, expect)
            if expect or not more(self.calls("pull")):
                return answer

    def _step(self, function: str, allowed: set[str], expect: str | None) -> Any:
        with self.open(allowed):
            return self.call(function, expect)

    @contextlib.contextmanager
    def open(self, allowed: Iterable[str] = ("push", "pull")) -> Iterator[None]:
        """Lets these calls through within the block."""
        self.world.upstream.allowed[self.token] = set(allowed)
        try:
            yield
        finally:
            self.world.upstream.allowed[self.token] = set()

    def sync_until(self, condition: Callable[[], Any]) -> None:
        """Syncs, whatever comes of it, until the condition holds."""
        def step() -> bool:
            with self.open():
                self.request("POST", "/sync/v1/rpc/sync", {})
            return condition()

        eventually(step, "syncing")

    # What travelled

    def calls(self, function: str) -> list[Recorded]:
        """The requests of this gateway that the upstream served, the oldest first."""
        return [each for each in self.world.upstream.calls(function)
                if each.headers.get("authorization") == f"Bearer {self.token}"
                and each.status is not None]

    def pages(self) -> list[dict[str, Any]]:
        """What those pulls of this gateway were answered whose answer arrived."""
        return [json.loads(each.payload) for each in self.calls("pull") if each.status == 200]

    def answers(self) -> list[dict[str, Any]]:
        """What those pushes of this gateway were answered whose answer arrived."""
        return [json.loads(each.payload) for each in self.calls("push") if each.status == 200]

    def sent(self) -> list[list[dict[str, Any]]]:
        """The mutations of each push."""
        return [each.body["batch"]["mutations"] for each in self.calls("push")]

    # Events

    def events(self, until: Callable[[list[tuple[str, dict]]], Any]) -> list[tuple[str, dict]]:
        """The events since the start, as soon as they satisfy the condition."""
        connection = self.gateway.connect(timeout=DEADLINE)
        watchdog = threading.Timer(DEADLINE, connection.close)
        watchdog.start()
        seen: list[tuple[str, dict]] = []
        try:
            connection.request("GET", "/sync/v1/events", headers={"Last-Event-ID": "0"})
            name = ""
            for line in connection.getresponse():
                field, _, value = line.decode().rstrip("\n").partition(": ")
                if field == "event":
                    name = value
                elif field == "data":
                    seen.append((name, json.loads(value)))
                    if until(seen):
                        return seen
        except (TimeoutError, ValueError, AttributeError, http.client.HTTPException):
            pass
        finally:
            watchdog.cancel()
            connection.close()
        raise AssertionError(f"events in vain: {seen}")

    def events_until(self, name: str, count: int = 1) -> list[tuple[str, dict]]:
        """The events up to the `count`th of that name."""
        return self.events(lambda seen: sum(each[0] == name for each in seen) >= count)
