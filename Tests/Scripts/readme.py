#!/usr/bin/env python3
"""Runs README.md: every `sh` block that is followed by a `json` or `text` block is run against the built-in demo, in
order, and must print what the second block shows. Ids, times and versions may differ.

    Tests/Scripts/readme.py [--gateway PATH] [--verbose]
"""
import argparse
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile

from gateway import READY, REPOSITORY, Checks, executable

BLOCK = re.compile(r"(?:^<!-- (?P<mark>[^\n]*) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
FAILS = re.compile(r"fails: kizuna-gateway (?P<command>\w+) with (?P<file>.*)")
VOLATILE = [
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "UUID"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d(:\d\d)?)?"), "TIME"),
    (re.compile(r"^kizuna-gateway \d+\.\d+\.\d+"), "kizuna-gateway VERSION"),
    (re.compile(r"http://(localhost|127\.0\.0\.1|\[::1\]):\d+"), "ADDRESS"),
]
SHOWN_BASE = "http://localhost:54321"


def settled(text):
    """What is compared: JSON with the order of its keys but not its white space, and no volatile value."""
    for pattern, name in VOLATILE:
        text = pattern.sub(name, text.strip())
    try:
        return json.loads(text, object_pairs_hook=list, parse_float=str)
    except ValueError:
        return text


def environment():
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KIZUNA_")}
    return {**clean, "no_proxy": "*"}


def run(command, directory):
    return subprocess.run(command, cwd=directory, env=environment(), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=30, check=False)


class Demo:
    """The gateway without a configuration, in a directory of its own."""

    def __init__(self, path, directory):
        self.process = subprocess.Popen(
            [path, "--listen", "127.0.0.1:0", "--log-level", "error"], cwd=directory, env=environment(), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, text=True)
        ready, _, _ = select.select([self.process.stdout], [], [], 30)
        self.line = self.process.stdout.readline() if ready else ""
        match = READY.match(self.line)
        if not match:
            self.process.kill()
            sys.exit(f"the demo did not start: {self.line!r}")
        self.base = f"http://{match[1]}:{match[2]}"

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(10)


def session(checks, blocks, demo, directory):
    """The commands with an answer shown."""
    for command, answer in zip(blocks, blocks[1:]):
        if command["kind"] != "sh" or answer["kind"] not in ("json", "text") or answer["mark"]:
            continue
        text = command["text"].strip()
        result = run(["bash", "-c", text.replace(SHOWN_BASE, demo.base)], directory)
        got = result.stdout or result.stderr
        checks.check(text, settled(got) == settled(answer["text"]), f"the README shows {answer['text']} but it prints {got}")


def configurations(checks, blocks, gateway):
    """The files shown are valid, and the failure shown is the failure that comes."""
    for block in blocks:
        with tempfile.TemporaryDirectory(prefix="kizuna-readme-") as directory:
            fails = FAILS.match(block["mark"] or "")
            if block["mark"] == "kizuna.json":
                command, content = "check", block["text"]
            elif fails:
                command, content = fails["command"], fails["file"]
            else:
                continue
            with open(os.path.join(directory, "kizuna.json"), "w", encoding="utf-8") as file:
                file.write(content)
            result = run([gateway, command], directory)
            if fails:
                checks.equal(block["mark"], (result.returncode, result.stderr.strip()), (78, block["text"].strip()))
            else:
                checks.check("the configuration shown", result.returncode == 0, result.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gateway")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    gateway = executable(options.gateway)
    with open(os.path.join(REPOSITORY, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    blocks = [match.groupdict() for match in BLOCK.finditer(readme)]
    checks = Checks(options.verbose)
    with tempfile.TemporaryDirectory(prefix="kizuna-readme-") as directory:
        demo = Demo(gateway, directory)
        try:
            shown = next((block["text"] for block in blocks if READY.match(block["text"])), "")
            checks.equal("the ready line", settled(demo.line), settled(shown.replace(", http://[::1]:54321", "")))
            session(checks, blocks, demo, directory)
        finally:
            status = demo.stop()
        checks.equal("exit status after SIGTERM", status, 0)
    configurations(checks, blocks, gateway)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
