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
    flavour = getattr(request, "param", "plain")
    with postgres.database(flavour=flavour) as database:
        made = World(database, flavour)
        yield made
        made.close()
