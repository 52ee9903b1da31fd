"""Removals: who is told that a row went, and who is not."""

from __future__ import annotations

import random

import pytest

from support import (ANNA, BEN, CORA, SUB, Replica, World, applied, delete, entry, insert, keys, rejected,
                     removed,
                     rows, update, verdicts)

OWN = f"owner = {SUB}"
FLAVOURS = pytest.mark.parametrize("world", ["plain", "supabase"], indirect=True)
HOME, WORK = entry("tasks", place="home"), entry("tasks", place="work")


@pytest.fixture
def placed(world: World) -> World:
    world.tasks(bucket_column="place")
    return world


@FLAVOURS
def test_s_54_a_pulled_row_that_is_deleted_leaves_a_tombstone(world: World):
    world.tasks(bucket_column="place")
    world.put("tasks", id=1, place="home")
    anna = world.caller()
    cursor = anna.pull(HOME)["cursor"]
    sent = delete("tasks", "1")
    assert anna.push(sent) == verdicts(applied(sent))
    page = anna.pull(HOME, cursor=cursor)
    assert page["rows"] == [] and removed(page) == [("1", "2")] and page["cursor"] == "2"
    assert page["tombstones"][0]["deleted_at"].endswith("+00:00")
    assert removed(anna.pull(HOME, cursor="2")) == []


@FLAVOURS
def test_s_55_a_first_pull_brings_no_old_tombstones(world: World):
    world.tasks(bucket_column="place")
    world.put("tasks", id=1, place="home")
    world.put("tasks", id=2, place="home")
    world.sql("delete from tasks where id = 1")
    page = world.caller().pull(HOME)
    assert keys(page) == ["2"] and removed(page) == [] and page["cursor"] == "3"


def test_s_56_tombstones_go_by_the_value_asked_for(placed: World):
    placed.put("tasks", id=1, place="home")
    placed.put("tasks", id=2, place="work")
    anna = placed.caller()
    assert anna.pull(HOME)["cursor"] == anna.pull(WORK)["cursor"] == "2"
    placed.sql("delete from tasks where id = 1")
    other = anna.pull(WORK, cursor="2")
    assert removed(other) == [] and other["cursor"] == "3"
    assert removed(anna.pull(HOME, cursor="2")) == [("1", "3")]


def test_naming_a_foreign_value_reveals_no_removals(placed: World):
    placed.put("tasks", id=1, place="home")
    ben = placed.caller(BEN)
    ben.pull(HOME)
    placed.sql("delete from tasks")
    assert removed(placed.caller(CORA).pull(HOME, cursor="1")) == []
    assert removed(ben.pull(HOME, cursor="1")) == [("1", "2")]


@FLAVOURS
def test_s_57_an_edit_of_a_deleted_row_pulled_before_or_never(world: World):
    world.tasks(bucket_column="place")
    world.put("tasks", id=1, place="home")
    anna, ben = world.caller(), world.caller(BEN)
    anna.pull(HOME)
    ben.pull(WORK)
    world.sql("delete from tasks")
    for op in (update, insert):
        known, unknown = op("tasks", "1", {"title": "x"}), op("tasks", "1", {"title": "x"})
        assert anna.push(known) == verdicts(rejected(known, "DELETE_WINS", None))
        assert ben.push(unknown) == verdicts(rejected(unknown, "RLS_DENIED", None))
    gone = delete("tasks", "1")
    assert ben.push(gone) == verdicts(rejected(gone, "RLS_DENIED", None))


@pytest.mark.parametrize("op", [update, insert])
def test_s_58_after_a_delete_of_the_same_push_the_key_stays_gone(placed: World, op):
    placed.put("tasks", id=1, place="home")
    gone, then = delete("tasks", "1"), op("tasks", "1", {"title": "x"})
    assert placed.caller().push(gone, then) == verdicts(applied(gone), rejected(then, "DELETE_WINS", None))
    assert placed.row("tasks", 1) is None


@FLAVOURS
def test_s_59_a_move_is_a_removal_to_those_left_behind(world: World):
    world.tasks(bucket_column="place")
    world.put("tasks", id=1, place="home")
    anna, ben = world.caller(), world.caller(BEN)
    anna.pull(HOME)
    ben.pull(HOME, WORK)
    world.sql("update tasks set place = 'work'")
    page = anna.pull(HOME, cursor="1")
    assert removed(page) == [("1", "2")] and page["rows"] == [] and page["cursor"] == "3"
    both = ben.pull(HOME, WORK, cursor="1")
    assert rows(both) == [("1", "3")] and removed(both) == []


