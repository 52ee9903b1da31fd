#!/usr/bin/env python3
"""What a careless or hostile caller can send, and what a machine can do to a database file, from outside.

    Tests/Scripts/badinput.py [--gateway PATH] [-v]

After every request: the answer is JSON with the four error keys and names its code in Proxy-Status, no row and no outbox
entry has changed, and the server still answers /live. The tests of a full disk and of a read-only directory mount a
tmpfs, which needs root; without it they are skipped, and said to be.
"""
import argparse
import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from gateway import Checks, Gateway, StartFailed, executable  # noqa: E402

BODY_LIMIT = 8 * 1024 * 1024
IDLE_SECONDS = 2
TABLES = {
    "todos": {"columns": {"id": "uuid", "list_id": "uuid", "title": "text not null",
                          "done": "boolean not null default false", "n": "integer", "small": "smallint",
                          "price": "numeric(6,2)", "tags": "text[]", "meta": "jsonb", "at": "timestamptz"},
              "key": ["id"]},
}
FIRST, SECOND = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
ROWS = [{"id": FIRST, "title": "one", "n": 1}, {"id": SECOND, "title": "two", "n": 2}]
TODOS = "/rest/v1/todos"
JSON = {"Content-Type": "application/json"}
CLIENT_FAULTS = range(400, 500)


def error_shape(checks, name, answer, code=None):
    """The four keys, Proxy-Status and, where one is demanded, the code."""
    try:
        error = answer.json()
    except ValueError:
        checks.check(name + ": JSON", False, answer)
        return
    if checks.check(name + ": four keys", isinstance(error, dict)
                    and set(error) == {"code", "message", "details", "hint"}
                    and isinstance(error["code"], str) and isinstance(error["message"], str), answer):
        checks.check(name + ": code", code in (None, error["code"]), f"want {code}, got {answer}")
        checks.equal(name + ": Proxy-Status", answer.headers.get("proxy-status"), f"PostgREST; error={error['code']}")


class Probe:
    """A running gateway with two rows, and the checks that hold after every bad request."""

    def __init__(self, gateway, checks):
        self.gateway, self.checks = gateway, checks
        answer = gateway.request("POST", TODOS, ROWS, {"Prefer": "return=minimal"})
        if answer.status != 201:
            raise RuntimeError(f"the rows of the test were not stored: {answer}")
        self.before = self.state()

    def state(self):
        return [self.gateway.request("GET", target).body for target in
                (TODOS + "?order=id", "/sync/v1/outbox?order=seq", "/sync/v1/tombstones")]

    def unharmed(self, name):
        self.checks.check(name + ": still alive", self.gateway.request("GET", "/live").status == 200)
        self.checks.equal(name + ": nothing changed", self.state(), self.before)

    def refused(self, name, answer, status=CLIENT_FAULTS, code=None):
        """The request got a proper error and did no harm."""
        statuses = (status,) if isinstance(status, int) else status
        if self.checks.check(name + ": an answer", answer is not None, "the connection was closed") \
                and self.checks.check(name + ": status", answer.status in statuses, f"want {status}, got {answer}"):
            error_shape(self.checks, name, answer, code)
        self.unharmed(name)

    def ask(self, name, method, target, body=None, headers=None, status=CLIENT_FAULTS, code=None):
        self.checks.run(name, lambda: self.refused(name, self.gateway.request(method, target, body, headers), status,
                                                   code))

    def ask_raw(self, name, line, headers=b"", body=b"", status=CLIENT_FAULTS, code=None):
        """A request line of any bytes."""
        head = line + b" HTTP/1.1\r\nHost: localhost\r\n" + headers
        if body or line.split(b" ")[0] in (b"POST", b"PATCH"):
            head += b"Content-Length: %d\r\n" % len(body)
        self.checks.run(name, lambda: self.refused(name, self.gateway.raw(head + b"\r\n", body), status, code))


