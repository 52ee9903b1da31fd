"""Values up and down keep what they are, whatever the session of the caller is set to."""

from __future__ import annotations

from decimal import Decimal

import pytest

from support import Json, World, applied, entry, images, insert, plus, rejected, update, verdicts

FLAVOURS = pytest.mark.parametrize("world", ["plain", "supabase"], indirect=True)

# A column type, the value sent up, and what comes down.
VALUES: list[tuple[str, Json, Json]] = [
    ("bigint", "9007199254740993", 9007199254740993), ("bigint", "-9223372036854775808",
                                                       -9223372036854775808),
    ("bigint", 2147483647, 2147483647), ("integer", 7, 7), ("integer", "-2147483648", -2147483648),
    ("smallint", 3, 3),
    ("numeric", "4.50", Decimal("4.50")), ("numeric", "123456789012345678901234567890.123456789",
                                           Decimal("123456789012345678901234567890.123456789")),
    ("numeric(8,2)", "4.5", Decimal("4.50")), ("numeric", 5, 5), ("double precision", "1.5", Decimal("1.5")),
    ("double precision", "0.1", Decimal("0.1")), ("real", "2.5", Decimal("2.5")),
    ("double precision", "Infinity", "Infinity"), ("boolean", True, True), ("boolean", False, False),
    ("text", "", ""), ("text", "é😀\n\"\\", "é😀\n\"\\"), ("text", "null", "null"), ("text", None, None),
    ("text", '{"a": 1}', '{"a": 1}'), ("text", "[1]", "[1]"), ("varchar(5)", "abc", "abc"),
    ("uuid", "ABCDEF00-0000-4000-8000-000000000001", "abcdef00-0000-4000-8000-000000000001"),
    ("timestamptz", "2026-03-01T12:30:00+02:00", "2026-03-01T10:30:00+00:00"),
    ("timestamptz", "2026-03-01T10:30:00.123456Z", "2026-03-01T10:30:00.123456+00:00"),
    ("timestamp", "2026-03-01T10:30:00", "2026-03-01T10:30:00"), ("date", "2026-03-01", "2026-03-01"),
    ("time", "10:30:00", "10:30:00"), ("interval", "1 day 02:03:04", "1 day 02:03:04"),
    ("bytea", "\\x00ff", "\\x00ff"),
    ("int4range", "[1,5)", "[1,5)"), ("inet", "10.0.0.1", "10.0.0.1"),
    ("text[]", ["a", "b,c", 'd"', "", "NULL"], ["a", "b,c", 'd"', "", "NULL"]), ("text[]", [], []),
    ("text[]", ["a", None], ["a", None]), ("text[]", None, None), ("integer[]", [1, 2], [1, 2]),
    ("bigint[]", ["9007199254740993"], [9007199254740993]), ("boolean[]", [True, False], [True, False]),
    ("integer[]", [[1, 2], [3, 4]], [[1, 2], [3, 4]]), ("uuid[]", ["ABCDEF00-0000-4000-8000-000000000001"],
                                                       ["abcdef00-0000-4000-8000-000000000001"]),
    ("jsonb", {"a": 1, "b": [None, "x"]}, {"a": 1, "b": [None, "x"]}), ("jsonb", "a string", "a string"),
    ("jsonb", '{"a": 1}', '{"a": 1}'), ("jsonb", [1, "2"], [1, "2"]), ("jsonb", [], []), ("jsonb", 5, 5),
    ("jsonb", True, True), ("json", {"a": {"b": []}}, {"a": {"b": []}}), ("json", "5", "5"),
    ("jsonb", {"n": 12345678901234567890}, {"n": 12345678901234567890}),
    ("jsonb[]", [{"a": 1}, "x"], [{"a": 1}, "x"]),
]


