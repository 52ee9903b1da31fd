"""Calls of database functions as PostgREST makes them: one transaction with the caller's role and claims."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import queue
import threading
from typing import Any, Callable, Iterator

import psycopg2
import psycopg2.extensions

STATUS_BY_SQLSTATE = {"23503": 409, "23505": 409, "25006": 405, "21000": 500, "53400": 500, "57P01": 503,
                      "P0001": 400, "42883": 404, "42P01": 404, "42P17": 500}
STATUS_BY_CLASS = {"08": 503, "09": 500, "0L": 403, "0P": 403, "25": 500, "28": 403, "2D": 500, "38": 500,
                   "39": 500, "3B": 500, "40": 500, "53": 503, "54": 500, "55": 500, "57": 500, "58": 500,
                   "F0": 500, "HV": 500, "P0": 500, "XX": 500}

OPEN = (psycopg2.extensions.TRANSACTION_STATUS_INTRANS, psycopg2.extensions.TRANSACTION_STATUS_INERROR)


class Refusal(Exception):
    """An answer that is an error: an HTTP status and PostgREST's four-key body."""

    def __init__(self, status: int, code: str, message: str, details: Any = None, hint: Any = None):
        super().__init__(f"{status} {code} {message}")
        self.status = status
        self.code = code
        self.body = {"code": code, "message": message, "details": details, "hint": hint}


def status_of(sqlstate: str, message: str, anonymous: bool) -> int:
    """The HTTP status PostgREST gives an error of PostgreSQL (docs.postgrest.org, references/errors)."""
    if sqlstate == "42501":
        return 401 if anonymous else 403
    if sqlstate == "22023" and message.startswith("role") and message.endswith("does not exist"):
        return 401
    if sqlstate == "21000" and message.endswith("requires a WHERE clause"):
        return 400
    if sqlstate[:2] == "PT" and sqlstate[2:].isdigit():
        return int(sqlstate[2:])
    return STATUS_BY_SQLSTATE.get(sqlstate) or STATUS_BY_CLASS.get(sqlstate[:2], 400)


@dataclasses.dataclass(frozen=True)
class Function:
    """A function as the catalogue has it; `arguments` are the input ones: (name, type, has a default)."""

    schema: str
    name: str
    arguments: tuple[tuple[str, str, bool], ...]
    returns_set: bool
    returns_rows: bool
    returns_void: bool

    def takes(self, keys: set[str]) -> bool:
        names = {name for name, _, _ in self.arguments}
        return keys <= names and all(optional or name in keys for name, _, optional in self.arguments)

    def call(self, keys: set[str]) -> str:
        """A statement whose one parameter is the JSON body and whose one value is the answer's text."""
        given = [(_quoted(name), kind) for name, kind, _ in self.arguments if name in keys]
        record = ", ".join(f"{name} {kind}" for name, kind in given)
        named = ", ".join(f"{name} := body.{name}" for name, _ in given)
        source = f"json_to_record(%s::json) as body({record}), lateral " if given else ""
        call = f"{source}{_quoted(self.schema)}.{_quoted(self.name)}({named})"
        if self.returns_void:
            return f"select null from {call} as called"
        value = "called" if self.returns_rows else "called.value"
        alias = "called" if self.returns_rows else "called(value)"
        if self.returns_set:
            return f"select coalesce(json_agg({value}), '[]')::text from {call} as {alias}"
        return f"select coalesce((json_agg({value}) -> 0)::text, 'null') from {call} as {alias}"


CATALOGUE = """
select p.proname, p.proretset,
       p.prorettype = 'void'::regtype,
       t.typtype = 'c' or p.prorettype = 'record'::regtype or 't' = any (p.proargmodes)
         or 'o' = any (p.proargmodes),
       coalesce((
         select json_agg(json_build_array(a.name, format_type(a.type, null),
                                          a.position > p.pronargs - p.pronargdefaults) order by a.position)
         from (
           select i.name, i.type, row_number() over (order by i.place) as position
           from unnest(p.proargnames, coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargmodes)
                with ordinality as i(name, type, mode, place)
           where i.type is not null and coalesce(i.mode, 'i') in ('i', 'b', 'v')
         ) a), '[]')
from pg_proc p join pg_type t on t.oid = p.prorettype
where p.pronamespace = (select oid from pg_namespace where nspname = %s) and p.prokind = 'f'
"""


