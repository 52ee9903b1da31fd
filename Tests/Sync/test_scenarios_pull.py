"""Pages: their limits and cursors, what shows before the last one, and what is refused."""

from __future__ import annotations

import pytest

from support import ANA, BEN, TABLES, World, bucket, key


def ids(page: dict) -> list[str]:
    return [each["pk"] for each in page["rows"]]


def test_s_40_an_empty_bucket_closes_at_zero(world: World):
    ana = world.device("ana", "todos")
    ana.sync()
    assert ana.pages() == [{"cursor": "0", "has_more": False, "rows": [], "signal": None, "tombstones": []}]
    assert ana.cursor() == "0" and ana.calls("pull")[0].body["buckets"] == [bucket("todos", user_id=ANA)]


def test_s_41_nothing_shows_before_the_closing_page(world: World):
    for number in (1, 2, 3):
        world.todo(number)
    ana = world.device("ana", "todos", sync={"page_limit": 2})
    seen: list = []
    world.upstream.before = lambda _, body: seen.append((body["cursor"], ana.keys("todos"), ana.cursor()))
    ana.pull()
    assert [(each["cursor"], each["has_more"]) for each in ana.pages()] == [("0:2", True), ("3", False)]
    assert [each.body["limit"] for each in ana.calls("pull")] == [2, 2]
    assert seen == [("0", [], "0"), ("0:2", [], "0")]
    assert ana.keys("todos") == [key(1), key(2), key(3)] and ana.cursor() == "3"


def test_s_42_a_removal_counts_against_the_limit_and_waits_for_the_closing_page(world: World):
    world.todo(1)
    ana = world.device("ana", "todos", sync={"page_limit": 2})
    ana.pull()
    assert ana.cursor() == "1"
    world.remove("todos", key(1))
    world.todo(3)
    world.todo(4)
    seen: list = []
    world.upstream.before = lambda function, body: seen.append((body["cursor"], ana.keys("todos")))
    ana.pull()
    first, last = ana.pages()[1:]
    assert [each["pk"] for each in first["tombstones"]] == [key(1)] and ids(first) == [key(3)]
    assert first["cursor"] == "1:3"
    assert first["tombstones"][0]["seq"] == "2" and "row" not in first["tombstones"][0]
    assert (ids(last), last["cursor"], last["has_more"]) == ([key(4)], "4", False)
    assert seen == [("1", [key(1)]), ("1:3", [key(1)])]
    assert ana.keys("todos") == [key(3), key(4)]


def test_s_43_exactly_as_many_as_the_limit_close_at_once(world: World):
    world.todo(1)
    world.todo(2)
    ana = world.device("ana", "todos", sync={"page_limit": 2})
    ana.pull()
    [page] = ana.pages()
    assert (ids(page), page["has_more"], page["cursor"]) == ([key(1), key(2)], False, "2")


def test_s_44_the_scan_cap_ends_a_page_early(world: World):
    world.setting(max_pull_scan=2)
    for number in (1, 2, 3):
        world.todo(number)
    ana = world.device("ana", "todos", sync={"page_limit": 3})
    ana.pull()
    assert [(len(each["rows"]), each["cursor"], each["has_more"]) for each in ana.pages()] == [
        (2, "0:2", True), (1, "3", False)]
    assert ana.keys("todos") == [key(1), key(2), key(3)]


def test_s_45_pages_emptied_by_hidden_rows_do_not_end_the_pull(world: World):
    world.setting(max_pull_scan=2)
    for number in (1, 2, 3, 4, 5):
        world.add("labels", id=number, owner=BEN, shared=number == 5)
    ana = world.device("ana", "labels")
    ana.pull()
    pages = ana.pages()
    assert (pages[0]["rows"], pages[0]["has_more"], pages[0]["cursor"]) == ([], True, "0:2")
    assert ids(pages[-1]) == ["5"] and not pages[-1]["has_more"]
    assert ana.keys("labels") == [5]


@pytest.mark.parametrize("version", [2, 1])
@pytest.mark.parametrize(("count", "limit"), [(1, 0), (65, 500)])
def test_s_46_a_senseless_request_is_refused_before_the_schema_gate(
        world: World, count: int, limit: int, version: int):
    world.sql("select kizunasync.register_table('todos', 'read-write', p_bucket_column => 'user_id', "
              "p_min_schema_version => 2)")
    entries = [bucket("todos", user_id=ANA)] * count
    answer = world.try_pull("ana", *entries, limit=limit, schema_version=version)
    assert (answer.status, answer.json()["code"]) == (400, "22023")


