"""Fixtures for tests against the upstream; one server a session (and a worker, under pytest-xdist)."""

from __future__ import annotations

import pathlib
import sys
from typing import Any, Callable, Iterator

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from postgres import Database, Postgres  # noqa: E402
from upstream import Upstream  # noqa: E402


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture
def make_database(postgres: Postgres) -> Iterator[Callable[..., Database]]:
    """Makes databases as `Postgres.database` does and drops them after the test."""
    made: list[Database] = []

    def make(*args: Any, **options: Any) -> Database:
        made.append(postgres.database(*args, **options))
        return made[-1]

    yield make
    for database in made:
        database.drop()


@pytest.fixture
def make_upstream(make_database: Callable[..., Database]) -> Iterator[Callable[..., Upstream]]:
    """Starts upstreams (`make_upstream(database, …)`) and stops them after the test."""
    made: list[Upstream] = []

    def make(database: Database, **options: Any) -> Upstream:
        made.append(Upstream(database, **options).start())
        return made[-1]

    yield make
    for upstream in made:
        upstream.stop()
