"""The steps of a storm: what users, administrators, networks and machines do. Each takes its chances from the seed."""

from __future__ import annotations

import contextlib
import http.client
import threading
from typing import Any, Callable
from urllib.parse import quote

import seed_paths  # noqa: F401
from gateway import Answer
from storm_world import EVERY_TEAM, KEYS, TABLES, TEAMED, TEAMS, Effect, Failure, Member, Storm, row_key

WORDS = ("tin", "oak", "sea", "fog")
# What the upstream or the network may do to a run. Anything else is a finding.
RUN_STATUS = (204, 502)
RUN_CODES = ("REMOTE", "PERMANENT_TRANSPORT")

Step = Callable[[Storm, Member], str]
STEPS: list[tuple[int, Step]] = []


def step(weight: int) -> Callable[[Step], Step]:
    def add(function: Step) -> Step:
        STEPS.append((weight, function))
        return function
    return add


def take(storm: Storm) -> None:
    """One step, chosen by the seed."""
    storm.step += 1
    function = storm.rng.choices([each for _, each in STEPS], [weight for weight, _ in STEPS])[0]
    member = storm.rng.choice(storm.members)
    storm.say(f"{member.name}: {function.__name__}: {function(storm, member)}")


# Writes of a user

def new_row(storm: Storm, table: str, team: str, user: str) -> dict:
    rng, row = storm.rng, {"mark": storm.mark(), "note": storm.rng.choice(WORDS)}
    if table == "pieces":
        row |= {"box": f"b{rng.randint(1, 3)}", "no": len(storm.keys["pieces"]) + 1}
    else:
        row["id"] = f"c{len(storm.keys['counters'])}" if table == "counters" else storm.uuid()
    if table in TEAMED:
        row["team_id"] = team
    if table == "items":
        row |= {"price": f"{rng.randint(0, 99)}.{rng.randint(10, 99)}", "done": rng.random() < 0.5,
                "meta": rng.choice([None, {"a": [1, {"b": "é"}]}, [], "text", 7]),
                "due": f"2026-0{rng.randint(1, 9)}-01T10:00:0{rng.randint(0, 9)}.25+02:00"}
    storm.keys[table].append({name: row[name] for name in KEYS[table]})
    return row


def some_keys(storm: Storm, table: str, count: int) -> list[dict]:
    known = storm.keys[table]
    return storm.rng.sample(known, min(count, len(known)))


def query(table: str, keys: list[dict]) -> str:
    """A filter that names rows by their keys."""
    if len(KEYS[table]) == 1:
        return f"{KEYS[table][0]}=in.({','.join(quote(str(key[KEYS[table][0]])) for key in keys)})"
    each = ("and(" + ",".join(f"{name}.eq.{key[name]}" for name in KEYS[table]) + ")" for key in keys)
    return f"or=({','.join(each)})"


def nodes(table: str, key: dict) -> list[dict]:
    return [{"kind": "eq", "column": name, "value": key[name]} for name in KEYS[table]]


def must(answer: Answer, *statuses: int) -> Answer:
    if answer.status not in statuses:
        raise Failure(f"a local write answered {answer}")
    return answer


def any_table(storm: Storm, *tables: str) -> str:
    return storm.rng.choice(tables or tuple(TABLES))


@step(14)
def insert(storm: Storm, member: Member) -> str:
    table = any_table(storm)
    rows = [new_row(storm, table, member.team, member.user) for _ in range(storm.rng.choice([1, 1, 2, 5]))]
    answer = must(member.request("POST", f"/rest/v1/{table}", rows), 201)
    storm.written(member, answer, table, [(row_key(table, row), (Effect("mark", row["mark"]),)) for row in rows])
    return f"{table} {[row_key(table, row) for row in rows]}"


