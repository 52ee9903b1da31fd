"""Row keys: their text, which bytes are accepted, and the tables that have none."""

from __future__ import annotations

import pytest

from support import (Json, World, applied, delete, entry, insert, keys, mutation, rejected, removed, uid, update,
                     verdicts)

UPPER = "ABCDEF00-0000-4000-8000-000000000001"

# The declaration of the key columns, the key columns in order, the values of a row, and its key text.
SHAPES = [
    ("id uuid primary key", "id", {"id": UPPER}, UPPER.lower()),
    ("id bigint primary key", "id", {"id": -12}, "-12"),
    ("id bigint primary key", "id", {"id": 9223372036854775807}, "9223372036854775807"),
    ("id integer primary key", "id", {"id": 0}, "0"),
    ("id smallint primary key", "id", {"id": -32768}, "-32768"),
    ("slug text primary key", "slug", {"slug": '["a", "b"]'}, '["a", "b"]'),
    ("slug text primary key", "slug", {"slug": "a b/é\"\\\n"}, "a b/é\"\\\n"),
    ("slug text primary key", "slug", {"slug": " 007 "}, " 007 "),
    ("slug varchar(9) primary key", "slug", {"slug": "null"}, "null"),
    ("slug varchar primary key", "slug", {"slug": UPPER}, UPPER),
    ("a integer, b integer, primary key (b, a)", "b,a", {"a": 5, "b": 9}, '["9", "5"]'),
    ("n integer, label text, primary key (label, n)", "label,n", {"label": 'q"é', "n": 3}, '["q\\"é", "3"]'),
    ("label text, n integer, primary key (label, n)", "label,n", {"label": "\b\f\n\r\t\\/", "n": 3},
     '["\\b\\f\\n\\r\\t\\\\/", "3"]'),
    ("label text, n integer, primary key (label, n)", "label,n", {"label": "\x01\x1f\x7f\u2028😀", "n": 3},
     '["\\u0001\\u001f\x7f\u2028😀", "3"]'),
    ("u uuid, t text, s smallint, primary key (u, t, s)", "u,t,s", {"u": UPPER, "t": "", "s": -1},
     f'["{UPPER.lower()}", "", "-1"]'),
    ("t text, b bigint, primary key (t, b)", "t,b", {"t": '["x", "y"]', "b": 1},
     '["[\\"x\\", \\"y\\"]", "1"]'),
    ('"Key Part" text, "select" bigint, primary key ("Key Part", "select")', "Key Part,select",
     {"Key Part": ", ", "select": 1}, '[", ", "1"]'),
    ("t text, v varchar, primary key (t, v)", "t,v", {"t": "a,b", "v": "[]"}, '["a,b", "[]"]'),
]


@pytest.mark.parametrize("columns, key, values, pk", SHAPES,
                         ids=[f"{shape[0]} {shape[3]!r}" for shape in SHAPES])
def test_i_34_the_text_of_a_key(world: World, columns: str, key: str, values: dict, pk: str):
    world.table("things", f"body text, {columns}", key_columns=key.split(","))
    world.put("things", **values)
    anna = world.caller()
    assert keys(anna.pull(entry("things"))) == [pk]
    edit = update("things", pk, {"body": "x"})
    over = insert("things", pk, {"body": "y"})
    gone = delete("things", pk, precondition={"body": "y"})
    assert anna.push(edit, over, gone) == verdicts(applied(edit), applied(over), applied(gone))
    assert [pk for pk, _ in removed(anna.pull(entry("things"), cursor="1"))] == [pk]
    world.reap()
    again = insert("things", pk, {"body": "again"})
    assert anna.push(again) == verdicts(applied(again))
    assert keys(anna.pull(entry("things"))) == [pk]


BAD_KEYS = {
    "id uuid primary key": [UPPER, UPPER.lower().replace("-", ""), "{" + UPPER.lower() + "}",
                            UPPER.lower() + " ", "x",
                            " " + UPPER.lower()],
    "id integer primary key": ["012", "+1", "1.0", " 1", "1 ", "-0", "abc", "2147483648", "-2147483649",
                               "1e3", "0x10",
                               "--1", "٣", "1_000", "-01", '"1"', "null"],
    "id smallint primary key": ["32768", "00"],
    "id bigint primary key": ["9223372036854775808", "-9223372036854775809", "1\n"],
    "a text, b integer, primary key (a, b)": [
        '["1","12"]', '["1", 12]', '["1"]', '["1", "2", "3"]', "1", '["\\u0041", "1"]', '["a\\/b", "1"]',
        '[ "1", "2"]',
        '["1", "2" ]', '["1",  "2"]', '["1", "02"]', '["1", "x"]', '["1", null]', '[null, "1"]', "[]", "{}",
        '["\\u000a", "1"]',
        '["\\u001F", "1"]', '["\n", "1"]', '"1, 2"', '["1", "2"', '["1", "2"]x', ' ["1", "2"]',
        '["1", "2"]\n', "null",
        '["\\u00e9", "1"]', '["1", ["2"]]'],
}


@pytest.mark.parametrize("columns, bad", BAD_KEYS.items(), ids=BAD_KEYS)
def test_a_key_that_is_not_canonical_refuses_the_call(world: World, columns: str, bad: list[str]):
    key = columns[columns.index("(", 12)
                  + 1:-1].split(", ") if columns.startswith("a ") else [columns.split()[0]]
    world.table("things", f"body text, {columns}", key_columns=key)
    anna = world.caller()
    codes = {(op, pk): anna.push_code(mutation(op, "things", pk, {} if op == "delete" else {"body": "x"}))
             for pk in bad for op in ("insert", "update", "delete")}
    assert {case: code for case, code in codes.items() if code != "22023"} == {}
    assert world.one("select count(*) from things") == 0


