"""The worlds of the end-to-end tests: one database, its upstream, and the devices of Ana and Ben."""

from __future__ import annotations

import pathlib
from typing import Any, Iterator

import pytest

import seed_paths  # noqa: F401
from seed_device import Device, Events, eventually  # noqa: F401
from postgres import Postgres
from upstream import Upstream

HERE = pathlib.Path(__file__).resolve().parent
SCHEMA = (HERE / "seed_schema.sql").read_text()
ANA = "a0a00000-0000-4000-8000-000000000001"
BEN = "be000000-0000-4000-8000-000000000001"
TEAM = {"column": "team_id"}
TABLES: dict[str, dict[str, Any]] = {
    "todos": {"columns": {"id": "text", "team_id": "text not null", "list_id": "text", "title": "text not null",
                          "done": "boolean not null default false", "priority": "integer",
                          "locked": "boolean not null default false", "hidden": "boolean not null default false"},
              "bucket": TEAM},
    "ledger": {"columns": {"id": "text", "team_id": "text not null", "memo": "text", "total": "integer"},
               "bucket": TEAM},
    "notes": {"columns": {"id": "text", "team_id": "text not null", "body": "text", "deleted_at": "timestamptz"},
              "bucket": TEAM, "soft_delete_column": "deleted_at"},
    "tasks": {"columns": {"id": "text", "user_id": "uuid", "title": "text"}, "bucket": {"owner": "user_id"}},
    "units": {"columns": {"id": "text", "name": "text", "secret": "boolean not null default false"}},
    "clocks": {"columns": {"id": "text", "team_id": "text not null", "face": "text"}, "bucket": TEAM,
               "conflict_mode": "hlc"},
}


class World:
    """One database, its upstream, and the devices of a test."""

    def __init__(self, postgres: Postgres):
        self.database = postgres.database(SCHEMA)
        self.upstream = Upstream(self.database).start()
        self.devices: list[Device] = []

    def device(self, user: str | None = ANA, *tables: str, **options: Any) -> Device:
        """A started device with these tables (todos when none is named)."""
        chosen = options.pop("tables", None) or {name: TABLES[name] for name in tables or ("todos",)}
        self.devices.append(Device(self.upstream, user, chosen, **options))
        return self.devices[-1].start()

    def kitchen(self, user: str = ANA, *tables: str, **options: Any) -> Device:
        """A device that has pulled the kitchen."""
        return self.device(user, *tables, **options).exchange()

    def sql(self, statement: str, *args: Any) -> list[tuple]:
        return self.database.execute(statement, *args)

    def server_row(self, table: str, key: str) -> dict | None:
        return self.database.scalar(f"select to_jsonb(t) from public.{table} t where id = %s", key)

    def pulls(self) -> list[dict]:
        """The bodies of the pulls so far."""
        return [call.body for call in self.upstream.calls("pull")]

    def close(self) -> None:
        for device in self.devices:
            device.close()
        self.upstream.stop()
        self.database.drop()


@pytest.fixture(scope="session")
def seed_postgres() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture
def world(seed_postgres: Postgres) -> Iterator[World]:
    made = World(seed_postgres)
    try:
        yield made
    finally:
        made.close()
