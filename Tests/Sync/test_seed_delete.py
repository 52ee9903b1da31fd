"""Deleting data, promise by promise, between real gateways and a real upstream."""

from __future__ import annotations

import pytest

from seed_support import ANA, BEN, TABLES, Device, World, eventually
from seed_support import seed_postgres, world  # noqa: F401

OBJECT = "application/vnd.pgrst.object+json"


def by_key(device: Device, key: str) -> None:
    device.rpc("apply", table="todos", pk=key, op="delete")


def by_filter(device: Device, key: str) -> None:
    assert device.delete("todos", f"id=eq.{key}") == [key]


PATHS = pytest.mark.parametrize("delete", [by_key, by_filter])


@PATHS
def test_either_path_removes_the_row_records_a_tombstone_and_queues_the_mutation(world: World, delete) -> None:
    """A delete by key and one by filter have the same three effects on the device."""
    device = world.kitchen()
    delete(device, "milk")
    assert device.ids("todos") == ["bread", "oven"]
    assert device.tombstones("todos") == [("milk", "local")]
    assert [(entry["table"], entry["pk"], entry["op"]) for entry in device.outbox()] == [("todos", "milk", "delete")]


@PATHS
def test_the_next_run_carries_the_delete_to_the_upstream(world: World, delete) -> None:
    """What was queued is sent by the next run, and nothing is left of it on the device."""
    device = world.kitchen()
    delete(device, "milk")
    device.sync()
    assert world.server_row("todos", "milk") is None
    assert device.outbox() == [] and device.rejections() == []
    assert device.ids("todos") == ["bread", "oven"]


def test_a_filter_deletes_every_matching_row_and_answers_their_keys(world: World) -> None:
    """One call tombstones all rows that match and names exactly those."""
    device = world.kitchen()
    assert device.delete("todos", "list_id=eq.groceries") == ["bread", "milk"]
    assert device.ids("todos") == ["oven"]
    assert sorted(device.tombstones("todos")) == [("bread", "local"), ("milk", "local")]
    assert [entry["pk"] for entry in device.outbox()] == ["bread", "milk"]
    assert len({entry["mutation_id"] for entry in device.outbox()}) == 2
    device.sync()
    assert world.sql("select id from public.todos where team_id = 'kitchen'") == [("oven",)]


def test_a_filter_that_matches_nothing_answers_no_key_and_queues_nothing(world: World) -> None:
    """No match is no error and no write."""
    device = world.kitchen()
    assert device.delete("todos", "list_id=eq.nowhere") == []
    assert device.outbox() == [] and device.tombstones() == []


def test_the_bulk_delete_of_a_list_empties_it_on_the_peer(world: World) -> None:
    """Deleting all todos of a list is one call here, and the other user's device loses the same rows."""
    ana, ben = world.kitchen(), world.kitchen(BEN)
    ana.delete("todos", "list_id=eq.groceries")
    ana.sync()
    ben.sync()
    assert ben.ids("todos") == ["oven"]
    assert ben.outbox() == []


def test_apply_deletes_one_row_by_its_key(world: World) -> None:
    """The low-level call touches the row it names and no other."""
    device = world.kitchen()
    assert device.rpc("apply", table="todos", pk="bread", op="delete") is None
    assert device.ids("todos") == ["milk", "oven"]


def test_the_deleted_row_comes_back_as_a_read_reported_it_before(world: World) -> None:
    """Asking for the representation answers the row that was there."""
    device = world.kitchen()
    before = device.row("todos", "milk")
    answer = device.request("DELETE", "/rest/v1/todos?id=eq.milk", Prefer="return=representation", Accept=OBJECT)
    assert answer.status == 200 and answer.json() == before
    again = device.request("DELETE", "/rest/v1/todos?id=eq.milk", Prefer="return=representation")
    assert again.json() == []


def test_the_returned_row_shows_the_write_before_it(world: World) -> None:
    """A row changed offline and then deleted comes back with the change."""
    device = world.kitchen()
    device.update("todos", "id=eq.milk", {"priority": 9})
    answer = device.request("DELETE", "/rest/v1/todos?id=eq.milk&select=id,priority", Prefer="return=representation")
    assert answer.json() == [{"id": "milk", "priority": 9}]