@pytest.mark.parametrize("kind, up, down", VALUES, ids=[f"{value[0]} {value[1]!r}" for value in VALUES])
def test_a_value_goes_up_and_comes_down(shared: World, kind: str, up: Json, down: Json):
    table, anna = shared.next_table(f"id bigint primary key, v {kind}"), shared.caller()
    made = insert(table, "1", {"v": up})
    assert anna.push(made) == verdicts(applied(made))
    shared.put(table, id=2)
    edit = update(table, "2", {"v": up}, precondition={"v": None})
    assert anna.push(edit) == verdicts(applied(edit))
    page = anna.pull(entry(table))
    assert images(page) == {"1": {"id": 1, "v": down}, "2": {"id": 2, "v": down}}
    assert str(page["rows"][0]["row"]["v"]) == str(down)
    again = update(table, "1", {"v": up}, precondition={"v": up})
    assert anna.push(again) == verdicts(applied(again))


@FLAVOURS
def test_enums_domains_and_defaults(world: World):
    world.sql("create type mood as enum ('sad', 'glad'); create domain small as integer check (value < 10)")
    world.table("things", "id bigint primary key, m mood default 'sad', s small, at timestamptz not null"
                " default now()")
    anna, made = world.caller(), insert("things", "1", {"s": 3})
    assert anna.push(made) == verdicts(applied(made))
    image = images(anna.pull(entry("things")))["1"]
    assert image["m"] == "sad" and image["s"] == 3 and image["at"].endswith("+00:00")
    for columns in ({"m": "angry"}, {"s": 10}):
        sent = update("things", "1", columns)
        assert anna.push(sent) == verdicts(rejected(sent, "CONSTRAINT", image))


@pytest.mark.parametrize("kind, value", [
    ("integer", "1.5"), ("integer", ""), ("boolean", "maybe"), ("uuid", "x"), ("date", "2026-13-01"),
    ("text[]", "{a"),
    ("numeric(3,1)", "1000"), ("varchar(2)", "abc"), ("timestamptz", "soon"), ("integer[]", ["x"])])
def test_a_value_the_type_refuses_is_a_broken_constraint(shared: World, kind: str, value: Json):
    table = shared.next_table(f"id bigint primary key, v {kind}")
    shared.put(table, id=1)
    for sent in (update(table, "1", {"v": value}), insert(table, "2", {"v": value})):
        row = {"id": 1, "v": None} if sent["op"] == "update" else None
        assert shared.caller().push(sent) == verdicts(rejected(sent, "CONSTRAINT", row))


@pytest.mark.parametrize("setting", [
    ("timezone", "Asia/Tokyo"), ("datestyle", "German, DMY"), ("intervalstyle", "sql_standard"),
    ("bytea_output", "escape"),
    ("search_path", "elsewhere, pg_catalog"), ("search_path", ""), ("extra_float_digits", "-10"),
    ("array_nulls", "off"), ("lc_monetary", "C"), ("row_security", "on"),
    ("plan_cache_mode", "force_generic_plan"),
    ("default_transaction_isolation", "serializable"), ("default_transaction_isolation", "repeatable read"),
    ("check_function_bodies", "off"), ("transform_null_equals", "on"), ("quote_all_identifiers", "on")],
    ids=str)