def test_i_19_a_move_numbers_its_tombstone_below_its_write(placed: World):
    placed.put("tasks", id=1, place="home")
    placed.put("tasks", id=2, place="home")
    anna = placed.caller()
    anna.pull(HOME)
    anna.push(update("tasks", "1", {"place": "work"}), update("tasks", "2", {"place": "sea", "title": "x"}))
    left = {pk: int(seq) for pk, seq in removed(anna.pull(HOME, cursor="2"))}
    came = {pk: int(seq) for pk, seq in rows(anna.pull(WORK, entry("tasks", place="sea")))}
    assert set(left) == set(came) == {"1", "2"} and all(left[pk] < came[pk] for pk in left)
    assert sorted([*left.values(), *came.values()]) == [3, 4, 5, 6]


def test_a_move_to_and_from_no_value(placed: World):
    placed.put("tasks", id=1, place="home")
    anna = placed.caller()
    anna.pull(HOME)
    placed.sql("update tasks set place = null")
    page = anna.pull(HOME, cursor="1")
    assert [pk for pk, _ in removed(page)] == ["1"]
    placed.sql("update tasks set place = 'home'")
    assert keys(anna.pull(HOME, cursor=page["cursor"])) == ["1"]


def test_s_60_a_move_away_and_back_keeps_the_row(placed: World):
    placed.put("tasks", id=1, place="home")
    anna = placed.caller()
    anna.pull(HOME)
    placed.sql("update tasks set place = 'work'")
    placed.sql("update tasks set place = 'home'")
    page = anna.pull(HOME, cursor="1")
    assert keys(page) == ["1"] and removed(page) == []


def test_s_60_in_one_transaction(placed: World):
    placed.put("tasks", id=1, place="home")
    replica = Replica(placed.caller(), HOME)
    replica.pull()
    placed.sql("begin; update tasks set place = 'work'; update tasks set place = 'home'; commit")
    replica.pull()
    assert set(replica.held) == {("tasks", "1")}


def test_s_61_a_moved_row_is_edited_by_its_new_owner(placed: World):
    placed.put("tasks", id=1, place="home")
    anna = placed.caller()
    anna.pull(HOME, WORK)
    placed.sql("update tasks set place = 'work'")
    sent = update("tasks", "1", {"title": "x"})
    assert anna.push(sent) == verdicts(applied(sent))


def test_s_62_a_row_recreated_out_of_sight_is_a_removal(world: World):
    world.tasks(bucket_column="place", policy=f"{OWN} or owner is null")
    anna = world.caller()
    for number in (1, 2, 3):
        world.put("tasks", id=number, place="home")
    anna.pull(HOME)
    world.sql("delete from tasks")
    world.put("tasks", id=1, place="work")
    world.put("tasks", id=2, place="home", owner=BEN)
    world.put("tasks", id=3, place="home")
    page = anna.pull(HOME, cursor="3")
    assert {pk for pk, _ in removed(page)} == {"1", "2"} and keys(page) == ["3"]


def test_s_63_a_row_an_extra_param_filtered_out_leaves_its_tombstone(placed: World):
    placed.put("tasks", id=1, place="home", done=False)
    placed.put("tasks", id=2, place="home", done=True)
    open_ones = entry("tasks", place="home", done=False)
    granted, stranger = placed.caller(), placed.caller(BEN)
    assert keys(granted.pull(open_ones)) == ["1"]
    stranger.pull(WORK)
    placed.sql("update tasks set done = true where id = 1")
    cursor = granted.pull(open_ones, cursor="2")["cursor"]
    placed.sql("delete from tasks")
    assert {pk for pk, _ in removed(granted.pull(open_ones, cursor=cursor))} == {"1", "2"}
    assert removed(stranger.pull(open_ones, cursor=cursor)) == []


