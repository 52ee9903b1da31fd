"""A real PostgreSQL for tests: a temporary server, and databases copied from templates in milliseconds.

    with Postgres() as postgres:
        database = postgres.database("create table public.notes (id uuid primary key)")
        database.execute("insert into public.notes values (%s)", key)      # as the owner, rows come back
        with database.acting(sub) as cursor:            # role and claims as PostgREST sets them
            cursor.execute("select auth.uid()")

Two flavours. `plain` is a bare PostgreSQL (superuser `postgres`) with the client roles and `auth.uid()`.
`supabase` looks as a hosted project does: `postgres` owns the database and is no superuser. Roles belong to a
server, so the second flavour runs on a second server, started when it is first asked for.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import glob
import hashlib
import itertools
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from typing import Any, Iterator, Sequence

import psycopg2
import psycopg2.extensions

HERE = pathlib.Path(__file__).resolve().parent
PACK = HERE.parent.parent / "docker" / "upstream"
SUPERUSERS = {"plain": "postgres", "supabase": "supabase_admin"}
START_SECONDS = 60
PR_SET_PDEATHSIG = 1


class Postgres:
    """One temporary server on 127.0.0.1 (and a Unix socket in its directory); trust for every role.

    `flavour` is that of the server itself; `database()` reaches the other one as well. `fsync=True` makes
    commits durable, for tests that measure or kill. `settings` adds lines to the configuration.
    Attributes: `port`, `directory`, `superuser`, `pid`.
    """

    def __init__(self, flavour: str = "plain", fsync: bool = False, settings: dict[str, str] | None = None):
        self.flavour = flavour
        self.superuser = SUPERUSERS[flavour]
        self.fsync = fsync
        self.settings = settings or {}
        self.port = 0
        self.directory = ""
        self._process: subprocess.Popen | None = None
        self._templates: dict[str, str] = {}
        self._numbers = itertools.count(1)
        self._lock = threading.RLock()
        self._sibling: Postgres | None = None

    def __enter__(self) -> Postgres:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The postmaster's process id; 0 while stopped."""
        return self._process.pid if self._process else 0

    def start(self) -> Postgres:
        """Starts the server; after `stop()` on the same port with the same data."""
        with self._lock:
            if self._process is None:
                if not self.directory:
                    self._initialise()
                self._launch()
        return self

    def stop(self, mode: str = "fast") -> None:
        """Stops the server and keeps its data; `mode` is `fast`, or `immediate`, which is a crash."""
        with self._lock:
            process, self._process = self._process, None
            if process is None:
                return
            for number in [signal.SIGQUIT] if mode == "immediate" else [signal.SIGINT, signal.SIGQUIT]:
                process.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(20)
                    return
            process.kill()
            process.wait()

    def close(self) -> None:
        """Stops the server and removes everything it stored."""
        if self._sibling:
            self._sibling.close()
        self.stop("immediate")
        if self.directory:
            shutil.rmtree(self.directory, ignore_errors=True)
            self.directory = ""
        atexit.unregister(self.close)

    def dsn(self, database: str = "postgres", user: str | None = None) -> str:
        """A libpq connection string over TCP."""
        return f"host=127.0.0.1 port={self.port} dbname={database} user={user or self.superuser}"

    def connect(self, database: str = "postgres", user: str | None = None, autocommit: bool = True):
        """A psycopg2 connection, as the superuser unless told otherwise."""
        connection = psycopg2.connect(self.dsn(database, user))
        connection.autocommit = autocommit
        return connection

    def database(self, sql: str | Sequence[str] = "", flavour: str = "plain",
                 pack: bool | str | os.PathLike = True) -> Database:
        """A fresh database of that flavour with the server half installed and then `sql` run, as its owner.

        `sql` is one text or several. `pack=False` leaves the server half out; a path takes another folder.
        The first call with the same arguments builds a template, later ones copy it.
        """
        if flavour != self.flavour:
            return self._other(flavour).database(sql, flavour, pack)
        texts = [("sql", text) for text in ([sql] if isinstance(sql, str) else sql)]
        scripts = _pack(PACK if pack is True else pathlib.Path(pack)) if pack else []
        with self._lock:
            name = f"db_{next(self._numbers)}"
            self._copy(self._template(scripts, texts), name)
        return Database(self, name)

    def _other(self, flavour: str) -> Postgres:
        with self._lock:
            if self._sibling is None:
                self._sibling = Postgres(flavour, self.fsync, self.settings).start()
            return self._sibling

    def _template(self, scripts: list, texts: list) -> str:
        """The template for these scripts, built once; each part is itself a template of what follows it."""
        base = self._built("template0", self._fixture("before"), self.superuser)
        packed = self._built(base, scripts, "postgres")
        ready = self._built(packed, self._fixture("after"), self.superuser)
        return self._built(ready, texts, "postgres")

    def _fixture(self, moment: str) -> list:
        """A hosted project is there before the pack; a bare server lends tests its extras after it."""
        if (moment == "before") != (self.flavour == "supabase"):
            return []
        return [(f"{self.flavour}.sql", (HERE / f"{self.flavour}.sql").read_text())]

    def _built(self, base: str, scripts: list, user: str) -> str:
        scripts = [(name, text) for name, text in scripts if text.strip()]
        if not scripts:
            return base
        key = hashlib.sha256(json.dumps([base, user, scripts]).encode()).hexdigest()
        if key not in self._templates:
            name = f"template_{key[:16]}"
            self._copy(base, name)
            try:
                self._run(name, scripts, user)
            except BaseException:
                self._drop(name)
                raise
            self._templates[key] = name
        return self._templates[key]

    def _run(self, database: str, scripts: list, user: str) -> None:
        with contextlib.closing(self.connect(database, user)) as connection:
            for name, text in scripts:
                try:
                    connection.cursor().execute(text)
                except psycopg2.Error as error:
                    error.add_note(f"in {name}, run as {user}")
                    raise

    def _copy(self, template: str, name: str) -> None:
        owner = "postgres" if template != "template0" or self.flavour == "plain" else self.superuser
        # Copying files needs two checkpoints, which cost nothing without fsync: 14 ms against 21 ms.
        strategy = "wal_log" if self.fsync else "file_copy"
        with contextlib.closing(self.connect()) as connection:
            connection.cursor().execute(
                f"create database {name} template {template} strategy {strategy} owner {owner}")

    def _drop(self, name: str) -> None:
        with contextlib.closing(self.connect()) as connection:
            connection.cursor().execute(f"drop database if exists {name} with (force)")

    def _initialise(self) -> None:
        self.directory = tempfile.mkdtemp(prefix="kizuna-pg-", dir="/tmp")
        atexit.register(self.close)
        _exit_on_sigterm()
        os.chmod(self.directory, 0o755)
        if os.geteuid() == 0:
            shutil.chown(self.directory, "postgres", "postgres")
        command = [binary("initdb"), "-D", f"{self.directory}/data", "-U", self.superuser, "-A", "trust",
                   "-E", "UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions"]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **self._account())
        if done.returncode:
            raise RuntimeError(f"initdb failed: {done.stdout.decode()}")

    def _launch(self) -> None:
        ports = [self.port] if self.port else [_free_port() for _ in range(3)]
        failure = ""
        for self.port in ports:
            failure = self._try_launch()
            if not failure:
                return
        raise RuntimeError(f"PostgreSQL did not start: {failure}")

    def _try_launch(self) -> str:
        durable = "on" if self.fsync else "off"
        settings = {"listen_addresses": "127.0.0.1", "port": str(self.port), "max_connections": "200",
                    "unix_socket_directories": self.directory, "fsync": durable,
                    "synchronous_commit": durable, "full_page_writes": durable, "shared_buffers": "64MB",
                    "timezone": "UTC", "max_wal_size": "4GB", "max_prepared_transactions": "10",
                    **self.settings}
        command = [binary("postgres"), "-D", f"{self.directory}/data"]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with open(f"{self.directory}/log", "ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                             start_new_session=True, preexec_fn=_die_with_parent(),
                                             **self._account())
        deadline = time.monotonic() + START_SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            with contextlib.suppress(psycopg2.OperationalError):
                self.connect().close()
                return ""
            time.sleep(0.01)
        self.stop("immediate")
        return self.log()[-2000:]

    def log(self) -> str:
        """What the server has written to its log."""
        return pathlib.Path(self.directory, "log").read_text(errors="replace")

    def _account(self) -> dict[str, Any]:
        """PostgreSQL refuses to run as root: root hands over to the user postgres."""
        if os.geteuid() != 0:
            return {"cwd": self.directory}
        return {"user": "postgres", "group": "postgres", "extra_groups": [], "cwd": self.directory}


