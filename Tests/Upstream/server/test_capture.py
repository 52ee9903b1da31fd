"""Every change is queued where it happens and numbered when its transaction commits."""

from __future__ import annotations

import io

import pytest

from support import (ANNA, BEN, SUB, Replica, World, delete, entry, insert, keys, plus, removed, rows, update)

FLAVOURS = pytest.mark.parametrize("world", ["plain", "supabase"], indirect=True)
TASKS = entry("tasks")


@pytest.fixture
def tasks(world: World) -> World:
    world.tasks()
    return world


@FLAVOURS
def test_s_88_an_update_that_changes_nothing_draws_no_number(world: World):
    world.tasks()
    world.put("tasks", id=1, title="x", tags=["a"])
    world.sql("update tasks set title = 'x', tags = '{a}'")
    world.sql("update tasks set title = 'y'; ")
    assert world.high() == 2
    anna = world.caller()
    anna.push(update("tasks", "1", {"title": "y"}), insert("tasks", "1", {"tags": ["a"]}),
              update("tasks", "1", transforms={"likes": plus(0)}))
    assert world.high() in (2, 3)  # null + 0 is 0, a change
    assert anna.push(update("tasks", "1",
                            transforms={"likes": plus(0)}))["verdicts"][0]["verdict"] == "applied"
    assert world.high() == 3


@pytest.mark.parametrize("world", ["supabase"], indirect=True)
def test_a_transaction_rings_once_for_each_table_and_not_for_a_change_of_nothing(world: World):
    world.tasks()
    world.table("notes", "id bigint primary key, body text")
    ring = "select topic, event, private from realtime.messages order by topic"
    world.sql("begin; insert into tasks (id) select generate_series(1, 20); update tasks set title = 'x';"
              " insert into notes values (1); commit")
    assert world.sql(ring) == [("kizunasync:notes", "changed", True), ("kizunasync:tasks", "changed", True)]
    world.sql("update tasks set title = 'x'")
    assert len(world.sql(ring)) == 2
    world.sql("delete from tasks where id = 1")
    assert len(world.sql(ring)) == 3
    world.caller().push(*(insert("tasks", str(number)) for number in range(30, 40)))
    assert len(world.sql(ring)) == 4


def test_an_update_equal_as_json_is_no_change(world: World):
    world.table("things", "id bigint primary key, j json, n numeric, at timestamptz")
    world.sql("""insert into things values (1, '{"a": 1, "b": 2}', 1.0, '2026-01-01T00:00:00Z')""")
    world.sql("""update things set j = '{"b":2,  "a":1}', at = '2026-01-01T01:00:00+01:00'""")
    assert world.high() == 1


@FLAVOURS
def test_every_way_to_write_is_captured(world: World):
    world.tasks()
    replica = Replica(world.caller(), TASKS)
    with world.connection.cursor() as cursor:
        cursor.copy_expert("copy tasks (id, title) from stdin with (format csv)",
                           io.StringIO("1,one\n2,two\n3,three\n"))
    world.sql("create table source (id bigint, title text); insert into source values (3, 'merged'), (4,"
              " 'new')")
    world.sql("merge into tasks t using source s on t.id = s.id when matched then update set title = s.title"
              " when not matched then insert (id, title) values (s.id, s.title)")
    world.sql("with gone as (delete from tasks where id = 1 returning *)"
              " insert into tasks (id, title) select id + 10, title from gone")
    world.sql("insert into tasks (id, title) values (2, 'upserted') on conflict (id) do update set title ="
              " excluded.title")
    world.sql("do $$ begin begin update tasks set likes = 1 where id = 4; raise 'undo'; exception when others"
              " then null;"
              " end; update tasks set likes = 2 where id = 4; end $$")
    replica.pull()
    assert {key: image["title"] for (_, key), image in replica.held.items()} == {
        "2": "upserted", "3": "merged", "4": "new", "11": "one"}
    assert replica.held["tasks", "4"]["likes"] == 2


@FLAVOURS
def test_a_user_who_writes_the_table_without_the_functions_is_captured(world: World):
    world.tasks()
    anna = world.caller()
    anna.sql("insert into public.tasks (id, title) values (1, 'direct')")
    assert rows(anna.pull(TASKS)) == [("1", "1")]
    anna.sql("update public.tasks set title = 'again'")
    anna.sql("delete from public.tasks")
    assert removed(anna.pull(TASKS, cursor="1")) == [("1", "3")]


