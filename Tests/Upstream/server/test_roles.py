"""Who may do what: users reach the five functions and nothing behind them."""

from __future__ import annotations

import pytest

from support import ANNA, BEN, Refused, World, entry, insert, keys, new_id, uid

FLAVOURS = pytest.mark.parametrize("world", ["plain", "supabase"], indirect=True)
OFFERED = {"pull", "push", "attachment_confirm", "attachment_metadata", "attachment_vacuum"}
STORES = ["settings", "registered_tables", "pending_changes", "change_log", "tombstones", "grants", "ledger",
          "clients",
          "hlc_state", "overwrites", "reap_state"]
FUNCTIONS = "select oid, proname from pg_proc where pronamespace = 'kizunasync'::regnamespace"


def refused_code(work) -> str:
    try:
        work()
    except Refused as refused:
        return refused.code
    return "accepted"


@FLAVOURS
def test_users_may_execute_the_five_functions_and_nothing_else(world: World):
    allowed = {name for name, in world.sql(
        f"select proname from ({FUNCTIONS}) f where has_function_privilege('authenticated', oid, 'execute')")}
    assert allowed == OFFERED
    assert world.sql(f"select proname from ({FUNCTIONS}) f where has_function_privilege('anon', oid,"
                     f" 'execute')") == []
    assert world.sql("select proname from pg_proc p, aclexplode(coalesce(proacl, acldefault('f', proowner)))"
                     " a"
                     " where pronamespace = 'kizunasync'::regnamespace and a.grantee = 0") == []


@FLAVOURS
def test_the_five_functions_are_definers_with_an_empty_search_path(world: World):
    found = world.sql("select proname, prosecdef, proconfig from pg_proc where pronamespace ="
                      " 'kizunasync'::regnamespace"
                      " and proname = any(%s)", (list(OFFERED),))
    assert {name for name, _, _ in found} == OFFERED and len(found) == 5
    for name, definer, settings in found:
        assert definer and 'search_path=""' in settings, name


@FLAVOURS
def test_functions_of_policies_may_name_tables_without_their_schema(world: World):
    world.tasks()
    world.put("tasks", id=1)
    world.sql("create table members (id uuid primary key); grant select on members to authenticated")
    world.sql("create function is_member() returns boolean language sql stable as"
              " 'select exists (select from members where id = auth.uid())'")
    world.sql("create policy members_only on tasks as restrictive for all to authenticated using (is_member())")
    anna, sent = world.caller(), insert("tasks", "2", {"title": "x"})
    assert keys(anna.pull(entry("tasks"))) == []
    world.sql("insert into members values (%s)", (ANNA,))
    assert keys(anna.pull(entry("tasks"))) == ["1"]
    assert anna.push(sent)["verdicts"][0]["verdict"] == "applied"


@FLAVOURS
def test_users_read_and_write_no_bookkeeping(world: World):
    anna = world.caller()
    for store in STORES:
        assert refused_code(lambda: anna.sql(f"select * from kizunasync.{store}")) == "42501", store
        for privilege in ("insert", "update", "delete", "truncate", "references", "trigger"):
            for role in ("authenticated", "anon"):
                assert not world.one("select has_table_privilege(%s, %s, %s)",
                                     (role, f"kizunasync.{store}", privilege))
    for call in ("nextval('kizunasync.change_seq')", "currval('kizunasync.change_seq')",
                 "setval('kizunasync.change_seq', 9)"):
        assert refused_code(lambda: anna.sql(f"select {call}")) == "42501"
    assert refused_code(lambda: anna.sql("select last_value from kizunasync.change_seq")) == "42501"
    assert refused_code(lambda: anna.sql("create table kizunasync.mine (id bigint)")) == "42501"
    for privilege in ("insert", "update", "delete"):
        assert not world.one("select has_table_privilege('authenticated', 'kizunasync.attachments', %s)",
                             (privilege,))


@FLAVOURS
def test_users_call_no_helper_and_no_maintenance(world: World):
    anna = world.caller()
    hidden = world.sql(f"select proname, array(select format_type(t, null) from unnest(p.proargtypes) t)"
                       f" from ({FUNCTIONS}) f join pg_proc p using (oid, proname)"
                       " where prokind = 'f' and not proname = any(%s)", (list(OFFERED),))
    assert len(hidden) > 5
    for name, types in hidden:
        nulls = ", ".join(f"null::{kind}" for kind in types)
        assert refused_code(lambda: anna.sql(f"select kizunasync.{name}({nulls})")) == "42501", name


@FLAVOURS
def test_anonymous_callers_reach_nothing(world: World):
    world.tasks()
    anonymous = world.caller(None, role="anon")
    assert anonymous.pull_code(entry("tasks")) == anonymous.push_code(insert("tasks", "1")) == "42501"
    assert refused_code(lambda: anonymous.sql("select * from kizunasync.attachments")) == "42501"


