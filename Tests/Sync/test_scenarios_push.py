"""Writes that travel: verdicts, lost replies, refusals, and calls that fail as a whole."""

from __future__ import annotations

import json

import pytest

from support import ANA, BEN, TABLES, Device, World, bucket, key, kinds, mutation


def journal(device: Device) -> list[tuple[str, str, str]]:
    """What the rejection journal holds, the oldest entry first: key, kind, reason."""
    return [(each["pk"], each["kind"], each["reason"]) for each in reversed(device.rejections())]


def stale(world: World, table: str) -> None:
    """Makes the schema version of these gateways too old for the table."""
    world.sql("select kizunasync.register_table(%s, 'read-write', p_bucket_column => %s, "
              "p_min_schema_version => 2)", table, "user_id" if table == "todos" else "kitchen_id")


def test_s_01_a_local_insert_is_visible_before_it_travels_and_comes_back_at_the_first_number(world: World):
    ana = world.device("ana", "todos")
    ana.todo(1, title="milk")
    assert ana.row("todos", key(1))["title"] == "milk"
    assert ana.depth() == 1 and not ana.calls("push")
    ana.sync()
    assert ana.depth() == 0
    [sent], [answer] = ana.sent(), ana.answers()
    assert answer == {"verdicts": [{"mutation_id": sent[0]["mutation_id"], "verdict": "applied"}]}
    [pulled] = ana.pages()[-1]["rows"]
    assert ana.calls("pull")[0].body["cursor"] == "0"
    assert (pulled["pk"], pulled["seq"], pulled["row"]["title"]) == (key(1), "1", "milk")
    assert ana.cursor() == "1"


def test_s_02_two_updates_of_one_row_come_back_once(world: World):
    world.todo(1, title="one")
    ana = world.device("ana", "todos")
    ana.sync()
    ana.update("todos", key(1), {"title": "two"})
    ana.update("todos", key(1), {"title": "three", "n": 3})
    ana.sync()
    assert kinds(ana.answers()[0]) == ["applied", "applied"]
    page = ana.pages()[-1]
    assert [each["row"]["title"] for each in page["rows"]] == ["three"]
    assert page["rows"][0]["seq"] == page["cursor"] != "1"
    assert world.row("todos", key(1))["n"] == 3


def test_s_03_an_edit_of_a_row_that_was_given_away_is_denied_and_its_neighbour_applied(world: World):
    world.todo(1, title="mine")
    ana = world.device("ana", "todos")
    ana.sync()
    world.change("todos", key(1), user_id=BEN)
    ana.update("todos", key(1), {"title": "still mine?"})
    ana.todo(2, title="another")
    ana.push()
    [answer] = ana.answers()
    assert kinds(answer) == ["RLS_DENIED", "applied"]
    assert answer["verdicts"][0]["server_row"] is None
    assert ana.keys("todos") == [key(2)]
    assert journal(ana) == [(key(1), "REJECTED", "RLS_DENIED")]
    name, data = ana.events_until("MUTATION_REJECTED")[-1]
    assert data == {"mutation_id": ana.rejections()[0]["mutation_id"], "reason": "RLS_DENIED"}
    assert world.row("todos", key(1))["title"] == "mine"


def test_s_04_an_edit_of_a_key_that_never_existed_is_denied_and_a_valid_one_applied(world: World):
    world.todo(1, title="one")
    ana = world.device("ana", "todos")
    ana.sync()
    ana.apply("todos", key(9), "update", {"title": "nowhere"})
    ana.update("todos", key(1), {"title": "two"})
    ana.push()
    [answer] = ana.answers()
    assert kinds(answer) == ["RLS_DENIED", "applied"]
    assert answer["verdicts"][0]["server_row"] is None
    assert [each["title"] for each in ana.rows("todos")] == ["two"]


