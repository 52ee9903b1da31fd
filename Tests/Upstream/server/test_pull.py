"""Pulling: pages, tokens, gates and what a page carries."""

from __future__ import annotations

import json

import pytest

from support import (ANNA, BEN, CORA, SUB, World, delete, entry, images, insert, keys, removed, rows,
                     signal_page, uid,
                     update)

OWN = f"owner = {SUB}"
FLAVOURS = pytest.mark.parametrize("world", ["plain", "supabase"], indirect=True)
HOME, WORK = entry("tasks", place="home"), entry("tasks", place="work")


def put_tasks(world: World, count: int, first: int = 1, **columns: object) -> None:
    for number in range(first, first + count):
        world.put("tasks", id=number, **columns)


@FLAVOURS
def test_s_40_an_empty_bucket_closes_at_zero(world: World):
    world.tasks(bucket_column="place")
    page = world.caller().pull(HOME)
    assert page == {"cursor": "0", "has_more": False, "rows": [], "signal": None, "tombstones": []}


@FLAVOURS
def test_s_41_three_rows_by_two_come_in_two_pages(world: World):
    world.tasks()
    put_tasks(world, 3)
    first, second = world.caller().pages(entry("tasks"), limit=2)
    assert (rows(first), first["cursor"], first["has_more"]) == ([("1", "1"), ("2", "2")], "0:2", True)
    assert (rows(second), second["cursor"], second["has_more"]) == ([("3", "3")], "3", False)


@FLAVOURS
def test_s_42_removals_count_against_the_limit(world: World):
    world.tasks()
    put_tasks(world, 1)
    anna = world.caller()
    assert anna.pull(entry("tasks"))["cursor"] == "1"
    world.sql("delete from tasks")
    put_tasks(world, 2, first=3)
    first, second = anna.pages(entry("tasks"), cursor="1", limit=2)
    assert removed(first) == [("1", "2")] and rows(first) == [("3", "3")] and first["cursor"] == "1:3"
    assert rows(second) == [("4", "4")] and removed(second) == [] and second["cursor"] == "4"


def test_s_43_exactly_the_limit_closes_at_once(world: World):
    world.tasks()
    put_tasks(world, 2)
    page = world.caller().pull(entry("tasks"), limit=2)
    assert keys(page) == ["1", "2"] and not page["has_more"] and page["cursor"] == "2"


def test_a_page_full_of_deliverables_closes_when_only_withheld_changes_follow(world: World):
    world.tasks(policy=OWN)
    put_tasks(world, 2, owner=ANNA)
    put_tasks(world, 2, first=3, owner=BEN)
    page = world.caller().pull(entry("tasks"), limit=2)
    assert keys(page) == ["1", "2"] and not page["has_more"] and page["cursor"] == "4"


def test_s_44_the_scan_cap_ends_a_page_before_its_limit(world: World):
    world.tasks()
    world.set(max_pull_scan=2)
    put_tasks(world, 3)
    first, second = world.caller().pages(entry("tasks"), limit=3)
    assert keys(first) == ["1", "2"] and first["cursor"] == "0:2"
    assert keys(second) == ["3"] and second["cursor"] == "3"


def test_the_scan_cap_met_exactly_closes(world: World):
    world.tasks()
    world.set(max_pull_scan=2)
    put_tasks(world, 2)
    assert not world.caller().pull(entry("tasks"))["has_more"]


def test_s_45_hidden_rows_fill_the_scan_cap_and_the_loop_still_ends(world: World):
    world.tasks(policy=OWN)
    world.set(max_pull_scan=2)
    put_tasks(world, 5, owner=BEN)
    put_tasks(world, 1, first=6, owner=ANNA)
    pages = list(world.caller().pages(entry("tasks")))
    assert [(keys(page), page["cursor"]) for page in pages] == [([], "0:2"), ([], "0:4"), (["6"], "6")]


def test_s_46_a_malformed_request_is_refused_before_its_schema_is_looked_at(world: World):
    world.tasks(min_schema_version=9)
    anna = world.caller()
    for limit in (0, -1):
        assert anna.pull_code(entry("tasks"), limit=limit) == "22023"
    assert anna.pull_code(*[entry("tasks")] * 65) == "22023"
    assert anna.pull(*[entry("tasks")] * 64)["signal"] == {"type": "RESET_REQUIRED"}


