"""Checkpoints that age, clients that are remembered, and the upkeep behind both."""

from __future__ import annotations

import pytest

from support import (ANNA, BEN, Refused, World, applied, delete, entry, insert, keys, new_id, removed, rows,
                     signal_page,
                     uid, update, verdicts)

FLAVOURS = pytest.mark.parametrize("world", ["plain", "supabase"], indirect=True)
HOME, WORK = entry("tasks", place="home"), entry("tasks", place="work")


@FLAVOURS
def test_s_66_a_checkpoint_below_the_reaped_number_expires(world: World):
    world.tasks()
    world.put("tasks", id=1)
    anna = world.caller()
    assert anna.pull(entry("tasks"))["cursor"] == "1"
    world.sql("delete from tasks")
    assert world.reap() == 2
    assert anna.pull(entry("tasks"), cursor="1") == signal_page("1", "CHECKPOINT_EXPIRED")
    world.put("tasks", id=2)
    fresh = anna.pull(entry("tasks"))
    assert rows(fresh) == [("2", "3")] and removed(fresh) == []


def test_s_67_a_bootstrap_after_a_reap_closes_at_a_cursor_that_lives(world: World):
    world.tasks()
    world.put("tasks", id=1)
    anna = world.caller()
    anna.pull(entry("tasks"))
    world.sql("delete from tasks")
    assert world.reap() == 2
    world.sql("select kizunasync.compact()")
    page = anna.pull(entry("tasks"))
    assert int(page["cursor"]) >= 2
    assert anna.pull(entry("tasks"), cursor=page["cursor"])["signal"] is None


def test_s_68_a_transfer_from_a_checkpoint_expires_between_pages(world: World):
    world.tasks()
    for number in (1, 2, 3):
        world.put("tasks", id=number)
    anna = world.caller()
    assert anna.pull(entry("tasks"), limit=1)["cursor"] == "0:1"
    assert anna.pull(entry("tasks"), cursor="1", limit=1)["cursor"] == "1:2"
    world.sql("delete from tasks where id = 1")
    assert world.reap() == 4
    assert anna.pull(entry("tasks"), cursor="1:2") == signal_page("1:2", "CHECKPOINT_EXPIRED")
    assert anna.pull(entry("tasks"), cursor="1:9") == signal_page("1:9", "CHECKPOINT_EXPIRED")
    assert anna.pull(entry("tasks"), cursor="4:1")["signal"] is None
    assert anna.pull(entry("tasks"), cursor="3~1") == signal_page("3~1", "CHECKPOINT_EXPIRED")


def test_s_69_a_checkpoint_at_the_reaped_number_lives(world: World):
    world.tasks()
    world.put("tasks", id=1)
    world.sql("delete from tasks")
    assert world.reap() == 2
    anna = world.caller()
    assert anna.pull(entry("tasks"), cursor="2")["signal"] is None
    assert anna.pull(entry("tasks"), cursor="0")["signal"] is None


@FLAVOURS
def test_s_70_a_stale_schema_is_told_to_reset_on_pull(world: World):
    world.tasks(min_schema_version=2)
    world.table("newer", "id bigint primary key", min_schema_version=5)
    anna = world.caller(version=4)
    assert anna.pull(entry("tasks"), entry("newer"), cursor="7") == signal_page("7", "RESET_REQUIRED")
    assert anna.pull(entry("tasks"), cursor="7")["signal"] is None


def test_s_72_another_bucket_value_from_zero_brings_its_rows_only(world: World):
    world.tasks(bucket_column="place")
    world.put("tasks", id=1, place="home")
    world.put("tasks", id=2, place="work")
    anna = world.caller()
    assert keys(anna.pull(HOME)) == ["1"]
    page = anna.pull(WORK)
    assert keys(page) == ["2"] and removed(page) == []


