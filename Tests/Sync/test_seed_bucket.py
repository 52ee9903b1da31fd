"""Setting buckets, promise by promise, between real gateways and a real upstream."""

from __future__ import annotations

import threading
from typing import Callable

from seed_support import ANA, BEN, TABLES, World, eventually
from seed_support import seed_postgres, world  # noqa: F401


def pull_of(world: World, table: str) -> list[dict]:
    """What the last pull asked of a table."""
    return [entry["params"] for entry in world.pulls()[-1]["buckets"] if entry["table"] == table]


def starts(world: World, work: Callable[[], object]) -> set[str]:
    """The checkpoints from which the pulls made by `work` went on; "0" is a re-bootstrap."""
    before = len(world.pulls())
    work()
    return {body["cursor"] for body in world.pulls()[before:]}


def test_a_value_set_after_the_open_lets_a_pull_ask_for_its_rows(world: World) -> None:
    """The value goes into the bucket of the table, and the rows of that team arrive."""
    device = world.device()
    device.rpc("set_bucket", team_id="kitchen")
    device.sync()
    assert pull_of(world, "todos") == [{"team_id": "kitchen"}]
    assert device.ids("todos") == ["bread", "milk", "oven"]


def test_a_value_goes_to_every_table_with_that_column(world: World) -> None:
    """One key fills the buckets of all tables that name it."""
    device = world.kitchen(ANA, "todos", "notes", "ledger")
    assert [pull_of(world, table) for table in ("todos", "notes", "ledger")] == [[{"team_id": "kitchen"}]] * 3
    assert device.ids("notes") and device.ids("ledger")


def test_a_table_without_a_bucket_pulls_every_row_its_policies_permit(world: World) -> None:
    """A shared table needs no value and asks for none; the policy still filters."""
    ana, ben = world.device(ANA, "units").sync(), world.device(BEN, "units").sync()
    assert pull_of(world, "units") == [{}]
    assert (ana.ids("units"), ben.ids("units")) == (["g", "x"], ["g"])


def test_a_policy_filters_beneath_the_bucket(world: World) -> None:
    """Naming a foreign team brings none of its rows."""
    device = world.device().exchange("attic")
    assert device.ids("todos") == []


def test_a_pull_without_a_value_is_refused_and_asks_nothing(world: World) -> None:
    """Rather than asking for every row, the pull fails, and no request is sent."""
    device = world.device()
    device.rpc("resume")
    answer = device.call("pull_once")
    assert (answer.status, answer.json()["code"]) == (409, "BUCKET_UNSET")
    assert device.refused("sync") == "BUCKET_UNSET"
    assert world.pulls() == []


def test_a_cleared_value_refuses_the_next_pull(world: World) -> None:
    """An empty text is no value; the rows stay as they are."""
    device = world.kitchen()
    device.rpc("set_bucket", team_id="")
    device.rpc("resume")
    assert device.refused("pull_once") == "BUCKET_UNSET"
    assert len(device.ids("todos")) == 3


def test_writes_still_travel_while_a_value_is_unset(world: World) -> None:
    """The push half needs no bucket: it is done, and then the pull half is refused."""
    device = world.kitchen()
    device.rpc("set_bucket", team_id="")
    device.update("todos", "id=eq.milk", {"priority": 8})
    device.rpc("resume")
    assert device.refused("sync") == "BUCKET_UNSET"
    assert world.server_row("todos", "milk")["priority"] == 8


def test_an_unknown_key_refuses_the_whole_call(world: World) -> None:
    """One wrong key and nothing of the call counts: no value is changed, no re-bootstrap armed."""
    device = world.kitchen()
    answer = device.call("set_bucket", team_id="garden", project_id="7")
    assert (answer.status, answer.json()["code"]) == (409, "BUCKET_UNSET")
    assert "project_id" in answer.json()["message"] and "team_id" in answer.json()["message"]
    cursor = device.cursor()
    assert starts(world, device.sync) == {cursor}
    assert pull_of(world, "todos") == [{"team_id": "kitchen"}]
    assert device.ids("todos") == ["bread", "milk", "oven"]


def test_a_column_that_is_no_bucket_is_an_unknown_key(world: World) -> None:
    """It does not help that the table has a column of that name."""
    assert world.device().refused("set_bucket", list_id="groceries") == "BUCKET_UNSET"
    assert world.device(ANA, "units").refused("set_bucket", name="gram") == "BUCKET_UNSET"


