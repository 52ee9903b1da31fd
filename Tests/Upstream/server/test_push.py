"""Pushing: what one mutation meets, in order, and what a request as a whole may be refused for."""

from __future__ import annotations

import pytest

from support import (ANNA, BEN, RESET, SUB, Refused, World, applied, delete, entry, insert, keys, new_id,
                     plus,
                     rejected, rows, task, union, update, verdicts)

OWN = f"owner = {SUB}"
FLAVOURS = pytest.mark.parametrize("world", ["plain", "supabase"], indirect=True)


@FLAVOURS
def test_s_01_an_insert_is_applied_and_comes_back_at_the_first_number(world: World):
    world.tasks()
    anna = world.caller()
    sent = insert("tasks", "1", {"title": "soup"})
    assert anna.push(sent) == verdicts(applied(sent))
    assert anna.pull(entry("tasks")) == {
        "cursor": "1", "has_more": False, "signal": None, "tombstones": [],
        "rows": [{"table": "tasks", "pk": "1", "seq": "1", "row": task(1, title="soup")}]}


@FLAVOURS
def test_s_02_two_updates_of_a_row_in_one_push_show_it_once_at_the_second_number(world: World):
    world.tasks()
    world.put("tasks", id=1)
    anna, first, second = world.caller(), update("tasks", "1",
                                                 {"title": "a"}), update("tasks", "1", {"title": "b"})
    assert anna.push(first, second) == verdicts(applied(first), applied(second))
    page = anna.pull(entry("tasks"))
    assert rows(page) == [("1", "3")] and page["cursor"] == "3"
    assert page["rows"][0]["row"]["title"] == "b"


@FLAVOURS
def test_s_03_an_edit_of_a_row_reassigned_away_is_refused_and_its_neighbour_applied(world: World):
    world.tasks(policy=OWN)
    world.put("tasks", id=1, owner=ANNA)
    anna = world.caller()
    assert keys(anna.pull(entry("tasks"))) == ["1"]
    world.sql("update tasks set owner = %s", (BEN,))
    edit, other = update("tasks", "1", {"title": "mine"}), insert("tasks", "2", {"owner": ANNA})
    assert anna.push(edit, other) == verdicts(rejected(edit, "RLS_DENIED", None), applied(other))
    assert world.row("tasks", 1)["title"] is None


def test_s_04_an_edit_of_a_key_that_never_was_is_refused_and_its_neighbour_applied(world: World):
    world.tasks()
    world.put("tasks", id=1)
    absent, valid = update("tasks", "9", {"title": "x"}), update("tasks", "1", {"title": "y"})
    assert world.caller().push(absent, valid) == verdicts(rejected(absent, "RLS_DENIED", None),
                                                          applied(valid))


@FLAVOURS
def test_s_05_insert_reply_lost_the_same_bytes_again_draw_no_number(world: World):
    world.tasks()
    anna, sent = world.caller(), insert("tasks", "1", {"title": "soup"})
    assert anna.push(sent) == anna.push(sent) == verdicts(applied(sent))
    assert world.high() == 1
    assert rows(anna.pull(entry("tasks"))) == [("1", "1")]


def test_s_06_a_replayed_rejection_shows_the_row_as_it_stands_now(world: World):
    world.tasks()
    world.put("tasks", id=1, title="now")
    anna, sent = world.caller(), update("tasks", "1", {"title": "new"}, precondition={"title": "then"})
    assert anna.push(sent) == verdicts(rejected(sent, "PRECONDITION", task(1, title="now")))
    world.sql("update tasks set title = 'renamed'")
    assert anna.push(sent) == verdicts(rejected(sent, "PRECONDITION", task(1, title="renamed")))