def test_the_settings_of_the_callers_session_change_nothing(world: World, setting: tuple[str, str]):
    world.sql("create schema elsewhere; grant usage on schema elsewhere to public;"
              " create table elsewhere.things (id bigint primary key, at timestamptz)")
    world.table("things", "id bigint primary key, at timestamptz, span interval, raw bytea, f double"
                " precision, d date,"
                          " n integer, list text[]", bucket_column="d", conflict_journal=True)
    plain, odd = world.caller(), world.caller().apart()
    name, value = setting
    odd.session.connection.autocommit = True
    odd.session.sql(f"select set_config('{name}', %s, false)", (value,))
    odd.session.connection.autocommit = False
    columns = {"at": "2026-03-01T10:00:00Z", "span": "1 day 02:00:00", "raw": "\\x00ff5c",
               "f": "0.30000000000000004",
               "d": "2026-03-04", "n": 1, "list": ["a", None]}
    one, two = insert("things", "1", columns), insert("things", "2", columns)
    assert plain.push(one) == verdicts(applied(one))
    assert odd.push(two) == verdicts(applied(two))
    image = {"id": 1, "at": "2026-03-01T10:00:00+00:00", "span": "1 day 02:00:00", "raw": "\\x00ff5c",
             "f": Decimal("0.30000000000000004"), "d": "2026-03-04", "n": 1, "list": ["a", None]}
    bucket = entry("things", d="2026-03-04")
    pages = [plain.pull(bucket), odd.pull(bucket)]
    assert images(pages[0]) == {"1": image, "2": image | {"id": 2}} and pages[0] == pages[1]
    sent = update("things", "1", transforms={"n": plus(1)}, precondition={
        "at": "2026-03-01T10:00:00+00:00", "d": "2026-03-04", "span": "1 day 02:00:00",
        "f": "0.30000000000000004"})
    assert odd.push(sent) == verdicts(applied(sent, image | {"n": 2}))
    stale = update("things", "1", {"n": 9}, precondition={"n": 7})
    assert odd.push(stale) == verdicts(rejected(stale, "PRECONDITION", image | {"n": 2}))
    odd.push(update("things", "1", {"at": "2026-04-01T00:00:00Z"}))
    assert plain.pull(bucket)["conflicts"][0]["loser_value"] == "2026-03-01T10:00:00+00:00"
    odd.session.connection.rollback()
    assert odd.session.one(f"select current_setting('{name}')").replace('"', "") == value.replace('"', "")
    odd.session.rollback()


def test_a_deleted_bucket_value_is_the_same_in_every_session(world: World):
    """A tombstone's value is compared with a requested one: both must be rendered under the same settings."""
    world.table("things", "id bigint primary key, at timestamptz", bucket_column="at")
    world.put("things", id=1, at="2026-03-01T10:00:00Z")
    anna, bucket = world.caller(), entry("things", at="2026-03-01T12:00:00+02:00")
    cursor = anna.pull(bucket)["cursor"]
    world.sql("set timezone = 'Asia/Tokyo'; set datestyle = 'German'")
    world.sql("delete from things")
    assert [each["pk"] for each in anna.pull(bucket, cursor=cursor)["tombstones"]] == ["1"]
    world.put("things", id=2, at="2026-03-01T10:00:00Z")
    assert images(anna.pull(bucket, cursor=cursor)) == {"2": {"id": 2, "at": "2026-03-01T10:00:00+00:00"}}


@pytest.mark.parametrize("kind, value, asked, setting", [
    ("bytea", "\\x00ff", "\\x00ff", "bytea_output = 'escape'"),
    ("double precision", "0.30000000000000004", "0.30000000000000004", "extra_float_digits = -10"),
    ("interval", "1 day 02:00:00", "1 day 02:00:00", "intervalstyle = 'sql_standard'"),
    ("date", "2026-03-04", "2026-03-04", "datestyle = 'German'"),
    ("numeric", "4.50", "4.50", "timezone = 'UTC'"), ("boolean", "true", True, "timezone = 'UTC'")])
def test_a_bucket_value_is_labelled_alike_in_every_session(world: World, kind: str, value: str, asked: Json,
                                                           setting: str):
    table = "things"
    world.sql(f"set {setting}")
    world.table(table, f"id bigint primary key, v {kind}", bucket_column="v")
    world.put(table, id=1, v=value)
    anna = world.caller()
    page = anna.pull(entry(table, v=asked))
    assert [row["pk"] for row in page["rows"]] == ["1"]
    world.sql("delete from things")
    assert [each["pk"] for each in anna.pull(entry(table, v=asked), cursor="1")["tombstones"]] == ["1"]
