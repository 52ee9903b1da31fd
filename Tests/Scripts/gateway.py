"""Starts a gateway executable on a free port and talks to it: what every black-box test shares."""
import http.client
import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
READY = re.compile(r"^kizuna-gateway \S+ listening on http://([^ :/]+):(\d+)\b")


def executable(given=None):
    """The gateway to test: the one given, $KIZUNA_GATEWAY, or the newest build of this checkout."""
    named = given or os.environ.get("KIZUNA_GATEWAY")
    if named:
        if not os.access(named, os.X_OK):
            sys.exit(f"{named}: not an executable")
        return os.path.abspath(named)
    built = [os.path.join(REPOSITORY, ".build", mode, "kizuna-gateway") for mode in ("release", "debug")]
    built = [path for path in built if os.access(path, os.X_OK)]
    if not built:
        sys.exit("no gateway is built: run `swift build`, or name one with --gateway")
    return max(built, key=os.path.getmtime)


class StartFailed(Exception):
    """The process ended, or said nothing, before its ready line."""

    def __init__(self, status, stderr):
        super().__init__(f"exit status {status}: {stderr.strip()[:500]}")
        self.status, self.stderr = status, stderr


class Answer:
    """Status, headers (names in lower case, repeated ones joined) and body of one answer."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:200]!r}"


def read_answer(response):
    headers = {}
    body = response.read()
    for name, value in response.getheaders():
        name = name.lower()
        headers[name] = headers[name] + ", " + value if name in headers else value
    return Answer(response.status, headers, body)


class Gateway:
    """One gateway process. Use it as a context manager, or call start and stop."""

    def __init__(self, path, config, directory=None, port=0, environment=None):
        self.path = path
        self.owned = None if directory else tempfile.TemporaryDirectory(prefix="kizuna-test-")
        self.directory = directory or self.owned.name
        self.config = {"listen": [f"127.0.0.1:{port}"],
                       "database": os.path.join(self.directory, "kizuna.sqlite"), **config}
        self.environment = environment or {}
        self.process = self.host = self.port = None

    @property
    def base(self):
        return f"http://{self.host}:{self.port}"

    @property
    def database(self):
        return self.config["database"]

    def launch(self):
        """Starts the process and does not wait for it."""
        configuration = os.path.join(self.directory, "kizuna.json")
        with open(configuration, "w", encoding="utf-8") as file:
            json.dump(self.config, file, ensure_ascii=False)
        clean = {name: value for name, value in os.environ.items() if not name.startswith("KIZUNA_")}
        with open(os.path.join(self.directory, "stderr"), "wb") as log:
            self.process = subprocess.Popen(
                [self.path, "serve", "--config", configuration], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, cwd=self.directory, env={**clean, **self.environment})
        return self

    def start(self, timeout=30):
        """Starts the process and waits for its ready line."""
        self.launch()
        output, deadline, text = self.process.stdout.fileno(), time.monotonic() + timeout, b""
        while b"\n" not in text:
            ready, _, _ = select.select([output], [], [], max(0, deadline - time.monotonic()))
            piece = os.read(output, 65536) if ready else b""
            if not piece:
                if not ready:
                    self.process.kill()
                status = self.process.wait()
                raise StartFailed(status if ready else "none: no ready line in time", self.stderr())
            text += piece
        line = text.decode("utf-8", "replace").splitlines()[0]
        match = READY.match(line)
        if not match:
            self.kill()
            raise StartFailed("none: unexpected ready line " + repr(line), self.stderr())
        self.host, self.port = match[1], int(match[2])
        return self

    def stderr(self):
        with open(os.path.join(self.directory, "stderr"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def stop(self, timeout=10):
        """Asks the process to end and returns its exit status; kills it when it does not."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(timeout)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        status, self.process = self.process.returncode, None
        return status

    def kill(self):
        """SIGKILL, and wait until the process is gone."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process = None

    def connect(self, timeout=30):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def request(self, method, target, body=None, headers=None, timeout=30):
        """One request on a connection of its own; a body that is no bytes is sent as JSON."""
        headers = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        connection = self.connect(timeout)
        try:
            connection.request(method, target, body, headers)
            return read_answer(connection.getresponse())
        finally:
            connection.close()

    def raw(self, head, body=b"", timeout=15):
        """Sends bytes as they are; None when the server closes without an answer."""
        with socket.create_connection((self.host, self.port), timeout=timeout) as connection:
            try:
                connection.sendall(head + body)
            except (BrokenPipeError, ConnectionResetError):
                pass
            response = http.client.HTTPResponse(connection, method=head.split(b" ", 1)[0].decode("latin-1"))
            try:
                response.begin()
                return read_answer(response)
            except (http.client.HTTPException, ConnectionError):
                return None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()
        if self.owned:
            self.owned.cleanup()


class Checks:
    """Counts what held and what did not, and prints the closing line."""

    def __init__(self, verbose=False):
        self.passed, self.failed, self.verbose = 0, 0, verbose

    def check(self, name, holds, detail=""):
        if holds:
            self.passed += 1
            if self.verbose:
                print(f"ok    {name}")
        else:
            self.failed += 1
            print(f"FAIL  {name}: {str(detail)[:600]}", flush=True)
        return bool(holds)

    def equal(self, name, got, want):
        return self.check(name, got == want, f"want {want!r}, got {got!r}")

    def run(self, name, function, *arguments):
        """Runs one test; an exception that leaves it is a failed check."""
        try:
            return function(*arguments)
        except Exception as error:
            self.check(name, False, f"{type(error).__name__}: {error}")
            return None

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 0 if self.failed == 0 and self.passed > 0 else 1