def patched(storm: Storm, member: Member, table: str, target: str, columns: dict) -> str:
    """An update that carries a mark of its own."""
    mark = storm.mark()
    answer = must(member.request("PATCH", f"/rest/v1/{table}?{target}", {"mark": mark, **columns}), 200)
    storm.written(member, answer, table, [(pk, (Effect("mark", mark),)) for pk in answer.json()])
    return f"{table} {target} {mark} {columns}: {answer.json()}"


@step(12)
def update(storm: Storm, member: Member) -> str:
    table = any_table(storm)
    keys = some_keys(storm, table, storm.rng.choice([1, 2, 4]))
    note = {} if table == "clocks" else {"note": storm.rng.choice(WORDS)}
    return patched(storm, member, table, query(table, keys), note) if keys else "nothing to update"


@step(5)
def update_by_filter(storm: Storm, member: Member) -> str:
    return patched(storm, member, any_table(storm), f"note=eq.{storm.rng.choice(WORDS)}", {})


@step(4)
def upsert(storm: Storm, member: Member) -> str:
    """Over rows of which some are here, some elsewhere, and some nowhere."""
    table = any_table(storm, "items", "counters", "memos")
    rows = [{**key, "mark": storm.mark()} for key in some_keys(storm, table, 2)]
    if table in TEAMED:
        rows = [{**row, "team_id": member.team} for row in rows]
    rows.append({name: value for name, value in new_row(storm, table, member.team, member.user).items()
                 if name in (*KEYS[table], "mark", "team_id")})
    answer = must(member.request("POST", f"/rest/v1/{table}", rows, Prefer="resolution=merge-duplicates"), 200, 201)
    storm.written(member, answer, table, [(row_key(table, row), (Effect("mark", row["mark"]),)) for row in rows])
    return f"{table} {[row_key(table, row) for row in rows]}"


def counted(storm: Storm, member: Member, table: str, filters: list[dict], columns: dict) -> str:
    """An increment, on a row that also gets a tag where it has tags."""
    amount, transforms, effects = storm.rng.randint(-9, 9), {}, []
    transforms["n"] = {"op": "increment", "by": amount}
    effects.append(Effect("n", amount))
    if "tags" in TABLES[table]["columns"]:
        tag = storm.mark()
        transforms["tags"] = {"op": "arrayUnion", "values": [tag]}
        effects.append(Effect("tag", tag))
    if columns:
        effects.append(Effect("mark", columns["mark"]))
    answer = must(member.call("apply_where", table=table, op="update", filters=filters, columns=columns,
                              transforms=transforms), 200)
    storm.written(member, answer, table, [(pk, tuple(effects)) for pk in answer.json()])
    return f"{table} {filters} by {amount}: {answer.json()}"


@step(9)
def increment(storm: Storm, member: Member) -> str:
    table = any_table(storm, "items", "pieces", "counters", "tasks")
    keys = some_keys(storm, table, 1)
    columns = {"mark": storm.mark()} if storm.rng.random() < 0.3 else {}
    return counted(storm, member, table, nodes(table, keys[0]), columns) if keys else "nothing to count"


@step(3)
def increment_by_filter(storm: Storm, member: Member) -> str:
    table = any_table(storm, "items", "pieces", "counters", "tasks")
    return counted(storm, member, table, [{"kind": "eq", "column": "note", "value": storm.rng.choice(WORDS)}], {})


def deleted(storm: Storm, member: Member, table: str, target: str) -> str:
    answer = must(member.request("DELETE", f"/rest/v1/{table}?{target}"), 200)
    kind = "stamp" if table == "memos" else "gone"
    storm.written(member, answer, table, [(pk, (Effect(kind),)) for pk in answer.json()])
    return f"{table} {target}: {answer.json()}"


@step(6)
def delete(storm: Storm, member: Member) -> str:
    table = any_table(storm)
    keys = some_keys(storm, table, storm.rng.choice([1, 1, 3]))
    return deleted(storm, member, table, query(table, keys)) if keys else "nothing to delete"