def conditional_apply(device: Device, key: str) -> None:
    device.rpc("apply", table="todos", pk=key, op="delete", precondition={"done": True})


def conditional_filter(device: Device, key: str) -> None:
    assert device.delete("todos", f"id=eq.{key}&precondition.done=true") == [key]


CONDITIONS = pytest.mark.parametrize("delete", [conditional_apply, conditional_filter])


@CONDITIONS
def test_a_precondition_that_holds_upstream_lets_the_delete_through(world: World, delete) -> None:
    """The row is still done at the upstream, so it goes."""
    device = world.kitchen()
    delete(device, "bread")
    device.sync()
    assert world.server_row("todos", "bread") is None
    assert device.rejections() == []


@CONDITIONS
def test_a_precondition_that_no_longer_holds_brings_the_row_back(world: World, delete) -> None:
    """The row was changed meanwhile: the delete is refused and the row returns as the server has it."""
    device = world.kitchen()
    world.sql("update public.todos set done = false, title = 'Buy rolls' where id = 'bread'")
    delete(device, "bread")
    assert device.row("todos", "bread") is None, "the device does not judge the precondition"
    device.sync()
    assert world.server_row("todos", "bread")["title"] == "Buy rolls"
    assert device.row("todos", "bread")["title"] == "Buy rolls"
    assert device.only_rejection()["reason"] == "PRECONDITION"


def test_each_row_of_a_filtered_delete_carries_the_precondition_for_itself(world: World) -> None:
    """One row that fails it does not spare or doom the others."""
    device = world.kitchen()
    device.delete("todos", "list_id=eq.groceries&precondition.done=true")
    device.sync()
    assert device.ids("todos") == ["milk", "oven"]
    assert [(entry["pk"], entry["reason"]) for entry in device.rejections()] == [("milk", "PRECONDITION")]


def test_a_delete_needs_a_filter(world: World) -> None:
    """Without one nothing is touched, whichever call it is."""
    device = world.kitchen()
    answer = device.request("DELETE", "/rest/v1/todos")
    assert (answer.status, answer.json()["code"]) == (400, "21000")
    assert device.refused("apply_where", table="todos", op="delete", filters=[]) == "LOCAL_UNSUPPORTED"
    assert len(device.ids("todos")) == 3 and device.outbox() == []


def test_a_delete_of_more_rows_than_allowed_writes_nothing(world: World) -> None:
    """The cap is checked before the first row goes."""
    device = world.kitchen()
    capped = device.request("DELETE", "/rest/v1/todos?list_id=eq.groceries", Prefer="handling=strict, max-affected=1")
    assert (capped.status, capped.json()["code"]) == (400, "PGRST124")
    filters = [{"kind": "eq", "column": "list_id", "value": "groceries"}]
    assert device.refused("apply_where", table="todos", op="delete", filters=filters, max_affected=1) \
        in ("LOCAL_CONSTRAINT", "PGRST124")
    assert len(device.ids("todos")) == 3 and device.outbox() == []
    assert device.rpc("apply_where", table="todos", op="delete", filters=filters, max_affected=2) == ["bread", "milk"]


@pytest.mark.parametrize("table, pk", [("", "milk"), ("todos", ""), ("", "")])
def test_apply_without_a_table_or_a_key_is_refused(world: World, table: str, pk: str) -> None:
    """The call names both, or it is refused before anything else is looked at."""
    device = world.kitchen()
    answer = device.call("apply", table=table, pk=pk, op="delete")
    assert (answer.status, answer.json()["code"]) == (400, "LOCAL_UNSUPPORTED")
    assert answer.json()["message"] == "apply requires table and pk"


def test_the_row_is_gone_at_once_while_the_upstream_is_out_of_reach(world: World) -> None:
    """Hiding a row never waits for the network; the delete waits for the run that can carry it."""
    device = world.kitchen(paused=False)
    world.upstream.offline()
    device.delete("todos", "id=eq.milk")
    assert device.row("todos", "milk") is None
    assert device.refused("sync") == "REMOTE"
    assert [entry["pk"] for entry in device.outbox()] == ["milk"]
    assert world.server_row("todos", "milk") is not None
    world.upstream.online()
    assert device.rpc("drain", timeout_s=10) == {"drained": True, "outbox_depth": 0}
    assert world.server_row("todos", "milk") is None