def test_a_replayed_rejection_of_a_row_now_hidden_has_a_null_row(world: World):
    world.tasks(policy=OWN)
    world.put("tasks", id=1, owner=ANNA, title="now")
    anna, sent = world.caller(), update("tasks", "1", {"title": "new"}, precondition={"title": "then"})
    assert anna.push(sent) == verdicts(rejected(sent, "PRECONDITION", task(1, owner=ANNA, title="now")))
    world.sql("update tasks set owner = %s", (BEN,))
    assert anna.push(sent) == verdicts(rejected(sent, "PRECONDITION", None))


@FLAVOURS
def test_s_07_an_id_replayed_by_another_user_tells_and_does_nothing(world: World):
    world.tasks()
    anna, ben = world.caller(), world.caller(BEN)
    sent = insert("tasks", "1", {"title": "anna's"})
    assert anna.push(sent) == verdicts(applied(sent))
    other = sent | {"pk": "2", "columns": {"title": "ben's"}}
    assert ben.push(sent) == ben.push(other) == verdicts(rejected(sent, "RLS_DENIED", None))
    assert world.row("tasks", 2) is None and world.count("ledger") == 1
    assert anna.push(sent) == verdicts(applied(sent))


def test_a_record_of_nobody_is_nobodys_to_replay(world: World):
    world.tasks()
    nobody, sent = world.caller(None), insert("tasks", "1")
    assert nobody.push(sent) == verdicts(applied(sent))
    assert world.caller().push(sent) == verdicts(rejected(sent, "RLS_DENIED", None))


def test_s_08_a_replayed_transform_of_a_row_gone_has_no_row(world: World):
    world.tasks()
    world.put("tasks", id=1, likes=1)
    anna, sent = world.caller(), update("tasks", "1", transforms={"likes": plus(1)})
    assert anna.push(sent) == verdicts(applied(sent, task(1, likes=2)))
    world.sql("update tasks set title = 'later'")
    assert anna.push(sent) == verdicts(applied(sent, task(1, likes=2, title="later")))
    world.sql("delete from tasks")
    assert anna.push(sent) == verdicts(applied(sent))


def test_a_replay_is_told_by_the_record_whatever_table_it_names(world: World):
    world.tasks()
    world.table("other")
    world.put("tasks", id=1, likes=1)
    anna, sent = world.caller(), update("tasks", "1", transforms={"likes": plus(1)})
    anna.push(sent)
    elsewhere = sent | {"table": "other"}
    assert anna.push(elsewhere) == verdicts(applied(sent, task(1, likes=2)))
    world.sql("select kizunasync.unregister_table('tasks')")
    assert anna.push(elsewhere) == verdicts(applied(sent))


def test_s_09_after_the_ledger_is_pruned_a_replay_is_decided_anew(world: World):
    world.tasks()
    world.put("tasks", id=1, likes=0)
    anna, sent = world.caller(), update("tasks", "1", transforms={"likes": plus(1)})
    anna.push(sent)
    world.sql("update kizunasync.ledger set recorded_at = recorded_at - interval '89 days'")
    world.sql("select kizunasync.prune()")
    assert anna.push(sent) == verdicts(applied(sent, task(1, likes=1)))
    world.sql("update kizunasync.ledger set recorded_at = recorded_at - interval '91 days'")
    world.sql("select kizunasync.prune()")
    assert anna.push(sent) == verdicts(applied(sent, task(1, likes=2)))


@FLAVOURS
def test_s_10_a_stale_precondition_is_refused_with_the_current_row(world: World):
    world.tasks()
    world.put("tasks", id=1, title="theirs", likes=3)
    sent = update("tasks", "1", {"title": "mine"}, precondition={"title": "old", "likes": 3})
    assert world.caller().push(sent) == verdicts(rejected(sent, "PRECONDITION",
                                                          task(1, title="theirs", likes=3)))
    assert world.row("tasks", 1)["title"] == "theirs"


