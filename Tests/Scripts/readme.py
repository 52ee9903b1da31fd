#!/usr/bin/env python3
"""Runs README.md: every `sh`, `python` or `swift` block must be followed by a `json` or `text` block; it is run against
the built-in demo, in order, and must print what that block shows. Ids, times and versions may differ. Blocks marked
`setup` install, build and test; what they name must be what Tests/run.sh does. Behind the one that starts the demo of
sync, commands go to its two gateways.

    Tests/Scripts/readme.py [--gateway PATH] [--verbose]
"""
import argparse
import glob
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
SHOWN_BASES = ("http://localhost:54321", "http://localhost:54322")
SYNC_DEMO = "Tests/Upstream/upstream.py --demo --gateways"


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


def run(command, directory, seconds=30):
    return subprocess.run(command, cwd=directory, env=environment(), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=seconds, check=False)


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
        self.bases = [f"http://{match[1]}:{match[2]}"]

    def address(self, text):
        """The command for the address of this run."""
        return text.replace(SHOWN_BASES[0], self.bases[0])

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()


class SyncDemo(Demo):
    """An upstream with two gateways, started as the README says."""

    def __init__(self, path, directory):
        self.process = subprocess.Popen(
            ["/usr/bin/python3", *SYNC_DEMO.split(), path, "--free-ports", "--directory", directory], cwd=REPOSITORY,
            env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.bases = []
        for line in self.process.stdout:
            if address := re.match(r"(?:ana|ben)\s+(http\S+)$", line):
                self.bases.append(address[1])
            if line.startswith("Ctrl-C"):
                return
        sys.exit("the demo of sync did not start")

    def address(self, text):
        """The command for the addresses of this run; a port in a variable counts too."""
        text = text.replace("http://localhost:$port", "http://$port")
        for shown, base in zip(SHOWN_BASES, self.bases):
            port = shown.rsplit(":", 1)[1]
            text = text.replace(shown, base)
            text = re.sub(rf"(?<=[ ]){port}(?=[ ;])", base.removeprefix("http://"), text)
        return text


def python_command(text, directory):
    """With the packages of the step `client-venv`, which must have run."""
    return [os.path.join(REPOSITORY, ".build", "venv", "bin", "python"), "-c", text]


def swift_command(text, directory):
    """Compiled against the modules and objects of the release build."""
    build = os.path.join(REPOSITORY, ".build", "release")
    source, program = os.path.join(directory, "Example.swift"), os.path.join(directory, "program")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    modules = ("KizunaSync", "KizunaEngine", "CSQLite", "CCurl")
    objects = [path for name in modules for path in glob.glob(os.path.join(build, f"{name}.build", "*.o"))]
    includes = [f"-I{os.path.join(build, name)}" for name in ("Modules", "CSQLite.build", "CCurl.build")]
    compiled = run(["swiftc", "-swift-version", "6", "-parse-as-library", "-static-stdlib", "-o", program, source, *includes,
                    *objects, "-lsqlite3", "-lcurl"], directory, seconds=300)
    return [program] if compiled.returncode == 0 else ["printf", "%s", compiled.stdout + compiled.stderr]


COMMANDS = {"sh": lambda text, directory: ["bash", "-c", text], "python": python_command, "swift": swift_command}


def session(checks, blocks, demo, directory):
    """The commands and the answers shown."""
    for command, answer in zip(blocks, [*blocks[1:], {"kind": "", "mark": None}]):
        if command["kind"] not in COMMANDS or command["mark"] == "setup":
            continue
        text = command["text"].strip()
        if answer["kind"] not in ("json", "text") or answer["mark"]:
            checks.check(text, False, "the README shows no answer to it")
            continue
        arguments = COMMANDS[command["kind"]](demo.address(text), directory)
        try:
            result = run(arguments, directory)
            got = result.stdout or result.stderr
        except OSError as error:
            got = str(error)
        checks.check(text, settled(got) == settled(answer["text"]), f"the README shows {answer['text']} but it prints {got}")


def setup(checks, blocks):
    """What is installed, built and run on a fresh machine is what the tests install, build and run."""
    text = "".join(block["text"] for block in blocks if block["mark"] == "setup")
    with open(os.path.join(REPOSITORY, "Tests", "run.sh"), encoding="utf-8") as file:
        tests = file.read()
    packages = re.findall(r"\b\S+-dev\b|\bpostgresql\b|\bpython3-\S+", text)
    checks.check("the packages installed", packages and all(package in tests for package in packages), text)
    build = re.search(r"(swift build .*) && .build/release/kizuna-gateway\n", text)
    checks.check("the build", build and f"{build[1]}\n" in tests, text)
    checks.check("the tests", "bash Tests/run.sh\n" in text, text)


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
    start = next(place for place, block in enumerate(blocks) if SYNC_DEMO in block["text"])
    end = next(place for place, block in enumerate(blocks) if place > start and block["mark"] == "kizuna.json")
    with tempfile.TemporaryDirectory(prefix="kizuna-readme-") as directory, Demo(gateway, directory) as demo:
        shown = next((block["text"] for block in blocks if READY.match(block["text"])), "")
        checks.equal("the ready line", settled(demo.line), settled(shown.replace(", http://[::1]:54321", "")))
        session(checks, blocks[:start] + blocks[end:], demo, directory)
        checks.equal("exit status after SIGTERM", demo.stop(), 0)
    with tempfile.TemporaryDirectory(prefix="kizuna-readme-") as directory, SyncDemo(gateway, directory) as demo:
        session(checks, blocks[start:end], demo, directory)
        checks.equal("exit status of the demo of sync", demo.stop(), 0)
    setup(checks, blocks)
    configurations(checks, blocks, gateway)
    return checks.finish()


if __name__ == "__main__":
    sys.exit(main())
