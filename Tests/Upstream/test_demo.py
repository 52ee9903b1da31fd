"""The demo serves the example schema and leaves nothing running."""

from __future__ import annotations

import http.client
import json
import pathlib
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import pytest

from demo import TEAM, USERS

SCRIPT = pathlib.Path(__file__).with_name("upstream.py")


@pytest.fixture
def demo(tmp_path):
    command = [sys.executable, str(SCRIPT), "--demo", "--directory", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:
            if line.startswith("Ctrl-C"):
                break
        yield process, tmp_path
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
        process.stdout.close()


def test_users_of_the_demo_pull_their_rows_with_what_their_configuration_says(demo):
    process, directory = demo
    for name, (sub, _) in USERS.items():
        configuration = json.loads((directory / f"{name}.json").read_text())
        remote = configuration["remote"]
        connection = http.client.HTTPConnection(urlsplit(remote["url"]).netloc, timeout=10)
        token = pathlib.Path(remote["access_token_file"]).read_text()
        connection.request("POST", "/rest/v1/rpc/pull", json.dumps({
            "buckets": [{"table": "lists", "params": {"team_id": TEAM}},
                        {"table": "todos", "params": {"user_id": sub}}],
            "cursor": "0", "schema_version": 1}),
            {"apikey": remote["publishable_key"], "Authorization": f"Bearer {token}"})
        page = json.loads(connection.getresponse().read())
        rows = {table: [row["row"] for row in page["rows"] if row["table"] == table]
                for table in configuration["tables"]}
        assert len(rows["lists"]) == 2
        assert {row["user_id"] for row in rows["todos"]} == {sub}
        for table, columns in configuration["tables"].items():
            assert all(row.keys() == columns["columns"].keys() for row in rows[table])
        connection.close()


def test_an_interrupt_ends_the_demo_cleanly(demo):
    process, _ = demo
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
