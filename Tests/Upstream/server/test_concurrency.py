"""Many sessions at once: no change is lost to a reader, and a writer that waited decides anew."""

from __future__ import annotations

import queue
import random
import threading

import pytest

from support import (ANNA, BEN, CORA, Background, Refused, Replica, World, applied, delete, entry, insert,
                     keys, plus,
                     rejected, removed, rows, task, update, verdicts)

FLAVOURS = pytest.mark.parametrize("world", ["plain", "supabase"], indirect=True)
TASKS = entry("tasks")


@FLAVOURS
def test_s_86_a_transaction_open_during_a_pull_is_delivered_by_the_next(world: World):
    world.tasks()
    first, second = world.open(), world.open()
    first.sql("insert into tasks (id) values (1)")
    second.sql("insert into tasks (id) values (2)")
    second.commit()
    anna = world.caller()
    page = anna.pull(TASKS)
    assert keys(page) == ["2"]
    first.commit()
    later = anna.pull(TASKS, cursor=page["cursor"])
    assert keys(later) == ["1"] and int(later["rows"][0]["seq"]) > int(page["rows"][0]["seq"])


@pytest.mark.parametrize("committers", [4])
def test_s_87_a_hundred_writers_and_a_looping_puller(world: World, committers: int):
    """A hundred open transactions write in one order and commit in another, while a replica pulls."""
    world.tasks(bucket_column="place")
    world.sql("insert into tasks (id, place) select n, 'home' from generate_series(1, 100) n")
    dice = random.Random(87)
    writers = [world.open() for _ in range(100)]
    for number, writer in enumerate(writers, 1):
        writer.sql("insert into tasks (id, place) values (%s, 'home')", (number + 1000,))
        writer.sql(f"update tasks set title = 'by {number}' where id = {number}")
        if number % 7 == 0:
            writer.sql(f"delete from tasks where id = {number}")
        if number % 5 == 0:
            writer.sql(f"update tasks set place = 'work' where id = {number}")
    dice.shuffle(writers)
    waiting: queue.SimpleQueue = queue.SimpleQueue()
    for number, writer in enumerate(writers):
        waiting.put((number % 10 == 9, writer))
    finished = threading.Event()
    replica = Replica(world.caller().apart(), entry("tasks", place="home"))

    def commit() -> None:
        while not waiting.empty():
            try:
                undo, writer = waiting.get_nowait()
            except queue.Empty:
                return
            writer.rollback() if undo else writer.commit()

    def pull() -> int:
        transfers = 0
        while not finished.is_set():
            replica.pull(limit=dice.choice([3, 17, 500]))
            transfers += 1
        return transfers

    puller = Background(pull)
    threads = [Background(commit) for _ in range(committers)]
    for thread in threads:
        thread.wait(60)
    finished.set()
    assert puller.wait(60) > 0
    replica.pull()
    expected = {("tasks", str(key)): world.row("tasks", key)
                for (key,) in world.sql("select id from tasks where place = 'home'")}
    assert replica.held == expected and len(expected) > 100


def test_i_14_contended_rows_reach_the_puller(world: World):
    """Writers that block one another on the same rows, as users through push and as direct SQL."""
    world.tasks()
    world.sql("insert into tasks (id, likes) select n, 0 from generate_series(1, 5) n")
    finished = threading.Event()
    replica = Replica(world.caller(CORA).apart(), TASKS)

    def pusher(user: str) -> None:
        caller, dice = world.caller(user).apart(), random.Random(user)
        for _ in range(25):
            key = str(dice.randrange(1, 6))
            caller.push(update("tasks", key, transforms={"likes": plus(1)}))

    def pull() -> None:
        while not finished.is_set():
            replica.pull(limit=2)

    puller = Background(pull)
    for thread in [Background(lambda user=user: pusher(user)) for user in (ANNA, BEN, CORA, ANNA)]:
        thread.wait(60)
    finished.set()
    puller.wait(60)
    replica.pull()
    assert sum(image["likes"] for image in replica.held.values()) == 100
    assert world.high() == 105 and world.count("pending_changes") == 0


def test_i_15_what_commits_after_a_snapshot_is_numbered_above_all_it_saw(world: World):
    world.tasks()
    early, snapshot = world.open(), world.open()
    early.sql("insert into tasks (id) values (1)")
    world.put("tasks", id=2)
    snapshot.sql("set transaction isolation level repeatable read")
    seen = snapshot.one("select max(seq) from kizunasync.change_log")
    early.commit()
    world.put("tasks", id=3)
    fresh = world.sql("select pk, seq from kizunasync.change_log where seq > %s", (seen,))
    assert {pk for pk, _ in fresh} == {"1", "3"}
    assert snapshot.one("select max(seq) from kizunasync.change_log") == seen


