"""Registering tables: what is refused, what is seeded, and what a change of the registration does."""

from __future__ import annotations

import pathlib
import subprocess

import pytest

import postgres as harness
from support import (ANNA, BEN, World, applied, entry, insert, keys, removed, rejected, rows, task, uid,
                     update, verdicts)

FLAVOURS = pytest.mark.parametrize("world", ["plain", "supabase"], indirect=True)
TASKS, HOME, WORK = entry("tasks"), entry("tasks", place="home"), entry("tasks", place="work")


@FLAVOURS
def test_s_89_a_table_registered_with_rows_brings_them_and_reseeding_adds_none(world: World):
    world.create("tasks", "id bigint primary key, title text")
    world.sql("insert into tasks select n, 'old' from generate_series(1, 3) n")
    world.register("tasks")
    anna = world.caller()
    page = anna.pull(TASKS)
    assert sorted(keys(page)) == ["1", "2", "3"] and page["cursor"] == "3"
    world.register("tasks")
    assert world.high() == 3 and anna.pull(TASKS) == page
    assert world.count("change_log") == 3 and world.count("pending_changes") == 0


def test_seeding_sees_rows_no_user_may_read(world: World):
    world.create("tasks", "id bigint primary key, owner uuid, place text", policy="owner is not null")
    world.sql("insert into tasks values (1, null, 'home')")
    world.register("tasks", bucket_column="place")
    anna = world.caller()
    assert keys(anna.pull(HOME)) == []
    world.sql("update tasks set owner = %s", (ANNA,))
    assert keys(anna.pull(HOME)) == ["1"]


def test_registering_again_changes_the_registration(world: World):
    world.tasks()
    anna, sent = world.caller(), insert("tasks", "1")
    world.register("tasks", sync_mode="pull-only", min_schema_version=2)
    assert anna.push_code(sent, schema_version=2) == "KZP01"
    assert anna.pull(TASKS)["signal"] == {"type": "RESET_REQUIRED"}
    world.register("tasks", conflict_mode="hlc", min_schema_version=2)
    assert anna.push_code(sent, schema_version=2) == "22023"
    world.register("tasks", min_schema_version=2)
    assert anna.push(sent, schema_version=2) == verdicts(applied(sent))
    assert world.count("registered_tables") == 1


@FLAVOURS
def test_a_new_bucket_column_relabels_every_row(world: World):
    world.tasks(bucket_column="place")
    world.put("tasks", id=1, place="home", title="a")
    world.put("tasks", id=2, place="home", title="b")
    world.put("tasks", id=3, place="home", title="b")
    anna = world.caller()
    anna.pull(HOME)
    world.sql("delete from tasks where id = 3")
    world.register("tasks", bucket_column="title", min_schema_version=2)
    assert world.count("grants") == 0
    anna.version = 2
    assert keys(anna.pull(entry("tasks", title="a"))) == ["1"]
    assert keys(anna.pull(entry("tasks", title="b"))) == ["2"]
    assert anna.pull_code(HOME) == "KZL01"
    world.sql("update tasks set title = 'a' where id = 2")
    page = anna.pull(entry("tasks", title="b"), cursor="4")
    assert [pk for pk, _ in removed(page)] == ["2"]
    assert keys(anna.pull(entry("tasks", title="a"))) == ["1", "2"]


def test_a_bucket_column_added_and_dropped(world: World):
    world.tasks()
    world.put("tasks", id=1, place="home")
    world.put("tasks", id=2, place="work")
    anna = world.caller()
    anna.pull(TASKS)
    world.register("tasks", bucket_column="place", min_schema_version=2)
    anna.version = 2
    assert keys(anna.pull(HOME)) == ["1"] and anna.pull_code(TASKS) == "KZL01"
    world.sql("delete from tasks where id = 1")
    assert [pk for pk, _ in removed(anna.pull(HOME, cursor="2"))] == ["1"]
    world.register("tasks", min_schema_version=3)
    anna.version = 3
    assert keys(anna.pull(TASKS)) == ["2"]
    world.sql("delete from tasks where id = 2")
    assert [pk for pk, _ in removed(anna.pull(TASKS, cursor="3"))][-1:] == ["2"]