@FLAVOURS
def test_s_73_a_client_of_another_user_is_refused(world: World):
    world.tasks(register_clients=True)
    mine = new_id()
    anna, ben = world.caller(client=mine), world.caller(BEN, client=mine)
    anna.pull(entry("tasks"))
    for _ in range(2):
        with pytest.raises(Refused) as refused:
            ben.pull(entry("tasks"))
        assert refused.value.code == "42501"
        assert ben.push_code(insert("tasks", "1"), client_id=mine) == "42501"
    assert world.row("tasks", 1) is None
    assert world.sql("select client_key::text, user_id::text from kizunasync.clients") == [(mine, ANNA)]


def test_i_23_a_user_keeps_a_hundred_clients_and_the_one_just_written(world: World):
    world.tasks(register_clients=True)
    anna = world.caller()
    world.caller(BEN, client=uid(1)).pull(entry("tasks"))
    anna.pull(entry("tasks"), client_id=uid(1000))
    world.sql("update kizunasync.clients set last_seen = now() - interval '2 days' where client_key = %s",
              (uid(1000),))
    world.sql("insert into kizunasync.clients (client_key, user_id, last_seen)"
              " select ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0')), %s, now() - n * interval '1"
              " second'"
              " from generate_series(2, 100) n", (ANNA,))
    of_anna = "select client_key::text from kizunasync.clients where user_id::text = %s"
    assert len(world.sql(of_anna, (ANNA,))) == 100
    anna.pull(entry("tasks"), client_id=uid(2000))
    left = {key for (key,) in world.sql(of_anna, (ANNA,))}
    assert len(left) == 100 and uid(2000) in left and uid(1000) not in left and uid(100) in left
    assert world.sql(of_anna, (BEN,)) == [(uid(1),)]


def test_the_registry_remembers_what_a_client_last_did(world: World):
    world.tasks(register_clients=True, min_schema_version=2)
    world.put("tasks", id=1)
    anna = world.caller(client=uid(1), version=3)
    remembered = ("select cursor::text, last_mutation_id::text, schema_version, last_seen > now() - interval"
                  " '1 minute'"
                  " from kizunasync.clients")
    anna.pull(entry("tasks"))
    assert world.sql(remembered) == [("1", None, 3, True)]
    done, refused = insert("tasks", "2"), update("tasks", "9", {"title": "x"})
    anna.push(done, refused, last_mutation_id=uid(77))
    assert world.sql(remembered) == [("1", done["mutation_id"], 3, True)]
    anna.pull(entry("tasks"), cursor="1", schema_version=4)
    assert world.sql(remembered) == [("2", done["mutation_id"], 4, True)]
    anna.push(refused | {"mutation_id": uid(5)})
    assert world.sql(remembered)[0][1] == done["mutation_id"]


def test_who_is_registered_and_under_which_key(world: World):
    world.tasks(register_clients=True)
    world.table("quiet")
    world.caller(client=uid(1)).pull(entry("quiet"))
    world.caller().pull(entry("tasks"))
    assert world.count("clients") == 0
    world.caller(session_id=uid(2)).pull(entry("tasks"))
    world.caller(client=uid(3), session_id=uid(2)).pull(entry("quiet"), entry("tasks"))
    assert {key
            for (key,) in world.sql("select client_key::text from kizunasync.clients")} == {uid(2), uid(3)}


def test_a_failed_atomic_batch_is_no_last_applied_id(world: World):
    world.tasks(register_clients=True)
    anna = world.caller(client=uid(1))
    anna.push(insert("tasks", "1"), update("tasks", "9", {"title": "x"}), atomic=True)
    assert world.sql("select last_mutation_id from kizunasync.clients") in ([], [(None,)])


# ---- reaping


def test_a_reap_takes_tombstones_past_their_age(world: World):
    world.tasks()
    for number in (1, 2):
        world.put("tasks", id=number)
    world.sql("delete from tasks where id = 1")
    world.age_tombstones(31)
    world.sql("delete from tasks where id = 2")
    world.age_tombstones(29)
    assert world.one("select kizunasync.reap()") == 3
    assert world.sql("select pk, seq from kizunasync.tombstones") == [("2", 4)]
    assert world.one("select reaped_seq from kizunasync.reap_state") == 3
    world.sql("update kizunasync.reap_state set last_run_at = null")
    assert world.one("select kizunasync.reap()") == 0
    assert world.sql("select reaped_seq, last_run_at is not null from kizunasync.reap_state") == [(3, True)]


