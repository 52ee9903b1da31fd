"""One upstream with its database, and the gateways that sync with it.

A scenario must decide itself when something travels, yet a gateway syncs by itself soon after every write. So
the gateways here hold no access token while they write: without one nothing is sent and everything is kept.
`sync`, `push` and `pull` lend them the token for one call, and the upstream refuses, as if it were down, the
kind of call that this step does not make.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import pathlib
import threading
import time
import urllib.parse
import uuid
from typing import Any, Callable, Iterator

from gateway import Answer, Gateway, executable, read_answer
from postgres import Database, Postgres
from rpc import Refusal
from upstream import Recorded, Upstream

SCHEMA = (pathlib.Path(__file__).resolve().parent / "schema.sql").read_text()
DEADLINE = 20.0
HELD_BACK = "TEST0"
CURRENT = 1

ANA = "aaaaaaaa-0000-4000-8000-000000000001"
BEN = "bbbbbbbb-0000-4000-8000-000000000002"
CYD = "cccccccc-0000-4000-8000-000000000003"
USERS = {"ana": ANA, "ben": BEN, "cyd": CYD}

OWNED = {"owner": "user_id"}
KITCHEN = {"column": "kitchen_id"}
TABLES: dict[str, dict[str, Any]] = {
    "todos": {
        "columns": {
            "id": "uuid", "user_id": "uuid", "title": "text", "note": "text",
            "done": "boolean not null default false", "n": "integer", "big": "bigint", "likes": "integer",
            "version": "integer", "ref": "uuid", "tags": "text[]", "meta": "jsonb", "price": "numeric(10,2)",
            "at": "timestamptz", "locked": "text"},
        "bucket": OWNED},
    "lists": {"columns": {"id": "uuid", "user_id": "uuid", "name": "text"}, "bucket": OWNED},
    "items": {
        "columns": {"id": "uuid", "user_id": "uuid", "list_id": "uuid references lists(id)", "label": "text"},
        "bucket": OWNED},
    "tasks": {
        "columns": {"id": "uuid", "user_id": "uuid", "title": "text", "deleted_at": "timestamptz"},
        "bucket": OWNED, "soft_delete_column": "deleted_at"},
    "numbers": {"columns": {"id": "bigint", "user_id": "uuid", "v": "text"}, "bucket": OWNED},
    "pairs": {
        "columns": {"a": "integer", "b": "integer", "user_id": "uuid", "v": "text"},
        "key": ["a", "b"], "bucket": OWNED},
    "recipes": {
        "columns": {"slug": "text", "kitchen_id": "integer", "name": "text", "servings": "integer",
                    "tags": "text[]"},
        "key": ["slug"], "bucket": KITCHEN},
    "posts": {
        "columns": {"id": "uuid", "kitchen_id": "integer", "title": "text", "body": "text"},
        "bucket": KITCHEN},
    "cards": {
        "columns": {"id": "uuid", "kitchen_id": "integer", "title": "text", "body": "text", "n": "integer"},
        "bucket": KITCHEN, "conflict_mode": "hlc"},
    "units": {"columns": {"code": "text", "name": "text"}, "key": ["code"], "sync_mode": "pull-only"},
    "labels": {"columns": {"id": "integer", "owner": "uuid", "shared": "boolean", "name": "text"}},
}


def key(number: int) -> str:
    """The uuid of row `number`; they sort as their numbers do."""
    return f"00000000-0000-4000-8000-{number:012d}"


def eventually(condition: Callable[[], Any], what: str = "", timeout: float = DEADLINE) -> Any:
    """The first true value of `condition`; a failure when there is none in time."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {timeout} s: {what or condition}"
        time.sleep(0.01)
    return value


def mutation(table: str, pk: str, op: str, columns: dict | None = None, **more: Any) -> dict[str, Any]:
    """A mutation as it travels, with an id of its own unless one is given."""
    return {"mutation_id": str(uuid.uuid4()), "table": table, "pk": pk, "op": op, "columns": columns or {},
            **more}


def bucket(table: str, **params: Any) -> dict[str, Any]:
    return {"table": table, "params": params}


def kinds(answer: dict[str, Any]) -> list[str]:
    """The verdicts of a push in words: `applied`, or the reason of a refusal."""
    return [each.get("reason", each["verdict"]) for each in answer["verdicts"]]


