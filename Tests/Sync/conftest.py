"""Fixtures: one PostgreSQL a worker, one database, one upstream and any number of gateways a test."""

from __future__ import annotations

import pathlib
import sys
from typing import Iterator

import pytest

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "Sync"), str(TESTS / "Upstream"), str(TESTS / "Scripts")]

from postgres import Postgres  # noqa: E402
from support import World  # noqa: E402


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


@pytest.fixture
def world(postgres: Postgres) -> Iterator[World]:
    with World(postgres) as made:
        yield made


@pytest.fixture
def hosted(postgres: Postgres) -> Iterator[World]:
    """A database as a hosted project has it, where the owner is no superuser."""
    with World(postgres, flavour="supabase") as made:
        yield made