def test_new_key_columns_start_the_table_over(world: World):
    world.table("parts", "id bigint primary key, a integer not null, b text not null, body text")
    world.sql("insert into parts values (1, 5, 'x'), (2, 6, 'y')")
    anna = world.caller()
    anna.pull(entry("parts"))
    world.sql("delete from parts where id = 2")
    world.sql("alter table parts drop constraint parts_pkey; alter table parts add primary key (b, a)")
    world.register("parts", key_columns=["b", "a"], min_schema_version=2)
    assert world.count("grants") == 0 == world.count("tombstones")
    anna.version = 2
    assert keys(anna.pull(entry("parts"))) == ['["x", "5"]']
    sent = update("parts", '["x", "5"]', {"body": "z"})
    assert anna.push(sent) == verdicts(applied(sent))


@FLAVOURS
def test_an_unregistered_table_is_unknown_until_it_is_registered_again(world: World):
    world.tasks()
    world.put("tasks", id=1)
    world.sql("select kizunasync.unregister_table('tasks')")
    anna = world.caller()
    assert anna.pull_code(TASKS) == anna.push_code(insert("tasks", "2")) == "0A000"
    world.put("tasks", id=2)
    assert world.high() == 1
    world.register("tasks")
    assert sorted(keys(anna.pull(TASKS))) == ["1", "2"]
    world.put("tasks", id=3)
    assert sorted(keys(anna.pull(TASKS))) == ["1", "2", "3"]


def test_a_row_deleted_while_its_table_was_unregistered_is_no_ghost_of_a_fresh_pull(world: World):
    world.tasks()
    world.put("tasks", id=1)
    world.put("tasks", id=2)
    world.sql("select kizunasync.unregister_table('tasks')")
    world.sql("delete from tasks where id = 1; update tasks set title = 'changed'")
    world.register("tasks")
    page = world.caller().pull(TASKS)
    assert keys(page) == ["2"] and page["rows"][0]["row"]["title"] == "changed"


def test_a_row_that_came_back_while_its_table_was_unregistered_is_no_removed_row(world: World):
    world.tasks()
    world.put("tasks", id=1)
    world.sql("delete from tasks where id = 1")
    world.sql("select kizunasync.unregister_table('tasks')")
    world.put("tasks", id=1)
    world.register("tasks")
    anna = world.caller()
    assert keys(anna.pull(TASKS)) == ["1"]
    sent = update("tasks", "1", {"title": "mine"})
    assert anna.push(sent) == verdicts(applied(sent))


@pytest.mark.parametrize("fields", [
    {"sync_mode": "write-only"}, {"sync_mode": None}, {"conflict_mode": "crdt"}, {"bucket_column": "nowhere"},
    {"key_columns": ["nowhere"]}, {"min_schema_version": 0}, {"tombstone_ttl_days": 0},

    {"key_columns": ["id", "id"]}], ids=str)
def test_a_registration_that_makes_no_sense_is_refused(world: World, fields: dict):
    world.create("tasks", "id bigint primary key, place text")
    named = "".join(f", p_{field} => %s" for field in fields)
    world.sql_code(f"select kizunasync.register_table('tasks'{named})", tuple(fields.values()))
    assert world.count("registered_tables") == 0


def test_tables_that_cannot_be_guarded_are_refused(world: World):
    world.sql("create table open_table (id bigint primary key)")
    world.sql("create view seen as select 1::bigint as id")
    for name in ("open_table", "seen", "nowhere", "Upper", "pg_class", "", None):
        world.sql_code("select kizunasync.register_table(%s)", (name,))
    assert world.count("registered_tables") == 0


def test_a_table_that_lost_its_row_security_lets_nobody_see_more(world: World):
    world.tasks(policy="false")
    world.put("tasks", id=1)
    assert keys(world.caller().pull(TASKS)) == []


