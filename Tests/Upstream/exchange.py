"""The requests of one connection: routes, answers, and faults on the wire."""

from __future__ import annotations

import http.server
import json
import socket
import struct
import traceback
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import control
import faults
import rpc
import sign_in
import tokens

OVERSIZE = 64 * 1024 * 1024 + 1
JSON = "application/json; charset=utf-8"


class Hangup(Exception):
    """The connection ends without (the rest of) an answer."""


class Exchange(http.server.BaseHTTPRequestHandler):
    """The requests of one connection. `server` is the upstream."""

    protocol_version = "HTTP/1.1"
    server_version = "upstream-for-tests"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Any
    entry: Any = None

    def do_POST(self) -> None:
        self._answer(self._post)

    def do_GET(self) -> None:
        self._answer(self._get)

    def log_message(self, *_: Any) -> None:
        pass

    def _answer(self, serve: Any) -> None:
        try:
            serve(self._read_body(), urlsplit(self.path))
        except rpc.Refusal as refusal:
            self._send_refusal(refusal)
        except (Hangup, OSError):
            self.close_connection = True
        except Exception as error:
            traceback.print_exc()
            self.server.errors.append(error)
            self._send(500, json.dumps({"code": "XX000", "message": repr(error)}).encode())

    def _get(self, _: bytes, url: Any) -> None:
        if url.path == "/control/requests":
            return self._send(200, control.requests(self.server))
        if _function(url.path):
            raise rpc.Refusal(405, "PGRST101", "Cannot use the GET method on RPC")
        raise rpc.Refusal(404, "PGRST125", "Invalid path specified in request URL")

    def _post(self, body: bytes, url: Any) -> None:
        if url.path.startswith("/control/"):
            return self._send(200, control.run(self.server, url.path.removeprefix("/control/"), body))
        if url.path == "/auth/v1/token":
            return self._serve("token", body, lambda held: self._sign_in(body, url.query, held))
        function = _function(url.path)
        if not function:
            raise rpc.Refusal(404, "PGRST125", "Invalid path specified in request URL")
        keyed = url.path.startswith("/rest/v1/")
        self._serve(function, body, lambda held: self._call(function, body, keyed, held))

    def _serve(self, function: str, body: bytes, answer: Any) -> None:
        """Serves one request under the faults that wait for it."""
        upstream = self.server
        entry = upstream.recorded(function, _shown(body), self._headers())
        self.entry = entry
        struck = upstream.plan.take(function)
        struck.pause("start", upstream.closing)
        final = struck.final
        try:
            if final and not (final.args.get("commit") or final.kind in ("drop_after", "truncate")):
                return self._strike(final, b"")
            status, payload = answer(struck)
            struck.pause("answer", upstream.closing)
            if final:
                self._strike(final, payload)
            else:
                self._send(status, payload)
        finally:
            if entry.status is None:
                upstream.answered(entry, 0, b"")

    def _call(self, function: str, body: bytes, keyed: bool, struck: faults.Struck) -> tuple[int, bytes]:
        upstream = self.server
        shown: dict[str, Any] = {}
        try:
            if keyed:
                self._check_key()
            claims = self._claims()
            schema = self.headers.get("Content-Profile") or upstream.schemas[0]
            if schema not in upstream.schemas:
                raise rpc.Refusal(406, "PGRST106", f"Invalid schema: {schema}", None,
                                  f"Only the following schemas are exposed: {', '.join(upstream.schemas)}")
            shown = rpc.parsed(body)
            keys = set(shown)
            found = upstream.caller.find(schema, function, keys)
            if upstream.before:
                upstream.before(function, shown)
            payload = upstream.caller.call(found, keys, body.decode(), self._settings(schema, claims),
                                           claims["role"] == "anon",
                                           lambda: struck.pause("commit", upstream.closing))
            status, payload = (204, b"") if payload is None else (200, payload)
        except rpc.Refusal as refusal:
            status, payload = refusal.status, json.dumps(refusal.body).encode()
        if upstream.after:
            upstream.after(function, shown, status, payload)
        return status, payload

    def _claims(self) -> dict[str, Any]:
        header = self.headers.get("Authorization")
        if header is None:
            return {"role": "anon"}
        scheme, _, token = header.partition(" ")
        try:
            if scheme.lower() != "bearer":
                return {"role": "anon"}
            claims = tokens.decode(token.strip(), self.server.jwt_secret, self.server.claims_code)
        except tokens.TokenError as error:
            code, message, details = error.args
            raise rpc.Refusal(401, code, message, details) from error
        return {**claims, "role": claims.get("role", "anon")}

    def _settings(self, schema: str, claims: dict[str, Any]) -> dict[str, str]:
        return {"search_path": f'"{schema}", "public"', "role": claims["role"],
                "request.jwt.claims": json.dumps(claims), "request.method": "POST",
                "request.path": unquote(urlsplit(self.path).path.removeprefix("/rest/v1")),
                "request.headers": json.dumps(self._headers())}

    def _headers(self) -> dict[str, str]:
        return {name.lower(): value for name, value in self.headers.items()}

    def _sign_in(self, body: bytes, query: str, struck: faults.Struck) -> tuple[int, bytes]:
        try:
            self._check_key()
            kind = parse_qs(query).get("grant_type", [""])[0]
            answer = self.server.auth.grant(kind, rpc.parsed(body))
            struck.pause("commit", self.server.closing)
            return 200, json.dumps(answer).encode()
        except sign_in.SignInError as error:
            return 400, json.dumps(error.body).encode()
        except rpc.Refusal as refusal:
            return refusal.status, json.dumps(refusal.body).encode()

    def _check_key(self) -> None:
        """What stands before PostgREST and Auth at Supabase wants the project's key in `apikey`."""
        key = self.headers.get("apikey")
        if key is None:
            raise KeyRefusal("No API key found in request",
                             "No `apikey` request header or url param was found.")
        if key != self.server.publishable_key:
            raise KeyRefusal("Invalid API key",
                             "Double check your Supabase `anon` or `service_role` API key.")

    def _read_body(self) -> bytes:
        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return body

    def _send_refusal(self, refusal: rpc.Refusal) -> None:
        self._send(refusal.status, json.dumps(refusal.body).encode())

    def _send(self, status: int, payload: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", "Bearer")
        if status != 204:
            self.send_header("Content-Type", JSON)
            self.send_header("Content-Length", str(len(payload)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self._record(status, payload)
        self.end_headers()
        self.wfile.write(payload)
        self.wfile.flush()

    def _record(self, status: int, payload: bytes) -> None:
        if entry := self.entry:
            self.server.answered(entry, status, payload)
            self.entry = None

    def _strike(self, fault: faults.Fault, payload: bytes) -> None:
        """Answers with the fault; `payload` is what the true answer would have been."""
        args = fault.args
        if fault.kind in ("drop_before", "drop_after"):
            raise self._hang_up(args.get("reset", False))
        if fault.kind == "truncate":
            self._start(200, {"Content-Length": str(max(len(payload), 2))})
            self.wfile.write(payload[:len(payload) // 2])
            self.wfile.flush()
            raise self._hang_up(False)
        if fault.kind == "oversize":
            return self._oversize(args.get("mode", "declared") == "chunked")
        if fault.kind == "status":
            return self._send(args.get("code", 503), _bytes(args.get("body", b"")))
        if fault.kind == "body":
            return self._send(args.get("status", 200), _bytes(args["data"]))
        if fault.kind == "redirect":
            return self._send(args.get("status", 302), b"",
                              {"Location": args.get("location", "/elsewhere")})
        self._send_refusal(_refusal(fault, self.server.claims_code))

    def _start(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": JSON, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _oversize(self, chunked: bool) -> None:
        self._start(200, {"Transfer-Encoding": "chunked"} if chunked else {"Content-Length": str(OVERSIZE)})
        piece = b" " * 65536
        sent = 0
        while (chunked or sent < OVERSIZE) and not self.server.closing.is_set():
            part = piece[:None if chunked else OVERSIZE - sent]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
            sent += len(part)
        self.wfile.flush()

    def _hang_up(self, reset: bool) -> Hangup:
        if reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return Hangup()


class KeyRefusal(rpc.Refusal):
    """The gateway before PostgREST answers without a code."""

    def __init__(self, message: str, hint: str):
        super().__init__(401, "", message)
        self.body = {"message": message, "hint": hint}


def _refusal(fault: faults.Fault, claims_code: str) -> rpc.Refusal:
    if fault.kind == "expired":
        return rpc.Refusal(401, claims_code, "JWT expired")
    args = fault.args
    message = args.get("message", "planned by a test")
    return rpc.Refusal(args.get("status", 400), args.get("code", "XX000"), message,
                       args.get("details"), args.get("hint"))


def _function(path: str) -> str:
    for prefix in ("/rest/v1/rpc/", "/rpc/"):
        if path.startswith(prefix):
            return unquote(path.removeprefix(prefix))
    return ""


def _shown(body: bytes) -> Any:
    try:
        return json.loads(body or b"{}")
    except ValueError:
        return body


def _bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else json.dumps(value).encode()