def test_another_value_replaces_the_local_scope(world: World) -> None:
    """The run after the switch starts over, and its closing leaves the rows of the new value alone."""
    device = world.kitchen()
    device.rpc("set_bucket", team_id="garden")
    assert device.ids("todos") == ["bread", "milk", "oven"], "nothing goes before the closing pull"
    assert "0" in starts(world, device.sync)
    assert pull_of(world, "todos") == [{"team_id": "garden"}]
    assert device.ids("todos") == ["roses"]


def test_a_switch_bootstraps_every_table_anew(world: World) -> None:
    """Tables that do not share the key start over too and lose nothing by it."""
    device = world.kitchen(ANA, "todos", "units", "tasks")
    world.upstream.forget()
    device.exchange("garden")
    assert world.pulls()[0]["cursor"] == "0" and len(world.pulls()[0]["buckets"]) == 3
    assert device.ids("todos") == ["roses"] and device.ids("units") == ["g", "x"] and device.ids("tasks") == ["hers"]


def test_queued_writes_survive_a_switch(world: World) -> None:
    """What waits for the old team is sent all the same, and the device then shows the new team only."""
    device = world.kitchen()
    device.update("todos", "id=eq.milk", {"priority": 8})
    device.insert("todos", {"id": "salt", "team_id": "kitchen", "title": "Buy salt"})
    device.delete("todos", "id=eq.bread")
    device.rpc("set_bucket", team_id="garden")
    assert [entry["pk"] for entry in device.outbox()] == ["milk", "salt", "bread"]
    device.sync()
    assert world.server_row("todos", "milk")["priority"] == 8
    assert world.server_row("todos", "salt")["title"] == "Buy salt"
    assert world.server_row("todos", "bread") is None
    assert device.ids("todos") == ["roses"] and device.rejections() == []


def test_writes_queued_during_a_switch_stay_queued_when_only_the_pull_succeeds(world: World) -> None:
    """A pull alone replaces the snapshot and sends nothing: the outbox is as it was."""
    device = world.kitchen()
    device.update("todos", "id=eq.milk", {"priority": 8})
    queued = device.outbox()
    device.rpc("set_bucket", team_id="garden")
    world.upstream.fail("error", times=None, function="push", code="22023", message="not now")
    device.rpc("resume")
    device.rpc("pull_once")
    device.rpc("pause")
    assert [entry["mutation_id"] for entry in device.outbox()] == [entry["mutation_id"] for entry in queued]
    assert [key for key in device.ids("todos") if key != "milk"] == ["roses"]
    world.upstream.clear_faults()
    device.sync()
    assert world.server_row("todos", "milk")["priority"] == 8 and device.ids("todos") == ["roses"]


def test_a_switch_that_meets_no_upstream_happens_at_the_next_run(world: World) -> None:
    """The restart stays armed until a pull closes, also over a killed process."""
    device = world.kitchen()
    device.rpc("set_bucket", team_id="garden")
    world.upstream.offline()
    device.rpc("resume")
    assert device.refused("sync") == "REMOTE"
    world.upstream.online()
    device.restart(kill=True)
    assert "0" in starts(world, lambda: device.exchange("garden"))
    assert device.ids("todos") == ["roses"]


def test_the_run_after_a_switch_shows_the_new_team(world: World) -> None:
    """A device that runs by itself shows the new team after the run that follows."""
    device = world.kitchen(paused=False)
    device.rpc("set_bucket", team_id="garden")
    device.rpc("sync")
    assert device.ids("todos") == ["roses"]


def test_reset_is_heavier_than_a_switch(world: World) -> None:
    """It empties the outbox and the journals and makes the device another client; column values stay set."""
    device = world.kitchen(ANA, "todos", "tasks")
    device.update("todos", "id=eq.milk", {"title": "forbidden"})
    device.sync()
    device.update("todos", "id=eq.milk", {"priority": 8})
    before = device.rpc("status")["client_id"]
    assert device.rpc("reset") == []
    assert device.outbox() == [] and device.rejections(dismissed=True) == [] and device.ids("todos") == []
    assert device.rpc("status")["client_id"] != before
    device.sync()
    assert world.server_row("todos", "milk")["priority"] == 2
    assert device.ids("todos") == ["bread", "milk", "oven"] and device.ids("tasks") == ["hers"]


def test_the_switch_keeps_journals_and_client(world: World) -> None:
    """Unlike a reset it only replaces rows."""
    device = world.kitchen()
    device.update("todos", "id=eq.milk", {"title": "forbidden"})
    device.sync()
    before = device.rpc("status")["client_id"]
    device.exchange("garden")
    assert len(device.rejections()) == 1 and device.rpc("status")["client_id"] == before