def test_a_soft_delete_is_an_update_to_the_server(world: World):
    world.table("notes", "id bigint primary key, body text, gone_at timestamptz",
                soft_delete_column="gone_at")
    world.put("notes", id=1)
    anna, sent = world.caller(), update("notes", "1", {"gone_at": "2026-01-01T00:00:00Z"})
    anna.pull(entry("notes"))
    assert anna.push(sent) == verdicts(applied(sent))
    page = anna.pull(entry("notes"), cursor="1")
    assert rows(page) == [("1", "2")] and removed(page) == []


def test_a_soft_delete_table_is_still_hard_deleted_when_asked(world: World):
    """The server gives the column no meaning; S-65 is the client's to refuse."""
    world.table("notes", "id bigint primary key, gone_at timestamptz", soft_delete_column="gone_at")
    world.put("notes", id=1)
    anna = world.caller()
    anna.pull(entry("notes"))
    world.sql("delete from notes")
    assert removed(anna.pull(entry("notes"), cursor="1")) == [("1", "2")]


def test_a_pull_only_table_is_pulled(world: World):
    world.table("units", "id uuid primary key, name text", sync_mode="pull-only")
    world.put("units", id=uid(1), name="cup")
    assert keys(world.caller().pull(entry("units"))) == [uid(1)]
    world.sql("delete from units")
    assert len(removed(world.caller().pull(entry("units"), cursor="1"))) == 1


def test_a_bucket_value_is_labelled_as_its_type_renders_it(world: World):
    world.table("items", "id bigint primary key, list uuid", bucket_column="list")
    world.put("items", id=1, list=uid(10).upper())
    world.sql("update items set list = %s where id = 1", (uid(11),))
    world.sql("update items set list = %s where id = 1", (uid(10),))
    assert keys(world.caller().pull(entry("items", list=uid(10)))) == ["1"]
    assert keys(world.caller().pull(entry("items", list=uid(11)))) == []


def test_a_row_pushed_to_a_registered_table_twice_has_one_entry_each(world: World):
    world.tasks()
    first, second = insert("tasks", "1"), update("tasks", "1", {"title": "x"})
    assert world.caller(BEN).push(first, second) == verdicts(applied(first), applied(second))
    assert world.caller(BEN).pull(TASKS)["rows"][0]["row"] == task(1, title="x")
    over = insert("tasks", "1", {"title": "x"}, precondition={"title": "z"})
    assert world.caller(BEN).push(over) == verdicts(rejected(over, "PRECONDITION", task(1, title="x")))


# ---- installing


def dumped(world: World) -> str:
    command = [harness.binary("pg_dump"), "--schema-only",
               world.database.dsn(world.database.postgres.superuser)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return "\n".join(line for line in text.splitlines() if not line.startswith(("--", "\\")))


def contents(world: World) -> dict[str, list]:
    stores = world.sql("select relname from pg_class where relnamespace = 'kizunasync'::regnamespace and"
                       " relkind = 'r'")
    return {name: sorted(world.sql(f'select t::text from kizunasync."{name}" t')) for (name,) in stores}


@FLAVOURS
def test_installing_twice_changes_nothing(world: World):
    world.tasks(bucket_column="place", conflict_journal=True, register_clients=True)
    world.set(max_batch_size=7)
    world.put("tasks", id=1, place="home", title="x")
    anna = world.caller(client=uid(1))
    anna.pull(HOME)
    sent = update("tasks", "1", {"title": "y"})
    anna.push(sent)
    schema, held, page = dumped(world), contents(world), anna.pull(HOME)
    for path in sorted(pathlib.Path(harness.PACK).glob("*.sql")):
        if path.name != "example.sql":
            world.sql(path.read_text())
    assert dumped(world) == schema
    again = contents(world)
    assert {name: again[name] for name in held if name != "clients"} == {
        name: held[name] for name in held if name != "clients"}
    assert anna.pull(HOME) == page and anna.push(sent) == verdicts(applied(sent))
    world.put("tasks", id=2, place="home")
    assert "2" in keys(anna.pull(HOME))
    assert keys(anna.pull(WORK)) == []