def test_a_tables_own_age_outranks_the_projects(world: World):
    world.tasks(tombstone_ttl_days=2)
    world.table("slow", "id bigint primary key")
    for table in ("tasks", "slow"):
        world.put(table, id=1)
        world.sql(f"delete from {table}")
    world.age_tombstones(3)
    assert world.one("select kizunasync.reap()") == 2
    assert world.sql("select table_name from kizunasync.tombstones") == [("slow",)]


def test_reaped_seq_never_falls(world: World):
    world.tasks(tombstone_ttl_days=60)
    world.table("quick", "id bigint primary key", tombstone_ttl_days=1)
    for table in ("tasks", "quick"):
        world.put(table, id=1)
        world.sql(f"delete from {table}")
    world.age_tombstones(40)
    assert world.one("select kizunasync.reap()") == 4
    world.age_tombstones(40)
    world.one("select kizunasync.reap()")
    assert world.one("select reaped_seq from kizunasync.reap_state") == 4


# ---- compaction


def crowd(world: World) -> None:
    """Ten rows written three times each, five of them deleted."""
    for title in ("a", "b", "c"):
        world.sql("insert into tasks (id, title) select n, %s from generate_series(1, 10) n"
                  " on conflict (id) do update set title = excluded.title", (title,))
    world.sql("delete from tasks where id > 5")


def test_compaction_drops_what_is_superseded_and_no_page_changes(world: World):
    world.tasks()
    world.put("tasks", id=0)
    anna = world.caller()
    anna.pull(entry("tasks"))
    crowd(world)
    before = {cursor: anna.pull(entry("tasks"), cursor=cursor) for cursor in ("0", "1", "11", "25", "36")}
    dropped = world.one("select kizunasync.compact()")
    assert dropped == 25 and world.count("change_log") == 6
    assert {cursor: anna.pull(entry("tasks"), cursor=cursor) for cursor in before} == before
    assert world.one("select kizunasync.compact()") == 0


def test_compaction_stops_at_the_slowest_client_still_seen(world: World):
    world.tasks(register_clients=True)
    for title in ("a", "b", "c", "d"):
        world.sql("insert into tasks (id, title) values (1, %s) on conflict (id) do update set title ="
                  " excluded.title",
                  (title,))
    world.caller(client=uid(1)).pull(entry("tasks"))
    world.caller(client=uid(2)).pull(entry("tasks"))
    world.caller(client=uid(3)).pull(entry("tasks"))
    world.sql("update kizunasync.clients set cursor = 2 where client_key::text = %s", (uid(1),))
    world.sql("update kizunasync.clients set cursor = 0 where client_key::text = %s", (uid(2),))
    world.sql("select kizunasync.compact()")
    assert world.sql("select seq from kizunasync.change_log order by 1") == [(3,), (4,)]
    world.sql("update kizunasync.clients set last_seen = now() - interval '91 days' where client_key::text ="
              " %s", (uid(1),))
    world.sql("select kizunasync.compact()")
    assert world.sql("select seq from kizunasync.change_log") == [(4,)]


def test_compaction_drops_the_journal_of_the_entries_it_drops(world: World):
    world.tasks(conflict_journal=True)
    world.put("tasks", id=1, title="a")
    anna = world.caller()
    for title in ("b", "c"):
        anna.push(update("tasks", "1", {"title": title}))
    assert world.count("overwrites") == 2
    world.sql("select kizunasync.compact()")
    assert world.sql("select loser_value #>> '{}' from kizunasync.overwrites") == [("b",)]


# ---- pruning