def urls(probe):
    ask, raw = probe.ask, probe.ask_raw
    for name, target in [
        ("percent sign at the end", "?title=eq.%"), ("percent sign and one digit", "?title=eq.%4"),
        ("percent sign and no digits", "?title=eq.%zz"), ("malformed escape in a key", "?ti%tle=eq.x"),
        ("UTF-8 that breaks off", "?title=eq.%e2%82"), ("bytes that are no UTF-8", "?title=eq.%ff%fe"),
        ("overlong UTF-8", "?title=eq.%c0%af"), ("a surrogate in UTF-8", "?title=eq.%ed%a0%80"),
        ("NUL in a value", "?title=eq.a%00b"), ("NUL in a key", "?ti%00tle=eq.a"),
        ("NUL in a select", "?select=id%00"), ("NUL in a list", "?title=in.(a%00,b)"),
    ]:
        ask("read, " + name, "GET", TODOS + target)
        ask("delete, " + name, "DELETE", TODOS + target)
    for name, path in [("malformed escape in the path", "/rest/v1/todos%"), ("NUL in the path", "/rest/v1/todos%00"),
                       ("NUL within the path", "/rest/v1/to%00dos"), ("no UTF-8 in the path", "/rest/v1/%ff%fe"),
                       ("NUL before the path's end", "/rest/v1/todos%00/../todos")]:
        ask("read, " + name, "GET", path)
        ask("delete, " + name, "DELETE", path + "?id=eq." + FIRST)
    raw("raw bytes that are no UTF-8", b"GET /rest/v1/todos?title=eq.\xff\xfe")
    raw("unknown method", b"FOO /rest/v1/todos", status=405, code="PGRST117")
    ask("unknown path", "GET", "/no/such/path", status=404)
    ask("dots in the path", "GET", "/rest/v1/../../etc/passwd", status=404)
    ask("deeper path", "GET", "/rest/v1/todos/1", status=404)


def names(probe):
    ask = probe.ask
    for method, body in (("GET", None), ("POST", {"id": FIRST}), ("PATCH", {"n": 1}), ("DELETE", None)):
        ask(f"{method} of an unknown table", method, "/rest/v1/nope?id=eq.1", body, status=404, code="PGRST205")
        ask(f"{method} of an engine's own table", method, "/rest/v1/_kizunasync_outbox?seq=gt.0", body, status=404,
            code="PGRST205")
        ask(f"{method} of SQLite's own table", method, "/rest/v1/sqlite_master?name=eq.x", body, status=404,
            code="PGRST205")
    for method, body in (("GET", None), ("PATCH", {"n": 1}), ("DELETE", None)):
        ask(f"{method} by an unknown column", method, TODOS + "?nope=eq.1", body, status=400, code="42703")
    ask("select of an unknown column", "GET", TODOS + "?select=nope", status=400, code="42703")
    ask("order by an unknown column", "GET", TODOS + "?order=nope", status=400, code="42703")
    ask("SQLite's rowid is no column", "GET", TODOS + "?rowid=eq.1", status=400, code="42703")
    ask("insert of an unknown column", "POST", TODOS, {"title": "x", "nope": 1}, status=400, code="PGRST204")
    ask("update of an unknown column", "PATCH", TODOS + "?n=eq.1", {"nope": 1}, status=400, code="PGRST204")
    ask("SQL in a value of a number", "GET", TODOS + "?n=eq.1%3Bdrop%20table%20todos", status=400)
    ask("SQL in a column name", "DELETE", TODOS + '?%22id%22%22%20or%201=1--%22=eq.1')
    ask("unknown function", "POST", "/sync/v1/rpc/nope", {}, status=404, code="PGRST202")
    ask("unknown relation", "GET", "/sync/v1/nope", status=404)
    ask("write to a relation of the engine", "DELETE", "/sync/v1/outbox?seq=gt.0")
    ask("unknown argument", "POST", "/sync/v1/rpc/set_access_token", {"nope": 1}, status=400, code="PGRST202")
    ask("set_bucket of an unknown key", "POST", "/sync/v1/rpc/set_bucket", {"nope": "1"}, status=409,
        code="BUCKET_UNSET")
    ask("delete without a filter", "DELETE", TODOS, status=400, code="21000")
    ask("update without a filter", "PATCH", TODOS, {"n": 9}, status=400, code="21000")