@pytest.mark.parametrize("fault", ["drop_after", "truncate", "status"])
def test_s_05_insert_reply_lost_identical_resend(world: World, fault: str):
    ana = world.device("ana", "todos")
    ana.todo(1, title="once")
    arguments = {"code": 502, "commit": True} if fault == "status" else {}
    lost = world.upstream.fail(fault, function="push", **arguments)
    ana.sync_until(lambda: ana.depth() == 0 and len(ana.calls("push")) >= 2)
    assert lost.hits == 1
    first, second = [each.body for each in ana.calls("push")][:2]
    assert first == second
    assert kinds(ana.world.push("ana", *second["batch"]["mutations"])) == ["applied"]
    assert world.pull("ana", bucket("todos", user_id=ANA))["cursor"] == "1"
    assert ana.rejections() == [] and ana.row("todos", key(1))["title"] == "once"


def test_s_06_a_resent_refusal_shows_the_row_as_it_is_now(world: World):
    world.todo(1, title="one")
    ana = world.device("ana", "todos")
    ana.sync()
    ana.update("todos", key(1), {"note": "seen"}, precondition={"title": "stale"})
    world.lose_reply()
    ana.push(expect="REMOTE")
    assert ana.depth() == 1
    world.change("todos", key(1), title="renamed")
    ana.push()
    verdict = ana.answers()[-1]["verdicts"][0]
    assert verdict["reason"] == "PRECONDITION" and verdict["server_row"]["title"] == "renamed"
    assert ana.row("todos", key(1))["title"] == "renamed" and ana.row("todos", key(1))["note"] is None


def test_s_07_another_user_learns_nothing_from_a_replayed_id(world: World):
    ana = world.device("ana", "todos")
    ana.todo(1, title="secret")
    ana.push()
    [[sent]] = ana.sent()
    stolen = world.push("ben", sent)["verdicts"][0]
    assert (stolen["verdict"], stolen["reason"], stolen["server_row"]) == ("rejected", "RLS_DENIED", None)
    assert kinds(world.push("ana", sent)) == ["applied"]


def test_s_08_a_replayed_transform_of_a_deleted_row_is_applied_without_a_row(world: World):
    world.todo(1, n=1)
    ana = world.device("ana", "todos")
    ana.sync()
    ana.apply("todos", key(1), "update", transforms={"n": {"op": "increment", "by": 1}})
    world.lose_reply()
    ana.push(expect="REMOTE")
    world.remove("todos", key(1))
    ana.push()
    sent = ana.sent()[0][0]["mutation_id"]
    assert ana.answers()[-1]["verdicts"] == [{"mutation_id": sent, "verdict": "applied"}]
    assert ana.depth() == 0 and ana.rejections() == []
    ana.pull()
    assert ana.rows("todos") == []


def test_s_09_a_replay_is_decided_anew_once_its_record_is_pruned(world: World):
    world.todo(1, title="one")
    again = mutation("todos", key(1), "update", {"title": "two"}, precondition={"title": "one"})
    assert kinds(world.push("ana", again)) == ["applied"]
    assert kinds(world.push("ana", again)) == ["applied"]
    world.prune_ledger()
    assert kinds(world.push("ana", again)) == ["PRECONDITION"]


def test_s_10_a_stale_precondition_shows_the_current_row(world: World):
    world.todo(1, title="one", note="a")
    ana = world.device("ana", "todos")
    ana.sync()
    world.change("todos", key(1), title="two")
    ana.update("todos", key(1), {"note": "b"}, precondition={"title": "one"})
    assert ana.row("todos", key(1))["note"] == "b"
    ana.push()
    assert journal(ana) == [(key(1), "REJECTED", "PRECONDITION")]
    [entry] = ana.rejections()
    assert entry["changed_columns"] == ["note"] and entry["server_row"]["title"] == "two"
    shown = ana.row("todos", key(1))
    assert (shown["title"], shown["note"]) == ("two", "a")