def test_values_are_not_restored_after_a_restart(world: World) -> None:
    """They live in the open engine: a new process has to be told again."""
    device = world.kitchen().restart()
    device.rpc("resume")
    assert device.refused("pull_once") == "BUCKET_UNSET"
    assert device.ids("todos") == ["bread", "milk", "oven"]
    device.rpc("set_bucket", team_id="kitchen")
    device.rpc("pull_once")


def test_the_kept_value_is_compared_after_a_restart(world: World) -> None:
    """The same value again goes on from the checkpoint; another one starts over."""
    device = world.kitchen()
    cursor = device.cursor()
    device.restart()
    assert starts(world, lambda: device.exchange("kitchen")) == {cursor}
    device.restart()
    assert "0" in starts(world, lambda: device.exchange("garden"))
    assert device.ids("todos") == ["roses"]


def test_the_first_value_of_a_new_table_brings_its_rows(world: World) -> None:
    """A table that joins the configuration later has its bucket filled like any other."""
    device = world.device(ANA, "units").sync()
    device.gateway.config["tables"] = {name: TABLES[name] for name in ("units", "todos")}
    device.restart().exchange("kitchen")
    assert device.ids("todos") == ["bread", "milk", "oven"] and device.ids("units") == ["g", "x"]


def test_the_same_value_arms_nothing(world: World) -> None:
    """Saying it twice changes nothing."""
    device = world.kitchen()
    cursor = device.cursor()
    assert starts(world, lambda: device.exchange("kitchen")) == {cursor}


def test_clearing_and_restoring_arms_nothing(world: World) -> None:
    """The kept value outlives the clearing, so its return is no change."""
    device = world.kitchen()
    cursor = device.cursor()
    device.rpc("set_bucket", team_id="")
    assert starts(world, lambda: device.exchange("kitchen")) == {cursor}
    device.rpc("set_bucket", team_id="")
    assert "0" in starts(world, lambda: device.exchange("garden"))
    assert device.ids("todos") == ["roses"]


def test_there_and_back_before_the_pull_still_starts_over(world: World) -> None:
    """Each replacement arms the restart; the way back does not disarm it."""
    device = world.kitchen()
    device.rpc("set_bucket", team_id="garden")
    assert "0" in starts(world, lambda: device.exchange("kitchen"))
    assert device.ids("todos") == ["bread", "milk", "oven"]


def test_staged_pages_of_the_old_scope_are_dropped(world: World) -> None:
    """A transfer that was under way for the old value leaves nothing behind."""
    device = world.device(page_limit=1)
    device.rpc("set_bucket", team_id="kitchen")
    world.upstream.fail("status", times=None, function="pull", after=2, code=503)
    device.rpc("resume")
    assert device.refused("pull_once") == "REMOTE"
    device.rpc("pause")
    world.upstream.clear_faults()
    device.exchange("garden")
    assert device.ids("todos") == ["roses"]


def test_a_write_made_while_the_new_scope_arrives_stays_visible(world: World) -> None:
    """The closing of a switch takes rows away, but not what was written meanwhile."""
    device = world.kitchen()
    device.rpc("set_bucket", team_id="garden")
    held = world.upstream.fail("hold", function="pull", where="answer")
    device.rpc("resume")
    pull = threading.Thread(target=device.call, args=("pull_once",))
    pull.start()
    assert held.reached.wait(10)
    device.rpc("pause")
    device.insert("todos", {"id": "peas", "team_id": "garden", "title": "Sow peas"})
    held.set()
    pull.join(10)
    eventually(lambda: "milk" not in device.ids("todos"), "the switch closes")
    assert device.ids("todos") == ["peas", "roses"]
    device.sync()
    assert device.ids("todos") == ["peas", "roses"] and world.server_row("todos", "peas") is not None


def test_an_answer_to_the_old_scope_is_discarded(world: World) -> None:
    """The value changes while the pull is out: its rows do not land, the restart stays armed."""
    device = world.device()
    device.rpc("set_bucket", team_id="kitchen")
    held = world.upstream.fail("hold", function="pull", where="answer")
    device.rpc("resume")
    pull = threading.Thread(target=device.call, args=("pull_once",))
    pull.start()
    assert held.reached.wait(10)
    device.rpc("set_bucket", team_id="garden")
    held.set()
    pull.join(10)
    device.rpc("pull_once")
    assert device.ids("todos") == ["roses"]