def test_a_precondition_that_holds_admits_updates_inserts_and_deletes(world: World):
    world.tasks()
    world.put("tasks", id=1, title="is")
    anna = world.caller()
    kept = update("tasks", "1", {"likes": 1}, precondition={"title": "is", "done": None, "id": "1"})
    over = insert("tasks", "1", {"done": True}, precondition={"title": "is"})
    gone = delete("tasks", "1", precondition={"likes": 1})
    assert anna.push(kept, over, gone) == verdicts(applied(kept), applied(over), applied(gone))


@pytest.mark.parametrize("op", ["insert", "update", "delete"])
def test_a_precondition_without_a_readable_row_is_refused(world: World, op: str):
    world.tasks(policy=OWN)
    world.put("tasks", id=1, owner=BEN)
    for pk in ("1", "7"):
        sent = {"mutation_id": new_id(), "table": "tasks", "pk": pk, "op": op,
                "precondition": {"title": None},
                "columns": {} if op == "delete" else {"title": "x"}}
        verdict = world.caller().push(sent)["verdicts"][0]
        assert verdict["verdict"] == "rejected" and verdict["server_row"] is None
        assert verdict["reason"] == "PRECONDITION" or (pk == "1" and verdict["reason"] == "RLS_DENIED")


def test_a_delete_whose_precondition_fails_keeps_the_row(world: World):
    world.tasks()
    world.put("tasks", id=1, title="kept")
    sent = delete("tasks", "1", precondition={"title": "gone"})
    assert world.caller().push(sent) == verdicts(rejected(sent, "PRECONDITION", task(1, title="kept")))
    assert world.row("tasks", 1)


def test_s_11_a_precondition_equal_up_to_case_or_offset_holds(world: World):
    world.table("events", "id bigint primary key, ref uuid, at timestamptz, cost numeric, n bigint, doc"
                " jsonb, j json,"
                          " tags text[], d date")
    world.sql("insert into events values (1, 'abcdef00-0000-4000-8000-000000000001', '2026-03-01T10:00:00Z',"
              " 4.5,"
              " 9007199254740993, '{\"a\": 1, \"b\": [2]}', '{\"a\": 1}', '{x,y}', '2026-03-01')")
    anna = world.caller()
    for expected in (
        {"ref": "ABCDEF00-0000-4000-8000-000000000001"}, {"at": "2026-03-01T12:00:00+02:00"},
        {"cost": "4.50"},
        {"n": "9007199254740993"}, {"doc": {"b": [2], "a": 1}}, {"j": {"a": 1}}, {"tags": ["x", "y"]},
        {"d": "2026-03-01"}, {"id": 1},
    ):
        sent = update("events", "1", {"cost": "4.5"}, precondition=expected)
        assert anna.push(sent) == verdicts(applied(sent)), expected
    for expected in (
        {"ref": "abcdef00-0000-4000-8000-000000000002"}, {"at": "2026-03-01T10:00:00+02:00"},
        {"cost": "4.51"},
        {"n": "9007199254740992"}, {"doc": {"a": 1}}, {"tags": ["y", "x"]}, {"d": None},
    ):
        sent = update("events", "1", {"cost": "1"}, precondition=expected)
        assert anna.push(sent)["verdicts"][0]["reason"] == "PRECONDITION", expected


def test_s_12_a_precondition_on_no_such_column_and_one_the_type_refuses(world: World):
    world.tasks(grants="select (id, title, likes), insert, update, delete")
    world.put("tasks", id=1, title="is")
    shown = {"id": 1, "title": "is", "likes": None}
    anna = world.caller()
    for expected, reason in (({"nowhere": 1}, "PRECONDITION"), ({"done": None}, "PRECONDITION"),
                             ({"likes": "abc"}, "CONSTRAINT")):
        sent = update("tasks", "1", {"title": "x"}, precondition=expected)
        assert anna.push(sent) == verdicts(rejected(sent, reason, shown)), expected
    assert world.row("tasks", 1)["title"] == "is"


