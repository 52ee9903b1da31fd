#!/usr/bin/env python3
"""Measures the gateway beside a minimal C server (baseline.c) on the same data, in the same run.

    Tests/Benchmarks/run.py [--quick] [--gateway PATH] [--json [FILE]]

Needs wrk, a C compiler and the headers of libmicrohttpd and SQLite. Compare figures of one run only: rounds of both
servers alternate, and the load generator shares the machine with them. Figures are medians over the rounds.
"""
import argparse
import http.client
import json
import os
import random
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "Scripts"))
from gateway import REPOSITORY, Gateway  # noqa: E402

ROWS, LISTS, BATCH, SEED = 100_000, 1_000, 5_000, 20260102
CONNECTIONS = (1, 16, 64)
LIST_SUFFIX = "&order=title&limit=20&select=id,title,done,n,created_at"
WRK_THREADS = 2
TICKS = os.sysconf("SC_CLK_TCK")
WORDS = "milk bread tea sand sea book lamp door rain coat road bell fish moon star leaf".split()
TODOS = {
    "columns": {"id": "uuid", "list_id": "uuid", "title": "text not null", "done": "boolean not null default false",
                "n": "integer", "created_at": "timestamptz"},
    "key": ["id"], "sync_mode": "read-write", "indexes": [["list_id", "title"]],
}
# The aims of the project for these figures: (result, figure, at least or at most, bound).
AIMS = [
    ("point read c16", "ratio", ">=", 0.8), ("list read c16", "ratio", ">=", 0.8),
    ("delete c64", "ratio", ">=", 2.0), ("delete c64, slow fsync", "ratio", ">=", 8.0),
    ("memory", "gateway_mib", "<=", 64), ("start", "gateway_ms", "<=", 100), ("size", "mb", "<=", 12),
]


def run(*command, **options):
    result = subprocess.run(command, capture_output=True, text=True, **options)
    if result.returncode != 0:
        sys.exit(f"{' '.join(command)}:\n{result.stdout[-2000:]}{result.stderr[-2000:]}")
    return result.stdout