def test_a_delete_that_waits_survives_a_killed_gateway(world: World) -> None:
    """The acknowledged delete is still hidden and still queued after the process died."""
    device = world.kitchen()
    device.delete("todos", "id=eq.milk")
    device.restart(kill=True)
    assert device.ids("todos") == ["bread", "oven"]
    device.exchange()
    assert world.server_row("todos", "milk") is None


def test_a_delete_that_a_policy_refuses_restores_the_row(world: World) -> None:
    """The server shows the row it keeps, and the device shows that row again."""
    device = world.kitchen()
    before = device.row("todos", "oven")
    device.delete("todos", "id=eq.oven")
    device.sync()
    assert device.row("todos", "oven") == before == world.server_row("todos", "oven")
    entry = device.only_rejection()
    assert (entry["kind"], entry["reason"], entry["pk"]) == ("REJECTED", "RLS_DENIED", "oven")
    assert device.outbox() == [] and device.tombstones("todos") == []


def test_a_refused_delete_without_a_server_row_restores_what_the_outbox_kept(world: World) -> None:
    """The policies hide the row meanwhile: the server sends none, and the row is as it was before the delete."""
    device = world.kitchen()
    before = device.row("todos", "oven")
    world.sql("update public.todos set hidden = true where id = 'oven'")
    device.delete("todos", "id=eq.oven")
    device.online(lambda: device.rpc("push_once"))
    entry = device.only_rejection()
    assert (entry["reason"], entry["server_row"]) == ("RLS_DENIED", None)
    assert device.row("todos", "oven") == before


def test_a_refused_delete_leaves_later_writes_of_the_row_on_top(world: World) -> None:
    """The row comes back from its base, and what was written before the delete and applied stays."""
    device = world.kitchen()
    device.update("todos", "id=eq.oven", {"priority": 7})
    device.delete("todos", "id=eq.oven")
    device.sync()
    assert device.row("todos", "oven")["priority"] == 7
    assert world.server_row("todos", "oven")["priority"] == 7
    assert device.only_rejection()["reason"] == "RLS_DENIED"


def test_a_delete_without_the_privilege_is_denied_by_column_and_restored(world: World) -> None:
    """The role may not delete from this table at all: that has a reason of its own."""
    device = world.kitchen(ANA, "ledger")
    before = device.row("ledger", "january")
    device.delete("ledger", "id=eq.january")
    assert device.ids("ledger") == []
    device.sync()
    assert device.row("ledger", "january") == before
    entry = device.only_rejection()
    assert (entry["kind"], entry["reason"]) == ("REJECTED", "COLUMN_DENIED")
    assert entry["server_row"]["memo"] == "Rent"


@PATHS
def test_a_delete_wins_over_the_edit_of_a_peer(world: World, delete) -> None:
    """The peer edits what was deleted elsewhere: the edit is refused and the row does not come back."""
    ana, ben = world.kitchen(), world.kitchen(BEN)
    delete(ana, "milk")
    ana.sync()
    ben.update("todos", "id=eq.milk", {"title": "Buy oat milk"})
    ben.sync()
    entry = ben.only_rejection()
    assert (entry["kind"], entry["reason"], entry["server_row"]) == ("REJECTED", "DELETE_WINS", None)
    assert ben.row("todos", "milk") is None and world.server_row("todos", "milk") is None
    ana.sync()
    assert ana.row("todos", "milk") is None


def test_the_second_of_two_deletes_stays_deleted(world: World) -> None:
    """Both devices delete the same row: whoever comes second learns it, and the row is gone everywhere."""
    ana, ben = world.kitchen(), world.kitchen(BEN)
    ana.delete("todos", "id=eq.milk")
    ben.delete("todos", "id=eq.milk")
    ana.sync()
    ben.sync()
    assert ben.row("todos", "milk") is None and ana.row("todos", "milk") is None
    assert [entry["reason"] for entry in ben.rejections()] == ["DELETE_WINS"]


def test_a_key_that_was_deleted_is_not_revived_by_an_insert_of_the_peer(world: World) -> None:
    """An insert of the deleted key by a device that had seen the row is refused like an edit."""
    ana, ben = world.kitchen(), world.kitchen(BEN)
    ana.delete("todos", "id=eq.milk")
    ana.sync()
    ben.delete("todos", "id=eq.milk")
    ben.insert("todos", {"id": "milk", "team_id": "kitchen", "title": "Again"})
    ben.sync()
    assert [entry["reason"] for entry in ben.rejections()] == ["DELETE_WINS", "DELETE_WINS"]
    assert ben.row("todos", "milk") is None and world.server_row("todos", "milk") is None


