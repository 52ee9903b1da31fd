"""Values and names of every kind, from the server to a device and back."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest

from support import ANA, BEN, TABLES, Device, World, eventually, key, kinds

VALUES: dict[str, list[Any]] = {
    "s": [32767, -32768], "i": [-2147483648], "l": [9223372036854775807, -9223372036854775808, 2147483648],
    "f": [1.5, -0.25, 16777216.0], "d": [0.1, 1e300, -5e-324, 12345678901234567.0],
    "num": [0.1, 12345678901234567890], "price": [4.5, -0.01], "b": [True, False],
    "t": ["", " ", "null", "a\"b\\c/d", "\u2028\u0001\t\n", "\U0001f600é\u0301", "x" * 100_000,
          "{\"not\": \"json\"}"],
    "v": ["ünïcödé"], "day": ["2024-02-29", "0001-01-01"], "clock": ["23:59:59.999999"],
    "stamp": ["2024-02-29T12:00:00", "2024-02-29T12:00:00.1"],
    "at": ["2024-02-29T12:00:00+00:00", "1969-12-31T23:59:59.999999+00:00"],
    "span": ["1 day 02:03:04", "-1 mons", "00:00:00.5"], "raw": ["\\x", "\\x00ff10"],
    "addr": ["10.0.0.0/8", "::1"], "feeling": ["calm", "so \"so\""], "u": [BEN],
    "j": [{"b": 1, "a": [1, 2.50, None]}, [], "text", 5, True],
    "jb": [{"a": {"b": [None, True, "x", -1.5]}}, [[]], "", "5", 5, False],
    "ints": [[], [1, -2, None]], "texts": [[], ["a,b", "\"", "\\", "", "NULL", "{}", "ü", None]],
    "nested": [[[1, 2], [3, 4]]], "times": [["2024-02-29T12:00:00+00:00"]], "jsons": [[{"a": 1}, [2], "t"]],
    "extra": ["[\"2024-01-01 00:00:00\",\"2024-02-01 00:00:00\")", "empty"],
}
CASES = [(column, value) for column, values in VALUES.items() for value in values]
# What only a server may say: a device must show it as PostgREST would, and never stumble over it.
FOREIGN = [("num", "NaN"), ("num", "Infinity"), ("d", "Infinity"), ("f", "NaN"), ("at", "infinity"),
           ("at", "0044-03-15 00:00:00+00 BC"), ("day", "-infinity"), ("day", "0044-03-15 BC"),
           ("stamp", "infinity"), ("at", "294276-01-01 00:00:00+00"), ("day", "5874897-12-31"),
           ("num", "1e1000"), ("num", "-1e-1000"), ("span", "-178000000 years"), ("clock", "24:00:00"),
           ("d", "-0"), ("jb", "1e1000"), ("ints", "[0:1]={1,2}"), ("nested", "{}")]


def add(world: World, number: int, column: str, value: Any) -> None:
    """Inserts a row with that value, given as JSON, on the server."""
    record = f"jsonb_populate_record(null::kinds, jsonb_build_object('{column}', %s::jsonb))"
    world.sql(f"insert into kinds (id, user_id, {column}) select %s, %s, ({record}).{column}",
              key(number), ANA, json.dumps(value))


def test_what_a_device_writes_is_what_the_server_has_and_what_others_read(world: World):
    ana, other = world.device("ana", "kinds"), world.device("ana", "kinds")
    for number, (column, value) in enumerate(CASES):
        ana.insert("kinds", {"id": key(number), column: value})
    written = ana.rows("kinds")
    ana.sync()
    assert [(each["pk"], each["changed_columns"], each["reason"]) for each in ana.rejections()] == []
    assert len(written) == len(CASES) == world.sql("select count(*) from kinds")[0][0]
    other.sync()
    served = {row["id"]: row for [row] in world.sql("select to_jsonb(k) from kinds k")}
    for number, (column, value) in enumerate(CASES):
        assert written[number][column] == value, column
        image = served[key(number)][column]
        assert (float(image) if isinstance(value, float) else image) == value, column
    assert ana.rows("kinds") == written, "the server's image of a row is the device's"
    assert other.rows("kinds") == written


def test_updates_and_preconditions_of_every_kind_are_compared_by_type(world: World):
    ana = world.device("ana", "kinds")
    scalar = [(column, values[0]) for column, values in VALUES.items() if column != "j"]
    for number, (column, value) in enumerate(scalar):
        add(world, number, column, value)
    ana.sync()
    for number, (column, _) in enumerate(scalar):
        shown = ana.row("kinds", key(number))[column]
        ana.apply("kinds", key(number), "update", {column: shown, "u": ANA}, precondition={column: shown})
    ana.sync()
    assert [(each["changed_columns"], each["reason"]) for each in ana.rejections()] == []
    assert kinds(ana.answers()[-1]) == ["applied"] * len(scalar)


@pytest.mark.parametrize(("column", "text"), FOREIGN)
def test_values_that_only_a_server_has_are_shown_and_kept(world: World, column: str, text: str):
    world.add("kinds", id=key(1), user_id=ANA, t="before", **{column: text})
    [(image,)] = world.sql("select to_jsonb(k) from kinds k")
    ana = world.device("ana", "kinds")
    ana.sync()
    assert ana.row("kinds", key(1))[column] == image[column]
    ana.update("kinds", key(1), {"t": "after"})
    ana.sync()
    assert ana.rejections() == [] and ana.row("kinds", key(1))[column] == image[column]
    assert world.row("kinds", key(1)) == {**image, "t": "after"}


ODD_KEYS = ["a/b c", "[\"a\", \"b\"]", "\"", "\\", "ü\u0301😀", " lead", "a,b.c:(d)", "null", "%41", "0", "*",
            "'"]


def named(device: Device, pk: str, method: str, body: Any = None):
    value = '"' + pk.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return device.request(method, f"/rest/v1/odd?id=in.({quote(value)})", body)


def test_keys_of_any_text_are_written_changed_and_removed(world: World):
    ana = world.device("ana", "odd")
    ana.insert("odd", *({"id": each, "camelCase": "new"} for each in ODD_KEYS))
    ana.sync()
    assert sorted(each for [each] in world.sql("select id from odd")) == sorted(ODD_KEYS)
    for pk in ODD_KEYS:
        assert named(ana, pk, "PATCH", {"camelCase": pk}).json() == [pk]
    ana.sync()
    assert dict(world.sql('select id, "camelCase" from odd')) == {each: each for each in ODD_KEYS}
    world.sql("delete from odd where id = %s", ODD_KEYS[0])
    for pk in ODD_KEYS[1:]:
        assert named(ana, pk, "DELETE").json() == [pk]
    ana.sync()
    assert ana.rejections() == [] and ana.rows("odd") == [] and world.sql("select id from odd") == []
    assert {each["pk"] for page in ana.pages() for each in page["tombstones"]} == set(ODD_KEYS)


def test_columns_of_any_name_travel(world: World):
    row = {"camelCase": "a", "with space": "b", "select": "c", "ünï": "d", 'quo"te': "e"}
    ana = world.device("ana", "odd")
    ana.insert("odd", {"id": "1", **row})
    ana.sync()
    assert ana.rejections() == []
    assert {name: world.row("odd", "1")[name] for name in row} == row
    ana.apply("odd", "1", "update", {name: value * 2 for name, value in row.items()}, precondition=row)
    ana.sync()
    assert ana.rejections() == []
    shown = ana.row("odd", "1")
    assert {name: shown[name] for name in row} == {name: value * 2 for name, value in row.items()}


def test_a_table_without_declared_columns_learns_them_from_its_rows(world: World):
    for number, (column, value) in enumerate(CASES):
        add(world, number, column, value)
    ana = world.device("ana", tables={"kinds": {"bucket": {"owner": "user_id"}}})
    ana.sync()
    for number, [image] in enumerate(world.sql("select to_jsonb(k) from kinds k order by id")):
        row = ana.row("kinds", key(number))
        assert row == image, CASES[number]
    ana.update("kinds", key(0), {"t": "changed", "jb": {"a": [1]}})
    ana.insert("kinds", {"id": key(900), "i": 5, "texts": ["a"], "user_id": ANA})
    ana.sync()
    assert ana.rejections() == []
    assert world.row("kinds", key(0))["jb"] == {"a": [1]} and world.row("kinds", key(900))["texts"] == ["a"]


def test_what_the_server_makes_of_a_row_is_what_the_device_shows(world: World):
    world.sql("""
      create function polish() returns trigger language plpgsql as $$
      begin new.title := upper(new.title); new.version := coalesce(new.version, 0) + 1; return new; end $$;
      create trigger polish before insert or update on todos for each row execute function polish()""")
    ana = world.device("ana", "todos")
    ana.todo(1, title="quiet")
    ana.sync()
    assert (ana.row("todos", key(1))["title"], ana.row("todos", key(1))["version"]) == ("QUIET", 1)
    ana.update("todos", key(1), {"title": "again"})
    assert ana.row("todos", key(1))["title"] == "again"
    ana.sync()
    assert (ana.row("todos", key(1))["title"], ana.row("todos", key(1))["version"]) == ("AGAIN", 2)


def test_what_is_unique_or_required_here_alone_never_stops_a_pull(world: World):
    strict = {**TABLES["todos"], "unique": [["title"]]}
    strict["columns"] = {**strict["columns"], "title": "text not null"}
    for number, title in enumerate(["same", "same", None]):
        world.todo(number, title=title)
    ana = world.device("ana", tables={"todos": strict})
    ana.sync()
    assert [each["title"] for each in ana.rows("todos")] == ["same", "same", None]
    refused = ana.insert("todos", {"id": key(9), "title": "same"}, Prefer="return=minimal")
    assert (refused.status, refused.json()["code"]) == (409, "23505")


def test_a_long_queue_and_a_long_table_travel_whole(world: World):
    world.sql("insert into todos (id, user_id, title, n) select md5(i::text)::uuid, %s, repeat('x', 500), i "
              "from generate_series(1, 1200) i", ANA)
    ana, other = world.device("ana", "todos"), world.device("ana", "todos")
    ana.sync()
    assert ana.request("PATCH", "/rest/v1/todos?n=gt.0&select=id", {"done": True}).status == 200
    ana.sync()
    assert ana.depth() == 0 and world.sql("select count(*) from todos where done") == [(1200,)]
    other.sync()
    eventually(lambda: len(other.rows("todos", "select=id&done=is.true")) == 1200)
    assert [len(each) for each in ana.sent()] == [500, 500, 200]
    assert kinds(ana.answers()[0]) == ["applied"] * 500


@pytest.mark.parametrize(("column", "declared", "text"), [
    ("v", "varchar(3)", "too long"), ("t", "char(3)", "too long"), ("feeling", "enum('calm')", "so \"so\""),
    ("num", "numeric(3,1)", "12345.678"), ("i", "smallint", "2147483647"),
    ("l", "integer", "9223372036854775807"), ("ints", "smallint[]", "{70000}"),
    ("texts", "varchar(1)[]", "{a,too long}"),
])
def test_a_declaration_that_the_server_outgrew_never_stops_a_pull(world: World, column: str, declared: str,
                                                                text: str):
    world.add("kinds", id=key(1), user_id=ANA, s=1, **{column: text})
    columns = {"id": "uuid", "user_id": "uuid", "s": "smallint", column: declared}
    ana = world.device("ana", tables={"kinds": {"columns": columns, "bucket": {"owner": "user_id"}}})
    ana.sync()
    [(image,)] = world.sql("select to_jsonb(k) from kinds k")
    world.add("kinds", id=key(2), user_id=ANA)
    ana.sync()
    assert [each[column] for each in ana.rows("kinds", f"order={column}")] == [image[column], None]
    ana.update("kinds", key(1), {"s": 2})
    ana.sync()
    assert ana.rejections() == [] and world.row("kinds", key(1)) == {**image, "s": 2}


def test_a_column_that_the_server_lacks_is_refused_and_holds_nothing_up(world: World):
    columns = {**TABLES["todos"]["columns"], "ghost": "text"}
    ana = world.device("ana", tables={"todos": {**TABLES["todos"], "columns": columns}})
    ana.todo(1, title="one", ghost="boo")
    ana.todo(2, title="two")
    assert "42703" in ana.sync(expect="PERMANENT_TRANSPORT")["message"]
    ana.sync_until(lambda: ana.depth() == 0)
    assert [(each["pk"], each["kind"]) for each in ana.rejections()] == [(key(1), "DEAD_LETTER")]
    assert ana.keys("todos") == [key(2)] and world.row("todos", key(2)) is not None


def test_a_value_that_the_servers_type_refuses_is_a_verdict(world: World):
    columns = {**TABLES["todos"]["columns"], "n": "text", "ref": "text", "meta": "text", "tags": "text"}
    ana = world.device("ana", tables={"todos": {**TABLES["todos"], "columns": columns}})
    for number, values in enumerate([{"n": "abc"}, {"ref": "abc"}, {"tags": "{"}, {"n": "5"}, {"meta": "{"}]):
        ana.todo(number, **values)
    ana.sync()
    assert ana.depth() == 0
    assert {each["pk"]: each["reason"] for each in ana.rejections()} == {
        key(number): "CONSTRAINT" for number in (0, 1, 2)}
    assert (world.row("todos", key(3))["n"], world.row("todos", key(4))["meta"]) == (5, "{")


@pytest.mark.parametrize("depth", [100, 240])
def test_a_deeply_nested_document_of_the_server_stops_nothing(world: World, depth: int):
    world.todo(1, meta="[" * depth + "]" * depth)
    world.todo(2, title="two")
    ana = world.device("ana", "todos")
    with ana.open():
        ana.call("sync")
    assert ana.row("todos", key(2))["title"] == "two"
    shown = ana.request("GET", f"/rest/v1/todos?id=eq.{key(1)}&select=meta").body
    assert shown == b'[{"meta":' + b"[" * depth + b"]" * depth + b"}]"