def test_a_cascade_is_captured(world: World):
    world.tasks()
    world.table("parts", "id bigint primary key, task bigint references tasks on delete cascade on update"
                " cascade")
    world.put("tasks", id=1)
    world.sql("insert into parts values (1, 1), (2, 1)")
    anna = world.caller()
    anna.pull(TASKS, entry("parts"))
    world.sql("delete from tasks")
    page = anna.pull(TASKS, entry("parts"), cursor="3")
    assert sorted((each["table"], each["pk"]) for each in page["tombstones"]) == [
        ("parts", "1"), ("parts", "2"), ("tasks", "1")]


def test_a_row_changed_by_a_trigger_of_the_table_is_labelled_as_it_was_stored(world: World):
    world.tasks(bucket_column="place")
    world.sql("create function home() returns trigger language plpgsql as $$ begin new.place := 'home';"
              " return new; end $$;"
              " create trigger zz before insert or update on tasks for each row execute function home()")
    world.put("tasks", id=1, place="work")
    anna = world.caller()
    assert keys(anna.pull(entry("tasks", place="home"))) == ["1"]
    assert keys(anna.pull(entry("tasks", place="work"))) == []


def test_a_truncate_removes_every_row(tasks: World):
    tasks.sql("insert into tasks (id) select generate_series(1, 3)")
    replica = Replica(tasks.caller(), TASKS)
    replica.pull()
    tasks.sql("truncate tasks")
    replica.pull()
    assert replica.held == {}
    tasks.put("tasks", id=2)
    replica.pull()
    assert set(replica.held) == {("tasks", "2")}


def test_a_column_added_later_travels_at_once(tasks: World):
    tasks.sql("alter table tasks add column extra text default 'e'")
    tasks.put("tasks", id=1)
    image = tasks.caller().pull(TASKS)["rows"][0]["row"]
    assert image["extra"] == "e"
    sent = update("tasks", "1", {"extra": "f"})
    assert tasks.caller().push(sent)["verdicts"][0]["verdict"] == "applied"


def test_i_22_the_pending_queue_is_empty_outside_transactions(tasks: World):
    session = tasks.open()
    session.sql("insert into tasks (id) values (1); update tasks set title = 'x'")
    assert session.one("select count(*) from kizunasync.pending_changes") >= 1
    assert tasks.count("pending_changes") == 0
    session.commit()
    assert tasks.count("pending_changes") == 0 and tasks.high() == 2
    session.sql("delete from tasks")
    session.rollback()
    assert tasks.count("pending_changes") == 0 and tasks.high() == 2


def test_numbers_are_drawn_in_the_order_of_the_changes(tasks: World):
    tasks.sql("begin; insert into tasks (id) values (5); insert into tasks (id) values (3); insert into tasks"
              " (id) values (4);"
              " update tasks set title = 'x' where id = 5; commit")
    assert rows(tasks.caller().pull(TASKS)) == [("3", "2"), ("4", "3"), ("5", "4")]


@pytest.mark.parametrize("script, expected", [
    ("savepoint a; update tasks set title = 'a' where id = 1; rollback to a; update tasks set title = 'b'"
     " where id = 2",
     {"2"}),
    ("update tasks set title = 'a' where id = 1; savepoint a; update tasks set title = 'b' where id = 2;"
     " rollback to a",
     {"1"}),
    ("savepoint a; update tasks set title = 'a' where id = 1; rollback to a", set()),
    ("savepoint a; update tasks set title = 'a' where id = 1; release a; update tasks set title = 'b' where"
     " id = 2",
     {"1", "2"}),
    ("savepoint a; savepoint b; update tasks set title = 'a' where id = 1; release b; rollback to a;"
     " savepoint c; update tasks set title = 'b' where id = 2; release c", {"2"}),
    ("savepoint a; delete from tasks where id = 1; rollback to a; savepoint a; update tasks set title = 'x'"
     " where id = 1;"
     " rollback to a; update tasks set title = 'y' where id = 3", {"3"}),
    ("set constraints all immediate; update tasks set title = 'a' where id = 1", {"1"}),
    ("update tasks set title = 'a' where id = 1; set constraints all immediate; update tasks set title = 'b'"
     " where id = 2",
     {"1", "2"}),
    ("update tasks set title = 'a' where id = 1; set constraints all immediate; set constraints all deferred;"
     " update tasks set title = 'b' where id = 2; update tasks set title = 'c' where id = 3",
     {"1", "2", "3"}),
    ("savepoint a; update tasks set title = 'a' where id = 1; set constraints all immediate; rollback to a;"
     " update tasks set title = 'b' where id = 2", {"2"}),
    ("savepoint a; update tasks set title = 'a' where id = 1; set constraints all immediate; rollback to a;"
     " set constraints all deferred; update tasks set title = 'b' where id = 2; update tasks set title = 'c'"
     " where id = 3",
     {"2", "3"}),
])
def test_savepoints_and_early_numbering_lose_nothing(tasks: World, script: str, expected: set[str]):
    tasks.sql("insert into tasks (id) select generate_series(1, 3)")
    tasks.sql(f"begin; {script}; commit")
    page = tasks.caller().pull(TASKS, cursor="3")
    assert set(keys(page)) == expected and removed(page) == []
    assert tasks.count("pending_changes") == 0 and tasks.count("change_log") == 3 + len(expected)
    tasks.sql("update tasks set likes = 1")
    assert len(tasks.caller().pull(TASKS, cursor=page["cursor"])["rows"]) == 3


