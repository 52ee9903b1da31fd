"""Listing rejections, promise by promise, between real gateways and a real upstream."""

from __future__ import annotations

import time
import uuid
from datetime import datetime

from seed_support import ANA, BEN, Device, Events, World
from seed_support import seed_postgres, world  # noqa: F401

FIELDS = {"mutation_id", "write_id", "table", "pk", "kind", "reason", "changed_columns", "server_row", "at",
          "dismissed"}


def refuse(device: Device, key: str = "milk", **columns: object) -> dict:
    """A write that the upstream refuses; its outbox entry."""
    device.update("todos", f"id=eq.{key}", {"title": "forbidden", **columns})
    entry = device.outbox()[-1]
    device.sync()
    return entry


def test_a_device_without_refused_writes_lists_nothing(world: World) -> None:
    """The journal is written only when a write does not survive."""
    device = world.kitchen()
    device.update("todos", "id=eq.milk", {"priority": 5})
    device.sync()
    assert device.rejections() == [] and device.rejections(dismissed=True) == []


def test_every_field_of_an_entry(world: World) -> None:
    """An entry names the write, its row, what it wanted, why it failed, what the server has, and when."""
    device = world.kitchen()
    began = time.time()
    sent = refuse(device, priority=5)
    entry = device.only_rejection()
    assert set(entry) == FIELDS
    assert entry["mutation_id"] == sent["mutation_id"] and entry["write_id"] == sent["write_id"]
    assert (entry["table"], entry["pk"]) == ("todos", "milk")
    assert (entry["kind"], entry["reason"]) == ("REJECTED", "CONSTRAINT")
    assert sorted(entry["changed_columns"]) == ["priority", "title"]
    assert entry["server_row"] == world.server_row("todos", "milk")
    assert began - 2 <= datetime.fromisoformat(entry["at"]).timestamp() <= time.time() + 2
    assert entry["dismissed"] is False


def test_the_mutation_id_is_the_one_the_caller_passed(world: World) -> None:
    """A caller who chose the id finds the refusal under it."""
    device, chosen = world.kitchen(), str(uuid.uuid4())
    device.rpc("apply", table="todos", pk="milk", op="update", columns={"title": "forbidden"}, mutation_id=chosen)
    device.sync()
    assert device.only_rejection()["mutation_id"] == chosen


def test_the_newest_entry_comes_first(world: World) -> None:
    """The order is that of the journal backwards, also within one answer of the upstream."""
    device = world.kitchen()
    device.update("todos", "id=eq.bread", {"title": "forbidden"})
    device.update("todos", "id=eq.milk", {"title": "forbidden"})
    device.sync()
    refuse(device, "oven")
    assert [entry["pk"] for entry in device.rejections()] == ["oven", "milk", "bread"]
    moments = [entry["at"] for entry in device.rejections()]
    assert moments == sorted(moments, reverse=True)


def test_dismissed_entries_are_hidden_until_they_are_asked_for(world: World) -> None:
    """Dismissing keeps the entry; the default list leaves it out."""
    device = world.kitchen()
    first, second = refuse(device), refuse(device, "bread")
    assert device.rpc("dismiss_rejection", mutation_id=first["mutation_id"]) is True
    assert [(entry["pk"], entry["dismissed"]) for entry in device.rejections()] == [("bread", False)]
    assert [(entry["pk"], entry["dismissed"]) for entry in device.rejections(dismissed=True)] \
        == [("bread", False), ("milk", True)]
    assert device.rpc("dismiss_rejection", mutation_id=first["mutation_id"]) is True
    assert device.rpc("dismiss_rejection", mutation_id=str(uuid.uuid4())) is False
    assert device.rejections()[0]["mutation_id"] == second["mutation_id"]


def test_the_journal_survives_a_killed_gateway(world: World) -> None:
    """Entries and dismissals are on disk."""
    device = world.kitchen()
    dismissed = refuse(device)
    refuse(device, "bread")
    device.rpc("dismiss_rejection", mutation_id=dismissed["mutation_id"])
    before = device.rejections(dismissed=True)
    device.restart(kill=True)
    assert device.rejections(dismissed=True) == before and len(device.rejections()) == 1


def test_an_id_journalled_again_replaces_its_entry_and_clears_the_dismissal(world: World) -> None:
    """The same mutation sent anew is refused anew: one entry, no longer dismissed, with the new facts."""
    device, chosen = world.kitchen(), str(uuid.uuid4())
    write = {"table": "todos", "pk": "milk", "op": "update", "mutation_id": chosen}
    device.rpc("apply", **write, columns={"title": "forbidden"})
    device.sync()
    refuse(device, "bread")
    device.rpc("dismiss_rejection", mutation_id=chosen)
    assert [entry["pk"] for entry in device.rejections()] == ["bread"]
    device.rpc("apply", **write, columns={"title": "forbidden", "priority": 8})
    device.sync()
    entries = device.rejections(dismissed=True)
    assert [(entry["pk"], entry["dismissed"]) for entry in entries] == [("milk", False), ("bread", False)]
    assert sorted(entries[0]["changed_columns"]) == ["priority", "title"]