class Caller:
    """Runs functions over a small pool of connections as the login role `authenticator`."""

    def __init__(self, dsn: str, size: int = 20):
        self._dsn = dsn
        self._idle: queue.LifoQueue = queue.LifoQueue()
        self._permits = threading.BoundedSemaphore(size)
        self._functions: dict[str, list[Function]] = {}

    def find(self, schema: str, name: str, keys: set[str]) -> Function:
        """The one function of that name that takes these arguments; a miss reads the catalogue again."""
        for fresh in (False, True):
            if fresh or schema not in self._functions:
                self._functions[schema] = self._read(schema)
            named = [each for each in self._functions[schema] if each.name == name]
            found = [each for each in named if each.takes(keys)]
            if len(found) == 1:
                return found[0]
        if found:
            raise Refusal(300, "PGRST203", f"Could not choose the best candidate function between: {name}")
        raise _unknown(schema, name, keys, named)

    def forget(self) -> None:
        """Reads the catalogue anew at the next call, as a schema reload does."""
        self._functions.clear()

    def call(self, function: Function, keys: set[str], body: str, settings: dict[str, str], anonymous: bool,
             before_commit: Callable[[], None]) -> bytes | None:
        """The answer's bytes as PostgreSQL wrote them; None of a void function. Committed when it returns."""
        with self.connection() as connection, connection.cursor() as cursor:
            try:
                return self._transaction(cursor, function, keys, body, settings, before_commit)
            except psycopg2.Error as error:
                if error.pgcode == "42883":
                    self.forget()
                raise _refusal(error, anonymous) from error
            finally:
                if not connection.closed and connection.info.transaction_status in OPEN:
                    cursor.execute("rollback")

    def _transaction(self, cursor: Any, function: Function, keys: set[str], body: str,
                     settings: dict[str, str], before_commit: Callable[[], None]) -> bytes | None:
        sets = ", ".join("set_config(%s, %s, true)" for _ in settings)
        values = [text for pair in settings.items() for text in pair]
        parameters = [body] if keys else []
        cursor.execute(f"begin; select {sets}; {function.call(keys)}", values + parameters)
        row = cursor.fetchone()
        before_commit()
        cursor.execute("commit")
        return row[0].encode() if row and row[0] is not None else None

    def close(self) -> None:
        with contextlib.suppress(queue.Empty):
            while True:
                self._idle.get_nowait().close()

    def _read(self, schema: str) -> list[Function]:
        with self.connection() as connection, connection.cursor() as cursor:
            cursor.execute(CATALOGUE, (schema,))
            return [Function(schema, name, tuple((a, b, c) for a, b, c in arguments), is_set,
                             rows, void)
                    for name, is_set, void, rows, arguments in cursor.fetchall()]

    @contextlib.contextmanager
    def connection(self) -> Iterator[Any]:
        """A connection of the pool, in autocommit; back in it afterwards unless it broke."""
        if not self._permits.acquire(timeout=10):
            raise Refusal(504, "PGRST003", "Timed out acquiring connection from connection pool.")
        try:
            connection = self._open()
            try:
                yield connection
            finally:
                if connection.closed:
                    self.close()
                else:
                    self._idle.put(connection)
        finally:
            self._permits.release()

    def _open(self) -> Any:
        with contextlib.suppress(queue.Empty):
            return self._idle.get_nowait()
        try:
            connection = psycopg2.connect(self._dsn)
        except psycopg2.OperationalError as error:
            raise Refusal(503, "PGRST000", "Database connection error. Retrying the connection.",
                          str(error)) from error
        connection.autocommit = True
        return connection


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""').replace("%", "%%") + '"'


def _refusal(error: psycopg2.Error, anonymous: bool) -> Refusal:
    if not error.pgcode:
        return Refusal(503, "PGRST001", "Database client error. Retrying the connection.", str(error))
    message = error.diag.message_primary or ""
    return Refusal(status_of(error.pgcode, message, anonymous), error.pgcode, message,
                   error.diag.message_detail, error.diag.message_hint)


def _unknown(schema: str, name: str, keys: set[str], named: list[Function]) -> Refusal:
    given = ", ".join(sorted(keys))
    called = f"({given})" if keys else " without parameters"
    searched = f" with parameter{'s' if len(keys) > 1 else ''} {given}" if keys else " without parameters"
    hint = None
    if named:
        wanted = ", ".join(sorted(argument for argument, _, _ in named[0].arguments))
        hint = f"Perhaps you meant to call the function {schema}.{name}({wanted})"
    return Refusal(404, "PGRST202",
                   f"Could not find the function {schema}.{name}{called} in the schema cache",
                   f"Searched for the function {schema}.{name}{searched} or with a single unnamed json/jsonb "
                   "parameter, but no matches were found in the schema cache.", hint)


def parsed(body: bytes) -> dict[str, Any]:
    """The body as an object; empty counts as `{}`."""
    def refuse(_: str) -> None:
        raise ValueError

    try:
        value = json.loads(body.decode() or "{}", parse_constant=refuse)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict) or b"\0" in body:
        raise Refusal(400, "PGRST102", "Empty or invalid json")
    return value
