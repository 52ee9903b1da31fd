"""One gateway of one user before a real upstream, and what a test asks it."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from typing import Any, Callable
from urllib.parse import quote

import seed_paths  # noqa: F401
from gateway import Answer, Gateway, executable
from upstream import Upstream

PATIENCE = 10.0


def eventually(holds: Callable[[], Any], what: str, seconds: float = PATIENCE) -> Any:
    """The first true value of `holds`; fails when there is none in time."""
    deadline = time.monotonic() + seconds
    while True:
        value = holds()
        if value:
            return value
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.01)


class Events:
    """The server-sent events of a device from now on."""

    def __init__(self, gateway: Gateway):
        self.connection = gateway.connect(60)
        self.connection.request("GET", "/sync/v1/events")
        self.response = self.connection.getresponse()
        self.seen: list[tuple[str, dict]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        name = ""
        with contextlib.suppress(Exception):
            while line := self.response.readline().decode():
                if line.startswith("event:"):
                    name = line[6:].strip()
                elif line.startswith("data:"):
                    self.seen.append((name, json.loads(line[5:])))

    def named(self, name: str) -> list[dict]:
        return [data for event, data in list(self.seen) if event == name]

    def wait(self, name: str, count: int = 1) -> list[dict]:
        return eventually(lambda: len(self.named(name)) >= count and self.named(name), f"event {name}")


class Device:
    """One gateway of one user. It polls once a day: it syncs when it writes, when it is woken, and when told.

    A device starts paused unless told otherwise, so that a test decides when it meets the upstream."""

    def __init__(self, upstream: Upstream, user: str | None, tables: dict, paused: bool = True,
                 page_limit: int | None = None, path: str | None = None, **remote: Any):
        token = {"access_token": upstream.token(user)} if user else {}
        self.upstream = upstream
        self.gateway = Gateway(path or executable(), {
            "tables": tables, "sync": {"poll_interval_s": 86400, "page_limit": page_limit},
            "remote": {"url": upstream.url, "publishable_key": upstream.publishable_key, **token, **remote}})
        self.paused = paused

    def start(self) -> Device:
        self.gateway.start()
        if self.paused:
            self.rpc("pause")
        return self

    def restart(self, kill: bool = False) -> Device:
        self.gateway.kill() if kill else self.gateway.stop()
        return self.start()

    def close(self) -> None:
        self.gateway.stop()
        self.gateway.owned.cleanup()

    def request(self, method: str, target: str, body: Any = None, **headers: str) -> Answer:
        return self.gateway.request(method, target, body, {n.replace("_", "-"): v for n, v in headers.items()}, 60)

    def call(self, function: str, **arguments: Any) -> Answer:
        """The raw answer of one of the engine's functions."""
        return self.request("POST", f"/sync/v1/rpc/{function}", arguments)

    def rpc(self, function: str, **arguments: Any) -> Any:
        """Calls a function that must succeed; its answer, None when it has none."""
        answer = self.call(function, **arguments)
        assert answer.status in (200, 204), f"{function}: {answer}"
        return answer.json() if answer.body else None

    def refused(self, function: str, **arguments: Any) -> str:
        """Calls a function that must be refused; the code of its error."""
        answer = self.call(function, **arguments)
        assert answer.status >= 400, f"{function} was not refused: {answer}"
        return answer.json()["code"]

    def online(self, work: Callable[[], Any]) -> Any:
        """Does `work` while the device is not paused."""
        self.rpc("resume")
        try:
            return work()
        finally:
            if self.paused:
                self.rpc("pause")

    def sync(self) -> Device:
        """A whole run: pushes what waits and pulls what is new."""
        self.online(lambda: self.rpc("sync"))
        return self

    def exchange(self, bucket: str = "kitchen") -> Device:
        """Scopes the device and syncs it."""
        self.rpc("set_bucket", team_id=bucket)
        return self.sync()

    def get(self, target: str) -> list[dict]:
        answer = self.request("GET", target)
        assert answer.status == 200, f"{target}: {answer}"
        return answer.json()

    def rows(self, table: str, query: str = "") -> list[dict]:
        return self.get(f"/rest/v1/{table}?{query}")

    def ids(self, table: str, query: str = "") -> list[str]:
        return [row["id"] for row in self.rows(table, query)]

    def row(self, table: str, key: str) -> dict | None:
        found = self.rows(table, f"id=eq.{quote(key)}")
        return found[0] if found else None

    def insert(self, table: str, row: dict) -> Answer:
        return self._written(self.request("POST", f"/rest/v1/{table}", row), 201)

    def update(self, table: str, query: str, columns: dict) -> Answer:
        return self._written(self.request("PATCH", f"/rest/v1/{table}?{query}", columns), 200)

    def delete(self, table: str, query: str) -> list[str]:
        return self._written(self.request("DELETE", f"/rest/v1/{table}?{query}"), 200).json()

    @staticmethod
    def _written(answer: Answer, status: int) -> Answer:
        assert answer.status == status, answer
        return answer

    def outbox(self) -> list[dict]:
        return self.get("/sync/v1/outbox")

    def tombstones(self, table: str | None = None) -> list[tuple[str, str]]:
        """(key, origin) of the tombstones of a table."""
        return [(each["pk"], each["origin"]) for each in self.get("/sync/v1/tombstones")
                if table in (None, each["table"])]

    def rejections(self, dismissed: bool = False) -> list[dict]:
        return self.get("/sync/v1/rejections" + ("?include_dismissed=true" if dismissed else ""))

    def only_rejection(self) -> dict:
        entries = self.rejections()
        assert len(entries) == 1, entries
        return entries[0]

    def cursor(self) -> str:
        return self.rpc("checkpoint")["cursor"]
