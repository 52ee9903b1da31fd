#!/usr/bin/env python3
"""Worlds for testers outside Python: one JSON command a line in, one JSON answer a line out, until the input ends.

    {"do": "world"}                       -> {"world": 1, "url": …, "key": …, "ana": TOKEN, "ben": TOKEN}
    {"do": "sql", "world": 1, "sql": …}   -> {"rows": [[…], …]}
    {"do": "fail", "world": 1, "fault": {"kind": …, …}}, {"do": "clear" | "offline" | "online", "world": 1}
    {"do": "calls", "world": 1, "function": "pull"} -> {"calls": [body, …]}
    {"do": "close", "world": 1}
"""

from __future__ import annotations

import json
import sys
from typing import Any

import seed_paths  # noqa: F401
from postgres import Postgres
from seed_support import ANA, BEN, World


class Worlds:
    def __init__(self, postgres: Postgres):
        self.postgres = postgres
        self.open: dict[int, World] = {}
        self.made = 0

    def answer(self, command: dict) -> Any:
        if command["do"] == "world":
            return self._make()
        world = self.open[command["world"]]
        match command["do"]:
            case "sql":
                return {"rows": world.sql(command["sql"])}
            case "fail":
                world.upstream.fail(**command["fault"])
            case "clear":
                world.upstream.clear_faults()
            case "offline":
                world.upstream.offline()
            case "online":
                world.upstream.online()
            case "calls":
                return {"calls": [call.body for call in world.upstream.calls(command["function"])]}
            case "close":
                self.open.pop(command["world"]).close()
            case other:
                raise ValueError(f"unknown command {other}")
        return {}

    def _make(self) -> dict:
        self.made += 1
        world = self.open[self.made] = World(self.postgres)
        return {"world": self.made, "url": world.upstream.url, "key": world.upstream.publishable_key,
                "ana": world.upstream.token(ANA), "ben": world.upstream.token(BEN)}


def main() -> None:
    with Postgres() as postgres:
        worlds = Worlds(postgres)
        for line in sys.stdin:
            try:
                answer = worlds.answer(json.loads(line))
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer, default=str), flush=True)
        for world in worlds.open.values():
            world.close()


if __name__ == "__main__":
    main()