def test_s_64_an_update_pushed_after_its_removal_was_pulled_loses(placed: World):
    placed.put("tasks", id=1, place="home")
    anna = placed.caller()
    anna.pull(HOME)
    placed.sql("delete from tasks")
    assert removed(anna.pull(HOME, cursor="1")) == [("1", "2")]
    sent = update("tasks", "1", {"title": "x"})
    assert anna.push(sent) == verdicts(rejected(sent, "DELETE_WINS", None))


def test_a_move_and_a_later_delete_leave_a_tombstone_each(placed: World):
    placed.put("tasks", id=1, place="home")
    placed.put("tasks", id=2, place="work")
    anna = placed.caller()
    anna.pull(HOME, WORK)
    placed.sql("update tasks set place = 'work' where id = 1")
    placed.sql("delete from tasks where id = 1")
    assert len(removed(anna.pull(HOME, cursor="2"))) == len(removed(anna.pull(WORK, cursor="2"))) == 1
    page = anna.pull(HOME, WORK, cursor="2")
    assert [pk for pk, _ in removed(page)] == ["1", "1"]
    seqs = [seq for _, seq in removed(page)]
    assert seqs == sorted(seqs, key=int) and len(set(seqs)) == 2


def test_leaving_the_same_value_again_refreshes_its_tombstone(placed: World):
    placed.put("tasks", id=1, place="home")
    anna = placed.caller()
    anna.pull(HOME)
    numbers = []
    for _ in range(2):
        placed.sql("update tasks set place = 'work'")
        numbers.append(removed(anna.pull(HOME, cursor="1")))
        placed.sql("update tasks set place = 'home'")
    assert [len(each) for each in numbers] == [1, 1] and int(numbers[0][0][1]) < int(numbers[1][0][1])
    assert placed.one("select count(*) from kizunasync.tombstones where bucket = 'home'") == 1


def test_a_moved_row_then_deleted_is_judged_by_the_value_it_left(placed: World):
    placed.put("tasks", id=1, place="home")
    anna, ben = placed.caller(), placed.caller(BEN)
    anna.pull(HOME)
    placed.sql("update tasks set place = 'work'")
    ben.pull(WORK)
    placed.sql("delete from tasks")
    by_anna, by_ben = update("tasks", "1", {"title": "x"}), update("tasks", "1", {"title": "x"})
    assert anna.push(by_anna) == verdicts(rejected(by_anna, "RLS_DENIED", None))
    assert ben.push(by_ben) == verdicts(rejected(by_ben, "DELETE_WINS", None))


def test_a_tombstone_of_a_row_still_there_under_another_value_is_for_its_first_owner_only(placed: World):
    placed.put("tasks", id=1, place="home")
    anna = placed.caller()
    anna.pull(HOME)
    placed.sql("update tasks set place = 'work'")
    page = anna.pull(HOME, entry("tasks", place="work", done=True), cursor="1")
    assert [pk for pk, _ in removed(page)] == ["1"] and page["rows"] == []


def test_a_delete_and_a_new_row_of_the_key_in_one_transaction_travel_as_the_row(placed: World):
    placed.put("tasks", id=1, place="home")
    anna = placed.caller()
    anna.pull(HOME)
    placed.sql("begin; delete from tasks; insert into tasks (id, place, title) values (1, 'home', 'again');"
               " commit")
    page = anna.pull(HOME, cursor="1")
    assert keys(page) == ["1"] and removed(page) == []


def test_a_key_changed_by_direct_sql_removes_the_old_one(placed: World):
    placed.put("tasks", id=1, place="home")
    anna = placed.caller()
    anna.pull(HOME)
    placed.sql("update tasks set id = 5")
    page = anna.pull(HOME, cursor="1")
    assert keys(page) == ["5"] and [pk for pk, _ in removed(page)] == ["1"]


def test_only_pull_grants(placed: World):
    anna = placed.caller()
    anna.push(insert("tasks", "1", {"place": "home"}))
    placed.sql("delete from tasks")
    page = anna.pull(HOME)
    assert removed(page) == [] and placed.count("grants") == 0


def test_continuation_pages_grant_too(placed: World):
    for number in (1, 2, 3):
        placed.put("tasks", id=number, place="home")
    anna = placed.caller()
    assert anna.pull(HOME, limit=1)["has_more"]
    placed.sql("delete from tasks where id = 3")
    sent = update("tasks", "3", {"title": "x"})
    assert anna.push(sent) == verdicts(rejected(sent, "DELETE_WINS", None))