def test_i_15_under_load_no_number_appears_below_one_already_seen(world: World):
    world.tasks()
    finished = threading.Event()
    sessions = [world.open() for _ in range(4)]

    def write(session, base: int) -> None:
        for number in range(base, base + 60):
            session.sql("insert into tasks (id) values (%s)", (number,))
            session.commit()

    def watch() -> int:
        seen: set[int] = set()
        looks = 0
        while not finished.is_set():
            now = {seq for (seq,) in world.sql("select seq from kizunasync.change_log")}
            assert not now - seen or not seen or min(now - seen) > max(seen)
            assert now == set(range(1, len(now) + 1))
            seen, looks = now, looks + 1
        return looks

    watcher = Background(watch)
    for thread in [Background(lambda session=session, base=base: write(session, base * 1000))
                   for base, session in enumerate(sessions, 1)]:
        thread.wait(60)
    finished.set()
    assert watcher.wait() > 1 and world.high() == 240


def test_i_19_a_move_is_never_seen_half(world: World):
    world.tasks(bucket_column="place")
    world.put("tasks", id=1, place="home")
    finished, mover = threading.Event(), world.open()
    home, work = entry("tasks", place="home"), entry("tasks", place="work")
    replica = Replica(world.caller().apart(), home, work)
    replica.pull()

    def pull() -> int:
        looks = 0
        while not finished.is_set():
            replica.pull(limit=1)
            assert set(replica.held) == {("tasks", "1")}
            looks += 1
        return looks

    puller = Background(pull)
    for number in range(80):
        mover.sql("update tasks set place = %s", (("work", "home")[number % 2],))
        mover.commit()
    finished.set()
    assert puller.wait() > 1


def test_commits_of_synced_tables_wait_for_each_other_and_for_nothing_else(world: World):
    world.tasks()
    world.create("loose", "id bigint primary key")
    early, other, loose = world.open(), world.open(), world.open()
    early.sql("insert into tasks (id) values (1); set constraints all immediate")
    other.sql("insert into tasks (id) values (2)")
    waiting = Background(other.commit)
    world.await_blocked(other)
    loose.sql("insert into loose values (1)")
    loose.commit()
    assert keys(world.caller().pull(TASKS)) == []
    early.commit()
    waiting.wait()
    assert rows(world.caller().pull(TASKS)) == [("1", "1"), ("2", "2")]


# ---- locks held by peers


@FLAVOURS
@pytest.mark.parametrize("write", [lambda title: update("tasks", "1", {"title": title}), lambda _: delete("tasks", "1")],
                         ids=["update", "delete"])
def test_s_90_a_write_that_waited_for_a_delete_loses_to_it(world: World, write):
    world.tasks()
    world.put("tasks", id=1, title="x")
    peer, anna, ben = world.open(), world.caller().apart(), world.caller(BEN).apart()
    anna.pull(TASKS)
    peer.sql("delete from tasks")
    by_anna, by_ben = write("y"), write("z")
    granted, stranger = Background(lambda: anna.push(by_anna)), Background(lambda: ben.push(by_ben))
    world.await_blocked(anna.session)
    world.await_blocked(ben.session)
    peer.commit()
    assert granted.wait() == verdicts(rejected(by_anna, "DELETE_WINS", None))
    assert stranger.wait() == verdicts(rejected(by_ben, "RLS_DENIED", None))


def test_an_update_that_waited_for_a_delete_rolled_back_is_applied(world: World):
    world.tasks()
    world.put("tasks", id=1)
    peer, anna = world.open(), world.caller().apart()
    peer.sql("delete from tasks")
    sent = update("tasks", "1", {"title": "y"})
    waiting = Background(lambda: anna.push(sent))
    world.await_blocked(anna.session)
    peer.rollback()
    assert waiting.wait() == verdicts(applied(sent))


def test_an_update_that_waited_checks_its_precondition_on_the_row_it_got(world: World):
    world.tasks()
    world.put("tasks", id=1, title="old")
    peer, anna = world.open(), world.caller().apart()
    peer.sql("update tasks set title = 'new'")
    sent = update("tasks", "1", {"likes": 1}, precondition={"title": "old"})
    waiting = Background(lambda: anna.push(sent))
    world.await_blocked(anna.session)
    peer.commit()
    assert waiting.wait() == verdicts(rejected(sent, "PRECONDITION", task(1, title="new")))


def test_an_increment_that_waited_adds_to_the_new_value(world: World):
    world.tasks()
    world.put("tasks", id=1, likes=1)
    peer, anna = world.open(), world.caller().apart()
    peer.sql("update tasks set likes = 41")
    sent = update("tasks", "1", transforms={"likes": plus(1)})
    waiting = Background(lambda: anna.push(sent))
    world.await_blocked(anna.session)
    peer.commit()
    assert waiting.wait() == verdicts(applied(sent, task(1, likes=42)))