def test_a_provisioned_bucket_refuses_an_unscoped_pull(world: World) -> None:
    """The server scopes the table and the device does not know: the pull fails under the server's code."""
    device = world.device(tables={"todos": {"columns": TABLES["todos"]["columns"]}})
    device.rpc("resume")
    answer = device.call("pull_once")
    assert (answer.status, answer.json()["code"]) == (502, "PERMANENT_TRANSPORT")
    assert "KZL01" in answer.json()["message"]


def test_an_owner_bucket_is_filled_by_the_session(world: World) -> None:
    """No call is needed: the user of the token is the value."""
    device = world.device(ANA, "tasks").sync()
    assert pull_of(world, "tasks") == [{"user_id": ANA}]
    assert device.ids("tasks") == ["hers"]
    assert device.rpc("status")["owner"] == ANA


def test_an_owner_bucket_is_filled_again_after_a_restart(world: World) -> None:
    """The owner is kept in the database, also when no session is there to name it."""
    device = world.device(ANA, "tasks").sync()
    del device.gateway.config["remote"]["access_token"]
    device.restart()
    assert device.rpc("status")["buckets"] == {"user_id": ANA}


def test_a_value_set_on_an_owner_bucket_holds_until_the_next_open(world: World) -> None:
    """Another value replaces the scope; the next process fills the owner in again."""
    device = world.device(ANA, "tasks").sync()
    device.rpc("set_bucket", user_id=BEN)
    assert "0" in starts(world, device.sync)
    assert pull_of(world, "tasks") == [{"user_id": BEN}]
    assert device.ids("tasks") == []
    device.restart().sync()
    assert pull_of(world, "tasks") == [{"user_id": ANA}]
    assert device.ids("tasks") == ["hers"]


def test_a_value_set_on_an_owner_bucket_holds_until_reset(world: World) -> None:
    """Reset clears it; the session fills it again."""
    device = world.device(ANA, "tasks").sync()
    device.rpc("set_bucket", user_id=BEN)
    device.rpc("reset")
    device.sync()
    assert pull_of(world, "tasks") == [{"user_id": ANA}] and device.ids("tasks") == ["hers"]


def test_the_first_session_overwrites_a_value_set_before_it(world: World) -> None:
    """The token that makes a store somebody's rules."""
    device = world.device(None, "tasks")
    device.rpc("set_bucket", user_id=BEN)
    device.rpc("set_access_token", token=world.upstream.token(ANA))
    device.sync()
    assert pull_of(world, "tasks") == [{"user_id": ANA}]


def test_a_renewed_session_of_the_owner_leaves_the_value_alone(world: World) -> None:
    """Only the first token fills the bucket; the same user's next one does not."""
    device = world.device(ANA, "tasks").sync()
    device.rpc("set_bucket", user_id=BEN)
    device.rpc("set_access_token", token=world.upstream.token(ANA, ttl=7200))
    device.sync()
    assert pull_of(world, "tasks") == [{"user_id": BEN}]


def test_numbers_are_values_too(world: World) -> None:
    """A value need not be a text: it reaches the upstream as it was said."""
    world.sql("create table public.rooms (id text primary key, floor integer not null);"
              "alter table public.rooms enable row level security;"
              "create policy \"all\" on public.rooms for all to authenticated using (true);"
              "grant select on public.rooms to authenticated;"
              "insert into public.rooms values ('a', 1), ('b', 2);"
              "select kizunasync.register_table(p_table => 'public.rooms', p_sync_mode => 'read-write',"
              " p_bucket_column => 'floor')")
    device = world.device(tables={"rooms": {"columns": {"id": "text", "floor": "integer"},
                                            "bucket": {"column": "floor"}}})
    device.rpc("set_bucket", floor=2)
    device.sync()
    assert pull_of(world, "rooms") in ([{"floor": 2}], [{"floor": "2"}]) and device.ids("rooms") == ["b"]


def test_an_answer_says_nothing(world: World) -> None:
    """The call is void."""
    answer = world.device().call("set_bucket", team_id="kitchen")
    assert (answer.status, answer.body) == (204, b"")


def test_setting_a_bucket_is_no_write(world: World) -> None:
    """Nothing is queued by it, and nothing moves before the pull."""
    device = world.device()
    device.rpc("set_bucket", team_id="kitchen")
    assert device.outbox() == [] and device.cursor() == "0"