def test_a_withheld_row_grants_nothing(world: World):
    world.tasks(bucket_column="place", policy=OWN)
    world.put("tasks", id=1, place="home", owner=BEN)
    anna = world.caller()
    anna.pull(HOME)
    world.sql("delete from tasks")
    assert removed(anna.pull(HOME, cursor="1")) == []
    sent = update("tasks", "1", {"title": "x"})
    assert anna.push(sent) == verdicts(rejected(sent, "RLS_DENIED", None))


def test_nobody_is_granted_anything(placed: World):
    placed.put("tasks", id=1, place="home")
    nobody = placed.caller(None)
    assert keys(nobody.pull(HOME)) == ["1"] and placed.count("grants") == 0
    placed.sql("delete from tasks")
    assert removed(nobody.pull(HOME, cursor="1")) == []


def test_an_ex_member_still_learns_of_removals(world: World):
    world.tasks(bucket_column="place", policy=f"{OWN} or owner is null")
    world.put("tasks", id=1, place="home")
    anna = world.caller()
    anna.pull(HOME)
    world.sql("update tasks set owner = %s", (BEN,))
    cursor = anna.pull(HOME, cursor="1")["cursor"]
    world.sql("delete from tasks")
    assert [pk for pk, _ in removed(anna.pull(HOME, cursor=cursor))] == ["1"]


def test_i_16_no_tombstone_without_a_row_of_that_value_before(placed: World):
    anna, dice = placed.caller(), random.Random(5)
    for number in range(30):
        placed.put("tasks", id=number, place=dice.choice(["home", "work", "sea"]))
    received: set[str] = set()
    cursor = "0"
    for _ in range(12):
        place = dice.choice(["home", "work", "sea"])
        for page in anna.pages(entry("tasks", place=place), cursor=cursor, limit=2):
            assert not page["tombstones"] or place in received
            if page["rows"]:
                received.add(place)
        cursor = page["cursor"] if dice.random() < 0.5 else "0"
        placed.sql("delete from tasks where id = %s", (dice.randrange(30),))
        placed.sql("update tasks set place = %s where id = %s",
                   (dice.choice(["home", "sea"]), dice.randrange(30)))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_i_14_replicas_follow_random_changes(placed: World, seed: int):
    """Any mix of transactions, page sizes and scan caps leaves a replica with its buckets' rows."""
    dice = random.Random(seed)
    places = ["home", "work", "sea"]
    users = [Replica(placed.caller(user), *(entry("tasks", place=place) for place in chosen))
             for user, chosen in ((ANNA, ["home"]), (BEN, ["home", "work"]), (CORA, places))]
    for _ in range(25):
        change_at_random(placed, dice, places)
        replica = dice.choice(users)
        placed.set(max_pull_scan=dice.choice([1, 2, 5, 5000]))
        replica.pull(limit=dice.choice([1, 2, 3, 500]))
        assert replica.held == expected_rows(placed, replica)
    for replica in users:
        replica.pull()
        assert replica.held == expected_rows(placed, replica)
    assert placed.count("pending_changes") == 0


def change_at_random(world: World, dice: random.Random, places: list[str]) -> None:
    statements = []
    for _ in range(dice.randrange(1, 6)):
        key, place = dice.randrange(12), dice.choice(places)
        statements.append(dice.choice([
            f"insert into tasks (id, place) values ({key}, '{place}') on conflict (id) do update set likes ="
            f" {key}",
            f"insert into tasks (id, place) values ({key}, '{place}') on conflict (id) do update set place ="
            f" '{place}'",
            f"update tasks set place = '{place}' where id = {key}",
            f"update tasks set title = '{dice.random()}' where id = {key}",
            f"delete from tasks where id = {key}",
            f"savepoint s; delete from tasks where id = {key}; rollback to s",
            f"savepoint s; update tasks set place = '{place}' where id = {key}; release s",
        ]))
    world.sql("begin; " + "; ".join(statements)
              + dice.choice(["; commit", "; commit", "; commit", "; rollback"]))


def expected_rows(world: World, replica: Replica) -> dict:
    asked = [each["params"]["place"] for each in replica.entries]
    found = world.sql("select id::text from tasks where place = any(%s)", (asked,))
    return {("tasks", key): world.row("tasks", key) for (key,) in found}