class Database:
    """One database. `name`, `postgres` (its server) and `owner` are there to read."""

    def __init__(self, postgres: Postgres, name: str):
        self.postgres = postgres
        self.name = name
        self.owner = "postgres"
        self._connection: Any = None
        self._lock = threading.Lock()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop()

    def dsn(self, user: str | None = None) -> str:
        """A libpq connection string, for the owner unless told otherwise."""
        return self.postgres.dsn(self.name, user or self.owner)

    def connect(self, user: str | None = None, autocommit: bool = True):
        """A psycopg2 connection of the caller's own."""
        return self.postgres.connect(self.name, user or self.owner, autocommit)

    def execute(self, sql: str, *args: Any, user: str | None = None) -> list[tuple]:
        """Runs `sql` in autocommit as the owner (or `user`); rows as tuples, `[]` where there are none."""
        if user and user != self.owner:
            with contextlib.closing(self.connect(user)) as connection:
                return _rows(connection, sql, args)
        with self._lock:
            if self._connection is None or self._connection.closed:
                self._connection = self.connect()
            return _rows(self._connection, sql, args)

    def scalar(self, sql: str, *args: Any, user: str | None = None) -> Any:
        """The first column of the first row; None where there is none."""
        rows = self.execute(sql, *args, user=user)
        return rows[0][0] if rows else None

    @contextlib.contextmanager
    def acting(self, sub: str | None, role: str = "authenticated", **claims: Any) -> Iterator[Any]:
        """A cursor in one transaction with the role and the JWT claims set, as an API request runs.

        Committed at the end, rolled back when the block raises. `sub=None` leaves the claim out.
        """
        claims = {**({"sub": sub} if sub else {}), "role": role, **claims}
        connection = self.connect("authenticator", autocommit=False)
        with contextlib.closing(connection), connection, connection.cursor() as cursor:
            cursor.execute("select set_config('role', %s, true), set_config('request.jwt.claims', %s, true)",
                           (role, json.dumps(claims)))
            yield cursor

    def drop(self) -> None:
        """Drops the database and cuts whoever is still connected."""
        if self._connection:
            self._connection.close()
        self.postgres._drop(self.name)