def test_s_13_an_update_of_nothing_is_refused(world: World):
    world.tasks()
    world.put("tasks", id=1)
    sent = update("tasks", "1")
    assert world.caller().push(sent) == verdicts(rejected(sent, "RLS_DENIED", task(1)))
    absent = update("tasks", "2")
    assert world.caller().push(absent) == verdicts(rejected(absent, "RLS_DENIED", None))


@FLAVOURS
def test_s_14_a_broken_constraint_refuses_its_mutation_alone(world: World):
    world.table("tasks", "id bigint primary key, n integer check (n > 0), name text unique, r integer not"
                " null default 1")
    world.sql("insert into tasks values (1, 1, 'a', 1), (2, 2, 'b', 1)")
    one, check, two = (update("tasks", "1", {"n": 5}), update("tasks", "1", {"n": -1}),
                       update("tasks", "2", {"n": 6}))
    row = {"id": 1, "n": 5, "name": "a", "r": 1}
    anna = world.caller()
    assert anna.push(one, check, two) == verdicts(applied(one), rejected(check, "CONSTRAINT", row),
                                                  applied(two))
    for columns in ({"name": "b"}, {"r": None}, {"n": "99999999999"}, {"n": "x"}):
        sent = update("tasks", "1", columns)
        assert anna.push(sent) == verdicts(rejected(sent, "CONSTRAINT", row)), columns
    sent = insert("tasks", "9", {"n": -1})
    assert anna.push(sent) == verdicts(rejected(sent, "CONSTRAINT", None))


def test_a_foreign_key_broken_refuses_its_mutation_alone(world: World):
    world.table("tasks", "id bigint primary key")
    world.table("parts", "id bigint primary key, task bigint references tasks")
    world.put("tasks", id=1)
    world.put("parts", id=1, task=1)
    anna, gone, fine = world.caller(), delete("tasks", "1"), insert("parts", "2", {"task": 1})
    assert anna.push(gone, fine) == verdicts(rejected(gone, "CONSTRAINT", {"id": 1}), applied(fine))


def test_s_15_an_uncoded_raise_is_a_verdict_any_other_code_fails_the_call(world: World):
    world.tasks()
    world.sql("create function refuse() returns trigger language plpgsql as $$ begin"
              " if new.title = 'plain' then raise 'no'; end if;"
              " if new.title = 'state' then raise 'no' using errcode = '55000'; end if;"
              " if new.title = 'p2' then raise no_data_found; end if;"
              " if new.title = 'class 42' then raise undefined_table; end if; return new; end $$;"
              " create trigger refuse before insert or update on tasks for each row execute function"
              " refuse()")
    anna = world.caller()
    good, bad = insert("tasks", "1"), insert("tasks", "2", {"title": "plain"})
    assert anna.push(good, bad) == verdicts(applied(good), rejected(bad, "CONSTRAINT", None))
    for title, code in (("state", "55000"), ("p2", "P0002"), ("class 42", "42P01")):
        assert anna.push_code(insert("tasks", "3"), insert("tasks", "4", {"title": title})) == code
    assert world.row("tasks", 3) is None and world.count("ledger") == 2


@FLAVOURS
def test_s_16_a_forbidden_column_refuses_the_mutation_as_a_whole(world: World):
    world.tasks(grants="select (id, title), insert (id, title), update (title), delete")
    world.put("tasks", id=1, title="is", likes=1)
    shown, anna = {"id": 1, "title": "is"}, world.caller()
    for sent in (update("tasks", "1", {"title": "x", "likes": 2}),
                 update("tasks", "1", transforms={"likes": plus(1)}),
                 update("tasks", "1", {"title": "x"}, transforms={"likes": plus(1)}),
                 insert("tasks", "1", {"title": "x", "likes": 5})):
        assert anna.push(sent) == verdicts(rejected(sent, "COLUMN_DENIED", shown))
    new = insert("tasks", "2", {"title": "x", "likes": 2})
    assert anna.push(new) == verdicts(rejected(new, "COLUMN_DENIED", None))
    assert world.row("tasks", 1) == task(1, title="is", likes=1) and world.row("tasks", 2) is None
    fine = insert("tasks", "3", {"title": "x"})
    assert anna.push(fine) == verdicts(applied(fine))