def test_s_81_a_composite_key_end_to_end(world: World):
    world.table("parts", "pack integer, n integer, body text, primary key (pack, n)",
                key_columns=["pack", "n"])
    anna, pk = world.caller(), '["1", "12"]'
    for sent in (insert("parts", pk, {"body": "a"}), update("parts", pk, {"body": "b"})):
        assert anna.push(sent) == verdicts(applied(sent))
    page = anna.pull(entry("parts"))
    assert keys(page) == [pk] and page["rows"][0]["row"] == {"pack": 1, "n": 12, "body": "b"}
    gone = delete("parts", pk)
    assert anna.push(gone) == verdicts(applied(gone))
    assert [pk for pk, _ in removed(anna.pull(entry("parts"), cursor=page["cursor"]))] == [pk]
    assert anna.push_code(insert("parts", '["1","12"]')) == "22023"


@pytest.mark.parametrize("pk, columns, lands", [
    ('["1", "2"]', {}, True), ('["1", "2"]', {"a": 1}, True), ('["1", "2"]', {"a": "1", "b": "2"}, True),
    ('["1", "2"]', {"a": 2}, False), ('["1", "2"]', {"a": 1, "b": 3}, False),
    ('["1", "2"]', {"b": None}, False),
    ('["1", "2"]', {"b": "x"}, False)], ids=str)
def test_key_columns_named_by_an_insert_must_agree(world: World, pk: str, columns: dict[str, Json],
                                                   lands: bool):
    world.table("parts", "a integer, b integer, primary key (a, b)", key_columns=["a", "b"])
    sent = insert("parts", pk, columns)
    assert world.caller().push(sent) == verdicts(applied(sent)
                                                 if lands else rejected(sent, "CONSTRAINT", None))
    assert world.sql("select a, b from parts") == ([(1, 2)] if lands else [])


def test_a_uuid_key_named_in_capitals_agrees(world: World):
    world.table("things", "id uuid primary key, body text")
    sent = insert("things", UPPER.lower(), {"id": UPPER, "body": "x"})
    assert world.caller().push(sent) == verdicts(applied(sent))


def test_an_always_identity_key_may_not_be_named(world: World):
    world.table("things", "id bigint generated always as identity primary key, body text")
    sent = insert("things", "5", {"id": 5, "body": "x"})
    assert world.caller().push(sent) == verdicts(rejected(sent, "CONSTRAINT", None))
    world.sql("insert into things (body) values ('x')")
    edit = update("things", "1", {"body": "y"})
    assert world.caller().push(edit) == verdicts(applied(edit))


def test_a_by_default_identity_key_may_be_named(world: World):
    world.table("things", "id bigint generated by default as identity primary key, body text")
    first, second = insert("things", "5", {"id": 5}), insert("things", "6")
    assert world.caller().push(first, second) == verdicts(applied(first), applied(second))


def test_a_row_is_readable_only_with_its_whole_key(world: World):
    world.table("parts", "a integer, b integer, body text, primary key (a, b)", key_columns=["a", "b"],
                grants="select (a, body), insert, update, delete")
    world.sql("insert into parts values (1, 2, 'x')")
    anna = world.caller()
    assert anna.pull_code(entry("parts")) == "KZL02"
    verdict = anna.push(update("parts", '["1", "2"]', {"body": "y"},
                               precondition={"body": "no"}))["verdicts"][0]
    assert verdict["verdict"] == "rejected" and verdict["server_row"] is None


def test_the_key_index_serves_a_push(world: World):
    world.table("things", "id uuid primary key, body text")
    world.sql("insert into things select gen_random_uuid(), 'x' from generate_series(1, 3000)")
    world.put("things", id=uid(1))
    world.sql("analyze things")
    anna = world.caller()
    anna.push(update("things", uid(1), {"body": "warm"}))

    def counted(session):
        answer = session.call("push", anna.push_body([update("things", uid(1), {"body": "y"})], False, {}))
        scans = session.one("select pg_stat_get_xact_tuples_returned('public.things'::regclass)")
        return answer, scans

    answer, scanned = anna.run(counted)
    assert answer["verdicts"][0]["verdict"] == "applied" and scanned < 100


@pytest.mark.parametrize("columns, key", [
    ("id numeric primary key", ["id"]), ("id timestamptz primary key", ["id"]),
    ("id boolean primary key", ["id"]),
    ("id date primary key", ["id"]), ("id bytea primary key", ["id"]), ("id char(3) primary key", ["id"]),
    ("id jsonb primary key", ["id"]), ("a integer, b numeric, primary key (a, b)", ["a", "b"])])
def test_an_unsupported_key_type_is_refused(world: World, columns: str, key: list[str]):
    world.create("things", columns)
    assert world.sql_code("select kizunasync.register_table('things', p_key_columns => %s)",
                          (key,)) == "0A000"


@pytest.mark.parametrize("columns, key", [
    ("id bigint", ["id"]), ("id bigint unique", ["id"]),
    ("a integer, id bigint, primary key (a, id)", ["id"]),
    ("a integer, b integer, primary key (a, b)", ["b", "a"]), ("a integer primary key", ["id"]),
    ("id bigint primary key, b integer", ["id", "b"]), ("id bigint primary key", [])], ids=str)
def test_a_table_without_that_primary_key_is_refused(world: World, columns: str, key: list[str]):
    world.create("things", columns)
    world.sql_code("select kizunasync.register_table('things', p_key_columns => %s)", (key,))
    assert world.count("registered_tables") == 0