def test_s_47_a_bucketed_table_must_be_scoped(world: World):
    world.tasks(bucket_column="place", min_schema_version=2)
    world.put("tasks", id=1, place="home")
    world.sql("delete from tasks")
    world.put("tasks", id=2, place="home")
    world.reap()
    anna = world.caller(version=2)
    assert anna.pull(HOME, cursor="1") == signal_page("1", "CHECKPOINT_EXPIRED")
    for cursor in ("0", "1"):
        assert anna.pull_code(entry("tasks"), cursor=cursor) == "KZL01"
        assert anna.pull_code(entry("tasks", title="x"), cursor=cursor) == "KZL01"
        assert anna.pull_code(HOME, entry("tasks"), cursor=cursor) == "KZL01"
        assert anna.pull(entry("tasks"), cursor=cursor,
                         schema_version=1) == signal_page(cursor, "RESET_REQUIRED")


@FLAVOURS
def test_s_48_unreadable_columns(world: World):
    world.tasks(grants="select (id, title)")
    world.put("tasks", id=1, title="x", likes=3)
    assert images(world.caller().pull(entry("tasks"))) == {"1": {"id": 1, "title": "x"}}
    world.sql("revoke select on tasks from authenticated")
    world.sql("grant select (title) on tasks to authenticated")
    assert world.caller().pull_code(entry("tasks")) == "KZL02"


def test_an_unreadable_bucket_column_is_refused(world: World):
    world.tasks(bucket_column="place", grants="select (id, title)")
    assert world.caller().pull_code(HOME) == "KZL02"


def test_kzl02_comes_before_expiry(world: World):
    world.tasks(grants="select (title)")
    world.put("tasks", id=1)
    world.sql("delete from tasks")
    world.put("tasks", id=2)
    world.reap()
    assert world.caller().pull_code(entry("tasks"), cursor="1") == "KZL02"


def test_s_49_a_bucket_value_is_cast_through_its_type(world: World):
    world.table("items", "id bigint primary key, list uuid, n integer", bucket_column="list")
    lists = "abcdef00-0000-4000-8000-000000000001"
    world.put("items", id=1, list=lists, n=1)
    anna = world.caller()
    lower = anna.pull(entry("items", list=lists))
    assert keys(lower) == ["1"] and anna.pull(entry("items", list=lists.upper())) == lower
    assert anna.pull_code(entry("items", list="xyz")).startswith("22")
    world.sql("delete from items")
    page = anna.pull(entry("items", list=lists.upper()), cursor=lower["cursor"])
    assert removed(page) == [("1", "2")]


def test_s_50_two_entries_of_a_table_are_a_union_without_duplicates(world: World):
    world.tasks(bucket_column="place")
    for number, place in enumerate(["home", "work", "sea", "home"], 1):
        world.put("tasks", id=number, place=place, done=number > 1)
    anna = world.caller()
    assert keys(anna.pull(HOME, WORK)) == ["1", "2", "4"]
    assert keys(anna.pull(HOME, HOME, entry("tasks", place="home", done=True))) == ["1", "4"]
    assert keys(anna.pull(WORK, entry("tasks", place="home", done=True))) == ["2", "4"]
    world.sql("delete from tasks where place = 'home'")
    assert removed(anna.pull(HOME, HOME, WORK, cursor="4")) == [("1", "5"), ("4", "6")]


def test_s_51_holes_are_delivered_beside_what_is_above(world: World):
    world.tasks()
    put_tasks(world, 31)
    anna = world.caller()
    page = anna.pull(entry("tasks"), cursor="31~12")
    assert rows(page) == [("12", "12")] and page["cursor"] == "31"
    put_tasks(world, 1, first=32)
    page = anna.pull(entry("tasks"), cursor="31~12.30")
    assert rows(page) == [("12", "12"), ("30", "30"), ("32", "32")] and page["cursor"] == "32"