def test_a_delete_without_the_privilege_is_a_denied_column(world: World):
    world.tasks(grants="select, insert, update")
    world.put("tasks", id=1)
    sent = delete("tasks", "1")
    assert world.caller().push(sent) == verdicts(rejected(sent, "COLUMN_DENIED", task(1)))
    assert world.row("tasks", 1)


def test_an_insert_without_the_privilege_on_the_key_is_a_denied_column(world: World):
    world.tasks(grants="select, insert (title), update, delete")
    sent = insert("tasks", "1", {"title": "x"})
    assert world.caller().push(sent) == verdicts(rejected(sent, "COLUMN_DENIED", None))


def test_generated_and_key_columns_are_never_written_by_an_update(world: World):
    world.table("tasks", "id bigint primary key, n integer, twice integer generated always as (n * 2) stored")
    world.put("tasks", id=1, n=2)
    row, anna = {"id": 1, "n": 2, "twice": 4}, world.caller()
    for sent in (update("tasks", "1", {"twice": 8}), insert("tasks", "1", {"twice": 8}),
                 update("tasks", "1", {"id": 1}),
                 update("tasks", "1", {"id": "2", "n": 3}), update("tasks", "1", transforms={"id": plus(1)}),
                 update("tasks", "1", transforms={"twice": plus(1)})):
        assert anna.push(sent) == verdicts(rejected(sent, "COLUMN_DENIED", row)), sent
    assert world.row("tasks", 1) == row


def test_a_column_that_is_not_there_is_never_written(world: World):
    world.tasks()
    world.put("tasks", id=1)
    for sent in (update("tasks", "1", {"nowhere": 1, "title": "x"}), insert("tasks", "2", {"nowhere": 1})):
        try:
            assert world.caller().push(sent)["verdicts"][0]["reason"] == "COLUMN_DENIED"
        except Refused as refused:
            assert refused.code == "42703"
    assert world.row("tasks", 1) == task(1) and world.row("tasks", 2) is None


def test_s_17_a_row_seen_but_not_writable_is_refused_with_the_row(world: World):
    world.create("tasks", "id bigint primary key, owner uuid, title text", policy=None)
    world.sql(f"create policy see on tasks for select to authenticated using (true);"
              f" create policy change on tasks for update to authenticated using ({OWN});"
              f" create policy drop on tasks for delete to authenticated using ({OWN});"
              f" create policy add on tasks for insert to authenticated with check ({OWN})")
    world.register("tasks")
    world.put("tasks", id=1, owner=BEN)
    row = {"id": 1, "owner": BEN, "title": None}
    for sent in (update("tasks", "1", {"title": "x"}), delete("tasks", "1"),
                 insert("tasks", "1", {"owner": ANNA}),
                 update("tasks", "1", {"title": "x"}, precondition={"owner": BEN})):
        assert world.caller().push(sent) == verdicts(rejected(sent, "RLS_DENIED", row)), sent
    assert world.row("tasks", 1) == row


def test_an_update_out_of_the_callers_policy_is_refused_with_the_row(world: World):
    world.tasks(policy=OWN)
    world.put("tasks", id=1, owner=ANNA)
    sent = update("tasks", "1", {"owner": BEN})
    assert world.caller().push(sent) == verdicts(rejected(sent, "RLS_DENIED", task(1, owner=ANNA)))
    assert world.row("tasks", 1)["owner"] == ANNA


def test_s_18_a_removal_outranks_a_forbidden_column(world: World):
    world.tasks(grants="select, update (title), delete")
    world.put("tasks", id=1)
    anna = world.caller()
    anna.pull(entry("tasks"))
    world.sql("delete from tasks")
    sent = update("tasks", "1", {"likes": 1})
    assert anna.push(sent) == verdicts(rejected(sent, "DELETE_WINS", None))


