"""Atomic batches: all or nothing, and nothing is remembered of a batch that was aborted."""

from __future__ import annotations

import pytest

from support import (BEN, World, aborted, applied, entry, insert, plus, rejected, rows, task, update,
                     verdicts)

FLAVOURS = pytest.mark.parametrize("world", ["plain", "supabase"], indirect=True)


@FLAVOURS
def test_s_29_a_refused_member_aborts_the_batch(world: World):
    world.tasks()
    world.put("tasks", id=2, title="theirs")
    anna = world.caller()
    x, y = insert("tasks", "1"), update("tasks", "2", {"title": "mine"}, precondition={"title": "old"})
    assert anna.push(x, y, atomic=True) == aborted(y, "PRECONDITION", task(2, title="theirs"))
    assert world.row("tasks", 1) is None and world.row("tasks", 2)["title"] == "theirs"
    assert rows(anna.pull(entry("tasks"))) == [("2", "1")]


@FLAVOURS
def test_s_30_the_row_of_an_abort_may_show_siblings_undone_with_it(world: World):
    world.tasks()
    world.put("tasks", id=1, likes=0, title="text")
    anna = world.caller()
    cursor = anna.pull(entry("tasks"))["cursor"]
    one, two = update("tasks", "1",
                      transforms={"likes": plus(1)}), update("tasks", "1", transforms={"title": plus(1)})
    assert anna.push(one, two, atomic=True) == aborted(two, "CONSTRAINT", task(1, likes=1, title="text"))
    assert world.row("tasks", 1)["likes"] == 0
    page = anna.pull(entry("tasks"), cursor=cursor)
    assert page["rows"] == [] == page["tombstones"]


@FLAVOURS
def test_s_31_a_batch_sent_again_after_its_reply_was_lost_has_its_effects_once(world: World):
    world.tasks()
    anna, made, counted = world.caller(), insert("tasks", "1",
                                                 {"likes": 1}), update("tasks", "1", transforms={
        "likes": plus(1)})
    expected = verdicts(applied(made), applied(counted, task(1, likes=2)))
    assert anna.push(made, counted, atomic=True) == expected
    high = world.high()
    assert anna.push(made, counted, atomic=True) == expected
    assert world.high() == high and world.row("tasks", 1)["likes"] == 2


def test_s_32_aborted_bytes_are_decided_afresh_once_unblocked(world: World):
    world.tasks()
    world.put("tasks", id=2, title="theirs")
    anna = world.caller()
    x, y = insert("tasks", "1"), update("tasks", "2", {"title": "mine"}, precondition={"title": "old"})
    assert anna.push(x, y, atomic=True) == aborted(y, "PRECONDITION", task(2, title="theirs"))
    world.sql("update tasks set title = 'old'")
    assert anna.push(x, y, atomic=True) == verdicts(applied(x), applied(y))


def test_a_recorded_member_counts_as_it_was_recorded(world: World):
    world.tasks()
    world.put("tasks", id=1, title="is")
    anna = world.caller()
    done, failed = insert("tasks", "2"), update("tasks", "1", {"title": "x"}, precondition={"title": "not"})
    anna.push(done, failed)
    fresh, other = insert("tasks", "3"), insert("tasks", "4")
    assert anna.push(done, fresh, atomic=True) == verdicts(applied(done), applied(fresh))
    assert anna.push(other, failed, atomic=True) == aborted(failed, "PRECONDITION", task(1, title="is"))
    assert world.row("tasks", 4) is None


def test_a_members_id_taken_by_another_user_aborts_the_batch(world: World):
    world.tasks()
    taken, other = insert("tasks", "1"), insert("tasks", "2")
    world.caller(BEN).push(taken)
    assert world.caller().push(other, taken, atomic=True) == aborted(taken, "RLS_DENIED", None)
    assert world.row("tasks", 2) is None


def test_the_first_refusal_is_the_offender(world: World):
    world.tasks()
    first, second = update("tasks", "8", {"title": "x"}), update("tasks", "9", {"title": "x"})
    assert world.caller().push(first, second, atomic=True) == aborted(first, "RLS_DENIED", None)


def test_members_see_what_their_siblings_did(world: World):
    world.tasks()
    made = insert("tasks", "1", {"title": "a"})
    edit = update("tasks", "1", {"title": "b"}, precondition={"title": "a"})
    assert world.caller().push(made, edit, atomic=True) == verdicts(applied(made), applied(edit))


@FLAVOURS
def test_i_07_an_aborted_batch_leaves_no_trace(world: World):
    world.tasks(conflict_mode="hlc", conflict_journal=True)
    stamp = "2026-01-01T00:00:00.000Z|0|a"
    world.put("tasks", id=1, title="was", likes=1)
    anna = world.caller()
    before, high = world.counts(), world.high()
    sent = [update("tasks", "1", {"title": "won"}, hlc=stamp),
            insert("tasks", "2", {"title": "x"}, hlc=stamp),
            update("tasks", "9", {"title": "x"}, hlc=stamp)]
    assert anna.push(*sent, atomic=True) == aborted(sent[2], "RLS_DENIED", None)
    assert world.counts() == before and world.count("ledger") == 0 and world.high() == high
    assert world.row("tasks", 1)["title"] == "was"


def test_i_02_a_rejection_changes_nothing_but_the_ledger(world: World):
    world.tasks(conflict_mode="hlc", conflict_journal=True)
    world.put("tasks", id=1, title="was", likes=1)
    anna, stamp = world.caller(), "2026-01-01T00:00:00.000Z|0|a"
    before, high = world.counts(), world.high()
    sent = update("tasks", "1", {"likes": 5}, transforms={"title": plus(1)}, hlc=stamp)
    assert anna.push(sent) == verdicts(rejected(sent, "CONSTRAINT", task(1, title="was", likes=1)))
    assert world.counts() == before and world.count("ledger") == 1 and world.high() == high
    assert world.row("tasks", 1) == task(1, title="was", likes=1)