def test_holes_over_several_pages_lose_nothing(world: World):
    world.tasks()
    put_tasks(world, 6)
    pages = list(world.caller().pages(entry("tasks"), cursor="5~2.3", limit=1))
    assert {"2", "3", "6"} <= {pk for page in pages for pk in keys(page)}
    assert pages[0]["cursor"] == "5:2" and pages[-1]["cursor"] == "6"


def test_s_52_foreign_commits_only_move_the_cursor(world: World):
    world.tasks(bucket_column="place", policy=OWN)
    world.put("tasks", id=1, place="home", owner=BEN)
    world.put("tasks", id=2, place="work", owner=ANNA)
    page = world.caller().pull(HOME)
    assert page["rows"] == [] and not page["has_more"] and page["cursor"] == "2"


@FLAVOURS
def test_s_53_rows_come_in_the_order_of_their_numbers(world: World):
    world.tasks()
    for number in (7, 10, 9):
        world.put("tasks", id=number)
    assert rows(world.caller().pull(entry("tasks"))) == [("7", "1"), ("10", "2"), ("9", "3")]


ACCEPTED = ["0", "31", "31~12.30", "0:0", "9:4", "9:31~12.30", "1", "9223372036854775807"]
REJECTED = ["", " 8", "8 ", "08", "8~0", "8~8", "8~9", "9~7.3", "9~5.5", "9~", "9~5,6", "9~05", ":8", "8:",
            "-1:8",
            "+8", "1:2:3", "4:06", "-1", "00", "0~0", "8~-1", "1:8~8", "~5", "9~5.", "9~.5", "9~5~6", "x",
            "8\n", "1e3",
            "0x8", "8.0", "٨", "8:9~", "9~+5", "１", "null"]


@pytest.mark.parametrize("cursor", ACCEPTED)
def test_a_well_formed_token_is_accepted(world: World, cursor: str):
    world.tasks()
    page = world.caller().pull(entry("tasks"), cursor=cursor)
    assert page["rows"] == [] and not page["has_more"]
    assert int(page["cursor"]) == int(cursor.split("~")[0].split(":")[-1])


def test_malformed_tokens_are_refused(world: World):
    world.tasks()
    anna = world.caller()
    codes = {cursor: anna.pull_code(entry("tasks"), cursor=cursor) for cursor in REJECTED}
    assert {cursor: code for cursor, code in codes.items() if code != "22023"} == {}
    for huge in ("99999999999999999999", "99999999999999999999:1", "99999999999999999999~5"):
        assert anna.pull_code(entry("tasks"), cursor=huge).startswith("22")


@pytest.mark.parametrize("buckets", [None, {}, "x", [1], [{}], [{"table": 7, "params": {}}], [{"params": {}}],
                                     [{"table": "tasks", "params": []}], [{"table": "tasks", "params": "x"}]],
                                     ids=str)
def test_malformed_buckets_are_refused(world: World, buckets: object):
    world.tasks()
    code = world.caller().code("pull", buckets=buckets, cursor="0", schema_version=1)
    assert code.startswith("22")


@pytest.mark.parametrize("is_analyzed", [False, True])
def test_a_page_reads_its_own_rows_and_no_others(world: World, is_analyzed: bool):
    """However large the table is."""
    world.tasks()
    world.sql("insert into tasks (id, owner) select number, %s from generate_series(1, 30000) number", (ANNA,))
    if is_analyzed:
        world.sql("analyze")
    session = world.open()
    session.act_as({"sub": ANNA, "role": "authenticated"}, "authenticated")
    page = session.one("select kizunasync.pull(%s, '0', 1, 3000)::text", (json.dumps([entry("tasks")]),))
    assert len(json.loads(page)["rows"]) == 3000
    session.sql("reset role")
    read = session.one("select seq_tup_read + idx_tup_fetch from pg_stat_xact_user_tables where relname = 'tasks'")
    assert 3000 <= read <= 4000


def test_a_schema_version_below_one_is_refused(world: World):
    world.tasks()
    assert world.caller().pull_code(entry("tasks"), schema_version=0) == "22023"


def test_an_unregistered_table_is_refused(world: World):
    world.tasks()
    world.create("loose", "id bigint primary key")
    for table in ("loose", "nowhere"):
        assert world.caller().pull_code(entry("tasks"), entry(table)) == "0A000"


