#!/usr/bin/env python3
"""Kills a gateway in the middle of a write storm, again and again, and looks for lost or half-done writes.

    Tests/Scripts/durability.py [--rounds 20] [--writers 8] [--seed N] [--gateway PATH]

Each round: writers send POST, PATCH and DELETE and note every acknowledged answer; SIGKILL at a random moment; then a
copy of the database is opened with SQLite alone and must satisfy
  integrity     PRAGMA integrity_check says ok
  acknowledged  the outbox holds, under the write id of every acknowledged answer, exactly the rows the answer named
  whole         a call that got no answer is there with all its rows or with none
  one history   replaying the outbox from the start gives exactly the rows of the table: no row without its outbox
                entry, no entry without its effect
and the gateway must start on the original again and show the same rows.
"""
import argparse
import http.client
import json
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
import uuid

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gateway import Checks, Gateway, executable  # noqa: E402

CONFIGURATION = {
    "tables": {"notes": {"columns": {"id": "uuid", "writer": "integer", "body": "text", "n": "integer"}, "key": ["id"],
                         "indexes": [["writer", "n"]]}},
}
COLUMNS = ("id", "writer", "body", "n")
TARGET = "/rest/v1/notes"


class Writer(threading.Thread):
    """One client that writes until its connection breaks.

    acknowledged: (write id, method, keys answered) of each answer; open: (method, keys) of the call without one."""

    def __init__(self, gateway, number, seed):
        super().__init__(daemon=True)
        self.connection, self.number, self.random = gateway.connect(), number, random.Random(seed)
        self.mine, self.acknowledged, self.open, self.fault = [], [], None, None

    def run(self):
        try:
            while True:
                self.one_call()
        except (http.client.HTTPException, OSError):
            pass
        except Exception as error:
            self.fault = f"{type(error).__name__}: {error}"

    def one_call(self):
        kind = self.random.choices(["POST", "PATCH", "DELETE"], [5, 3, 2])[0]
        if kind == "POST" or not self.mine:
            rows = [{"id": str(uuid.UUID(int=self.random.getrandbits(128), version=4)), "writer": self.number,
                     "body": "x" * self.random.randint(0, 400), "n": self.random.randint(0, 1000)}
                    for _ in range(self.random.choice([1, 1, 1, 4, 25]))]
            keys = [row["id"] for row in rows]
            self.call("POST", TARGET, rows if len(rows) > 1 else rows[0], keys, 201)
            self.mine += keys
            return
        keys = self.random.sample(self.mine, min(len(self.mine), self.random.choice([1, 1, 3, 10])))
        target = f"{TARGET}?id=in.({','.join(keys)})"
        if kind == "PATCH":
            self.call(kind, target, {"n": self.random.randint(0, 1000), "body": self.random.choice("abc")}, keys, 200)
        else:
            self.call(kind, target, None, keys, 200)
            self.mine = [key for key in self.mine if key not in keys]

    def call(self, method, target, body, keys, status):
        self.open = (method, keys)
        self.connection.request(method, target, json.dumps(body).encode() if body is not None else None,
                                {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        text = response.read()
        if response.status != status:
            raise ValueError(f"{method} answered {response.status} {text[:300]!r}")
        answered = json.loads(text)
        if sorted(answered) != sorted(keys):
            raise ValueError(f"{method} answered {len(answered)} keys, not the {len(keys)} it touched")
        self.acknowledged.append((response.getheader("Kizuna-Write-Id"), method, keys))
        self.open = None


def read_database(path):
    """integrity_check, the table's rows by key, and the outbox in order.

    A copy is read, so that recovering the write-ahead log of the file itself is left to the gateway."""
    with tempfile.TemporaryDirectory(prefix="kizuna-copy-") as directory:
        copy = os.path.join(directory, "copy.sqlite")
        for suffix in ("", "-wal"):
            if os.path.exists(path + suffix):
                shutil.copyfile(path + suffix, copy + suffix)
        return read_copy(copy)


def read_copy(path):
    connection = sqlite3.connect(path)
    try:
        integrity = [row[0] for row in connection.execute("PRAGMA integrity_check")]
        rows = {row[0]: row for row in connection.execute("SELECT id, writer, body, n FROM notes")}
        outbox = connection.execute(
            'SELECT write_id, pk, op, columns FROM _kizunasync_outbox WHERE "table" = \'notes\' ORDER BY seq').fetchall()
        return integrity, rows, outbox
    finally:
        connection.close()


def replay(outbox):
    """The rows that the outbox alone leads to; an entry for a row that no entry inserted shows as a difference."""
    rows = {}
    for _, key, op, columns in outbox:
        values = {**json.loads(columns or "{}"), "id": key}
        if op == "insert":
            rows[key] = values
        elif op == "update":
            rows.setdefault(key, {"id": key}).update(values)
        elif op == "delete":
            rows.pop(key, None)
        else:
            raise ValueError(f"outbox op {op!r}")
    return {key: tuple(values.get(name) for name in COLUMNS) for key, values in rows.items()}


def compare(checks, label, database, writers):
    integrity, rows, outbox = read_database(database)
    checks.equal(f"{label}: integrity", integrity, ["ok"])
    by_write = {}
    for write_id, key, op, _ in outbox:
        by_write.setdefault(write_id, []).append((op, key))
    ops = {"POST": "insert", "PATCH": "update", "DELETE": "delete"}
    lost = [(write_id, method) for writer in writers for write_id, method, keys in writer.acknowledged
            if sorted(by_write.get(write_id, [])) != sorted((ops[method], key) for key in keys)]
    checks.check(f"{label}: acknowledged", not lost, f"{len(lost)} acknowledged writes are not in the outbox: {lost[:3]}")

    noted = {write_id for writer in writers for write_id, _, _ in writer.acknowledged}
    unnoted = [sorted(entries) for write_id, entries in by_write.items() if write_id not in noted]
    whole = [sorted((ops[method], key) for key in keys) for method, keys in (w.open for w in writers if w.open)]
    half = [entries[:3] for entries in unnoted if entries not in whole]
    checks.check(f"{label}: whole", not half, f"{len(half)} calls are there in part: {half[:2]}")
    expected = replay(outbox)
    if not checks.check(f"{label}: one history", rows == expected, "rows and outbox differ"):
        odd = [key for key in {*rows, *expected} if rows.get(key) != expected.get(key)]
        print(f"      {len(odd)} rows, the first: row {rows.get(odd[0])}, outbox {expected.get(odd[0])}")
    return rows, len(outbox)


def served_rows(gateway):
    answer = gateway.request("GET", f"{TARGET}?select=id,writer,body,n")
    return {row["id"]: tuple(row[name] for name in COLUMNS) for row in answer.json()}


def one_round(checks, label, path, directory, writer_count, source, past):
    gateway = Gateway(path, CONFIGURATION, directory).start()
    writers = [Writer(gateway, number, source.getrandbits(64)) for number in range(writer_count)]
    for writer in writers:
        writer.start()
    time.sleep(source.uniform(0.05, 0.6))
    gateway.kill()
    for writer in writers:
        writer.join(30)
        checks.check(f"{label}: answers", writer.fault is None, writer.fault)
    past += writers
    rows, queued = compare(checks, label, gateway.database, past)

    with Gateway(path, CONFIGURATION, directory) as again:
        checks.check(f"{label}: served again", served_rows(again) == rows, "the rows served differ from those stored")
    calls = sum(len(writer.acknowledged) for writer in writers)
    print(f"{label}: {calls} calls acknowledged, {sum(1 for w in writers if w.open)} cut off; "
          f"{len(rows)} rows, {queued} in the outbox", flush=True)
    return calls


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gateway", help="the executable (default: the newest build of this checkout)")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    arguments = parser.parse_args()
    path, checks, source, past, calls = executable(arguments.gateway), Checks(), random.Random(arguments.seed), [], 0
    print(f"seed {arguments.seed}")
    with tempfile.TemporaryDirectory(prefix="kizuna-storm-") as directory:
        for number in range(1, arguments.rounds + 1):
            label = f"round {number}"
            calls += checks.run(label, one_round, checks, label, path, directory, arguments.writers, source, past) or 0
    checks.check("the storms wrote something", calls > arguments.rounds, f"{calls} calls acknowledged in all")
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
