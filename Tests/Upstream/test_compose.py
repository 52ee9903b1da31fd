"""The compose file names what exists and starts it in order."""

from __future__ import annotations

import contextlib
import pathlib
import subprocess

import pytest
import yaml

from postgres import Postgres, binary

DOCKER = pathlib.Path(__file__).resolve().parent.parent.parent / "docker"


@pytest.fixture(scope="module")
def services():
    return yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]


def test_every_mounted_path_exists(services):
    mounts = [volume.split(":")[0] for service in services.values() for volume in service.get("volumes", [])]
    assert mounts
    for path in mounts:
        assert (DOCKER / path).exists(), path


def test_the_example_is_installed_last(services):
    assert "./upstream:/docker-entrypoint-initdb.d:ro" in services["postgres"]["volumes"]
    names = sorted(path.name for path in (DOCKER / "upstream").iterdir()
                   if path.suffix in (".sql", ".sh", ".gz", ".xz", ".zst"))
    assert names[-1] == "example.sql"


def test_postgrest_waits_for_a_healthy_database_and_tells_its_own_health(services):
    assert services["postgrest"]["depends_on"]["postgres"]["condition"] == "service_healthy"
    for service in services.values():
        assert service["healthcheck"]["test"][0] == "CMD"
    environment = services["postgrest"]["environment"]
    assert environment["PGRST_DB_SCHEMAS"] == "kizunasync"
    assert environment["PGRST_DB_ANON_ROLE"] == "anon"
    assert "//authenticator@" in environment["PGRST_DB_URI"]


def test_nothing_listens_beyond_the_loopback(services):
    for service in services.values():
        for port in service.get("ports", []):
            assert port.startswith("127.0.0.1:")


def test_the_mounted_scripts_make_a_database_that_postgrest_can_serve():
    """As the image's entry point runs them: psql, in name order, where no role but postgres exists."""
    with Postgres() as server:
        for path in sorted((DOCKER / "upstream").glob("*.sql")):
            command = [binary("psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", f"--file={path}"]
            subprocess.run([*command, server.dsn()], check=True, stdout=subprocess.DEVNULL)
        with contextlib.closing(server.connect(user="authenticator")) as connection:
            cursor = connection.cursor()
            for role in ("anon", "authenticated", "service_role"):
                cursor.execute("select set_config('role', %s, false)", (role,))