def test_pruning_forgets_old_clients_and_old_verdicts(world: World):
    world.tasks(register_clients=True)
    old, new = world.caller(client=uid(1)), world.caller(client=uid(2))
    first, second = insert("tasks", "1"), insert("tasks", "2")
    old.push(first)
    new.push(second)
    world.sql("update kizunasync.clients set last_seen = now() - interval '91 days' where client_key::text ="
              " %s", (uid(1),))
    world.sql("update kizunasync.ledger set recorded_at = now() - interval '91 days' where mutation_id::text"
              " = %s",
              (first["mutation_id"],))
    world.sql("select kizunasync.prune()")
    assert world.sql("select client_key::text from kizunasync.clients") == [(uid(2),)]
    assert world.sql("select mutation_id::text from kizunasync.ledger") == [(second["mutation_id"],)]


@pytest.mark.parametrize("world", ["supabase"], indirect=True)
def test_pruning_forgets_the_grants_of_deleted_users(world: World):
    world.tasks(bucket_column="place")
    world.put("tasks", id=1, place="home")
    world.sql("insert into auth.users (id) values (%s), (%s)", (ANNA, BEN))
    for user in (ANNA, BEN):
        world.caller(user).pull(HOME)
    world.sql("delete from auth.users where id = %s", (BEN,))
    world.sql("update kizunasync.grants set granted_at = now() - interval '10 years'")
    world.sql("select kizunasync.prune()")
    assert world.sql("select user_id::text, table_name, bucket from"
                     " kizunasync.grants") == [(ANNA, "tasks", "home")]


def test_a_grant_keeps_its_first_time_and_never_ages(world: World):
    world.tasks()
    world.put("tasks", id=1)
    anna = world.caller()
    anna.pull(entry("tasks"))
    world.sql("update kizunasync.grants set granted_at = '2001-01-01'")
    anna.pull(entry("tasks"))
    world.sql("select kizunasync.prune()")
    assert world.sql("select bucket, granted_at < '2002-01-01' from kizunasync.grants") == [("", True)]


# ---- settings


def test_settings_are_one_row_with_these_values(world: World):
    expected = {"max_batch_size": 500, "require_atomic": False, "max_pull_scan": 5000,
                "tombstone_ttl_days": 30,
                "client_ttl_days": 90, "hlc_max_skew_ms": 5000, "reap_schedule": "16 3 * * *",
                "compact_schedule": "47 3 * * *", "client_prune_schedule": "31 3 * * *"}
    names = ", ".join(expected)
    assert world.sql(f"select {names} from kizunasync.settings") == [tuple(expected.values())]
    assert world.sql_code("insert into kizunasync.settings default values").startswith("23")


@pytest.mark.parametrize("name, value", [
    ("max_batch_size", 0), ("max_pull_scan", 0), ("tombstone_ttl_days", 0), ("client_ttl_days", 0),
    ("hlc_max_skew_ms", -1), ("max_pull_scan", None), ("require_atomic", None), ("reap_schedule", "never"),
    ("compact_schedule", "61 3 * * *"), ("client_prune_schedule", "")])
def test_a_setting_out_of_range_is_refused(world: World, name: str, value: object):
    code = world.sql_code(f"update kizunasync.settings set {name} = %s", (value,))
    assert code.startswith(("22", "23"))


def test_settings_at_their_limits_are_taken(world: World):
    world.set(max_batch_size=1, max_pull_scan=1, tombstone_ttl_days=1, client_ttl_days=1, hlc_max_skew_ms=0)
    world.set(reap_schedule="*/5 0-4 1,15 * 1")


def test_a_delete_of_the_last_row_still_moves_the_horizon(world: World):
    world.tasks()
    world.put("tasks", id=1)
    anna = world.caller()
    anna.pull(entry("tasks"))
    sent = delete("tasks", "1")
    assert anna.push(sent) == verdicts(applied(sent))
    world.sql("select kizunasync.compact()")
    page = anna.pull(entry("tasks"), cursor="1")
    assert removed(page) == [("1", "2")] and page["cursor"] == "2"