class World:
    """A database with the schema of these tests, its upstream, and the gateways made so far."""

    def __init__(self, postgres: Postgres, flavour: str = "plain"):
        self.database: Database = postgres.database(SCHEMA, flavour)
        self.upstream = Upstream(self.database)
        self.before: Callable[[str, dict], Any] | None = None
        self.refused: set[str] = set()
        self.devices: list[Device] = []
        self.upstream.before = self._before

    def __enter__(self) -> World:
        self.upstream.start()
        return self

    def __exit__(self, *_: object) -> None:
        for device in self.devices:
            device.close()
        self.upstream.stop()
        self.database.drop()

    def _before(self, function: str, body: dict) -> None:
        if function in self.refused:
            raise Refusal(503, HELD_BACK, f"this step makes no {function}")
        if self.before:
            self.before(function, body)

    def device(self, user: str, *tables: str, kitchen: int | None = None, **options: Any) -> Device:
        """A started gateway of that user with these tables, in that kitchen; see `Device`."""
        configured = {name: TABLES[name] for name in tables} | options.pop("tables", {})
        made = Device(self, user, configured, **options)
        self.devices.append(made)
        made.start()
        if kitchen is not None:
            made.call("set_bucket", kitchen_id=kitchen)
        return made

    def token(self, user: str, **claims: Any) -> str:
        return self.upstream.token(USERS[user], jti=str(uuid.uuid4()), **claims)

    # The server's side, as its owner

    def sql(self, statement: str, *args: Any) -> list[tuple]:
        return self.database.execute(statement, *args)

    def add(self, table: str, **columns: Any) -> None:
        """Inserts one row as another program on the server would."""
        names, places = ", ".join(columns), ", ".join(["%s"] * len(columns))
        self.sql(f"insert into {table} ({names}) values ({places})", *columns.values())

    def todo(self, number: int, user: str = "ana", **columns: Any) -> str:
        """Inserts a todo on the server and answers its key."""
        self.add("todos", id=key(number), user_id=USERS[user], **columns)
        return key(number)

    def change(self, table: str, pk: Any, **columns: Any) -> None:
        """Updates one row as another program on the server would."""
        sets = ", ".join(f"{name} = %s" for name in columns)
        self.sql(f"update {table} set {sets} where {key_of(table)} = %s", *columns.values(), pk)

    def remove(self, table: str, pk: Any) -> None:
        self.sql(f"delete from {table} where {key_of(table)} = %s", pk)

    def row(self, table: str, pk: Any) -> dict[str, Any] | None:
        """A row as JSON, None when there is none."""
        rows = self.sql(f"select to_jsonb(t) from {table} t where {key_of(table)} = %s", pk)
        return rows[0][0] if rows else None

    def join(self, user: str, *kitchens: int) -> None:
        """Makes the user a member of these kitchens."""
        for kitchen in kitchens:
            self.add("members", user_id=USERS[user], kitchen_id=kitchen)

    def setting(self, **values: Any) -> None:
        sets = ", ".join(f"{name} = %s" for name in values)
        self.sql(f"update kizunasync.settings set {sets}", *values.values())

    def reap(self) -> int:
        """Lets every tombstone reach its age and reaps; the answer is the highest number that went."""
        self.sql("update kizunasync.tombstones set deleted_at = deleted_at - interval '40 days'")
        return int(self.sql("select kizunasync.reap()")[0][0])

    # The wire, without a gateway

    def rpc(self, user: str, function: str, **body: Any) -> Answer:
        """One call of the upstream as any client of that user makes it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.upstream.port, timeout=30)
        headers = {"Authorization": f"Bearer {self.token(user)}", "apikey": self.upstream.publishable_key,
                   "Content-Type": "application/json", "Content-Profile": "kizunasync"}
        with contextlib.closing(connection):
            connection.request("POST", f"/rest/v1/rpc/{function}", json.dumps(body), headers)
            return read_answer(connection.getresponse())

    def push(self, user: str, *mutations: dict[str, Any], atomic: bool = False,
             schema_version: int = CURRENT) -> dict[str, Any]:
        answer = self.try_push(user, *mutations, atomic=atomic, schema_version=schema_version)
        assert answer.status == 200, answer
        return answer.json()

    def try_push(self, user: str, *mutations: dict[str, Any], atomic: bool = False,
                 schema_version: int = CURRENT) -> Answer:
        return self.rpc(user, "push", batch={"atomic": atomic, "mutations": list(mutations)},
                        last_mutation_id=None, schema_version=schema_version)

    def pull(self, user: str, *buckets: dict[str, Any], cursor: str = "0", **more: Any) -> dict[str, Any]:
        answer = self.try_pull(user, *buckets, cursor=cursor, **more)
        assert answer.status == 200, answer
        return answer.json()

    def try_pull(self, user: str, *buckets: dict[str, Any], cursor: str = "0",
                 schema_version: int = CURRENT, **more: Any) -> Answer:
        return self.rpc(user, "pull", buckets=list(buckets), cursor=cursor, schema_version=schema_version,
                        **more)

    def lose_reply(self, function: str = "push") -> None:
        """The next call is committed, and its answer never arrives."""
        self.upstream.fail("status", function=function, code=502, commit=True)


def key_of(table: str) -> str:
    return {"recipes": "slug", "units": "code"}.get(table, "id")


class Device:
    """A gateway process of one user.

    `live=True` gives it its token for good, so that its scheduler runs as it does for users; `kept=True` keeps
    its database in a file, for tests that restart it. `remote` and `sync` extend those parts of its
    configuration.
    """

    def __init__(self, world: World, user: str, tables: dict[str, dict], live: bool = False,
                 kept: bool = False, remote: dict | None = None, sync: dict | None = None, **config: Any):
        self.world = world
        self.user = user
        self.token = world.token(user)
        upstream = {"url": world.upstream.url, "publishable_key": world.upstream.publishable_key}
        settings = {
            "tables": tables,
            "remote": {**upstream, **({"access_token": self.token} if live else {}), **(remote or {})},
            "sync": {"poll_interval_s": 3600, **(sync or {})}, **config}
        if not kept:
            settings.setdefault("database", ":memory:")
        self.gateway = Gateway(executable(), settings)

    def start(self) -> None:
        self.gateway.start()

    def restart(self, kitchen: int | None = None) -> None:
        """Ends the process as the user would and starts it again with the same database."""
        assert self.gateway.stop() == 0, self.gateway.stderr()
        self.gateway.start()
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
        return self.call("outbox_depth")

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
        return self._step("sync", set(), expect)

    def push(self, expect: str | None = None) -> Any:
        return self._step("push_once", {"pull"}, expect)

    def pull(self, expect: str | None = None) -> Any:
        """Pulls up to the closing page; one call of the function may bring just a page."""
        while True:
            answer = self._step("pull_once", {"push"}, expect)
            if expect or not self.pages() or not self.pages()[-1].get("has_more"):
                return answer

    def _step(self, function: str, refused: set[str], expect: str | None) -> Any:
        self.world.refused = refused
        try:
            with self.signed_in():
                return self.call(function, expect)
        finally:
            self.world.refused = set()

    @contextlib.contextmanager
    def signed_in(self, token: str | None = None) -> Iterator[None]:
        """Holds the token (or another one) within the block."""
        self.call("set_access_token", token=token or self.token)
        try:
            yield
        finally:
            self.call("set_access_token", token=None)

    def sync_until(self, condition: Callable[[], Any]) -> None:
        """Syncs, whatever comes of it, until the condition holds."""
        def step() -> bool:
            with self.signed_in():
                self.request("POST", "/sync/v1/rpc/sync", {})
            return condition()

        eventually(step, "syncing")

    # What travelled

    def calls(self, function: str) -> list[Recorded]:
        """The requests of this gateway that the upstream served, the oldest first."""
        return [each for each in self.world.upstream.calls(function)
                if each.headers.get("authorization") == f"Bearer {self.token}"
                and each.status is not None and HELD_BACK.encode() not in each.payload]

    def pages(self) -> list[dict[str, Any]]:
        return [json.loads(each.payload) for each in self.calls("pull")]

    def answers(self) -> list[dict[str, Any]]:
        """What the pushes of this gateway were answered."""
        return [json.loads(each.payload) for each in self.calls("push")]

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