@FLAVOURS
def test_s_19_an_insert_over_an_own_row_writes_the_named_columns(world: World):
    world.tasks(policy=OWN)
    world.put("tasks", id=1, owner=ANNA, title="old", likes=3)
    sent = insert("tasks", "1", {"title": "new"})
    assert world.caller().push(sent) == verdicts(applied(sent))
    assert world.row("tasks", 1) == task(1, owner=ANNA, title="new", likes=3)
    bare = insert("tasks", "1", {"id": 1})
    assert world.caller().push(bare)["verdicts"][0]["verdict"] == "applied"
    assert world.row("tasks", 1) == task(1, owner=ANNA, title="new", likes=3)


@FLAVOURS
def test_s_20_an_insert_that_fails_the_check_is_refused(world: World):
    world.tasks(policy=OWN)
    world.put("tasks", id=1, owner=BEN, title="ben's")
    anna = world.caller()
    for sent in (insert("tasks", "2", {"owner": BEN}), insert("tasks", "2"),
                 insert("tasks", "1", {"owner": ANNA})):
        assert anna.push(sent) == verdicts(rejected(sent, "RLS_DENIED", None)), sent
    assert world.row("tasks", 1)["title"] == "ben's" and world.row("tasks", 2) is None


def test_an_insert_the_caller_may_write_but_not_read_is_applied(world: World):
    world.create("tasks", "id bigint primary key, title text", policy=None)
    world.sql("create policy see on tasks for select to authenticated using (id < 10);"
              " create policy add on tasks for insert to authenticated with check (true)")
    world.register("tasks")
    sent = insert("tasks", "11", {"title": "x"})
    answer = world.caller().push(sent)["verdicts"][0]
    assert answer["verdict"] == "applied" or answer["reason"] == "RLS_DENIED"
    assert (world.row("tasks", 11) is not None) == (answer["verdict"] == "applied")


def test_s_21_a_batch_over_the_size_is_refused_and_its_halves_delivered(world: World):
    world.tasks()
    anna, sent = world.caller(), [insert("tasks", str(number)) for number in range(501)]
    assert anna.push_code(*sent) == "KZP02"
    assert world.one("select count(*) from tasks") == 0
    for half in (sent[:250], sent[250:]):
        assert anna.push(*half) == verdicts(*map(applied, half))
    assert world.one("select count(*) from tasks") == 501 == world.high()


def test_the_batch_size_may_be_set_or_lifted(world: World):
    world.tasks()
    sent = [insert("tasks", str(number)) for number in range(4)]
    world.set(max_batch_size=3)
    assert world.caller().push_code(*sent) == "KZP02"
    assert len(world.caller().push(*sent[:3])["verdicts"]) == 3
    world.set(max_batch_size=None)
    assert len(world.caller().push(*sent)["verdicts"]) == 4


def test_s_22_an_atomic_batch_over_the_size_is_refused_with_a_text(world: World):
    world.tasks()
    world.set(max_batch_size=1)
    with pytest.raises(Refused) as refused:
        world.caller().push(insert("tasks", "1"), insert("tasks", "2"), atomic=True)
    assert refused.value.code == "KZP02" and refused.value.message
    assert world.one("select count(*) from tasks") == 0


@FLAVOURS
def test_s_23_pull_only_and_unregistered_tables_are_refused_whole(world: World):
    world.tasks()
    world.table("fixed", "id bigint primary key", sync_mode="pull-only")
    world.create("loose", "id bigint primary key")
    anna = world.caller()
    for table, code in (("fixed", "KZP01"), ("loose", "0A000"), ("nowhere", "0A000"), ("pg_class", "0A000")):
        assert anna.push_code(insert("tasks", "1"), insert(table, "1")) == code
    assert world.one("select count(*) from tasks") == 0 == world.count("ledger")


