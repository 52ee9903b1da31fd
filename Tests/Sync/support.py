"""One upstream with its database, and the gateways that sync with it.

A scenario must decide itself when something travels, yet a gateway syncs by itself soon after every write. So
the upstream here holds a gateway's calls back, as if it were down, unless a step lets them through: `sync`,
`push` and `pull` do so while they run. What is held back is not recorded and meets no planned fault.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import pathlib
import uuid
from typing import Any

from gateway import Answer, read_answer
from postgres import Database, Postgres
from rpc import Refusal
from upstream import Recorded, Upstream
from world_device import Device, eventually
from world_tables import ANA, BEN, TABLES, USERS, key, key_of

__all__ = ["ANA", "BEN", "TABLES", "Device", "World", "bucket", "eventually", "key", "kinds", "live",
           "mutation"]

SCHEMA = (pathlib.Path(__file__).resolve().parent / "schema.sql").read_text()
CURRENT = 1


def mutation(table: str, pk: str, op: str, columns: dict | None = None, **more: Any) -> dict[str, Any]:
    """A mutation as it travels, with an id of its own unless one is given."""
    return {"mutation_id": str(uuid.uuid4()), "table": table, "pk": pk, "op": op, "columns": columns or {},
            **more}


def bucket(table: str, **params: Any) -> dict[str, Any]:
    return {"table": table, "params": params}


def kinds(answer: dict[str, Any]) -> list[str]:
    """The verdicts of a push in words: `applied`, or the reason of a refusal."""
    return [each.get("reason", each["verdict"]) for each in answer["verdicts"]]


class Gate(Upstream):
    """The upstream, with a gate for each token in `allowed`: the functions that pass it now."""

    def __init__(self, database: Database):
        super().__init__(database)
        self.allowed: dict[str, set[str]] = {}

    def recorded(self, function: str, body: Any, headers: dict[str, str]) -> Recorded:
        token = headers.get("authorization", "").removeprefix("Bearer ")
        if function not in self.allowed.get(token, {function}):
            raise Refusal(503, "TEST0", f"this step makes no {function}")
        return super().recorded(function, body, headers)


class World:
    """A database with the schema of these tests, its upstream, and the gateways made so far."""

    def __init__(self, postgres: Postgres, flavour: str = "plain"):
        self.database: Database = postgres.database(SCHEMA, flavour)
        self.upstream = Gate(self.database)
        self.devices: list[Device] = []

    def __enter__(self) -> World:
        self.upstream.start()
        return self

    def __exit__(self, *_: object) -> None:
        for device in self.devices:
            device.close()
        self.upstream.stop()
        self.database.drop()

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
        rows = self.sql(f"select to_jsonb(found) from {table} as found where {key_of(table)} = %s", pk)
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

    def prune_ledger(self) -> None:
        """Lets every record of a verdict reach its age and prunes."""
        self.sql("update kizunasync.ledger set recorded_at = recorded_at - interval '100 days'")
        self.sql("select kizunasync.prune()")

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


def live(world: World, *tables: str, user: str = "ana", **options) -> Device:
    """A gateway that syncs by itself, as users run it, once its first sync is over."""
    device = world.device(user, *(tables or ("todos",)), live=True, **options)
    eventually(lambda: device.status()["last_success_at"], "the first sync")
    return device