def rows():
    """The benchmark's rows, the same in every run."""
    source = random.Random(SEED)
    lists = [str(uuid.UUID(int=source.getrandbits(128), version=4)) for _ in range(LISTS)]
    for number in range(ROWS):
        title = " ".join(source.choice(WORDS) for _ in range(3)) + f" {number}"
        moment = f"2026-{source.randint(1, 12):02}-{source.randint(1, 28):02} {source.randint(0, 23):02}:" \
                 f"{source.randint(0, 59):02}:{source.randint(0, 59):02}.{source.randint(1, 999999):06}"
        yield (str(uuid.UUID(int=source.getrandbits(128), version=4)), source.choice(lists), title,
               source.random() < 0.3, source.randint(0, 100_000), moment)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """One of the two servers: its data directory, its process, and the resources the process used."""

    def __init__(self, name, directory):
        self.name, self.directory, self.port = name, os.path.join(directory, name), free_port()
        self.pristine, self.peak = self.directory + ".pristine", 0
        os.makedirs(self.directory)

    def status(self, field):
        with open(f"/proc/{self.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith(field + ":"))

    def cpu_us(self):
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) * 1_000_000 // TICKS

    def note_peak(self):
        self.peak = max(self.peak, self.status("VmHWM"))

    def keep(self):
        """Keeps the loaded database, to start from it again and again; the process must be stopped."""
        shutil.copytree(self.directory, self.pristine)

    def fresh(self, preload=None):
        """Restarts the server over the loaded database as it was kept."""
        self.stop()
        shutil.rmtree(self.directory)
        shutil.copytree(self.pristine, self.directory)
        self.start(preload)

    def seconds_to_ready(self):
        """From the start of the process to the first answer of /ready."""
        begin = time.perf_counter()
        self.spawn(None)
        while True:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                    connection.sendall(b"GET /ready HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                    if connection.recv(64).startswith(b"HTTP/1.1 200"):
                        return time.perf_counter() - begin
            except OSError:
                pass
            if time.perf_counter() - begin > 60:
                sys.exit(f"{self.name}: not ready within a minute")
            time.sleep(0.0005)

    def start(self, preload=None):
        self.spawn(preload)
        for _ in range(6000):
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
                return
            except OSError:
                time.sleep(0.01)
        sys.exit(f"{self.name}: does not listen on port {self.port}")


class Kizuna(Server):
    def __init__(self, path, directory):
        super().__init__("gateway", directory)
        self.gateway = Gateway(path, {"tables": {"todos": TODOS}}, self.directory, self.port)

    @property
    def pid(self):
        return self.gateway.process.pid

    def spawn(self, preload):
        self.gateway.environment = {"LD_PRELOAD": preload} if preload else {}
        self.gateway.launch()

    def stop(self):
        if self.gateway.process:
            self.note_peak()
            self.gateway.stop(30)

    def load(self, data):
        self.gateway.start()
        connection = self.gateway.connect(120)
        names = list(TODOS["columns"])
        for first in range(0, len(data), BATCH):
            body = [dict(zip(names, row)) for row in data[first:first + BATCH]]
            for row in body:
                row["created_at"] = row["created_at"].replace(" ", "T") + "+00:00"
            connection.request("POST", "/rest/v1/todos", json.dumps(body).encode(),
                               {"Content-Type": "application/json", "Prefer": "return=minimal"})
            response = connection.getresponse()
            text = response.read()
            if response.status != 201:
                sys.exit(f"loading: {response.status} {text[:500]!r}")
        connection.close()
        self.gateway.stop(60)


class Baseline(Server):
    def __init__(self, path, directory):
        super().__init__("baseline", directory)
        self.path, self.process = path, None
        self.database = os.path.join(self.directory, "todos.sqlite")

    @property
    def pid(self):
        return self.process.pid

    def spawn(self, preload):
        environment = {**os.environ, "LD_PRELOAD": preload} if preload else None
        self.process = subprocess.Popen([self.path, self.database, str(self.port), "2"], env=environment,
                                        stdout=subprocess.DEVNULL)

    def stop(self):
        if self.process:
            self.note_peak()
            self.process.terminate()
            self.process.wait(60)
            self.process = None

    def load(self, data):
        connection = sqlite3.connect(self.database)
        connection.executescript(
            "PRAGMA journal_mode=WAL;"
            "CREATE TABLE todos(id TEXT PRIMARY KEY NOT NULL, list_id TEXT, title TEXT, done INTEGER, n INTEGER,"
            " created_at TEXT);"
            "CREATE INDEX todos_list_title ON todos(list_id, title);"
            'CREATE TABLE outbox(seq INTEGER PRIMARY KEY, mutation_id TEXT, write_id TEXT, "table" TEXT, pk TEXT,'
            " op TEXT, columns TEXT, created_at INTEGER);")
        with connection:
            connection.executemany("INSERT INTO todos VALUES(?,?,?,?,?,?)", data)
            connection.executemany("INSERT INTO outbox(\"table\",pk,op) VALUES('todos',?,'insert')",
                                   ((row[0],) for row in data))
        connection.close()


class Load:
    """What wrk sends in one kind of measurement."""

    def __init__(self, name, mode, method, keys="-", prefix="/rest/v1/todos", suffix=""):
        self.name, self.arguments = name, (mode, method, keys, prefix, suffix)

    def measure(self, server, connections, seconds):
        threads = min(WRK_THREADS, connections)
        before = server.cpu_us()
        output = run("wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", "-s", os.path.join(HERE, "load.lua"),
                     f"http://127.0.0.1:{server.port}", "--", *self.arguments, str(threads))
        used = server.cpu_us() - before
        server.note_peak()
        figures = json.loads(output.strip().splitlines()[-1])
        if figures["refused"] or figures["broken"] or not figures["requests"]:
            print(f"warning: {self.name} c{connections} {server.name}: {figures}", file=sys.stderr)
        return {"rps": figures["requests"] * 1e6 / figures["us"], "p50_ms": figures["p50"] / 1000,
                "p99_ms": figures["p99"] / 1000, "cpu_us": used / max(1, figures["requests"]),
                "errors": figures["refused"] + figures["broken"]}


def median(samples):
    return {key: statistics.median(sample[key] for sample in samples) for key in samples[0]}


class Report:
    def __init__(self, target):
        self.results, self.target = {}, target

    def add(self, name, **figures):
        self.results[name] = figures
        if self.target:
            rounded = {key: round(value, 4) if isinstance(value, float) else value for key, value in figures.items()}
            self.target.write(json.dumps({"result": name, **rounded}) + "\n")
            self.target.flush()

    def add_pair(self, name, samples):
        """Medians of both servers, and the ratios gateway / baseline."""
        pair = {server: median(rounds) for server, rounds in samples.items()}
        ratio = pair["gateway"]["rps"] / max(pair["baseline"]["rps"], 1e-9)
        cpu = pair["gateway"]["cpu_us"] / max(pair["baseline"]["cpu_us"], 1e-9)
        for server in ("gateway", "baseline"):
            f = pair[server]
            print(f"{name:24} {server:9} {f['rps']:9.0f} {f['p50_ms']:8.2f} {f['p99_ms']:8.2f} {f['cpu_us']:8.1f}"
                  + (f"   rate {ratio:5.2f}  cpu {cpu:5.2f}" if server == "gateway" else ""), flush=True)
        flat = {f"{server}_{key}": value for server, figures in pair.items() for key, value in figures.items()}
        self.add(name, ratio=ratio, cpu_ratio=cpu, **flat)

    def aims(self):
        """Prints how each aim fared; true when all that were measured are met."""
        met = True
        for name, figure, relation, bound in AIMS:
            if name not in self.results:
                continue
            value = self.results[name][figure]
            good = value >= bound if relation == ">=" else value <= bound
            met = met and good
            print(f"{'met   ' if good else 'MISSED'} {name}: {figure} {value:.2f}, aim {relation} {bound}")
        return met


def build(given, directory):
    """Compiles the C files and finds or builds the gateway; returns the three paths."""
    baseline, shim = os.path.join(directory, "baseline-server"), os.path.join(directory, "slowfsync.so")
    run("cc", "-O2", "-Wall", "-Wextra", "-o", baseline, os.path.join(HERE, "baseline.c"), "-lmicrohttpd", "-lsqlite3",
        "-lpthread")
    run("cc", "-O2", "-shared", "-fPIC", "-o", shim, os.path.join(HERE, "slowfsync.c"), "-ldl")
    gateway = given
    if not gateway:
        print("building the gateway (release, static standard library)", file=sys.stderr)
        release = ("swift", "build", "-c", "release", "--static-swift-stdlib", "--package-path", REPOSITORY)
        run(*release, "--product", "kizuna-gateway")
        gateway = os.path.join(run(*release, "--show-bin-path").strip(), "kizuna-gateway")
    return os.path.abspath(gateway), baseline, shim


def same_answers(servers, key, list_id):
    """Both servers must give the same rows, or the comparison means nothing."""
    for target in (f"/rest/v1/todos?id=eq.{key}", f"/rest/v1/todos?list_id=eq.{list_id}{LIST_SUFFIX}"):
        answers = []
        for server in servers:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
            connection.request("GET", target)
            answers.append(json.loads(connection.getresponse().read()))
            connection.close()
        if answers[0] != answers[1] or not answers[0]:
            sys.exit(f"{target}: the servers answer differently:\n{answers[0]}\n{answers[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gateway", help="the executable to measure (default: the release build)")
    parser.add_argument("--quick", action="store_true", help="one round of one second each: shows that it works")
    parser.add_argument("--json", nargs="?", const="-", metavar="FILE", help="also one line of JSON a result")
    parser.add_argument("--strict", action="store_true", help="exit with 1 when an aim is missed")
    parser.add_argument("--directory", help="where the databases lie (default: a temporary directory)")
    arguments = parser.parse_args()
    if not shutil.which("wrk"):
        sys.exit("wrk is missing: apt-get install wrk")
    rounds, seconds = (1, 1) if arguments.quick else (3, 3)
    target = sys.stdout if arguments.json == "-" else open(arguments.json, "w") if arguments.json else None
    report = Report(target)

    with tempfile.TemporaryDirectory(prefix="kizuna-bench-", dir=arguments.directory) as directory:
        gateway_path, baseline_path, shim = build(arguments.gateway, directory)
        data = list(rows())
        key_file, list_file = os.path.join(directory, "keys"), os.path.join(directory, "lists")
        with open(key_file, "w") as file:
            file.writelines(row[0] + "\n" for row in data)
        with open(list_file, "w") as file:
            file.writelines(each + "\n" for each in sorted({row[1] for row in data}))
        servers = [Kizuna(gateway_path, directory), Baseline(baseline_path, directory)]
        try:
            begin = time.perf_counter()
            for server in servers:
                server.load(data)
                server.keep()
            print(f"loaded {ROWS} rows twice in {time.perf_counter() - begin:.1f} s", file=sys.stderr)
            measure(servers, report, key_file, list_file, data, shim, rounds, seconds)
        finally:
            for server in servers:
                server.stop()
        stripped = os.path.join(directory, "stripped")
        run("strip", "-o", stripped, gateway_path)
        report.add("size", mb=os.path.getsize(stripped) / 1e6)
        print(f"stripped executable: {report.results['size']['mb']:.1f} MB\n")
    met = report.aims()
    return 1 if arguments.strict and not met else 0


def measure(servers, report, key_file, list_file, data, shim, rounds, seconds):
    reads = [Load("point read", "random", "GET", key_file, "/rest/v1/todos?id=eq."),
             Load("list read", "random", "GET", list_file, "/rest/v1/todos?list_id=eq.", LIST_SUFFIX)]
    delete = Load("delete", "once", "DELETE", key_file, "/rest/v1/todos?id=eq.")
    writes = [delete, Load("insert", "mint", "POST")]
    print(f"{'':24} {'server':9} {'req/s':>9} {'p50 ms':>8} {'p99 ms':>8} {'cpu us':>8}   gateway / baseline")

    for server in servers:
        server.start()
    same_answers(servers, data[0][0], data[0][1])
    for load in reads:
        for connections in CONNECTIONS:
            samples = {server.name: [] for server in servers}
            for _ in range(rounds):
                for server in servers:
                    samples[server.name].append(load.measure(server, connections, seconds))
            report.add_pair(f"{load.name} c{connections}", samples)

    for load, connections, preload, note in \
            [(load, connections, None, "") for load in writes for connections in CONNECTIONS] \
            + [(delete, 64, shim, ", slow fsync")]:
        samples = {server.name: [] for server in servers}
        for _ in range(rounds):
            for server in servers:
                server.fresh(preload)
                samples[server.name].append(load.measure(server, connections, seconds))
        report.add_pair(f"{load.name} c{connections}{note}", samples)

    for server in servers:
        server.stop()
    starts = {server.name: [] for server in servers}
    for _ in range(7):
        for server in servers:
            starts[server.name].append(server.seconds_to_ready() * 1000)
            server.stop()
    starts = {name: statistics.median(times) for name, times in starts.items()}
    report.add("start", gateway_ms=starts["gateway"], baseline_ms=starts["baseline"])
    print(f"start to ready, median of 7: gateway {starts['gateway']:.1f} ms, baseline {starts['baseline']:.1f} ms")
    peaks = {server.name: server.peak / 1024 for server in servers}
    report.add("memory", gateway_mib=peaks["gateway"], baseline_mib=peaks["baseline"])
    print(f"peak memory under load: gateway {peaks['gateway']:.1f} MiB, baseline {peaks['baseline']:.1f} MiB")


if __name__ == "__main__":
    sys.exit(main())
