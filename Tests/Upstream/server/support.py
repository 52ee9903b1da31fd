"""What the tests of the server half share: a database under test, callers that speak as PostgREST does.

A caller's request is one transaction: the role and the claims are set locally, then one function is called
with exactly the named arguments of the body. Bodies and replies pass as JSON text, so numbers keep every
digit.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
import uuid
from decimal import Decimal
from typing import Any, Callable, Iterator

import psycopg2

from postgres import Database

Json = Any

ANNA = "a0000000-0000-4000-8000-00000000000a"
BEN = "b0000000-0000-4000-8000-00000000000b"
CORA = "c0000000-0000-4000-8000-00000000000c"

SUB = "(nullif(current_setting('request.jwt.claims', true), '')::json ->> 'sub')::uuid"

TASKS = """
  id bigint primary key, place text, owner uuid, title text, likes integer, done boolean, tags text[]
"""


class Refused(Exception):
    """A call the server failed as a whole: its code and message are what PostgREST would pass on."""

    def __init__(self, error: psycopg2.Error):
        super().__init__(f"{error.pgcode}: {error}")
        self.code: str = error.pgcode or ""
        self.message: str = (error.diag.message_primary or "") if error.diag else ""


def decode(text: str | None) -> Json:
    """JSON with exact numbers: integers as int, all others as Decimal."""
    return None if text is None else json.loads(text, parse_float=Decimal)


def uid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012x}"


def new_id() -> str:
    return str(uuid.uuid4())


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# ---- mutations and verdicts


def mutation(op: str, table: str, pk: Json, columns: dict[str, Json] | None = None,
             **fields: Json) -> dict[str, Json]:
    made = {"mutation_id": new_id(), "table": table, "pk": pk, "op": op, "columns": columns or {}}
    return made | fields


def insert(table: str, pk: Json, columns: dict[str, Json] | None = None, **fields: Json) -> dict[str, Json]:
    return mutation("insert", table, pk, columns, **fields)


def update(table: str, pk: Json, columns: dict[str, Json] | None = None, **fields: Json) -> dict[str, Json]:
    return mutation("update", table, pk, columns, **fields)


def delete(table: str, pk: Json, **fields: Json) -> dict[str, Json]:
    return mutation("delete", table, pk, **fields)


def plus(by: Json) -> dict[str, Json]:
    return {"op": "increment", "by": by}


def union(*values: Json) -> dict[str, Json]:
    return {"op": "arrayUnion", "values": list(values)}


def remove(*values: Json) -> dict[str, Json]:
    return {"op": "arrayRemove", "values": list(values)}


ABSENT = object()


def applied(sent: dict[str, Json], row: Json = ABSENT) -> dict[str, Json]:
    verdict = {"mutation_id": sent["mutation_id"], "verdict": "applied"}
    return verdict if row is ABSENT else verdict | {"server_row": row}


def rejected(sent: dict[str, Json], reason: str, row: Json) -> dict[str, Json]:
    return {"mutation_id": sent["mutation_id"], "verdict": "rejected", "reason": reason, "server_row": row}


def aborted(sent: dict[str, Json], reason: str, row: Json) -> dict[str, Json]:
    return {"batch": {"outcome": "aborted", "offender_mutation_id": sent["mutation_id"], "reason": reason,
                      "server_row": row}}


def verdicts(*each: dict[str, Json]) -> dict[str, Json]:
    return {"verdicts": list(each)}


RESET = {"signal": {"type": "RESET_REQUIRED"}}


def signal_page(cursor: str, kind: str) -> dict[str, Json]:
    return {"cursor": cursor, "has_more": False, "rows": [], "tombstones": [], "signal": {"type": kind}}


# ---- pages


def entry(table: str, params: dict[str, Json] | None = None, **more: Json) -> dict[str, Json]:
    return {"table": table, "params": (params or {}) | more}


def rows(page: dict[str, Json]) -> list[tuple[str, str]]:
    return [(row["pk"], row["seq"]) for row in page["rows"]]


def keys(page: dict[str, Json]) -> list[str]:
    return [row["pk"] for row in page["rows"]]


def images(page: dict[str, Json]) -> dict[str, Json]:
    return {row["pk"]: row["row"] for row in page["rows"]}


def removed(page: dict[str, Json]) -> list[tuple[str, str]]:
    return [(tombstone["pk"], tombstone["seq"]) for tombstone in page["tombstones"]]


def has_start(cursor: str) -> bool:
    return ":" in cursor


def check_page(page: dict[str, Json], cursor: str, limit: int) -> None:
    """What holds on every page without a signal."""
    assert set(page) - {"conflicts"} == {"cursor", "has_more", "rows", "signal", "tombstones"}
    assert page["signal"] is None
    row_numbers = [int(row["seq"]) for row in page["rows"]]
    tombstone_numbers = [int(tombstone["seq"]) for tombstone in page["tombstones"]]
    assert row_numbers == sorted(row_numbers) and tombstone_numbers == sorted(tombstone_numbers)
    numbers = row_numbers + tombstone_numbers
    assert len(numbers) == len(set(numbers)) <= limit
    live = {(row["table"], row["pk"]) for row in page["rows"]}
    assert not live & {(tombstone["table"], tombstone["pk"]) for tombstone in page["tombstones"]}
    assert all(isinstance(each["seq"], str) for each in page["rows"] + page["tombstones"])
    assert all(set(row) == {"table", "pk", "seq", "row"} for row in page["rows"])
    assert all(set(each) == {"table", "pk", "seq", "deleted_at"} for each in page["tombstones"])
    assert page["has_more"] == has_start(page["cursor"])
    if not page["has_more"]:
        high = cursor.split("~")[0].split(":")[-1]
        assert int(page["cursor"]) >= int(high)
    if "conflicts" in page:
        assert page["conflicts"]
        delivered = {(row["table"], row["pk"], row["seq"]) for row in page["rows"]}
        assert all((each["table"], each["pk"], str(each["winner_seq"])) in delivered
                   for each in page["conflicts"])


# ---- sessions and callers


class Statements:
    """What runs statements on a connection, and says what PostgreSQL refuses."""

    connection: Any

    def sql(self, text: str, parameters: tuple | None = None) -> list[tuple]:
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(text, parameters)
                return cursor.fetchall() if cursor.description else []
        except psycopg2.Error as error:
            raise Refused(error) from error

    def one(self, text: str, parameters: tuple | None = None) -> Any:
        return self.sql(text, parameters)[0][0]


class Session(Statements):
    """One connection whose transactions the test opens and ends itself."""

    def __init__(self, world: World, user: str):
        self.world = world
        self.connection = world.database.connect(user)
        self.connection.autocommit = False
        self.pid: int = self.connection.info.backend_pid

    def act_as(self, claims: dict[str, Json] | None, role: str) -> None:
        self.sql("select set_config('request.jwt.claims', %s, true)", (json.dumps(claims) if claims else "",))
        self.sql(f"set local role {quoted(role)}")

    def call(self, function: str, body: dict[str, Json]) -> Json:
        return decode(self.one(self.world.call_text(function, tuple(body)), (json.dumps(body),)))

    def commit(self) -> None:
        try:
            self.connection.commit()
        except psycopg2.Error as error:
            raise Refused(error) from error

    def rollback(self) -> None:
        self.connection.rollback()

    def close(self) -> None:
        self.connection.close()


class Caller:
    """Somebody who calls the five functions: a user with claims, or nobody when `sub` is None."""

    def __init__(self, world: World, sub: str | None, *, role: str = "authenticated",
                 client: str | None = None,
                 version: Json = 1, session: Session | None = None, **claims: Json):
        self.world, self.sub, self.role, self.client, self.version = world, sub, role, client, version
        self.claims = {"role": role} | ({"sub": sub} if sub else {}) | claims
        self.session = session or world.session

    def apart(self) -> Caller:
        """The same caller on a connection of its own."""
        return self.on(self.world.open("authenticator"))

    def on(self, session: Session) -> Caller:
        extra = {name: value for name, value in self.claims.items() if name not in ("role", "sub")}
        return Caller(self.world, self.sub, role=self.role, client=self.client, version=self.version,
                      session=session, **extra)

    def run(self, work: Callable[[Session], Json]) -> Json:
        """One transaction under this caller's role and claims."""
        try:
            self.session.act_as(self.claims, self.role)
            result = work(self.session)
            self.session.commit()
            return result
        finally:
            self.session.rollback()

    def sql(self, text: str, parameters: tuple | None = None) -> list[tuple]:
        return self.run(lambda session: session.sql(text, parameters))

    def call(self, function: str, **body: Json) -> Json:
        return self.run(lambda session: session.call(function, body))

    def push_body(self, mutations: tuple | list, atomic: Json, fields: dict[str, Json]) -> dict[str, Json]:
        batch = {"mutations": list(mutations)} | ({} if atomic is None else {"atomic": atomic})
        body = {"batch": batch, "last_mutation_id": None, "schema_version": self.version} | fields
        if self.client and "client_id" not in fields:
            body["client_id"] = self.client
        return body

    def push(self, *mutations: dict[str, Json], atomic: Json = False, **fields: Json) -> Json:
        return self.call("push", **self.push_body(mutations, atomic, fields))

    def pull(self, *entries: dict[str, Json], cursor: str = "0", **fields: Json) -> Json:
        body = {"buckets": list(entries), "cursor": cursor, "schema_version": self.version} | fields
        if self.client and "client_id" not in fields:
            body["client_id"] = self.client
        page = self.call("pull", **body)
        if page.get("signal") is None:
            check_page(page, cursor, fields.get("limit") or 500)
        return page

    def pages(self, *entries: dict[str, Json], cursor: str = "0", **fields: Json) -> Iterator[Json]:
        """Every page of one transfer."""
        for _ in range(10_000):
            page = self.pull(*entries, cursor=cursor, **fields)
            yield page
            if not page["has_more"]:
                return
            assert page["cursor"] != cursor, "a continuation page must move on"
            cursor = page["cursor"]
        raise AssertionError("the transfer does not end")

    def code(self, function: str, **body: Json) -> str:
        """The code of a call that must fail."""
        try:
            answer = self.call(function, **body)
        except Refused as refused:
            return refused.code
        raise AssertionError(f"accepted: {answer}")

    def push_code(self, *mutations: dict[str, Json], atomic: Json = False, **fields: Json) -> str:
        return self.code("push", **self.push_body(mutations, atomic, fields))

    def pull_code(self, *entries: dict[str, Json], cursor: Json = "0", **fields: Json) -> str:
        return self.code("pull", **({"buckets": list(entries), "cursor": cursor,
                                     "schema_version": self.version} | fields))