def _rows(connection: Any, sql: str, args: tuple) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(sql, args or None)
        return cursor.fetchall() if cursor.description else []


def _pack(folder: pathlib.Path) -> list[tuple[str, str]]:
    """The server half in the order it is installed; the example schema is not part of it."""
    files = sorted(path for path in folder.glob("*.sql") if path.name != "example.sql")
    if not files:
        raise FileNotFoundError(f"no SQL files in {folder}")
    return [(path.name, path.read_text()) for path in files]


def binary(name: str) -> str:
    """The path of a program of the newest PostgreSQL installed."""
    def version(path: str) -> list[int]:
        return [int(number) for number in re.findall(r"\d+", path)]

    installed = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), key=version)
    found = installed[-1] if installed else shutil.which(name)
    if not found:
        raise FileNotFoundError(f"{name} not found: install postgresql")
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _die_with_parent():
    """The server ends when the process that started it is killed. Only the main thread may promise this: the
    kernel sends the signal when the starting *thread* ends."""
    if threading.current_thread() is not threading.main_thread():
        return None
    libc = ctypes.CDLL(None)
    return lambda: libc.prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)


def _exit_on_sigterm() -> None:
    """SIGTERM ends the process the ordinary way, so that servers are stopped; a handler of others stays."""
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _exit_now)


def _exit_now(*_: object) -> None:
    raise SystemExit(128 + signal.SIGTERM)
