#!/usr/bin/env python3
"""Measures how the gateway syncs, beside a client that only asks the same upstream and keeps nothing.

    Tests/Benchmarks/sync.py [--quick] [--full] [--gateway PATH] [--json [FILE]] [--strict]

Needs PostgreSQL, psycopg2 and wrk. The upstream, its database, the load generator and the gateway share the machine,
so figures of different machines or runs do not compare; the ratios within one run do:
  pull     rows a second into an empty gateway, against a bare client that pulls the same pages; peak memory
  push     queued writes a second, against a bare client that pushes as many in slices of the same size
  verdict  from a local write to its judgement (`Prefer: wait`), against the round trip of a bare push
  reads    point reads during a pull that replaces everything, against reads before it and against reads beside a
           bare client that pulls as much
  stall    the longest local write during such a pull and its closing, against the longest before it
`--full` pulls a million rows as well.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from typing import Any, Callable, Iterator

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "Sync"))

from seed_device import Device, eventually  # noqa: E402
from gateway import REPOSITORY, executable  # noqa: E402
from postgres import Postgres  # noqa: E402
from upstream import Upstream  # noqa: E402

USER = "a0a00000-0000-4000-8000-000000000001"
PAGE, SLICE = 2000, 500
TABLES = {"rows": {"columns": {"id": "uuid", "team_id": "text not null", "title": "text not null",
                               "done": "boolean not null default false", "n": "integer", "created_at": "timestamptz"},
                   "bucket": {"column": "team_id"}, "indexes": [["title"]]},
          "mine": {"columns": {"id": "uuid", "n": "integer"}, "sync_mode": "local-only"}}
# A team of the size its name says.
SCHEMA = """
create table public.rows (
  id uuid primary key default gen_random_uuid(), team_id text not null, title text not null,
  done boolean not null default false, n integer, created_at timestamptz);
alter table public.rows enable row level security;
create policy "signed in" on public.rows for all to authenticated
  using ((select auth.uid()) is not null) with check (true);
grant select, insert, update, delete on public.rows to authenticated;
insert into public.rows (team_id, title, n, created_at)
  select team, 'A row of some words ' || number, number, timestamptz '2026-01-01' + number * interval '1 second'
  from (values {teams}) as teams (team, size), generate_series(1, size) as number;
