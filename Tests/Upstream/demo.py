"""The demo: a whole upstream on this machine, and configurations for the gateways of two users."""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import re
import signal
import subprocess
import tempfile
import threading

from postgres import PACK, Postgres
from upstream import Upstream

TEAM = "7ea00000-0000-4000-8000-000000000001"
USERS = {"ana": ("a0a00000-0000-4000-8000-000000000001", 54321),
         "ben": ("be000000-0000-4000-8000-000000000001", 54322)}
WEEK = 7 * 24 * 3600
READY = re.compile(r"^kizuna-gateway \S+ listening on (http://[^\s,]+)")
TABLES = {
    "lists": {"columns": {"id": "uuid", "team_id": "uuid not null", "name": "text not null"},
              "bucket": {"column": "team_id"}},
    "todos": {"columns": {"id": "uuid", "list_id": "uuid references lists(id)", "title": "text not null",
                          "done": "boolean not null default false", "position": "integer", "tags": "text[]",
                          "meta": "jsonb", "price": "numeric(10,2)",
                          "created_at": "timestamptz default now()", "user_id": "uuid"},
              "bucket": {"owner": "user_id"}},
}


def main() -> None:
    parser = argparse.ArgumentParser(description="A local upstream for the gateway, and two users of it.")
    parser.add_argument("--demo", action="store_true", required=True,
                        help="start PostgreSQL with the example schema and serve it")
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    parser.add_argument("--directory", help="where configurations and databases go; default: a temporary one")
    parser.add_argument("--gateways", metavar="PATH", help="start both gateways too, with this executable")
    parser.add_argument("--free-ports", action="store_true", help="gateways listen on free ports, not 54321 and 54322")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        directory = options.directory or stack.enter_context(tempfile.TemporaryDirectory(prefix="kizuna-demo-"))
        run(options.port, pathlib.Path(directory).resolve(), options.gateways, options.free_ports)


def run(port: int, directory: pathlib.Path, gateway: str | None = None, free_ports: bool = False) -> None:
    """Serves until SIGINT or SIGTERM."""
    directory.mkdir(parents=True, exist_ok=True)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    with Postgres() as postgres:
        database = postgres.database((PACK / "example.sql").read_text())
        with Upstream(database, port=port) as upstream:
            tokens = {name: upstream.token(sub, ttl=WEEK, email=f"{name}@example.test")
                      for name, (sub, _) in USERS.items()}
            for name, (sub, listen) in USERS.items():
                upstream.add_user(f"{name}@example.test", name, sub)
                _configure(directory, name, 0 if free_ports else listen, tokens[name], upstream)
            if gateway:
                with contextlib.ExitStack() as stack:
                    addresses = {name: stack.enter_context(_gateway(gateway, directory, name)) for name in USERS}
                    print(_running(upstream, addresses), flush=True)
                    stopped.wait()
            else:
                print(_introduction(upstream, directory, tokens), flush=True)
                stopped.wait()


@contextlib.contextmanager
def _gateway(path: str, directory: pathlib.Path, name: str):
    """One user's gateway; its address."""
    process = subprocess.Popen([path, "--config", str(directory / f"{name}.json"), "--log-level", "warn"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        match = READY.match(line)
        if not match:
            raise SystemExit(f"the gateway of {name} did not start: {line.strip() or process.wait()}")
        yield match[1]
    finally:
        process.terminate()
        process.wait(10)


def _running(upstream: Upstream, addresses: dict[str, str]) -> str:
    gateways = "\n".join(f"{name:10} {address}" for name, address in addresses.items())
    return f"""{gateways}
upstream   {upstream.url}
database   psql '{upstream.database.dsn()}'
Ctrl-C stops everything."""


def _configure(directory: pathlib.Path, name: str, port: int, token: str, upstream: Upstream) -> None:
    token_file = directory / f"{name}.token"
    token_file.touch(mode=0o600)
    token_file.write_text(token)
    configuration = {
        "listen": [f"127.0.0.1:{port}"],
        "database": str(directory / f"{name}.sqlite"),
        "remote": {"url": upstream.url, "publishable_key": upstream.publishable_key,
                   "access_token_file": str(token_file)},
        "sync": {"poll_interval_s": 2},
        "tables": TABLES,
    }
    (directory / f"{name}.json").write_text(json.dumps(configuration, indent=2) + "\n")


def _introduction(upstream: Upstream, directory: pathlib.Path, tokens: dict[str, str]) -> str:
    gateways = "\n".join(f"  .build/release/kizuna-gateway --config {directory}/{name}.json" for name in USERS)
    bucket = json.dumps({"team_id": TEAM})
    buckets = "\n".join(f"  curl -s localhost:{port}/sync/v1/rpc/set_bucket --json '{bucket}'"
                        for _, port in USERS.values())
    shown = "\n".join(f"  {name} ({USERS[name][0]}): {token}" for name, token in tokens.items())
    return f"""upstream   {upstream.url}
apikey     {upstream.publishable_key}
database   psql '{upstream.database.dsn()}'
tokens
{shown}

Start two gateways, each in a terminal of its own:
{gateways}
and tell each which team's lists it keeps:
{buckets}
What one writes, the other reads:
  curl -s localhost:54321/rest/v1/lists \\
    --json '{{"team_id": "{TEAM}", "name": "Ideas"}}'
  curl -s localhost:54322/rest/v1/lists
Break the next push:
  curl -s {upstream.url}/control/fail --json '{{"kind": "drop_after", "function": "push"}}'
Ctrl-C stops everything."""