def test_no_buckets_is_an_empty_closing_page_at_the_horizon(world: World):
    world.tasks()
    put_tasks(world, 2)
    page = world.caller().pull()
    assert page["rows"] == [] and page["cursor"] == "2" and not page["has_more"]


def test_a_missing_or_null_limit_is_five_hundred(world: World):
    world.tasks()
    world.sql("insert into tasks (id) select generate_series(1, 501)")
    anna = world.caller()
    for fields in ({}, {"limit": None}):
        first, second = anna.pages(entry("tasks"), **fields)
        assert len(first["rows"]) == 500 and len(second["rows"]) == 1


def test_params_compare_the_rendered_row(world: World):
    world.tasks(bucket_column="place")
    world.put("tasks", id=1, place="home", done=True, likes=3, title="3")
    world.put("tasks", id=2, place="home", done=False, likes=4, title="x")
    world.put("tasks", id=3, place="home")
    anna = world.caller()
    for params, expected in (({"done": True}, ["1"]), ({"likes": 4}, ["2"]), ({"title": "x"}, ["2"]),
                             ({"title": "3"}, ["1"]), ({"likes": 3, "done": True}, ["1"]),
                             ({"likes": 3, "done": False}, []), ({"id": 3}, ["3"])):
        assert keys(anna.pull(entry("tasks", {"place": "home"} | params))) == expected, params


def test_an_unbucketed_table_may_be_narrowed_by_params(world: World):
    world.tasks()
    put_tasks(world, 3)
    assert keys(world.caller().pull(entry("tasks", id=2))) == ["2"]


def test_integer_and_boolean_bucket_columns(world: World):
    world.table("rooms", "id bigint primary key, floor integer, open boolean", bucket_column="floor")
    world.table("doors", "id bigint primary key, open boolean", bucket_column="open")
    world.sql("insert into rooms values (1, 7, true), (2, 8, true), (3, 7, false); insert into doors values"
              " (1, true), (2, false)")
    anna = world.caller()
    assert keys(anna.pull(entry("rooms",
                                floor=7))) == keys(anna.pull(entry("rooms", floor="7"))) == ["1", "3"]
    assert keys(anna.pull(entry("rooms", floor=7, open=True))) == ["1"]
    assert keys(anna.pull(entry("doors", open=True))) == ["1"]


def test_a_row_without_a_bucket_value_reaches_nobody(world: World):
    world.tasks(bucket_column="place")
    world.put("tasks", id=1)
    anna = world.caller()
    assert anna.pull(HOME)["rows"] == [] == anna.pull(entry("tasks", place=""))["rows"]


def test_a_row_image_has_the_column_names_and_order_independent_values(world: World):
    world.table("odd", 'id bigint primary key, "Weird Name" text, "a""b" integer, "select" boolean')
    world.sql("""insert into odd values (1, 'x', 2, true)""")
    expected = {"id": 1, "Weird Name": "x", 'a"b': 2, "select": True}
    assert images(world.caller().pull(entry("odd"))) == {"1": expected}
    sent = update("odd", "1", {"Weird Name": "y", 'a"b': 3}, precondition={"select": True})
    assert world.caller().push(sent)["verdicts"][0]["verdict"] == "applied"
    assert world.row("odd", 1) == expected | {"Weird Name": "y", 'a"b': 3}


def test_several_tables_share_one_sequence_of_numbers(world: World):
    world.tasks()
    world.table("notes", "id uuid primary key, body text")
    world.put("tasks", id=1)
    world.put("notes", id=uid(1))
    world.put("tasks", id=2)
    page = world.caller().pull(entry("tasks"), entry("notes"))
    assert [(row["table"], row["pk"], row["seq"]) for row in page["rows"]] == [
        ("tasks", "1", "1"), ("notes", uid(1), "2"), ("tasks", "2", "3")]
    assert keys(world.caller().pull(entry("notes"))) == [uid(1)]


def test_i_08_a_signal_page_is_empty_and_echoes_its_cursor(world: World):
    world.tasks(min_schema_version=2, register_clients=True)
    anna = world.caller(client=uid(7))
    for cursor in ("0", "31~12.30", "9:31~12.30"):
        for version in (1, None):
            assert anna.pull(entry("tasks"), cursor=cursor, schema_version=version) == signal_page(
                cursor, "RESET_REQUIRED")
    assert world.count("clients") == 0