select kizunasync.register_table(p_table => 'public.rows', p_sync_mode => 'read-write', p_bucket_column => 'team_id');
analyze;
"""
# (result, figure, at least or at most, bound): what the project aims at.
AIMS = [("memory", "mib", "<=", 150), ("stall", "ms", "<=", 250), ("pull", "ratio", ">=", 0.5),
        ("push", "ratio", ">=", 0.5), ("reads", "beside_a_bare_client", ">=", 0.7)]


class Bare:
    """A client that speaks to the upstream and keeps nothing."""

    def __init__(self, upstream: Upstream):
        self.connection = http.client.HTTPConnection("127.0.0.1", upstream.port, timeout=120)
        self.headers = {"Authorization": f"Bearer {upstream.token(USER)}", "apikey": upstream.publishable_key,
                        "Content-Type": "application/json", "Content-Profile": "kizunasync"}
        self.last: str | None = None

    def call(self, function: str, body: dict) -> bytes:
        self.connection.request("POST", f"/rest/v1/rpc/{function}", json.dumps(body).encode(), self.headers)
        response = self.connection.getresponse()
        text = response.read()
        if response.status != 200:
            sys.exit(f"{function} answered {response.status}: {text[:500]!r}")
        return text

    def pull(self, team: str, stop: Callable[[], bool] = lambda: False) -> None:
        cursor, more = "0", True
        while more and not stop():
            text = self.call("pull", {"buckets": [{"table": "rows", "params": {"team_id": team}}], "cursor": cursor,
                                      "limit": PAGE, "schema_version": 1})
            head = text[:200]
            cursor = head.split(b'"cursor":"', 1)[1].split(b'"', 1)[0].decode()
            more = b'"has_more":true' in head

    def push(self, count: int) -> None:
        mutations = []
        for _ in range(count):
            key = str(uuid.uuid4())
            mutations.append({"mutation_id": str(uuid.uuid4()), "table": "rows", "pk": key, "op": "insert",
                              "columns": new_row(key)})
        self.call("push", {"batch": {"atomic": False, "mutations": mutations}, "schema_version": 1,
                           "last_mutation_id": self.last})
        self.last = mutations[-1]["mutation_id"]


def new_row(key: str) -> dict:
    return {"id": key, "team_id": "pushed", "title": "A row of some words", "done": False, "n": 1}


def timed(work: Callable[[], Any]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def percentile(samples: list[float], share: float) -> float:
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * share))]


class Report:
    def __init__(self, target: Any):
        self.results: dict[str, dict] = {}
        self.target = target
        print(f"{'':28} {'gateway':>14} {'compared with':>36} {'ratio':>7}")

    def add(self, name: str, shown: str, against: str = "", **figures: Any) -> None:
        self.results[name] = figures
        ratio = f"{figures['ratio']:7.2f}" if "ratio" in figures else ""
        print(f"{name:28} {shown:>14} {against:>36} {ratio}", flush=True)
        if self.target:
            self.target.write(json.dumps({"result": name, **figures}) + "\n")
            self.target.flush()

    def aims(self) -> bool:
        """Prints how each aim fared; true when all are met."""
        met = True
        for name, figure, relation, bound in AIMS:
            for key in [each for each in self.results if each.split(",")[0] == name]:
                value = self.results[key][figure]
                good = value >= bound if relation == ">=" else value <= bound
                met = met and good
                print(f"{'met   ' if good else 'MISSED'} {key}: {figure} {value:.2f}, aim {relation} {bound}")
        return met


class Bench:
    def __init__(self, upstream: Upstream, path: str, report: Report, quick: bool):
        self.upstream, self.path, self.report, self.quick = upstream, path, report, quick

    @contextlib.contextmanager
    def device(self) -> Iterator[Device]:
        device = Device(self.upstream, USER, TABLES, paused=False, page_limit=PAGE, path=self.path)
        device.start()
        try:
            yield device
        finally:
            device.close()

    def pull(self, team: str, size: int) -> None:
        """Into an empty gateway, and by the bare client, in turns."""
        gateway, bare, peak = [], [], 0.0
        for _ in range(1 if self.quick or size > 200_000 else 3):
            bare.append(timed(lambda: Bare(self.upstream).pull(team)))
            with self.device() as device:
                device.rpc("set_bucket", team_id=team)
                gateway.append(timed(lambda: finish(device, size)))
                peak = max(peak, peak_mib(device))
        mine, theirs = size / statistics.median(gateway), size / statistics.median(bare)
        self.report.add(f"pull, {size:,} rows", f"{mine:,.0f}/s", f"bare client {theirs:,.0f}/s", ratio=mine / theirs,
                        rows_per_s=mine)
        self.report.add(f"memory, {size:,} rows", f"{peak:.0f} MiB", "peak of the process", mib=peak)

    def push(self, count: int) -> None:
        def bare() -> None:
            client = Bare(self.upstream)
            for _ in range(count // SLICE):
                client.push(SLICE)

        before = timed(bare)
        with self.device() as device:
            device.rpc("set_bucket", team_id="pushed")
            device.rpc("pause")
            for first in range(0, count, 1000):
                keys = [str(uuid.uuid4()) for _ in range(min(1000, count - first))]
                device.insert("rows", [new_row(key) for key in keys])
            device.rpc("resume")
            mine = count / timed(lambda: eventually(lambda: device.rpc("outbox_depth") == 0, "the outbox drains", 300))
            if device.rejections():
                sys.exit(f"writes were refused: {device.rejections()[:2]}")
        theirs = count / min(before, timed(bare))
        self.report.add(f"push, {count:,} writes", f"{mine:,.0f}/s", f"bare client {theirs:,.0f}/s", ratio=mine / theirs,
                        writes_per_s=mine)

    def verdict(self, count: int) -> None:
        client = Bare(self.upstream)
        bare = [timed(lambda: client.push(1)) * 1000 for _ in range(count)]
        with self.device() as device:
            device.rpc("set_bucket", team_id="nobody")
            device.rpc("sync")
            samples = []
            for _ in range(count):
                row = new_row(str(uuid.uuid4()))

                def write() -> None:
                    answer = device.request("POST", "/rest/v1/rows", row, Prefer="wait=30")
                    if answer.status != 201:
                        sys.exit(f"a write was not judged: {answer}")
                samples.append(timed(write) * 1000)
        for share, name in ((0.5, "p50"), (0.99, "p99")):
            mine, theirs = percentile(samples, share), percentile(bare, share)
            self.report.add(f"verdict, {name}", f"{mine:.1f} ms", f"bare push {theirs:.1f} ms", ratio=mine / theirs,
                            ms=mine)

    def replaced(self, old: str, new: str, size: int, seconds: int) -> None:
        """Reads and writes while a switch replaces everything."""
        with self.device() as device, tempfile.NamedTemporaryFile("w", suffix=".keys") as keys:
            device.rpc("set_bucket", team_id=old)
            finish(device, size)
            keys.writelines(f"{row['id']}\n" for row in device.rows("rows", "select=id&limit=2000"))
            keys.flush()
            mine = str(uuid.uuid4())
            device.insert("mine", {"id": mine, "n": 0})

            before = self.reads(device, keys.name, seconds)
            with busy(lambda stop: Bare(self.upstream).pull(new, stop)):
                beside = self.reads(device, keys.name, seconds)
            with switching(device, new) as running:
                during = self.reads(device, keys.name, seconds, running)
            finish(device, size, 600)
            self.report.add("reads, beside a switch", f"{during:,.0f}/s",
                            f"before {before:,.0f}/s, bare {beside:,.0f}/s", ratio=during / before,
                            beside_a_bare_client=during / beside)

            calm = writes(device, mine, lambda: time.sleep(seconds))
            with busy(lambda stop: Bare(self.upstream).pull(new, stop)):
                loaded = writes(device, mine, lambda: time.sleep(seconds))
            device.rpc("set_bucket", team_id=old)
            stalls = writes(device, mine, lambda: finish(device, size, 600))
            self.report.add("stall, longest write", f"{max(stalls):.0f} ms",
                            f"before {max(calm):.0f} ms, loaded {max(loaded):.0f} ms",
                            ratio=max(stalls) / max(loaded), ms=max(stalls))
            self.report.add("writes, p99 beside a switch", f"{percentile(stalls, 0.99):.1f} ms",
                            f"loaded {percentile(loaded, 0.99):.1f} ms",
                            ratio=percentile(stalls, 0.99) / percentile(loaded, 0.99))
            self.report.add("memory, switches and reads", f"{peak_mib(device):.0f} MiB", "peak of the process",
                            mib=peak_mib(device))

    def reads(self, device: Device, keys: str, seconds: int, running: Callable[[], bool] = lambda: True) -> float:
        """Point reads a second; a warning when the pull ended before the measurement."""
        output = subprocess.run(
            ["wrk", "-t2", "-c16", f"-d{seconds}s", "-s", str(HERE / "load.lua"), device.gateway.base, "--", "random",
             "GET", keys, "/rest/v1/rows?id=eq.", "", "2"], capture_output=True, text=True, check=True).stdout
        if not running():
            print("warning: the pull ended before the reads did", file=sys.stderr)
        figures = json.loads(output.strip().splitlines()[-1])
        if figures["refused"] or figures["broken"]:
            sys.exit(f"reads failed: {figures}")
        return figures["requests"] * 1e6 / figures["us"]


def finish(device: Device, size: int, seconds: float = 3600) -> None:
    """A whole run, at the end of which the table holds the rows of the team."""
    answer = device.gateway.request("POST", "/sync/v1/rpc/sync", {}, timeout=seconds)
    if answer.status != 204:
        sys.exit(f"sync answered {answer}")
    counted = device.request("HEAD", "/rest/v1/rows", Prefer="count=exact").headers["content-range"]
    if counted.rpartition("/")[2] != str(size):
        sys.exit(f"the pull left {counted}, not {size} rows")


@contextlib.contextmanager
def busy(work: Callable[[Callable[[], bool]], None]) -> Iterator[None]:
    """Does `work` again and again in the background."""
    over = threading.Event()

    def loop() -> None:
        while not over.is_set():
            work(over.is_set)

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextlib.contextmanager
def switching(device: Device, team: str) -> Iterator[Callable[[], bool]]:
    """A switch under way; the value tells whether it still is."""
    device.rpc("set_bucket", team_id=team)
    thread = threading.Thread(target=lambda: device.gateway.request("POST", "/sync/v1/rpc/sync", {}, timeout=3600))
    thread.start()
    try:
        yield thread.is_alive
    finally:
        thread.join()


def writes(device: Device, key: str, work: Callable[[], Any]) -> list[float]:
    """How long local writes took, in milliseconds, one after the other while `work` ran."""
    over, samples = threading.Event(), []

    def loop() -> None:
        connection = device.gateway.connect(120)
        body = json.dumps({"n": random.randint(0, 9)}).encode()
        headers = {"Content-Type": "application/json", "Prefer": "return=minimal"}
        while not over.is_set():
            began = time.perf_counter()
            connection.request("PATCH", f"/rest/v1/mine?id=eq.{key}", body, headers)
            response = connection.getresponse()
            response.read()
            samples.append((time.perf_counter() - began) * 1000)
            if response.status != 204:
                break
        connection.close()

    thread = threading.Thread(target=loop)
    thread.start()
    try:
        work()
    finally:
        over.set()
        thread.join()
    return samples


def peak_mib(device: Device) -> float:
    with open(f"/proc/{device.gateway.process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM:")) / 1024


def built(given: str | None) -> str:
    if given:
        return executable(given)
    print("building the gateway (release, static standard library)", file=sys.stderr)
    command = ["swift", "build", "-c", "release", "--static-swift-stdlib", "--package-path", REPOSITORY]
    subprocess.run([*command, "--product", "kizuna-gateway"], check=True, stdout=subprocess.DEVNULL)
    folder = subprocess.run([*command, "--show-bin-path"], check=True, capture_output=True, text=True).stdout
    return os.path.join(folder.strip(), "kizuna-gateway")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gateway", help="the executable to measure (default: the release build)")
    parser.add_argument("--quick", action="store_true", help="a fifth of everything: shows that it works")
    parser.add_argument("--full", action="store_true", help="also pull 1,000,000 rows")
    parser.add_argument("--json", nargs="?", const="-", metavar="FILE", help="also one line of JSON a result")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when an aim is missed")
    options = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("wrk is missing: apt-get install wrk")
    size = 20_000 if options.quick else 100_000
    teams = {"first": size, "second": size, **({"million": 1_000_000} if options.full else {})}
    target = sys.stdout if options.json == "-" else open(options.json, "w") if options.json else None
    path = built(options.gateway)
    with Postgres(settings={"shared_buffers": "256MB"}) as postgres:
        print(f"making {sum(teams.values()):,} rows upstream", file=sys.stderr)
        listed = ", ".join(f"('{name}', {count})" for name, count in teams.items())
        with postgres.database(SCHEMA.format(teams=listed)) as database, Upstream(database, record=False) as upstream:
            report = Report(target)
            bench = Bench(upstream, path, report, options.quick)
            bench.pull("first", size)
            bench.push(2_000 if options.quick else 10_000)
            bench.verdict(30 if options.quick else 200)
            bench.replaced("first", "second", size, 1 if options.quick else 3)
            if options.full:
                bench.pull("million", teams["million"])
    met = report.aims()
    return 1 if options.strict and not met else 0


if __name__ == "__main__":
    sys.exit(main())