class Replica:
    """The rows one caller holds after each closing page, as the pages alone tell it."""

    def __init__(self, caller: Caller, *entries: dict[str, Json]):
        self.caller, self.entries, self.cursor = caller, entries, "0"
        self.held: dict[tuple[str, str], Json] = {}

    def pull(self, **fields: Json) -> list[Json]:
        changes: dict[tuple[str, str], tuple[int, Json]] = {}
        pages = list(self.caller.pages(*self.entries, cursor=self.cursor, **fields))
        for page in pages:
            for row in page["rows"]:
                self.stage(changes, row, row["row"])
            for tombstone in page["tombstones"]:
                self.stage(changes, tombstone, None)
        for key, (_, image) in changes.items():
            if image is None:
                self.held.pop(key, None)
            else:
                self.held[key] = image
        self.cursor = pages[-1]["cursor"]
        return pages

    @staticmethod
    def stage(changes: dict[tuple[str, str], tuple[int, Json]], item: Json, image: Json) -> None:
        key, number = (item["table"], item["pk"]), int(item["seq"])
        if key not in changes or changes[key][0] < number:
            changes[key] = (number, image)


class Background:
    """A call on a thread of its own; `wait` gives its result or raises what it raised."""

    def __init__(self, work: Callable[[], Any]):
        self.result: Any = None
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self.run, args=(work,), daemon=True)
        self.thread.start()

    def run(self, work: Callable[[], Any]) -> None:
        try:
            self.result = work()
        except BaseException as error:  # handed to the test by `wait`
            self.error = error

    def wait(self, seconds: float = 20) -> Any:
        self.thread.join(seconds)
        assert not self.thread.is_alive(), "the call does not return"
        if self.error:
            raise self.error
        return self.result