@step(2)
def delete_by_filter(storm: Storm, member: Member) -> str:
    return deleted(storm, member, any_table(storm), f"note=eq.{storm.rng.choice(WORDS)}&mark=like.*{storm.marks % 10}")


@step(4)
def move(storm: Storm, member: Member) -> str:
    """To another team: one's own, the other user's, or one that nobody is in."""
    table = any_table(storm, *TEAMED)
    keys = some_keys(storm, table, 2)
    if not keys:
        return "nothing to move"
    if table == "clocks":
        return patched(storm, member, "memos", query("memos", some_keys(storm, "memos", 2)),
                       {"team_id": storm.rng.choice(EVERY_TEAM)}) if storm.keys["memos"] else "nothing to move"
    return patched(storm, member, table, query(table, keys), {"team_id": storm.rng.choice(EVERY_TEAM)})


@step(3)
def update_what_is_refused(storm: Storm, member: Member) -> str:
    table = any_table(storm, "items", "pieces", "counters", "tasks", "memos")
    keys = some_keys(storm, table, 2)
    return patched(storm, member, table, query(table, keys), {"note": "forbidden"}) if keys else "nothing to refuse"


@step(3)
def take_a_slug(storm: Storm, member: Member) -> str:
    """Slugs are unique upstream, and the device does not know."""
    keys = some_keys(storm, "items", 1)
    slug = storm.rng.choice(WORDS)
    return patched(storm, member, "items", query("items", keys), {"slug": slug}) if keys else "nobody to take it"


@step(2)
def insert_for_nobody(storm: Storm, member: Member) -> str:
    """A team one is not in: the policy refuses the row."""
    row = new_row(storm, "items", "black", member.user)
    answer = must(member.request("POST", "/rest/v1/items", row), 201)
    storm.written(member, answer, "items", [(row["id"], (Effect("mark", row["mark"]),))])
    return row["id"]


@step(4)
def update_on_condition(storm: Storm, member: Member) -> str:
    table = any_table(storm, "items", "pieces", "counters")
    condition = f"precondition.note={storm.rng.choice(WORDS)}"
    keys = some_keys(storm, table, 2)
    if not keys:
        return "nothing to update"
    if storm.rng.random() < 0.3:
        return deleted(storm, member, table, f"{query(table, keys)}&{condition}")
    return patched(storm, member, table, f"{query(table, keys)}&{condition}", {})


@step(5)
def batch(storm: Storm, member: Member) -> str:
    """All or nothing; now and then one of them is refused."""
    mutations, effects = [], []
    for _ in range(storm.rng.randint(1, 3)):
        row = new_row(storm, "items", member.team, member.user)
        mutations.append({"table": "items", "pk": row["id"], "op": "insert", "columns": row})
        effects.append((row["id"], (Effect("mark", row["mark"]),)))
    row, amount = mutations[0], storm.rng.randint(1, 9)
    mutations.append({"table": "items", "pk": row["pk"], "op": "update",
                      "transforms": {"n": {"op": "increment", "by": amount}}})
    effects.append((row["pk"], (Effect("n", amount),)))
    if storm.rng.random() < 0.4:
        bad = new_row(storm, "items", storm.rng.choice([member.team, "black"]), member.user)
        bad["note"] = "forbidden"
        mutations.append({"table": "items", "pk": bad["id"], "op": "insert", "columns": bad})
        effects.append((bad["id"], (Effect("mark", bad["mark"]),)))
    answer = must(member.call("batch", mutations=mutations), 200)
    storm.written(member, answer, "items", effects)
    return f"{[each['pk'] for each in mutations]}"


# Runs, switches, and what machines and networks do

def run(member: Member, function: str = "sync") -> str:
    """A run that may fail of what the storm does to it, and of nothing else."""
    member.rpc("resume")
    answer = member.call(function)
    if member.paused:
        member.rpc("pause")
    code = answer.json()["code"] if answer.status != 204 else ""
    if answer.status not in RUN_STATUS or (code and code not in RUN_CODES):
        raise Failure(f"{member.name}: {function} answered {answer}")
    return f"{answer.status} {code}"