def test_s_11_a_precondition_is_compared_by_its_type(world: World):
    world.todo(1, title="one", ref=BEN, at="2026-01-01T00:00:00+00:00", price="4.5")
    ana = world.device("ana", "todos")
    ana.sync()
    ana.apply("todos", key(1), "update", {"title": "two"},
              precondition={"ref": BEN.upper(), "at": "2026-01-01T02:00:00+02:00", "price": "4.500"})
    ana.push()
    assert kinds(ana.answers()[-1]) == ["applied"]
    raw = mutation("todos", key(1), "update", {"title": "three"},
                   precondition={"ref": BEN.upper(), "at": "2026-01-01T02:00:00+02:00"})
    assert kinds(world.push("ana", raw)) == ["applied"]


@pytest.mark.parametrize(("precondition", "reason"), [
    ({"ghost": "x"}, "PRECONDITION"), ({"hidden": "x"}, "PRECONDITION"), ({"n": "abc"}, "CONSTRAINT")])
def test_s_12_a_precondition_that_cannot_hold(world: World, precondition: dict, reason: str):
    world.todo(1, title="one", n=1)
    columns = {"id": "uuid", "user_id": "uuid", **dict.fromkeys(["title", "n", "ghost", "hidden"], "text")}
    ana = world.device("ana", tables={"todos": {**TABLES["todos"], "columns": columns}})
    ana.sync()
    ana.update("todos", key(1), {"title": "two"}, precondition=precondition)
    ana.push()
    assert journal(ana) == [(key(1), "REJECTED", reason)]
    assert ana.row("todos", key(1))["title"] == world.row("todos", key(1))["title"] == "one"


def test_s_13_an_update_of_nothing_is_denied(world: World):
    world.todo(1, title="one")
    [verdict] = world.push("ana", mutation("todos", key(1), "update"))["verdicts"]
    assert verdict["reason"] == "RLS_DENIED" and verdict["server_row"]["title"] == "one"


def test_s_14_a_check_violation_leaves_its_neighbours_alone(world: World):
    ana = world.device("ana", "todos")
    for number, count in enumerate([1, -1, 3], start=1):
        ana.todo(number, n=count)
    ana.push()
    [answer] = ana.answers()
    assert kinds(answer) == ["applied", "CONSTRAINT", "applied"]
    assert ana.keys("todos") == [key(1), key(3)]
    assert [world.row("todos", key(each)) is not None for each in (1, 2, 3)] == [True, False, True]


def test_s_15_an_uncoded_raise_refuses_the_row_and_another_code_fails_the_call(world: World):
    ana = world.device("ana", "todos")
    ana.todo(1, title="raise")
    ana.todo(2, title="fine")
    ana.push()
    assert kinds(ana.answers()[0]) == ["CONSTRAINT", "applied"]
    ana.todo(3, title="raise 55000")
    ana.todo(4, title="fine")
    error = ana.push(expect="REMOTE")
    assert "55000" in error["message"]
    assert ana.depth() == 2 and world.row("todos", key(4)) is None
    assert ana.keys("todos") == [key(2), key(3), key(4)]


def test_s_16_a_forbidden_column_denies_the_whole_mutation(world: World):
    world.todo(1, title="one", locked="shut")
    ana = world.device("ana", "todos")
    ana.sync()
    ana.update("todos", key(1), {"title": "two", "locked": "open"})
    ana.push()
    [verdict] = ana.answers()[-1]["verdicts"]
    assert verdict["reason"] == "COLUMN_DENIED"
    assert verdict["server_row"]["locked"] == "shut" and "hidden" not in verdict["server_row"]
    assert (ana.row("todos", key(1))["title"], world.row("todos", key(1))["title"]) == ("one", "one")


