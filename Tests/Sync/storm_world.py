"""The world of a storm: one database, one upstream, three gateways of two users, and how they are compared."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import random
import shutil
import sqlite3
import tempfile
import urllib.request
import uuid
from typing import Any, Iterator

import seed_paths  # noqa: F401
from seed_device import Device
from gateway import Answer
from postgres import Postgres
from storm_book import Book, Change, Effect, Write
from upstream import Upstream

SCHEMA = (pathlib.Path(__file__).resolve().parent / "storm_schema.sql").read_text()
ANA = "a0a00000-0000-4000-8000-000000000001"
BEN = "be000000-0000-4000-8000-000000000001"
TEAMS = {ANA: ("red", "blue", "gold"), BEN: ("red", "blue", "green")}
EVERY_TEAM = ("red", "blue", "gold", "green", "black")
TEAM = {"column": "team_id"}
TABLES: dict[str, dict[str, Any]] = {
    "items": {"columns": {"id": "uuid", "team_id": "text not null", "mark": "text", "n": "bigint", "tags": "text[]",
                          "note": "text", "slug": "text", "price": "numeric(10,2)", "meta": "jsonb",
                          "due": "timestamptz", "done": "boolean not null default false"}, "bucket": TEAM},
    "pieces": {"columns": {"box": "text", "no": "integer", "team_id": "text not null", "mark": "text", "n": "bigint",
                           "note": "text"}, "key": ["box", "no"], "bucket": TEAM},
    "counters": {"columns": {"id": "text", "mark": "text", "n": "bigint", "tags": "text[]", "note": "text"}},
    "tasks": {"columns": {"id": "uuid", "user_id": "uuid", "mark": "text", "n": "bigint", "note": "text"},
              "bucket": {"owner": "user_id"}},
    "memos": {"columns": {"id": "uuid", "team_id": "text not null", "mark": "text", "note": "text",
                          "deleted_at": "timestamptz"}, "bucket": TEAM, "soft_delete_column": "deleted_at"},
    "clocks": {"columns": {"id": "uuid", "team_id": "text not null", "mark": "text", "note": "text"}, "bucket": TEAM,
               "conflict_mode": "hlc"},
}
TEAMED = ("items", "pieces", "memos", "clocks")
KEYS = {table: entry.get("key", ["id"]) for table, entry in TABLES.items()}


def row_key(table: str, row: dict) -> str:
    parts = [str(row[name]) for name in KEYS[table]]
    return parts[0] if len(parts) == 1 else "[" + ", ".join(json.dumps(part) for part in parts) + "]"


class Member(Device):
    """A gateway of the storm. It knows its team, and says so again whenever it starts."""

    def __init__(self, upstream: Upstream, name: str, user: str, **options: Any):
        super().__init__(upstream, user, TABLES, **options)
        self.name, self.user, self.team = name, user, "red"

    def start(self) -> Member:
        super().start()
        self.rpc("set_bucket", team_id=self.team)
        return self

    def scope(self, table: str) -> tuple[str, tuple]:
        """The bucket of a table as a condition."""
        if table in TEAMED:
            return "where team_id = %s", (self.team,)
        return ("where user_id = %s", (self.user,)) if table == "tasks" else ("", ())


class Failure(Exception):
    """The storm found something; its text says what."""


class Storm:
    """One seed's world. `rng` is the only source of chance."""

    def __init__(self, postgres: Postgres, seed: int, gateway: str, verbose: bool = False):
        self.seed, self.verbose = seed, verbose
        self.rng = random.Random(seed)
        self.manual = self.rng.random() < 0.5
        self.book, self.log, self.step = Book(), [], 0
        self.keys: dict[str, list[dict]] = {table: [] for table in TABLES}
        self.marks = 0
        self.database = postgres.database(SCHEMA)
        self.upstream = Upstream(self.database, record=verbose).start()
        self.members = [
            Member(self.upstream, name, user, path=gateway, paused=self.manual,
                   page_limit=self.rng.choice([None, 2, 5, 20]))
            for name, user in (("ana", ANA), ("ana's other", ANA), ("ben", BEN))]

    def close(self) -> None:
        for member in self.members:
            if member.gateway.process:
                member.close()
        self.upstream.stop()
        self.database.drop()

    def say(self, text: str) -> None:
        self.log.append(f"{self.step:3} {text}")
        if self.verbose:
            print(f"  {self.log[-1]}", flush=True)

    def mark(self) -> str:
        self.marks += 1
        return f"m{self.marks}"

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    def open(self) -> None:
        """Every user pulls an anchor of every team, then the gateways start and pull their first bucket."""
        for user in (ANA, BEN):
            self.pull_everything(user)
        for member in self.members:
            member.start()
            member.sync()

    def pull_everything(self, user: str) -> None:
        buckets = [{"table": table, "params": {"team_id": team}} for table in TEAMED for team in TEAMS[user]]
        buckets += [{"table": "counters", "params": {}}, {"table": "tasks", "params": {"user_id": user}}]
        body = {"buckets": buckets, "cursor": "0", "schema_version": 1}
        request = urllib.request.Request(
            f"{self.upstream.url}/rest/v1/rpc/pull", json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.upstream.token(user)}", "apikey": self.upstream.publishable_key,
             "Content-Type": "application/json", "Content-Profile": "kizunasync"})
        with urllib.request.urlopen(request, timeout=30) as answer:
            page = json.load(answer)
        if page["has_more"] or page["signal"]:
            raise Failure(f"the anchors were not pulled: {page}")

    def written(self, member: Member, answer: Answer, table: str, rows: list[tuple[str, tuple[Effect, ...]]]) -> None:
        """Notes an acknowledged write: (key, effects) of each of its mutations."""
        write_id = answer.headers["kizuna-write-id"]
        for pk, effects in rows:
            self.book.note(Write(self.step, member.name, write_id, table, pk, effects))

    def unanswered(self, member: Member, table: str, pks: list[str], *effects: Effect) -> None:
        for pk in pks:
            self.book.note(Write(self.step, member.name, None, table, pk, effects, certain=False))

    # How it ends: everything heals, drains, and is compared.

    def heal(self) -> None:
        self.upstream.clear_faults()
        for member in self.members:
            member.paused = False
            member.rpc("resume")
        for _ in range(2):
            for member in self.members:
                self.drain(member)

    def drain(self, member: Member) -> None:
        """A run that succeeds; what a fault of before still has in flight may make the first one fail."""
        answers = []
        for _ in range(8):
            answers.append(member.call("sync"))
            if answers[-1].status == 204 and not member.outbox():
                return
        raise Failure(f"{member.name} does not drain: {answers[-3:]}, {member.outbox()[:3]}")

    def problems(self) -> list[str]:
        found = []
        for member in self.members:
            for table in TABLES:
                found += self.differences(member, table)
        rejections = [(member.name, entry) for member in self.members for entry in member.rejections(dismissed=True)]
        found += self.book.judge(self.audit(), rejections)
        for member in self.members:
            member.gateway.stop()
            found += [f"{member.name}: {fault}" for fault in broken(member.gateway.database)]
        return found

    def differences(self, member: Member, table: str) -> list[str]:
        """Complete rows: what the gateway shows against what its user may see upstream under its buckets."""
        condition, arguments = member.scope(table)
        with self.database.acting(member.user) as cursor:
            cursor.execute(f"select to_jsonb(t)::text from public.{table} t {condition}", arguments)
            upstream = {row_key(table, row): row for (text,) in cursor.fetchall() for row in [exact(text)]}
        answer = member.request("GET", f"/rest/v1/{table}?include_deleted=true")
        local = {row_key(table, row): row for row in exact(answer.body)}
        found = []
        for key in sorted({*upstream, *local}):
            here, there = local.get(key), upstream.get(key)
            if here != there:
                found.append(f"{member.name} ({member.team}) {table} {key}: here {here}, upstream {there}")
        return found

    def audit(self) -> list[Change]:
        rows = self.database.execute("select pushed, place, pk, op, old, new from public.audit order by at")
        return [Change(*row) for row in rows]


def exact(text: str | bytes) -> Any:
    """JSON with its numbers as they are written."""
    return json.loads(text, parse_float=str)


def broken(database: str) -> list[str]:
    """What is wrong with a database file that nobody serves any more."""
    with readable(database) as connection:
        found = [row[0] for row in connection.execute("pragma integrity_check") if row[0] != "ok"]
        if count := connection.execute("select count(*) from _kizunasync_outbox").fetchone()[0]:
            found.append(f"{count} entries are left in the outbox")
        if count := connection.execute("select count(*) from _kizunasync_base").fetchone()[0]:
            found.append(f"{count} base images are left though nothing is pending")
    return found


@contextlib.contextmanager
def readable(database: str) -> Iterator[sqlite3.Connection]:
    """A copy, so that looking changes nothing."""
    with tempfile.TemporaryDirectory(prefix="kizuna-copy-") as directory:
        copy = os.path.join(directory, "copy.sqlite")
        for suffix in ("", "-wal"):
            if os.path.exists(database + suffix):
                shutil.copyfile(database + suffix, copy + suffix)
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            yield connection