@FLAVOURS
def test_row_access_belongs_to_a_role_that_bypasses_nothing(world: World):
    assert world.sql("select rolcanlogin, rolsuper, rolbypassrls from pg_roles where rolname ="
                     " 'kizunasync_rows'") == [
        (False, False, False)]
    assert world.one("select pg_has_role('kizunasync_rows', 'authenticated', 'member')")
    assert not world.one("select pg_has_role('authenticated', 'kizunasync_rows', 'member')")
    for role in ("anon", "authenticator", "service_role"):
        assert not world.one("select pg_has_role(%s, 'kizunasync_rows', 'member')", (role,)), role


SAMPLES = {"text": "'tasks'", "text[]": "array['id']", "json": "'{}'", "jsonb": "'{}'", "uuid": f"'{uid(1)}'",
           "integer": "1", "bigint": "1", "boolean": "true", "oid": "'tasks'::regclass",
           "regclass": "'tasks'::regclass",
           "name": "'tasks'", "timestamp with time zone": "now()"}


@FLAVOURS
def test_helpers_work_only_inside_pull_and_push(world: World):
    """Whoever holds EXECUTE on a helper, rows stay shut without the flag of a running call."""
    world.tasks()
    world.put("tasks", id=1, title="secret")
    helpers = world.sql(
        "select proname, array(select format_type(t, null) from unnest(proargtypes) t) from pg_proc"
        " where pronamespace = 'kizunasync'::regnamespace and proowner = 'kizunasync_rows'::regrole"
        " and prosecdef and prorettype <> 'trigger'::regtype")
    assert helpers
    session = world.open(world.database.postgres.superuser)

    def refuse_each() -> None:
        for name, types in helpers:
            given = ", ".join(SAMPLES.get(kind, f"null::{kind}") + f"::{kind}" for kind in types)
            assert refused_code(lambda: session.sql(f"select kizunasync.{name}({given})")) == "42501", name
            session.rollback()

    refuse_each()
    anna = world.caller().on(session)
    assert keys(anna.pull(entry("tasks"))) == ["1"]
    anna.push(insert("tasks", "2"))
    refuse_each()
    session.one("select pg_current_xact_id()")
    session.commit()
    refuse_each()


@FLAVOURS
def test_the_service_reads_the_bookkeeping_and_keeps_it(world: World):
    world.tasks()
    service = world.caller(None, role="service_role")
    for store in STORES:
        service.sql(f"select * from kizunasync.{store}")
    assert service.sql("select kizunasync.reap()") == [(0,)]
    assert service.sql("select kizunasync.compact()") == [(0,)]
    service.sql("select kizunasync.prune()")


@FLAVOURS
def test_maintenance_and_registration_refuse_a_users_token(world: World):
    """Even for a session with the owner's rights, once it speaks with a user's claims."""
    world.create("tasks", "id bigint primary key")
    session = world.open()
    for call in ("reap()", "compact()", "prune()", "register_table('tasks')", "unregister_table('tasks')"):
        session.sql("select set_config('request.jwt.claims', %s, true)",
                    (f'{{"sub":"{ANNA}","role":"authenticated"}}',))
        assert refused_code(lambda: session.sql(f"select kizunasync.{call}")) == "42501", call
        session.rollback()
    assert world.count("registered_tables") == 0


def test_maintenance_of_a_users_token_that_claims_to_be_the_service(world: World):
    world.tasks()
    assert refused_code(lambda: world.caller().sql("select kizunasync.reap()")) == "42501"
    odd = world.caller(ANNA)
    odd.claims = {"sub": ANNA, "role": "service_role"}
    assert refused_code(lambda: odd.sql("select kizunasync.reap()")) == "42501"


@FLAVOURS
def test_i_04_no_reply_reveals_another_users_row(world: World):
    world.tasks(policy="owner = (nullif(current_setting('request.jwt.claims', true), '')::json ->>"
                " 'sub')::uuid")
    world.put("tasks", id=1, owner=ANNA, title="secret")
    ben = world.caller(BEN)
    assert keys(ben.pull(entry("tasks"))) == []
    answers = ben.push(*({"mutation_id": new_id(), "table": "tasks", "pk": "1", "op": op,
                          "columns": columns} | more
                         for op, columns in (("insert", {"title": "x"}), ("update", {"title": "x"}),
                                             ("delete", {}))
                         for more in ({}, {"precondition": {"title": "secret"}})))
    for verdict in answers["verdicts"]:
        assert verdict["verdict"] == "rejected" and verdict["server_row"] is None
    assert "secret" not in str(answers) and world.row("tasks", 1)["title"] == "secret"