def test_i_12_a_closing_page_never_falls_below_what_came_in(world: World):
    world.tasks()
    put_tasks(world, 2)
    for cursor in ("2", "5", "7:9", "9~2.3"):
        check = world.caller().pull(entry("tasks"), cursor=cursor)
        assert int(check["cursor"]) == max(2, int(cursor.split("~")[0].split(":")[-1]))


def test_i_13_pages_joined_equal_one_unlimited_page(world: World):
    world.tasks(bucket_column="place", policy=f"{OWN} or owner is null")
    anna = world.caller()
    for number in range(1, 41):
        world.put("tasks", id=number, place=["home", "work", "sea"][number % 3],
                  owner=[None, BEN][number % 5 == 0])
    anna.pull(HOME, WORK)
    world.sql("delete from tasks where mod(id, 4) = 0")
    world.sql("update tasks set place = 'sea' where id in (1, 5, 9, 13)")
    world.sql("update tasks set title = 'new' where id > 30")
    for cursor in ("0", "7", "40", "45"):
        whole = anna.pull(HOME, WORK, cursor=cursor)
        assert not whole["has_more"]
        for limit, cap in ((1, 5000), (2, 5000), (3, 2), (500, 1), (7, 3), (500, 4)):
            world.set(max_pull_scan=cap)
            pages = list(anna.pages(HOME, WORK, cursor=cursor, limit=limit))
            assert [row for page in pages for row in page["rows"]] == whole["rows"]
            assert [each for page in pages for each in page["tombstones"]] == whole["tombstones"]
            assert pages[-1]["cursor"] == whole["cursor"]
        world.set(max_pull_scan=5000)


def test_i_18_a_transfer_from_zero_never_expires(world: World):
    world.tasks()
    put_tasks(world, 4)
    anna = world.caller()
    first = anna.pull(entry("tasks"), limit=1)
    assert first["cursor"] == "0:1"
    world.sql("delete from tasks where id in (3, 4)")
    put_tasks(world, 1, first=5)
    assert world.reap() == 6
    pages = list(anna.pages(entry("tasks"), cursor="0:1", limit=1))
    assert [keys(page) for page in pages] == [["2"], ["5"]] and pages[-1]["cursor"] == "7"


def test_i_20_an_image_is_the_row_at_render_time(world: World):
    world.tasks()
    put_tasks(world, 3, title="old")
    anna = world.caller()
    first = anna.pull(entry("tasks"), limit=1)
    world.sql("update tasks set title = 'new' where id = 2")
    pages = list(anna.pages(entry("tasks"), cursor=first["cursor"]))
    assert rows(pages[0]) == [("3", "3"), ("2", "4")] and images(pages[0])["2"]["title"] == "new"


def test_i_05_a_replys_row_is_within_what_its_caller_may_select(world: World):
    world.tasks(policy=f"{OWN} or place = 'open'",
                grants="select (id, place, owner, title), insert, update, delete")
    world.sql("insert into tasks (id, place, owner, likes) values (1, 'open', %s, 5), (2, 'shut', %s, 6)",
              (BEN, BEN))
    cora = world.caller(CORA)
    stale = [update("tasks", pk, {"title": "x"}, precondition={"title": "no"}) for pk in "12"]
    first, second = cora.push(*stale)["verdicts"]
    assert first["server_row"] == {"id": 1, "place": "open", "owner": BEN, "title": None}
    assert second["server_row"] is None


def test_i_01_and_i_06_verdicts_match_the_request(world: World):
    world.tasks()
    sent = []
    for number in range(30):
        sent.append((insert("tasks", str(number)), update("tasks", str(100 + number), {"title": "x"}),
                     delete("tasks", str(number // 2)))[number % 3])
    answer = world.caller().push(*sent)["verdicts"]
    assert [verdict["mutation_id"] for verdict in answer] == [each["mutation_id"] for each in sent]
    assert {verdict["verdict"] for verdict in answer} == {"applied", "rejected"}
    for verdict in answer:
        assert ("server_row" in verdict) == (verdict["verdict"] == "rejected") == ("reason" in verdict)