def until(condition: Callable[[], Any], seconds: float = 10) -> Any:
    """The first true value of the condition, asked again and again until the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        if value := condition():
            return value
        assert time.monotonic() < deadline, "the condition never came true"
        time.sleep(0.003)


# ---- the database under test


class World(Statements):
    """One database with the server half installed, fresh for the test. Its own statements run as the owner of the
    database, each in a transaction of its own."""

    def __init__(self, database: Database, flavour: str):
        self.database, self.flavour = database, flavour
        self.texts: dict[tuple[str, tuple[str, ...]], str] = {}
        self.sessions: list[Session] = []
        self.numbers = itertools.count(1)
        self.connection = database.connect()
        self.session = self.open("authenticator")

    def open(self, user: str = "postgres") -> Session:
        """A connection of its own, for the owner's direct SQL or (as `authenticator`) for a caller."""
        self.sessions.append(Session(self, user))
        return self.sessions[-1]

    def close(self) -> None:
        for session in self.sessions:
            session.close()
        self.connection.close()

    def sql_code(self, text: str, parameters: tuple | None = None) -> str:
        try:
            self.sql(text, parameters)
        except Refused as refused:
            return refused.code
        raise AssertionError(f"accepted: {text}")

    def caller(self, sub: str | None = ANNA, **fields: Json) -> Caller:
        return Caller(self, sub, **fields)

    def call_text(self, function: str, names: tuple[str, ...]) -> str:
        """The statement PostgREST builds: the body's keys become named arguments of their declared types."""
        if (function, names) not in self.texts:
            self.texts[function, names] = self.build_call(function, names)
        return self.texts[function, names]

    def build_call(self, function: str, names: tuple[str, ...]) -> str:
        found = self.sql(
            "select p.proretset, p.proargnames, array(select format_type(t, null) from unnest(p.proargtypes)"
            " t)"
            " from pg_proc p where p.pronamespace = 'kizunasync'::regnamespace and p.proname = %s",
            (function,))
        assert len(found) == 1, f"kizunasync.{function} must exist once"
        in_sets, arguments, types = found[0]
        declared = dict(zip(arguments or [], types))
        assert set(names) <= set(declared), f"{function} has no argument {set(names) - set(declared)}"
        given = ", ".join(f"{quoted(name)} => _.{quoted(name)}" for name in names)
        record = ", ".join(f"{quoted(name)} {declared[name]}" for name in names)
        source = f"json_to_record(%s::json) as _({record})"
        if in_sets:
            called = f"select r.* from {source}, lateral kizunasync.{function}({given}) r"
            return f"select coalesce(json_agg(r), '[]')::text from ({called}) r"
        return f"select to_json(kizunasync.{function}({given}))::text from {source}"

    def create(self, name: str, columns: str, *, policy: str | None = "true", check: str | None = None,
               grants: str = "select, insert, update, delete") -> None:
        """A table with row level security, one policy for every command, and the grants of a user."""
        self.sql(f"create table public.{name} ({columns})")
        self.sql(f"alter table public.{name} enable row level security")
        self.sql(f"revoke all on public.{name} from anon, authenticated")
        if policy is not None:
            self.sql(f"create policy everything on public.{name} for all to authenticated"
                     f" using ({policy}) with check ({check or policy})")
        if grants:
            self.sql(f"grant {grants} on public.{name} to authenticated")

    def register(self, name: str, **fields: Any) -> None:
        named = "".join(f", p_{field} => %s" for field in fields)
        self.sql(f"select kizunasync.register_table(%s{named})", (name, *fields.values()))

    def table(self, name: str, columns: str = TASKS, *, policy: str | None = "true", check: str | None = None,
              grants: str = "select, insert, update, delete", **registration: Any) -> None:
        self.create(name, columns, policy=policy, check=check, grants=grants)
        self.register(name, **registration)

    def next_table(self, columns: str, **registration: Any) -> str:
        """A registered table under a name that no other test has; answers the name."""
        name = f"things_{next(self.numbers)}"
        self.table(name, columns, **registration)
        return name

    def tasks(self, **fields: Any) -> None:
        self.table("tasks", **fields)

    def put(self, table: str, **columns: Any) -> None:
        """A row written by direct SQL."""
        names = ", ".join(quoted(name) for name in columns)
        marks = ", ".join(["%s"] * len(columns))
        self.sql(f"insert into public.{quoted(table)} ({names}) values ({marks})", tuple(columns.values()))

    def row(self, table: str, key: Any, column: str = "id") -> Json:
        found = self.sql(f"select to_jsonb(whole.*)::text from public.{quoted(table)} whole"
                         f" where {quoted(column)}::text = %s", (str(key),))
        return decode(found[0][0]) if found else None

    def high(self) -> int:
        """The last number drawn, 0 before the first."""
        return self.one("select case when is_called then last_value else 0 end from kizunasync.change_seq")

    def set(self, **settings: Any) -> None:
        for name, value in settings.items():
            self.sql(f"update kizunasync.settings set {quoted(name)} = %s", (value,))

    def age_tombstones(self, days: int = 400) -> None:
        self.sql("update kizunasync.tombstones set deleted_at = deleted_at - make_interval(days => %s)",
                 (days,))

    def reap(self) -> int:
        self.age_tombstones()
        return self.one("select kizunasync.reap()")

    def await_blocked(self, session: Session) -> None:
        """Returns once the session waits for a lock."""
        until(lambda: self.sql("select 1 from pg_locks where pid = %s and not granted", (session.pid,)))

    def counts(self) -> dict[str, int]:
        """How many records each store of the server half holds, the ledger and grants apart."""
        stores = ("change_log", "tombstones", "pending_changes", "hlc_state", "overwrites")
        return {store: self.one(f"select count(*) from kizunasync.{store}") for store in stores}

    def count(self, store: str) -> int:
        return self.one(f"select count(*) from kizunasync.{store}")


def task(id: int, **columns: Json) -> dict[str, Json]:
    """The whole image of a row of `tasks`."""
    image = {"id": id, "place": None, "owner": None, "title": None, "likes": None, "done": None, "tags": None}
    return image | columns