def types(probe):
    ask = probe.ask
    for column, value, code in [
        ("n", "abc", "22P02"), ("n", "1.5", "22P02"), ("n", "99999999999", "22003"), ("small", "40000", "22003"),
        ("done", "perhaps", "22P02"), ("id", "not-a-uuid", "22P02"), ("price", "x", "22P02"), ("at", "never", "22007"),
        ("tags", "x", "22P02"), ("meta", "{", "22P02"),
    ]:
        ask(f"filter, {column} of {value}", "GET", f"{TODOS}?{column}=eq.{value}", status=400, code=code)
        ask(f"delete, {column} of {value}", "DELETE", f"{TODOS}?{column}=eq.{value}", status=400, code=code)
        ask(f"update, {column} of {value}", "PATCH", f"{TODOS}?id=eq.{FIRST}",
            {column: value} if column != "meta" else b'{"meta":{}', JSON, 400, code if column != "meta" else "PGRST102")
    for name, row, code in [("object for a number", {"n": {}}, "22P02"), ("array for a number", {"n": [1]}, "22P02"),
                            ("a too large number", {"n": 99999999999}, "22003"),
                            ("too many digits", {"price": 123456.78}, "22003"),
                            ("null where none may be", {"title": None}, "23502"),
                            ("NUL in a text", {"title": "a\0b"}, None)]:
        ask("insert, " + name, "POST", TODOS, {"id": FIRST[:-1] + "9", "title": "x", **row}, status=400, code=code)
        ask("update, " + name, "PATCH", f"{TODOS}?id=eq.{FIRST}", row, status=400, code=code)
    good = {"id": FIRST[:-1] + "8", "title": "good", "n": 1}
    bad = {"id": FIRST[:-1] + "9", "title": "bad", "n": "x"}
    ask("one bad row of two takes both back", "POST", TODOS, [good, bad], status=400, code="22P02")
    ask("a taken key takes all rows back", "POST", TODOS, [good, ROWS[0]], status=409, code="23505")