@step(16)
def sync(storm: Storm, member: Member) -> str:
    return run(member)


@step(2)
def one_half_of_a_run(storm: Storm, member: Member) -> str:
    half = storm.rng.choice(["push_once", "pull_once"])
    return f"{half} {run(member, half)}"


@step(4)
def all_at_once(storm: Storm, _: Member) -> str:
    """Everybody runs at the same time."""
    answers: list[Any] = []

    def one(member: Member) -> None:
        try:
            answers.append(f"{member.name} {run(member)}")
        except Exception as error:
            answers.append(error)

    threads = [threading.Thread(target=one, args=(each,)) for each in storm.members]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for answer in answers:
        if isinstance(answer, Exception):
            raise answer
    return ", ".join(answers)


@step(3)
def switch(storm: Storm, member: Member) -> str:
    member.team = storm.rng.choice(TEAMS[member.user])
    member.rpc("set_bucket", team_id=member.team)
    return member.team


@step(3)
def pause_or_resume(storm: Storm, member: Member) -> str:
    if storm.manual:
        return "it is paused as always"
    member.paused = not member.paused
    member.rpc("pause" if member.paused else "resume")
    return "paused" if member.paused else "resumed"


@step(2)
def kill(storm: Storm, member: Member) -> str:
    member.restart(kill=True)
    return "and started again"


@step(1)
def restart(storm: Storm, member: Member) -> str:
    member.restart()
    return "and started again"


@step(2)
def kill_in_a_run(storm: Storm, member: Member) -> str:
    """The process dies while a request of it is out."""
    function, where = storm.rng.choice(["push", "pull"]), storm.rng.choice(["start", "commit", "answer"])
    held = storm.upstream.fail("hold", times=1, function=function, where=where)
    thread = threading.Thread(target=quietly, args=(member, "POST", "/sync/v1/rpc/sync", {}))
    member.rpc("resume")
    thread.start()
    reached = held.reached.wait(0.5)
    member.gateway.kill()
    held.set()
    storm.upstream.plan.clear()
    thread.join(60)
    member.start()
    return f"{function} {where} {'while it was out' if reached else 'with none out'}"


@step(2)
def kill_in_a_write(storm: Storm, member: Member) -> str:
    """The process dies before the answer: the write happened or it did not."""
    keys = some_keys(storm, "items", 3)
    if not keys:
        return "nothing to write"
    mark = storm.mark()
    target = f"/rest/v1/items?{query('items', keys)}"
    thread = threading.Thread(target=quietly, args=(member, "PATCH", target, {"mark": mark}))
    thread.start()
    member.gateway.kill()
    thread.join(60)
    storm.unanswered(member, "items", [row_key("items", key) for key in keys], Effect("mark", mark))
    member.start()
    return f"{mark} {keys}"


def quietly(member: Member, *request: Any) -> None:
    """A request that nobody waits for."""
    with contextlib.suppress(OSError, http.client.HTTPException, AttributeError):
        member.request(*request)


@step(8)
def fault(storm: Storm, _: Member) -> str:
    kind, arguments = storm.rng.choice([
        ("drop_before", {}), ("drop_after", {}), ("truncate", {}), ("expired", {}),
        ("status", {"code": 503}), ("status", {"code": 500, "commit": True}), ("delay", {"seconds": 0.02}),
        ("delay_after", {"seconds": 0.05}), ("error", {"code": "40P01", "status": 500}),
        ("error", {"code": "23514", "status": 400}), ("error", {"code": "KZP02", "status": 400}),
        ("body", {"data": b"<html>", "commit": True}), ("redirect", {})])
    function = storm.rng.choice(["push", "push", "pull", None])
    times, after = storm.rng.choice([1, 1, 2]), storm.rng.choice([0, 0, 1])
    storm.upstream.fail(kind, times=times, function=function, after=after, **arguments)
    return f"{kind} {function} {times} after {after} {arguments}"