def test_a_filtered_delete_on_a_soft_table_stamps_once_for_the_whole_call(world: World) -> None:
    """The rows stay, all with one timestamp; only that column is queued, as an update, and no tombstone is."""
    device = world.kitchen(ANA, "notes")
    assert device.delete("notes", "id=in.(one,two)") == ["one", "two"]
    stamped = device.rows("notes", "id=in.(one,two)&include_deleted=true")
    assert len({row["deleted_at"] for row in stamped}) == 1 and stamped[0]["deleted_at"]
    assert {(entry["op"], tuple(entry["columns"])) for entry in device.outbox()} == {("update", ("deleted_at",))}
    assert device.tombstones() == []


def test_a_soft_deleted_row_leaves_the_default_read_and_comes_back_when_asked_for(world: World) -> None:
    """To a reader it looks like any delete, unless the reader asks for deleted rows too."""
    device = world.kitchen(ANA, "notes")
    device.delete("notes", "id=eq.one")
    assert device.ids("notes") == ["three", "two"]
    assert device.ids("notes", "include_deleted=true") == ["one", "three", "two"]


def test_a_soft_delete_travels_as_its_stamp(world: World) -> None:
    """The upstream keeps the row with the stamp, and the peer's default read loses it."""
    ana, ben = world.kitchen(ANA, "notes"), world.kitchen(BEN, "notes")
    ana.delete("notes", "id=eq.one")
    ana.sync()
    ben.sync()
    assert world.server_row("notes", "one")["deleted_at"]
    assert ben.ids("notes") == ["three", "two"]
    peer = ben.rows("notes", "id=eq.one&include_deleted=true")
    assert peer == ana.rows("notes", "id=eq.one&include_deleted=true")
    assert ana.rejections() == []


def test_the_rows_a_soft_delete_returns_are_without_the_stamp(world: World) -> None:
    """They are the rows of the read before."""
    device = world.kitchen(ANA, "notes")
    before = device.rows("notes", "id=eq.one")
    answer = device.request("DELETE", "/rest/v1/notes?id=eq.one", Prefer="return=representation")
    assert answer.json() == before and before[0]["deleted_at"] is None


@pytest.mark.parametrize("key", ["one", "absent"])
def test_apply_refuses_to_delete_on_a_soft_table(world: World, key: str) -> None:
    """Whoever names one row is to write the column; whether the row is there makes no difference."""
    device = world.kitchen(ANA, "notes")
    answer = device.call("apply", table="notes", pk=key, op="delete")
    assert (answer.status, answer.json()["code"]) == (409, "SOFT_DELETE_VIOLATION")
    assert len(device.ids("notes")) == 3 and device.outbox() == []


def test_a_soft_delete_that_is_refused_shows_the_row_again(world: World) -> None:
    """The stamp is an update like any other: refused, the row is back in the default read."""
    device = world.kitchen(ANA, "notes")
    device.delete("notes", "id=eq.one")
    world.sql("delete from public.members where user_id = %s", ANA)
    device.online(lambda: device.rpc("push_once"))
    assert [entry["reason"] for entry in device.rejections()] == ["RLS_DENIED"]
    assert device.outbox() == []


def test_a_delete_is_sent_when_it_is_written(world: World) -> None:
    """A device that is online needs no call: the write itself wakes the run."""
    device = world.kitchen(paused=False)
    device.delete("todos", "id=eq.milk")
    eventually(lambda: world.server_row("todos", "milk") is None, "the delete arrives")


def test_a_delete_of_an_absent_row_by_key_is_queued_and_judged_upstream(world: World) -> None:
    """The device cannot know what the upstream has: a row it never pulled is deleted there all the same."""
    device = world.device(tables={"todos": TABLES["todos"]})
    device.rpc("apply", table="todos", pk="milk", op="delete")
    assert [entry["pk"] for entry in device.outbox()] == ["milk"]
    device.exchange()
    assert world.server_row("todos", "milk") is None
    assert device.ids("todos") == ["bread", "oven"]