def test_s_24_a_server_that_requires_atomic_batches_refuses_others(world: World):
    world.tasks()
    world.set(require_atomic=True)
    anna, sent = world.caller(), insert("tasks", "1")
    assert anna.push_code(sent) == anna.push_code(sent, atomic=None) == "KZP03"
    assert world.row("tasks", 1) is None and world.count("ledger") == 0
    assert anna.push(sent, atomic=True) == verdicts(applied(sent))


def test_atomic_missing_is_false(world: World):
    world.tasks()
    good, bad = insert("tasks", "1"), update("tasks", "9", {"title": "x"})
    assert world.caller().push(good, bad,
                               atomic=None) == verdicts(applied(good), rejected(bad, "RLS_DENIED", None))


def test_s_25_one_bad_key_refuses_the_whole_call(world: World):
    world.tasks()
    sent = [insert("tasks", str(number)) for number in range(9)] + [insert("tasks", "09")]
    assert world.caller().push_code(*sent) == "22023"
    assert world.one("select count(*) from tasks") == 0 == world.count("ledger")
    assert world.caller().push(sent[0]) == verdicts(applied(sent[0]))


@FLAVOURS
def test_s_26_a_stale_schema_is_told_to_reset_and_nothing_is_recorded(world: World):
    world.tasks(min_schema_version=3, register_clients=True)
    anna = world.caller(client=new_id())
    for version in (2, None):
        assert anna.push(insert("tasks", "1"), schema_version=version) == RESET
    assert world.row("tasks", 1) is None and world.count("ledger") == 0 == world.count("clients")
    assert anna.push(insert("tasks", "1"), schema_version=3)["verdicts"][0]["verdict"] == "applied"


def test_s_27_one_stale_table_gates_the_whole_batch(world: World):
    world.tasks(min_schema_version=2)
    world.table("newer", "id bigint primary key", min_schema_version=4)
    anna = world.caller(version=3)
    assert anna.push(insert("tasks", "1"), insert("newer", "1")) == RESET
    assert world.row("tasks", 1) is None
    assert anna.push(insert("tasks", "1"))["verdicts"][0]["verdict"] == "applied"


def test_a_call_that_names_no_registered_table_meets_the_highest_version(world: World):
    world.tasks(min_schema_version=2)
    world.table("newer", "id bigint primary key", min_schema_version=4)
    anna = world.caller(version=3)
    assert anna.push() == RESET and anna.push(insert("nowhere", "1")) == RESET
    assert anna.pull()["signal"] == {"type": "RESET_REQUIRED"}
    assert anna.push(schema_version=4) == verdicts()


@FLAVOURS
def test_s_28_an_empty_batch_has_no_verdicts(world: World):
    world.tasks()
    assert world.caller().push() == world.caller().push(atomic=True) == {"verdicts": []}


def test_an_own_delete_wins_over_later_mutations_of_the_push(world: World):
    world.tasks()
    world.put("tasks", id=1, title="x")
    gone, edit, again, twice = (delete("tasks", "1"), update("tasks", "1", {"title": "y"}),
                                insert("tasks", "1"),
                                delete("tasks", "1"))
    assert world.caller().push(gone, edit, again, twice) == verdicts(
        applied(gone), *(rejected(each, "DELETE_WINS", None) for each in (edit, again, twice)))
    assert world.row("tasks", 1) is None


def test_a_row_recreated_by_the_server_is_edited_as_any_other(world: World):
    world.tasks()
    world.put("tasks", id=1)
    anna = world.caller()
    anna.pull(entry("tasks"))
    world.sql("delete from tasks")
    world.put("tasks", id=1)
    sent = update("tasks", "1", {"title": "x"})
    assert anna.push(sent) == verdicts(applied(sent))