def bodies(probe):
    for name, body in [
        ("empty", b""), ("blank", b"   "), ("truncated object", b'{"title":"x"'), ("truncated text", b'{"title":"x'),
        ("truncated array", b'[{"title":"x"},'), ("text after the end", b'{"title":"x"} x'), ("no JSON", b"title=x"),
        ("single quotes", b"{'title':'x'}"), ("NaN", b'{"n":NaN,"title":"x"}'), ("leading zero", b'{"n":01,"title":"x"}'),
        ("control byte in a text", b'{"title":"a\x01b"}'), ("bad escape", b'{"title":"\\q"}'),
        ("half an escape", b'{"title":"\\u12"}'), ("no UTF-8", b'{"title":"\xff\xfe"}'),
        ("UTF-8 that breaks off", b'{"title":"\xe2\x82"}'), ("raw NUL", b'{"title":"a\x00b"}'),
        ("an array of numbers", b"[1,2]"),
        ("100,000 open arrays", b"[" * 100_000), ("100,000 nested objects", b'{"meta":' * 100_000 + b"1" + b"}" * 100_000),
        ("100,000 nested arrays in a value", b'{"title":"x","meta":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    ]:
        probe.ask("insert, body " + name, "POST", TODOS, body, JSON)
    probe.ask("update, body truncated", "PATCH", f"{TODOS}?id=eq.{FIRST}", b'{"n":', JSON, status=400, code="PGRST102")
    probe.ask("function, body truncated", "POST", "/sync/v1/rpc/apply", b'{"table":', JSON, status=400)
    probe.ask("function, body no object", "POST", "/sync/v1/rpc/apply", b"[]", JSON, status=400)


def logic(probe):
    ask = probe.ask
    deep = 2_000
    ask("deep logic tree in the URL", "GET", f"{TODOS}?and=({'or(' * deep}n.eq.1{')' * deep})", status=400)
    ask("deep logic tree for a delete", "DELETE", f"{TODOS}?and=({'or(' * deep}n.eq.1{')' * deep})", status=400)
    ask("logic tree that breaks off", "DELETE", f"{TODOS}?or=(n.eq.1,and(n.eq.2", status=400, code="PGRST100")
    ask("embeds that nest deep", "GET", f"{TODOS}?select={'a(' * deep}id{')' * deep}", status=400)
    node = {"kind": "eq", "column": "n", "value": 1}
    text = b'{"kind":"not","filter":' * 50_000 + json.dumps(node).encode() + b"}" * 50_000
    ask("deep filter in a body", "POST", "/sync/v1/rpc/apply_where",
        b'{"table":"todos","op":"delete","filters":[' + text + b"]}", JSON, status=400)
    ask("apply_where without filters", "POST", "/sync/v1/rpc/apply_where",
        {"table": "todos", "op": "delete", "filters": []}, status=400)
    ask("apply_where with an unknown kind", "POST", "/sync/v1/rpc/apply_where",
        {"table": "todos", "op": "delete", "filters": [{"kind": "nope"}]}, status=400)
    wide = ",".join(["n.eq.1000"] * 800)
    answer = probe.gateway.request("GET", f"{TODOS}?or=({wide})")
    probe.checks.check("a wide logic tree is answered", answer.status == 200 and answer.json() == [], answer)


def long_lists(probe):
    source, checks, gateway = random.Random(1), probe.checks, probe.gateway
    keys = [f"{source.getrandbits(32):08x}-0000-4000-9000-{source.getrandbits(48):012x}" for _ in range(100_000)]
    call = {"table": "todos", "op": "delete", "filters": [{"kind": "in", "column": "id", "values": keys}]}
    answer = gateway.request("POST", "/sync/v1/rpc/apply_where", call)
    checks.check("a list of 100,000 in a body", answer.status == 200 and answer.json() == [], answer)
    probe.unharmed("a list of 100,000 in a body")
    call = {**call, "op": "update", "columns": {"n": 1}, "max_affected": 0}
    call["filters"][0]["values"] = keys[:50_000] + [FIRST] + keys[50_000:]
    probe.ask("max_affected with a list of 100,001", "POST", "/sync/v1/rpc/apply_where", call, status=[400, 409])
    for method in (b"GET", b"DELETE"):
        head = method + b" /rest/v1/todos?id=in.(" + ",".join(keys).encode() + b") HTTP/1.1\r\nHost: localhost\r\n\r\n"
        answer = gateway.raw(head)
        checks.check(f"{method.decode()} with a URL of 3.7 MB", answer is None or answer.status in (414, 431), answer)
        probe.unharmed(f"{method.decode()} with a URL of 3.7 MB")
    answer = gateway.raw(b"GET /live HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 100_000 + b"\r\n\r\n")
    checks.check("headers of 100 kB", answer is None or answer.status in (413, 414, 431), answer)
    probe.unharmed("headers of 100 kB")


def large_bodies(probe):
    head = b"POST /rest/v1/todos HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    name = "declared body over the limit"
    began = time.monotonic()
    answer = probe.gateway.raw(head + b"Content-Length: %d\r\n\r\n" % (BODY_LIMIT + 1))
    probe.refused(name, answer, 413, "PGRST102")
    probe.checks.check(name + ": at once", time.monotonic() - began < IDLE_SECONDS + 2)
    probe.refused("declared body of 2^62 bytes", probe.gateway.raw(head + b"Content-Length: %d\r\n\r\n" % 2 ** 62), 413)
    for name, times in (("chunked body over the limit", 1.2), ("chunked body over twice the limit", 3)):
        chunk = b"40000\r\n" + b"[" + b" " * 0x3ffff + b"\r\n"
        answer = probe.gateway.raw(head + b"Transfer-Encoding: chunked\r\n\r\n",
                                   chunk * int(times * BODY_LIMIT // 0x40000) + b"0\r\n\r\n", timeout=30)
        if times < 2 or answer is not None:
            probe.refused(name, answer, 413, "PGRST102")
        else:
            probe.unharmed(name)
    for name, header in (("a negative length", b"Content-Length: -1\r\n\r\n"),
                         ("a length that is no number", b"Content-Length: abc\r\n\r\n"),
                         ("a malformed chunk", b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")):
        answer = probe.gateway.raw(head + header)
        probe.checks.check(name, answer is None or answer.status in CLIENT_FAULTS, answer)
        probe.unharmed(name)


def broken_clients(probe):
    """Clients that stall or hang up: others are served meanwhile, and the staller is dropped."""
    address = (probe.gateway.host, probe.gateway.port)
    head = b"POST /rest/v1/todos HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 60\r\n\r\n"
    for name, sent in (("in the request line", b"POST /rest/v1/to"), ("in the headers", head[:50]),
                       ("before the body", head), ("in the body", head + b'{"title":"never')):
        connection = socket.create_connection(address, timeout=IDLE_SECONDS + 8)
        connection.sendall(sent)
        connection.close()
        probe.unharmed("a client that hangs up " + name)
    stalled = []
    for number in range(40):
        connection = socket.create_connection(address, timeout=IDLE_SECONDS + 10)
        connection.sendall((head, head[:50], head + b'{"title":"never')[number % 3])
        stalled.append(connection)
    began = time.monotonic()
    probe.unharmed("40 clients that stall")
    probe.checks.check("others are served at once beside 40 that stall", time.monotonic() - began < IDLE_SECONDS)
    dropped = 0
    for connection in stalled:
        with contextlib.suppress(OSError), connection:
            while connection.recv(4096):
                pass
            dropped += 1
    probe.checks.equal("clients that stall are dropped", dropped, len(stalled))
    probe.unharmed("clients dropped")


def foreigners(probe):
    ask = probe.ask
    row = {"title": "foreign"}
    for origin in ("https://evil.example", "http://localhost.evil.example", "null", "http://127.0.0.1:1"):
        ask(f"insert from {origin}", "POST", TODOS, row, {"Origin": origin}, 403, "42501")
        ask(f"delete from {origin}", "DELETE", f"{TODOS}?id=eq.{FIRST}", None, {"Origin": origin}, 403, "42501")
        ask(f"function from {origin}", "POST", "/sync/v1/rpc/reset", {}, {"Origin": origin}, 403, "42501")
    answer = probe.gateway.request("GET", TODOS, headers={"Origin": "https://evil.example"})
    probe.checks.check("a foreign page cannot read", "access-control-allow-origin" not in answer.headers, answer.headers)
    for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80"):
        ask(f"read with Host {host}", "GET", TODOS, None, {"Host": host}, 403, "42501")
        ask(f"delete with Host {host}", "DELETE", f"{TODOS}?id=eq.{FIRST}", None, {"Host": host}, 403, "42501")
    own = probe.gateway.base
    answer = probe.gateway.request("DELETE", f"{TODOS}?id=eq.{FIRST[:-1]}7", headers={"Origin": own})
    probe.checks.check("the gateway's own origin may write", answer.status == 200, answer)
    probe.unharmed("the gateway's own origin")


def head_errors(probe):
    answer = probe.gateway.request("HEAD", "/rest/v1/nope")
    probe.checks.check("HEAD names its error in Proxy-Status", answer.status == 404 and answer.body == b""
                       and answer.headers.get("proxy-status") == "PostgREST; error=PGRST205", answer.headers)


def fails_to_start(checks, path, name, status, config=None, contains="", arguments=None):
    """The process must end by itself with this status and one line on standard error that names what is wrong."""
    with tempfile.TemporaryDirectory(prefix="kizuna-test-") as directory:
        if arguments is not None:
            done = subprocess.run([path, *arguments], cwd=directory, capture_output=True, text=True, timeout=30)
            found, line = done.returncode, done.stderr
        else:
            gateway = Gateway(path, config, directory)
            try:
                gateway.start()
                gateway.stop()
                found, line = "started", ""
            except StartFailed as failure:
                found, line = failure.status, failure.stderr
    checks.equal(name + ": exit status", found, status)
    checks.check(name + ": one line", len(line.strip().splitlines()) == 1 and contains in line, repr(line))


def starts(checks, path):
    with Gateway(path, {"tables": TABLES}) as gateway:
        fails_to_start(checks, path, "second process on a database", 69,
                       {"tables": TABLES, "database": gateway.database}, "kizuna.sqlite")
        fails_to_start(checks, path, "address in use", 69,
                       {"tables": TABLES, "listen": [f"127.0.0.1:{gateway.port}"]}, str(gateway.port))
        checks.equal("the first process is unharmed", gateway.request("GET", TODOS).status, 200)
    with tempfile.TemporaryDirectory(prefix="kizuna-test-") as directory:
        fails_to_start(checks, path, "missing directory", 74,
                       {"tables": TABLES, "database": f"{directory}/no/such/k.sqlite"}, "no/such")
        fails_to_start(checks, path, "a directory for a database", 74, {"tables": TABLES, "database": directory}, directory)
        source = random.Random(2)
        for name, content in [("garbage", source.randbytes(20_000)), ("text", b"hello, world\n" * 1000),
                              ("garbage under a SQLite header", b"SQLite format 3\0" + source.randbytes(20_000))]:
            file = os.path.join(directory, "corrupt.sqlite")
            with open(file, "wb") as target:
                target.write(content)
            fails_to_start(checks, path, "corrupt database, " + name, 74, {"tables": TABLES, "database": file}, file)
            with open(file, "rb") as target:
                checks.check(f"corrupt database, {name}: left as it was", target.read() == content)
    fails_to_start(checks, path, "unknown configuration key", 78, {"tables": TABLES, "databse_x": 1}, "databse_x")
    fails_to_start(checks, path, "configuration value of a wrong type", 78, {"tables": TABLES, "max_rows": "many"},
                   "max_rows")
    fails_to_start(checks, path, "open address without a key", 78, {"tables": TABLES, "listen": ["0.0.0.0:0"]})
    fails_to_start(checks, path, "unknown option", 64, arguments=["serve", "--nope"], contains="--nope")
    fails_to_start(checks, path, "unknown command", 64, arguments=["nope"], contains="nope")
    fails_to_start(checks, path, "missing configuration file", 78, arguments=["--config", "no-such.json"],
                   contains="no-such.json")


@contextlib.contextmanager
def small_disk(options):
    """A tmpfs of its own; None where mounting is not allowed."""
    with tempfile.TemporaryDirectory(prefix="kizuna-disk-") as directory:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", directory]
        if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
            yield None
            return
        try:
            yield directory
        finally:
            subprocess.run(["umount", directory], check=True)


def disks(checks, path):
    with small_disk("size=1m,ro") as directory:
        if directory is None:
            print("skipped: a read-only directory and a full disk (mounting a tmpfs needs root)")
            return
        fails_to_start(checks, path, "read-only directory", 74,
                       {"tables": TABLES, "database": f"{directory}/k.sqlite"}, directory)
    with small_disk("size=10m") as directory:
        ballast = os.path.join(directory, "ballast")
        with open(ballast, "wb") as file:
            file.write(b"\0" * 7 * 1024 * 1024)
        with Gateway(path, {"tables": TABLES, "database": f"{directory}/k.sqlite"}) as gateway:
            full_disk(checks, gateway, ballast)
            kept = stored_ids(gateway)
            status = gateway.stop()
            checks.equal("full disk: a clean stop after it", status, 0)
            gateway.start()
            checks.equal("full disk: all rows after a restart", stored_ids(gateway), kept)


def stored_ids(gateway):
    return sorted(row["id"] for row in gateway.request("GET", TODOS + "?select=id").json())


def full_disk(checks, gateway, ballast):
    stored, refusal = [], None
    for number in range(5_000):
        row = {"id": f"00000000-0000-4000-8000-{number:012x}", "title": "x" * 2_000}
        answer = gateway.request("POST", TODOS, [row])
        if answer.status != 201:
            refusal = answer
            break
        stored.append(row["id"])
    if not checks.check("full disk: a write is refused in the end", refusal is not None):
        return
    checks.check("full disk: 507", refusal.status == 507, refusal)
    error_shape(checks, "full disk", refusal, "STORE")
    checks.equal("full disk: reads go on", stored_ids(gateway), sorted(stored))
    queued = gateway.request("GET", "/sync/v1/outbox?select=pk&order=pk").json()
    checks.equal("full disk: the outbox agrees with the rows", [entry["pk"] for entry in queued], sorted(stored))
    checks.equal("full disk: alive", gateway.request("GET", "/live").status, 200)
    os.unlink(ballast)
    row = {"id": "00000000-0000-4000-9000-000000000000", "title": "after"}
    answer = gateway.request("POST", TODOS, row)
    checks.check("full disk: writes go on once there is space", answer.status == 201, answer)
    checks.equal("full disk: nothing half-written", stored_ids(gateway), sorted(stored + [row["id"]]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gateway", help="the executable (default: the newest build of this checkout)")
    parser.add_argument("-v", "--verbose", action="store_true")
    arguments = parser.parse_args()
    path, checks = executable(arguments.gateway), Checks(arguments.verbose)
    config = {"tables": TABLES, "max_body_bytes": BODY_LIMIT, "idle_timeout_s": IDLE_SECONDS}
    with Gateway(path, config) as gateway:
        probe = Probe(gateway, checks)
        for part in (urls, names, types, bodies, logic, long_lists, large_bodies, broken_clients, foreigners, head_errors):
            checks.run(part.__name__, part, probe)
        checks.equal("a clean stop in the end", gateway.stop(), 0)
    checks.run("starts", starts, checks, path)
    checks.run("disks", disks, checks, path)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