def test_s_17_a_visible_row_that_may_not_be_written_is_denied_with_the_row(world: World):
    world.add("labels", id=1, owner=BEN, name="ben's")
    ana = world.device("ana", "labels")
    ana.sync()
    ana.update("labels", 1, {"name": "ana's"})
    assert ana.row("labels", 1)["name"] == "ana's"
    ana.push()
    [verdict] = ana.answers()[-1]["verdicts"]
    assert verdict["reason"] == "RLS_DENIED" and verdict["server_row"]["name"] == "ben's"
    assert ana.row("labels", 1)["name"] == "ben's"


def test_s_18_a_removal_outranks_a_forbidden_column(world: World):
    world.todo(1, title="one")
    ana = world.device("ana", "todos")
    ana.sync()
    world.remove("todos", key(1))
    ana.update("todos", key(1), {"locked": "open"})
    ana.push()
    assert ana.answers()[-1]["verdicts"][0]["server_row"] is None
    assert journal(ana) == [(key(1), "REJECTED", "DELETE_WINS")] and ana.rows("todos") == []


def test_s_19_an_insert_over_an_own_row_changes_the_named_columns(world: World):
    world.todo(1, title="old", note="kept", n=5)
    ana = world.device("ana", "todos")
    ana.todo(1, title="new")
    ana.sync()
    assert kinds(ana.answers()[0]) == ["applied"]
    row = world.row("todos", key(1))
    assert (row["title"], row["note"], row["n"]) == ("new", "kept", 5)
    assert ana.row("todos", key(1))["note"] == "kept"


def test_s_20_an_insert_that_fails_its_policy_is_taken_back(world: World):
    ana = world.device("ana", "todos")
    ana.todo(1, title="for ben", user_id=BEN)
    ana.push()
    [verdict] = ana.answers()[0]["verdicts"]
    assert verdict["reason"] == "RLS_DENIED" and verdict["server_row"] is None
    assert ana.rows("todos") == [] and world.row("todos", key(1)) is None


@pytest.mark.parametrize("size", [500, 200])
def test_s_21_a_batch_that_is_too_large_is_halved_until_all_is_delivered(world: World, size: int):
    world.setting(max_batch_size=size)
    ana = world.device("ana", "todos")
    ana.insert("todos", *({"id": key(each), "n": each} for each in range(501)))
    ana.sync()
    assert ana.depth() == 0 and ana.rejections() == []
    assert world.sql("select count(*) from todos") == [(501,)]
    sizes = [len(each) for each in ana.sent()]
    if size == 200:
        assert b"KZP02" in ana.calls("push")[0].payload
        assert sizes[:3] == [500, 250, 125] and max(sizes[3:]) <= 125
    else:
        assert sizes == [500, 1]
    sent = [each["pk"] for served in ana.calls("push") if served.status == 200
            for each in served.body["batch"]["mutations"]]
    assert sent == [key(each) for each in range(501)]


def test_s_22_an_atomic_batch_that_is_too_large_is_given_up_at_once(world: World):
    world.setting(max_batch_size=2)
    world.todo(1, title="before")
    ana = world.device("ana", "todos")
    ana.sync()
    ana.batch({"table": "todos", "pk": key(1), "op": "update", "columns": {"title": "after"}},
              *({"table": "todos", "pk": key(each), "op": "insert", "columns": {}} for each in (2, 3)))
    ana.todo(4, title="goes on")
    ana.sync()
    assert [(kind, "2" in reason) for _, kind, reason in journal(ana)] == [("DEAD_LETTER", True)] * 3
    text = json.loads(ana.calls("push")[0].payload)["message"]
    assert {reason for _, _, reason in journal(ana)} == {text}
    titles = [(each["id"], each["title"]) for each in ana.rows("todos")]
    assert titles == [(key(1), "before"), (key(4), "goes on")]
    assert world.row("todos", key(4)) is not None
    assert sum(name == "DEAD_LETTER" for name, _ in ana.events_until("MUTATION_REJECTED", 3)) == 3


@pytest.mark.parametrize(("table", "row", "code"), [
    ("units", {"code": "kg"}, "KZP01"), ("strays", {"id": key(1)}, "0A000")])
