"""A fresh database with the server half installed, for each test."""

from __future__ import annotations

import pathlib
import sys
from typing import Iterator

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from postgres import Postgres  # noqa: E402
from support import World  # noqa: E402


@pytest.fixture
def world(request: pytest.FixtureRequest, postgres: Postgres) -> Iterator[World]:
    yield from fresh(postgres, getattr(request, "param", "plain"))


@pytest.fixture(scope="module")
def shared(postgres: Postgres) -> Iterator[World]:
    """One database for a module, for tables of cases that each bring a table of their own."""
    yield from fresh(postgres, "plain")


def fresh(postgres: Postgres, flavour: str) -> Iterator[World]:
    with postgres.database(flavour=flavour) as database:
        made = World(database, flavour)
        try:
            yield made
        finally:
            made.close()