def test_a_row_moved_out_of_reach_while_an_update_waits_is_refused(world: World):
    world.tasks(policy="owner is null", check="true")
    world.put("tasks", id=1)
    peer, anna = world.open(), world.caller().apart()
    peer.sql("update tasks set owner = %s", (BEN,))
    sent = update("tasks", "1", {"title": "x"})
    waiting = Background(lambda: anna.push(sent))
    world.await_blocked(anna.session)
    peer.commit()
    assert waiting.wait() == verdicts(rejected(sent, "RLS_DENIED", None))
    assert world.row("tasks", 1)["title"] is None


def test_a_delete_that_waited_checks_its_precondition_on_the_row_it_got(world: World):
    world.tasks()
    world.put("tasks", id=1, title="old")
    peer, anna = world.open(), world.caller().apart()
    peer.sql("update tasks set title = 'new'")
    sent = delete("tasks", "1", precondition={"title": "old"})
    waiting = Background(lambda: anna.push(sent))
    world.await_blocked(anna.session)
    peer.commit()
    assert waiting.wait() == verdicts(rejected(sent, "PRECONDITION", task(1, title="new")))
    assert world.row("tasks", 1)


def test_two_inserts_of_one_key_are_one_row(world: World):
    world.tasks()
    anna, ben = world.caller().apart(), world.caller(BEN).apart()
    first, second = insert("tasks", "1", {"title": "anna"}), insert("tasks", "1", {"likes": 2})
    anna.session.act_as(anna.claims, "authenticated")
    anna.session.call("push", anna.push_body([first], False, {}))
    waiting = Background(lambda: ben.push(second))
    world.await_blocked(ben.session)
    anna.session.commit()
    assert waiting.wait() == verdicts(applied(second))
    assert world.row("tasks", 1) == task(1, title="anna", likes=2)


@pytest.mark.parametrize("day, wins", [(4, False), (6, True)])
def test_two_clocked_inserts_of_one_key_are_judged_by_their_stamps(world: World, day: int, wins: bool):
    world.tasks(conflict_mode="hlc")
    anna, ben = world.caller().apart(), world.caller(BEN).apart()
    first = insert("tasks", "1", {"title": "anna"}, hlc="2026-01-05T00:00:00.000Z|0|a")
    second = insert("tasks", "1", {"title": "ben"}, hlc=f"2026-01-0{day}T00:00:00.000Z|0|b")
    anna.session.act_as(anna.claims, "authenticated")
    anna.session.call("push", anna.push_body([first], False, {}))
    waiting = Background(lambda: ben.push(second))
    world.await_blocked(ben.session)
    anna.session.commit()
    expected = applied(second) if wins else rejected(second, "SUPERSEDED", task(1, title="anna"))
    assert waiting.wait() == verdicts(expected)
    assert world.row("tasks", 1)["title"] == ("ben" if wins else "anna")


def test_i_03_one_mutation_pushed_twice_at_once_has_its_effect_once(world: World):
    world.tasks()
    world.put("tasks", id=1, likes=0)
    one, two = world.caller().apart(), world.caller().apart()
    sent = update("tasks", "1", transforms={"likes": plus(1)})
    one.session.act_as(one.claims, "authenticated")
    assert one.session.call("push", one.push_body([sent], False,
                                                  {})) == verdicts(applied(sent, task(1, likes=1)))
    waiting = Background(lambda: two.push(sent))
    world.await_blocked(two.session)
    one.session.commit()
    try:
        assert waiting.wait() == verdicts(applied(sent, task(1, likes=1)))
    except Refused as refused:
        assert refused.code[:2] in ("40", "55"), "only a retryable code may stand for the verdict"
    assert world.row("tasks", 1)["likes"] == 1
    assert two.push(sent) == verdicts(applied(sent, task(1, likes=1)))


def test_i_03_one_insert_pushed_twice_at_once(world: World):
    world.tasks()
    one, two = world.caller().apart(), world.caller().apart()
    sent = insert("tasks", "1", {"title": "x"})
    one.session.act_as(one.claims, "authenticated")
    one.session.call("push", one.push_body([sent], False, {}))
    waiting = Background(lambda: two.push(sent))
    world.await_blocked(two.session)
    one.session.commit()
    try:
        assert waiting.wait() == verdicts(applied(sent))
    except Refused as refused:
        assert refused.code[:2] in ("40", "55"), "only a retryable code may stand for the verdict"
    assert two.push(sent) == verdicts(applied(sent)) and world.high() == 1