def test_a_refused_write_is_undone_before_its_entry_shows(world: World) -> None:
    """Whoever is told of the refusal finds the server's row in place."""
    device = world.kitchen(paused=False)
    events = Events(device.gateway)
    device.update("todos", "id=eq.milk", {"title": "forbidden", "priority": 9})
    data = events.wait("MUTATION_REJECTED")[0]
    assert device.only_rejection()["mutation_id"] == data["mutation_id"]
    assert device.row("todos", "milk") == world.server_row("todos", "milk")
    assert device.outbox() == []


def test_nothing_in_the_journal_is_ever_sent_again(world: World) -> None:
    """It is a record: later runs carry none of it."""
    device = world.kitchen()
    refuse(device)
    world.upstream.forget()
    device.sync().sync()
    assert world.upstream.calls("push") == []
    assert len(device.rejections()) == 1


def test_an_event_is_sent_for_each_entry_of_whatever_kind(world: World) -> None:
    """The event is the cue to read the list again: one for each entry, with its id and reason."""
    device = world.kitchen()
    events = Events(device.gateway)
    refuse(device)
    device.rpc("batch", mutations=[
        {"table": "todos", "pk": "bread", "op": "update", "columns": {"priority": 4}},
        {"table": "todos", "pk": "oven", "op": "update", "columns": {"title": "forbidden"}}])
    device.sync()
    told = [(event["mutation_id"], event["reason"]) for event in events.wait("MUTATION_REJECTED", 2)]
    assert told == [(entry["mutation_id"], entry["reason"]) for entry in reversed(device.rejections())]
    assert len(events.wait("BATCH_ABORTED")) == 1


def test_a_policy_is_named_as_the_reason(world: World) -> None:
    """A row for a team one is no member of is refused by the policy; the row is gone again."""
    device = world.kitchen()
    device.insert("todos", {"id": "loft", "team_id": "attic", "title": "Not mine"})
    device.sync()
    entry = device.only_rejection()
    assert (entry["kind"], entry["reason"], entry["server_row"]) == ("REJECTED", "RLS_DENIED", None)
    assert device.row("todos", "loft") is None


def test_a_column_without_privilege_is_named_as_the_reason(world: World) -> None:
    """The column is not the user's to write: refused, and the server's row shown."""
    device = world.kitchen(ANA, "ledger")
    device.update("ledger", "id=eq.january", {"total": 1})
    device.sync()
    entry = device.only_rejection()
    assert (entry["reason"], entry["changed_columns"]) == ("COLUMN_DENIED", ["total"])
    assert entry["server_row"]["total"] == 900 == device.row("ledger", "january")["total"]


def test_a_precondition_is_named_as_the_reason(world: World) -> None:
    """The row was no longer what the write expected."""
    device = world.kitchen()
    world.sql("update public.todos set priority = 6 where id = 'milk'")
    device.update("todos", "id=eq.milk&precondition.priority=2", {"title": "Late"})
    device.sync()
    entry = device.only_rejection()
    assert (entry["reason"], entry["server_row"]["priority"]) == ("PRECONDITION", 6)
    assert device.row("todos", "milk")["priority"] == 6


def test_a_deleted_row_is_named_as_the_reason(world: World) -> None:
    """The row is gone upstream: no server row, and the local one goes as well."""
    device = world.kitchen()
    world.sql("delete from public.todos where id = 'milk'")
    device.update("todos", "id=eq.milk", {"title": "Late"})
    device.sync()
    entry = device.only_rejection()
    assert (entry["kind"], entry["reason"], entry["server_row"]) == ("REJECTED", "DELETE_WINS", None)
    assert device.row("todos", "milk") is None


def test_a_write_that_a_newer_one_beat_is_superseded(world: World) -> None:
    """On a table that goes by clocks the older write loses, whenever it arrives."""
    ana, ben = world.kitchen(ANA, "clocks"), world.kitchen(BEN, "clocks")
    ana.update("clocks", "id=eq.hall", {"face": "older"})
    ben.update("clocks", "id=eq.hall", {"face": "newer"})
    ben.sync()
    ana.sync()
    entry = ana.only_rejection()
    assert (entry["kind"], entry["reason"]) == ("SUPERSEDED", "SUPERSEDED")
    assert entry["server_row"]["face"] == "newer" == ana.row("clocks", "hall")["face"]
    assert ben.rejections() == []