def test_a_removed_key_is_free_again_once_its_tombstone_is_reaped(world: World):
    world.tasks()
    world.put("tasks", id=1)
    anna = world.caller()
    anna.pull(entry("tasks"))
    world.sql("delete from tasks")
    refused, later = insert("tasks", "1"), insert("tasks", "1")
    assert anna.push(refused) == verdicts(rejected(refused, "DELETE_WINS", None))
    world.reap()
    assert anna.push(later) == verdicts(applied(later))


def test_a_delete_that_removes_nothing_is_refused(world: World):
    world.tasks()
    sent = delete("tasks", "1")
    assert world.caller().push(sent) == verdicts(rejected(sent, "RLS_DENIED", None))


def test_a_second_delete_of_a_granted_row_loses_to_the_first(world: World):
    world.tasks()
    world.put("tasks", id=1)
    anna, ben = world.caller(), world.caller(BEN)
    for each in (anna, ben):
        each.pull(entry("tasks"))
    first, second = delete("tasks", "1"), delete("tasks", "1")
    assert anna.push(first) == verdicts(applied(first))
    assert ben.push(second) == verdicts(rejected(second, "DELETE_WINS", None))


@pytest.mark.parametrize("change", [
    {"mutation_id": "not-a-uuid"}, {"mutation_id": 7}, {"mutation_id": None}, {"table": 7}, {"table": None},
    {"pk": ""}, {"pk": 1}, {"pk": None}, {"pk": "01"}, {"op": "upsert"}, {"op": None}, {"op": "INSERT"},
    {"op": "insert", "transforms": {"likes": plus(1)}}, {"op": "delete", "columns": {},
                                                         "transforms": {"likes": plus(1)}},
    {"transforms": {"likes": {"op": "multiply", "by": 2}}}, {"transforms": {"likes": {"op": "increment"}}},
    {"transforms": {"likes": plus("x")}}, {"transforms": {"likes": plus(True)}},
    {"transforms": {"likes": plus(None)}},
    {"transforms": {"tags": union()}}, {"transforms": {"tags": {"op": "arrayUnion"}}},
    {"transforms": {"tags": {
        "op": "arrayRemove", "values": []}}}, {"transforms": {"likes": 1}},
    {"columns": {"likes": 1}, "transforms": {"likes": plus(1)}},
], ids=str)
def test_a_malformed_mutation_refuses_the_whole_call(world: World, change: dict):
    world.tasks()
    world.put("tasks", id=1)
    bad = update("tasks", "1", {"title": "x"}) | change
    assert world.caller().push_code(insert("tasks", "2"), bad) == "22023"
    assert world.row("tasks", 2) is None and world.count("ledger") == 0
    assert world.row("tasks", 1) == task(1)


@pytest.mark.parametrize("field", ["mutation_id", "table", "pk", "op"])
def test_a_mutation_without_a_required_field_refuses_the_whole_call(world: World, field: str):
    world.tasks()
    bad = update("tasks", "1", {"title": "x"})
    del bad[field]
    assert world.caller().push_code(bad) == "22023"


@pytest.mark.parametrize("batch", [None, [], "x", {}, {"mutations": None}, {"mutations": {}},
                                   {"mutations": [1]}],
                         ids=str)
def test_a_malformed_batch_is_refused(world: World, batch: object):
    world.tasks()
    code = world.caller().code("push", batch=batch, last_mutation_id=None, schema_version=1)
    assert code.startswith("22")


def test_an_unused_hint_is_ignored(world: World):
    world.tasks()
    sent = insert("tasks", "1", {"title": "x"}, base_hint={"any": ["thing"]})
    assert world.caller().push(sent) == verdicts(applied(sent))


def test_the_last_applied_id_is_no_dedup(world: World):
    world.tasks()
    sent = insert("tasks", "1", {"title": "x"})
    assert world.caller().push(sent, last_mutation_id=sent["mutation_id"]) == verdicts(applied(sent))