def test_opposite_lock_orders_deadlock_with_a_code_to_retry(world: World):
    world.tasks()
    world.put("tasks", id=1)
    world.put("tasks", id=2)
    anna, ben = world.caller().apart(), world.caller(BEN).apart()
    calls = []
    for caller, key in ((anna, "1"), (ben, "2")):
        caller.session.act_as(caller.claims, "authenticated")
        caller.session.call("push", caller.push_body([update("tasks", key, {"title": "first"})], False, {}))
    for caller, key in ((anna, "2"), (ben, "1")):
        body = caller.push_body([update("tasks", key, {"title": "second"})], False, {})
        calls.append(Background(lambda caller=caller, body=body: caller.session.call("push", body)))
    codes, answers = [], []
    for caller, call in sorted(zip((anna, ben), calls), key=lambda pair: pair[1].thread.is_alive()):
        call.thread.join(10)
    for caller, call in zip((anna, ben), calls):
        try:
            answers.append(call.wait())
            caller.session.commit()
        except Refused as refused:
            codes.append(refused.code)
            caller.session.rollback()
    assert codes == ["40P01"] and len(answers) == 1
    assert answers[0]["verdicts"][0]["verdict"] == "applied"


def test_a_cancelled_push_is_no_verdict(world: World):
    world.tasks()
    world.put("tasks", id=1)
    peer, anna = world.open(), world.caller().apart()
    peer.sql("update tasks set title = 'held'")
    sent = update("tasks", "1", {"title": "x"})
    waiting = Background(lambda: anna.push(sent))
    world.await_blocked(anna.session)
    world.sql("select pg_cancel_backend(%s)", (anna.session.pid,))
    with pytest.raises(Refused) as refused:
        waiting.wait()
    assert refused.value.code == "57014"
    peer.rollback()
    assert anna.push(sent) == verdicts(applied(sent))


def test_a_lock_timeout_is_no_verdict(world: World):
    world.tasks()
    world.put("tasks", id=1)
    peer, anna = world.open(), world.caller().apart()
    peer.sql("update tasks set title = 'held'")
    anna.session.sql("set lock_timeout = '20ms'")
    anna.session.commit()
    assert anna.push_code(update("tasks", "1", {"title": "x"})) == "55P03"


def test_a_page_has_one_snapshot(world: World):
    """Rows written while a page is built belong to the next one, whole transactions at a time."""
    world.tasks()
    finished, writer = threading.Event(), world.open()
    replica = Replica(world.caller().apart(), TASKS)

    def pull() -> int:
        looks = 0
        while not finished.is_set():
            replica.pull()
            pair = [replica.held.get(("tasks", key), {}).get("likes") for key in "12"]
            assert pair[0] == pair[1]
            looks += 1
        return looks

    puller = Background(pull)
    for number in range(80):
        writer.sql(f"insert into tasks (id, likes) values (1, {number}), (2, {number})"
                   " on conflict (id) do update set likes = excluded.likes")
        writer.commit()
    finished.set()
    assert puller.wait() > 1
    assert removed(replica.pull()[0]) == []


def test_a_reap_beside_pulls_never_loses_a_removal_in_silence(world: World):
    """Between the gate and the read a reap may commit: the puller gets the removal or is told it expired."""
    world.tasks()
    finished, keeper = threading.Event(), world.open()
    anna = world.caller().apart()

    def pull() -> int:
        held: dict[str, object] = {}
        cursor, looks = "0", 0
        while not finished.is_set():
            page = anna.pull(TASKS, cursor=cursor)
            if page["signal"]:
                held, cursor = {}, "0"
                continue
            held |= {row["pk"]: row["row"] for row in page["rows"]}
            for pk, _ in removed(page):
                held.pop(pk, None)
            cursor, looks = page["cursor"], looks + 1
            assert len(held) <= 1, "a removal was lost"
        return looks

    puller = Background(pull)
    for number in range(25):
        keeper.sql("delete from tasks")
        keeper.sql("insert into tasks (id) values (%s)", (number,))
        keeper.commit()
        keeper.sql("update kizunasync.tombstones set deleted_at = deleted_at - interval '400 days'")
        keeper.commit()
        keeper.sql("select kizunasync.reap()")
        keeper.commit()
    finished.set()
    assert puller.wait() > 0


def test_registering_a_table_beside_its_writers_loses_no_row(world: World):
    world.create("tasks", "id bigint primary key, title text")
    writer = world.open()
    writer.sql("insert into tasks (id) values (1)")
    registrar = world.open()
    waiting = Background(lambda: (registrar.sql("select kizunasync.register_table('tasks')"),
                                  registrar.commit()))
    waiting.thread.join(0.3)
    writer.sql("insert into tasks (id) values (2)")
    writer.commit()
    waiting.wait()
    world.put("tasks", id=3)
    assert sorted(keys(world.caller().pull(TASKS))) == ["1", "2", "3"]