@step(1)
def outage(storm: Storm, member: Member) -> str:
    storm.upstream.offline()
    try:
        return run(member)
    finally:
        storm.upstream.online()


# What others write upstream, by SQL

def sql(storm: Storm, statement: str, *arguments: Any) -> None:
    storm.database.execute(statement, *arguments)


@step(4)
def sql_insert(storm: Storm, _: Member) -> str:
    table = any_table(storm, "items", "pieces", "counters", "memos", "clocks")
    rows = [new_row(storm, table, storm.rng.choice(EVERY_TEAM), "") for _ in range(storm.rng.choice([1, 3, 8]))]
    for row in rows:
        row.pop("meta", None)
        names = ", ".join(row)
        sql(storm, f"insert into public.{table} ({names}) values ({', '.join(['%s'] * len(row))})", *row.values())
    return f"{table} {[row_key(table, row) for row in rows]}"


def condition(table: str, key: dict) -> tuple[str, list]:
    return " and ".join(f"{name} = %s" for name in KEYS[table]), [key[name] for name in KEYS[table]]


@step(6)
def sql_change(storm: Storm, _: Member) -> str:
    """One transaction over some rows: new marks, amounts, and here and there another team."""
    table = any_table(storm)
    keys = some_keys(storm, table, 3)
    statements, arguments = [], []
    for key in keys:
        where, values = condition(table, key)
        statements.append(f"update public.{table} set mark = %s where {where}")
        arguments += [storm.mark(), *values]
        if table in TEAMED and storm.rng.random() < 0.3:
            statements.append(f"update public.{table} set team_id = %s where {where}")
            arguments += [storm.rng.choice(EVERY_TEAM), *values]
    if statements:
        sql(storm, "begin; " + "; ".join(statements) + "; commit", *arguments)
    return f"{table} {[row_key(table, key) for key in keys]}"


@step(4)
def sql_delete(storm: Storm, _: Member) -> str:
    table = any_table(storm)
    keys = some_keys(storm, table, 2)
    for key in keys:
        where, values = condition(table, key)
        sql(storm, f"delete from public.{table} where {where}", *values)
    return f"{table} {[row_key(table, key) for key in keys]}"


@step(2)
def sql_recreate(storm: Storm, _: Member) -> str:
    """A key that may be deleted is there again. Not where stamps are compared: an insert that finds the row there may
    lose its mark to a later one and yet be applied, for its other columns."""
    table = any_table(storm, *(name for name in TEAMED if name != "clocks"))
    keys = some_keys(storm, table, 1)
    for key in keys:
        names = [*key, "team_id", "mark"]
        sql(storm, f"insert into public.{table} ({', '.join(names)}) values ({', '.join(['%s'] * len(names))}) "
            "on conflict do nothing", *key.values(), storm.rng.choice(EVERY_TEAM), storm.mark())
    return f"{table} {[row_key(table, key) for key in keys]}"


@step(2)
def sql_increment(storm: Storm, _: Member) -> str:
    table = any_table(storm, "items", "pieces", "counters")
    for key in some_keys(storm, table, 2):
        where, values = condition(table, key)
        sql(storm, f"update public.{table} set n = n + %s where {where}", storm.rng.randint(1, 5), *values)
    return table


@step(1)
def sql_forget(storm: Storm, _: Member) -> str:
    """Time passes: removals are forgotten and the log is compacted, so that old checkpoints expire."""
    sql(storm, "update kizunasync.tombstones set deleted_at = deleted_at - interval '40 days'")
    storm.book.forgets = True
    reaped, gone = (storm.database.scalar(f"select kizunasync.{each}()") for each in ("reap", "compact"))
    return f"removals up to {reaped}, {gone} entries of the log"