def test_a_transaction_prepared_and_committed_is_captured(tasks: World):
    tasks.sql("begin; insert into tasks (id) values (1); prepare transaction 'two'")
    assert keys(tasks.caller().pull(TASKS)) == []
    tasks.sql("commit prepared 'two'")
    assert keys(tasks.caller().pull(TASKS)) == ["1"]


def test_a_session_in_replica_role_is_not_captured(tasks: World):
    tasks.sql("set session_replication_role = replica; insert into tasks (id) values (1);"
              " set session_replication_role = origin")
    assert tasks.high() == 0


def test_tables_that_are_not_registered_queue_nothing_and_never_fail(world: World):
    world.tasks()
    world.create("loose", "id bigint primary key")
    world.put("loose", id=1)
    world.put("tasks", id=1)
    world.sql("select kizunasync.unregister_table('tasks')")
    world.sql("insert into tasks (id) values (2); update tasks set title = 'x'; delete from tasks where id ="
              " 1")
    assert world.high() == 1 and world.count("pending_changes") == 0
    assert world.caller().pull_code(TASKS) == "0A000"


def test_a_change_under_row_level_security_is_captured_whole(world: World):
    """The trigger must see the row whatever the writer may read."""
    world.create("tasks", "id bigint primary key, place text, owner uuid", policy=None,
                 grants="insert (id, place, owner),"
                 " update (place), delete")
    world.sql("create policy add on tasks for insert to authenticated with check (true);"
              " create policy see on tasks for select to authenticated using (true)")
    world.sql("grant select (id) on tasks to authenticated")
    world.register("tasks", bucket_column="place")
    world.caller().sql("insert into public.tasks values (1, 'home', null)")
    world.sql("grant select on tasks to authenticated")
    assert keys(world.caller(BEN).pull(entry("tasks", place="home"))) == ["1"]


def test_many_changes_of_one_transaction_are_numbered_without_gaps(tasks: World):
    tasks.sql("begin; insert into tasks (id) select generate_series(1, 2000); update tasks set title = 'x'"
              " where id > 1000;"
              " delete from tasks where id <= 500; commit")
    assert tasks.high() == 3500
    pages = list(tasks.caller().pages(TASKS, limit=400))
    assert sum(len(page["rows"]) for page in pages) == 1500 and pages[-1]["cursor"] == "3500"


def test_a_delete_of_a_row_written_in_the_same_transaction(tasks: World):
    tasks.sql("begin; insert into tasks (id) values (1); delete from tasks; commit")
    page = tasks.caller().pull(TASKS)
    assert page["rows"] == [] == page["tombstones"]


def test_hidden_writers_leave_the_claims_alone(world: World):
    """A policy sees the caller's own claims inside the functions, and the caller's role afterwards."""
    world.tasks(policy=f"owner = {SUB}")
    world.put("tasks", id=1, owner=ANNA)
    anna = world.caller()

    def look(session):
        page = session.call("pull", {"buckets": [TASKS], "cursor": "0", "schema_version": 1})
        verdict = session.call("push", anna.push_body([delete("tasks", "1")], False,
                                                      {}))["verdicts"][0]["verdict"]
        return page["rows"][0]["pk"], verdict, *session.sql(f"select current_user::text, {SUB}::text")[0]

    assert anna.run(look) == ("1", "applied", "authenticated", ANNA)