def test_s_47_a_bucketed_table_is_not_pulled_unscoped(world: World):
    world.join("ana", 7)
    world.add("recipes", slug="miso", kitchen_id=7)
    world.remove("recipes", "miso")
    assert world.reap() == 2
    assert world.try_pull("ana", bucket("recipes", kitchen_id=7), cursor="1").json()["signal"] == {
        "type": "CHECKPOINT_EXPIRED"}
    for cursor in ("0", "1"):
        assert world.try_pull("ana", bucket("recipes"), cursor=cursor).json()["code"] == "KZL01"
    world.sql("update kizunasync.registered_tables set min_schema_version = 2 where table_name = 'recipes'")
    assert world.pull("ana", bucket("recipes"))["signal"] == {"type": "RESET_REQUIRED"}
    world.sql("update kizunasync.registered_tables set min_schema_version = 1 where table_name = 'recipes'")
    unscoped = {name: value for name, value in TABLES["recipes"].items() if name != "bucket"}
    ana = world.device("ana", tables={"recipes": unscoped})
    assert "KZL01" in ana.pull(expect="PERMANENT_TRANSPORT")["message"]


def test_s_48_an_unreadable_key_column_fails_the_pull_and_another_is_left_out(world: World):
    world.todo(1, title="one")
    ana = world.device("ana", "todos")
    ana.pull()
    [row] = ana.pages()[0]["rows"]
    assert row["row"]["title"] == "one" and "hidden" not in row["row"]
    world.sql("revoke select on todos from authenticated")
    world.sql("grant select (user_id, title) on todos to authenticated")
    assert "KZL02" in ana.pull(expect="REMOTE")["message"]
    assert ana.keys("todos") == [key(1)] and ana.cursor() == "1"


def test_s_49_a_bucket_value_goes_through_its_type(world: World):
    world.todo(1)
    plain = world.pull("ana", bucket("todos", user_id=ANA))
    assert ids(plain) == [key(1)]
    assert world.pull("ana", bucket("todos", user_id=ANA.upper())) == plain
    refused = world.try_pull("ana", bucket("todos", user_id="xyz"))
    assert refused.status == 400 and refused.json()["code"].startswith("22")


def test_s_50_two_entries_of_one_table_are_a_union(world: World):
    world.join("ana", 7, 8)
    for slug, kitchen, servings in (("a", 7, 1), ("b", 8, 2), ("c", 7, 2)):
        world.add("recipes", slug=slug, kitchen_id=kitchen, servings=servings)
    both = [bucket("recipes", kitchen_id=7), bucket("recipes", kitchen_id=8)]
    assert ids(world.pull("ana", *both)) == ["a", "b", "c"]
    assert ids(world.pull("ana", both[0], bucket("recipes", kitchen_id=7, servings=2))) == ["a", "c"]


def test_s_51_a_hole_of_a_cursor_is_delivered_and_its_bytes_are_kept(world: World):
    for number in (1, 2, 3):
        world.todo(number)
    ana = world.device("ana", "todos")
    world.upstream.fail("body", function="pull", data={
        "cursor": "3~1", "has_more": False, "rows": [], "tombstones": [], "signal": None})
    ana.pull()
    assert ana.cursor() == "3~1" and ana.rows("todos") == []
    ana.pull()
    assert ana.calls("pull")[-1].body["cursor"] == "3~1"
    assert ids(ana.pages()[-1]) == [key(1)] == ana.keys("todos")
    assert ana.cursor() == "3"


def test_s_52_foreign_commits_move_the_cursor(world: World):
    world.todo(1, user="ben")
    ana = world.device("ana", "todos")
    ana.pull()
    assert ana.pages()[0] == {"cursor": "1", "has_more": False, "rows": [], "signal": None, "tombstones": []}
    assert ana.cursor() == "1" and ana.rows("todos") == []


def test_s_53_rows_come_in_the_order_of_their_writes_and_their_keys_are_texts(world: World):
    for number in (7, 10, 9):
        world.add("numbers", id=number, user_id=ANA)
    ana = world.device("ana", "numbers")
    ana.pull()
    assert ids(ana.pages()[0]) == ["7", "10", "9"]
    assert ana.keys("numbers") == [7, 9, 10]
    assert b'"seq": "1"' in ana.calls("pull")[0].payload or b'"seq":"1"' in ana.calls("pull")[0].payload
    ana.update("numbers", 10, {"v": "ten"})
    ana.sync()
    assert ana.sent()[0][0]["pk"] == "10" and world.row("numbers", 10)["v"] == "ten"
