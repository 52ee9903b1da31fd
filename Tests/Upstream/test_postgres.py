"""Databases for tests are fresh, quick and of the flavour that was asked for."""

from __future__ import annotations

import pathlib

import psycopg2
import pytest

from postgres import Postgres

SUB = "a0000000-0000-4000-8000-000000000001"
NOTES = "create table public.notes (id int primary key)"


@pytest.mark.parametrize("flavour", ["plain", "supabase"])
def test_databases_of_one_template_share_nothing(make_database, flavour):
    first, second = (make_database(NOTES, flavour, pack=False) for _ in range(2))
    first.execute("insert into notes values (%s)", 1)
    assert first.execute("select * from notes") == [(1,)]
    assert second.execute("select * from notes") == []


@pytest.mark.parametrize("flavour, superuser", [("plain", True), ("supabase", False)])
def test_the_owner_is_what_the_flavour_says(make_database, flavour, superuser):
    database = make_database(NOTES, flavour, pack=False)
    assert database.scalar("select rolsuper from pg_roles where rolname = current_user") is superuser
    assert database.scalar("select tableowner from pg_tables where tablename = 'notes'") == "postgres"
    assert database.scalar("select datdba::regrole::text from pg_database "
                           "where datname = current_database()") == "postgres"


@pytest.mark.parametrize("flavour", ["plain", "supabase"])
def test_acting_sets_role_and_claims_for_one_transaction(make_database, flavour):
    database = make_database("", flavour, pack=False)
    with database.acting(SUB, email="a@b.test") as cursor:
        cursor.execute("select current_user, auth.uid()::text, auth.jwt() ->> 'email', auth.role()")
        assert cursor.fetchone() == ("authenticated", SUB, "a@b.test", "authenticated")
    with database.acting(None, role="anon") as cursor:
        cursor.execute("select current_user, auth.uid()")
        assert cursor.fetchone() == ("anon", None)


def test_the_folder_of_a_pack_is_installed_in_name_order_without_the_example(make_database, tmp_path):
    (tmp_path / "02_use.sql").write_text("insert into made values (2)")
    (tmp_path / "01_make.sql").write_text("create table made (n int)")
    (tmp_path / "example.sql").write_text("drop table made")
    database = make_database(["insert into made values (3)", "insert into made values (4)"], pack=tmp_path)
    assert database.execute("select n from made") == [(2,), (3,), (4,)]


def test_broken_sql_names_its_file_and_leaves_no_template(make_database, tmp_path):
    (tmp_path / "01_broken.sql").write_text("create tabel")
    for _ in range(2):
        with pytest.raises(psycopg2.errors.SyntaxError) as caught:
            make_database(pack=tmp_path)
        assert "01_broken.sql" in caught.value.__notes__[0]


def test_hosted_roles_may_send_broadcasts_only_as_far_as_policies_allow(make_database):
    database = make_database("", "supabase", pack=False)
    database.execute("select realtime.send('{}', 'changed', 'topic', true)")
    with database.acting(SUB) as cursor:
        cursor.execute("select realtime.send('{}', 'changed', 'topic', true)")
    sent = database.execute("select topic, event, private from realtime.messages")
    assert sent == [("topic", "changed", True)]


def test_a_crashed_server_comes_back_on_its_port_with_its_data():
    with Postgres(fsync=True) as server:
        database = server.database(NOTES, pack=False)
        database.execute("insert into notes values (1)")
        port, directory = server.port, server.directory
        server.stop("immediate")
        with pytest.raises(psycopg2.OperationalError):
            server.connect()
        server.start()
        assert server.port == port
        with server.connect(database.name) as connection, connection.cursor() as cursor:
            cursor.execute("select id from notes")
            assert cursor.fetchall() == [(1,)]
    assert server.pid == 0
    assert not pathlib.Path(directory).exists()