def test_an_aborted_batch_is_journalled_for_its_offender_alone(world: World) -> None:
    """All members are undone, one entry says whose fault it was."""
    device = world.kitchen()
    before = device.rows("todos")
    device.rpc("batch", mutations=[
        {"table": "todos", "pk": "bread", "op": "update", "columns": {"priority": 4}},
        {"table": "todos", "pk": "milk", "op": "update", "columns": {"title": "forbidden"}},
        {"table": "todos", "pk": "new", "op": "insert", "columns": {"id": "new", "team_id": "kitchen", "title": "x"}}])
    offender = device.outbox()[1]["mutation_id"]
    device.sync()
    entry = device.only_rejection()
    assert (entry["kind"], entry["reason"], entry["mutation_id"]) == ("BATCH_ABORTED", "CONSTRAINT", offender)
    assert entry["server_row"] == world.server_row("todos", "milk")
    assert device.rows("todos") == before and device.outbox() == []
    assert world.server_row("todos", "new") is None and world.server_row("todos", "bread")["priority"] == 1


def test_a_write_that_the_budget_drops_is_a_dead_letter(world: World) -> None:
    """Refused as a whole five times, the write is dropped and undone; its reason says that it never got through."""
    device = world.kitchen()
    events = Events(device.gateway)
    before = device.row("todos", "milk")
    world.upstream.fail("error", times=None, function="push", code="22023", message="no such thing")
    device.update("todos", "id=eq.milk", {"priority": 9})
    device.rpc("resume")
    for _ in range(8):
        device.call("sync")
        if not device.outbox():
            break
    world.upstream.clear_faults()
    entry = device.only_rejection()
    assert (entry["kind"], entry["reason"]) == ("DEAD_LETTER", "PERMANENT_TRANSPORT")
    assert entry["server_row"] is None and entry["changed_columns"] == ["priority"]
    assert device.row("todos", "milk") == before
    assert len(events.wait("DEAD_LETTER")) == 1
    assert events.wait("MUTATION_REJECTED")[0] == {"mutation_id": entry["mutation_id"], "reason": entry["reason"]}
    assert len(world.upstream.calls("push")) == 5


def test_a_batch_too_large_is_dropped_with_the_servers_own_words(world: World) -> None:
    """An atomic batch cannot be split: it is dropped at first sight, each member under the server's message."""
    device = world.kitchen()
    world.upstream.fail("error", times=1, function="push", code="KZP02", message="at most 1 mutation a batch")
    device.rpc("batch", mutations=[
        {"table": "todos", "pk": "bread", "op": "update", "columns": {"priority": 4}},
        {"table": "todos", "pk": "milk", "op": "update", "columns": {"priority": 4}}])
    device.sync()
    entries = device.rejections()
    assert [(entry["pk"], entry["kind"]) for entry in entries] == [("milk", "DEAD_LETTER"), ("bread", "DEAD_LETTER")]
    assert {entry["reason"] for entry in entries} == {"at most 1 mutation a batch"}
    assert [row["priority"] for row in device.rows("todos", "list_id=eq.groceries")] == [1, 2]


def test_a_slice_too_large_is_sent_in_halves_and_loses_nothing(world: World) -> None:
    """Writes that form no batch are not dropped for the size of the slice they travel in."""
    device = world.kitchen()
    rows = [{"id": f"n{number:02}", "team_id": "kitchen", "title": f"No. {number}"} for number in range(8)]
    device.insert("todos", rows)
    world.upstream.fail("error", times=2, function="push", code="KZP02", message="too many")
    device.sync()
    sizes = [len(call.body["batch"]["mutations"]) for call in world.upstream.calls("push")]
    assert sizes[:3] == [8, 4, 2] and max(sizes[3:]) <= 2
    assert device.rejections() == [] and device.outbox() == []
    assert world.sql("select count(*) from public.todos where id like 'n0%%'") == [(8,)]


def test_the_list_is_a_relation_like_any_other(world: World) -> None:
    """It can be filtered, ordered and counted as a table is."""
    device = world.kitchen()
    refuse(device)
    refuse(device, "bread")
    assert device.get("/sync/v1/rejections?select=pk&order=at.asc") == [{"pk": "milk"}, {"pk": "bread"}]
    assert device.get("/sync/v1/rejections?pk=eq.milk&select=pk,reason") == [{"pk": "milk", "reason": "CONSTRAINT"}]
    counted = device.request("HEAD", "/sync/v1/rejections", Prefer="count=exact")
    assert counted.headers["content-range"].endswith("/2")