def test_s_23_a_table_that_takes_no_writes_fails_the_call(world: World, table: str, row: dict, code: str):
    columns = {"units": {"code": "text", "name": "text"}, "strays": {"id": "uuid", "v": "text"}}[table]
    ana = world.device("ana", "todos", tables={table: {"columns": columns, "key": list(row)}})
    ana.todo(2, title="valid")
    ana.insert(table, row)
    error = ana.push(expect="PERMANENT_TRANSPORT")
    assert code in error["message"]
    assert ana.depth() == 2 and world.row("todos", key(2)) is None


def test_s_24_a_server_that_wants_atomic_batches_keeps_single_entries_waiting(world: World):
    world.setting(require_atomic=True)
    ana = world.device("ana", "todos")
    ana.todo(1, title="single")
    for _ in range(6):
        assert "KZP03" in ana.sync(expect="REMOTE")["message"]
    assert ana.depth() == 1 and ana.rejections() == []
    world.setting(require_atomic=False)
    ana.sync()
    assert ana.depth() == 0 and world.row("todos", key(1)) is not None


def test_s_25_one_bad_key_fails_the_call_and_then_stands_alone(world: World):
    columns = {**TABLES["todos"]["columns"], "id": "text"}
    ana = world.device("ana", tables={"todos": {**TABLES["todos"], "columns": columns}})
    keys = ["not-a-uuid" if each == 1 else key(each) for each in range(1, 11)]
    ana.insert("todos", *({"id": each} for each in keys))
    assert "22023" in ana.push(expect="PERMANENT_TRANSPORT")["message"]
    assert world.sql("select count(*) from todos") == [(0,)] and ana.depth() == 10
    ana.sync(expect="PERMANENT_TRANSPORT")
    assert [len(each) for each in ana.sent()][:3] == [10, 10, 1]
    ana.sync_until(lambda: ana.depth() == 0)
    assert journal(ana) == [("not-a-uuid", "DEAD_LETTER", "PERMANENT_TRANSPORT")]
    assert world.sql("select count(*) from todos") == [(9,)]


def test_s_26_a_stale_schema_blocks_before_anything_is_judged(world: World):
    world.todo(1, title="one")
    ana = world.device("ana", "todos")
    ana.sync()
    ana.update("todos", key(1), {"title": "two"})
    ana.sync()
    watermark = ana.sent()[-1][-1]["mutation_id"]
    cursor = ana.cursor()
    stale(world, "todos")
    ana.todo(2, title="waits")
    ana.sync()
    assert ana.answers()[-1] == {"signal": {"type": "RESET_REQUIRED"}}
    assert ana.calls("push")[-1].body["last_mutation_id"] == watermark
    assert (ana.depth(), ana.cursor(), ana.blocked()) == (1, cursor, "reset_required")
    assert ana.events_until("RESET_REQUIRED")[-1][1] == {"reason": "reset_required"}
    requests = len(world.upstream.requests)
    ana.sync()
    assert len(world.upstream.requests) == requests
    assert world.row("todos", key(2)) is None and ana.row("todos", key(2))["title"] == "waits"


def test_s_27_one_stale_table_gates_the_whole_batch(world: World):
    world.join("ana", 7)
    ana = world.device("ana", "todos", "recipes", kitchen=7)
    world.sql("update kizunasync.registered_tables set min_schema_version = 2 where table_name = 'recipes'")
    ana.todo(1, title="current")
    ana.insert("recipes", {"slug": "miso", "kitchen_id": 7})
    ana.push()
    assert ana.answers() == [{"signal": {"type": "RESET_REQUIRED"}}]
    assert world.row("todos", key(1)) is None and ana.blocked() == "reset_required"


def test_s_28_an_empty_push_is_answered_with_no_verdicts(world: World):
    assert world.push("ana") == {"verdicts": []}
    ana = world.device("ana", "todos")
    ana.push()
    assert ana.calls("push") == []
