"""A bare HTTP client for tests of the upstream itself."""

from __future__ import annotations

import dataclasses
import http.client
import json
from typing import Any

from upstream import Upstream


@dataclasses.dataclass
class Reply:
    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return self.json["code"]


class Client:
    """One keep-alive connection to an upstream as one user (`sub=None`: without a token)."""

    def __init__(self, upstream: Upstream, sub: str | None = None, timeout: float = 10):
        self.upstream = upstream
        self.headers = {"apikey": upstream.publishable_key, "Content-Type": "application/json"}
        if sub:
            self.headers["Authorization"] = f"Bearer {upstream.token(sub)}"
        self.connection = http.client.HTTPConnection("127.0.0.1", upstream.port, timeout=timeout)

    def post(self, path: str, body: Any = None, **headers: str | None) -> Reply:
        """Posts bytes as they are and everything else as JSON; `headers` replace or (None) remove."""
        sent = {**self.headers, **{name.replace("_", "-"): value for name, value in headers.items()}}
        data = body if isinstance(body, bytes) else json.dumps({} if body is None else body).encode()
        self.connection.request("POST", path, data, {name: value for name, value in sent.items() if value})
        answer = self.connection.getresponse()
        return Reply(answer.status, answer.read(), dict(answer.getheaders()))

    def call(self, function: str, body: Any = None, **headers: str | None) -> Reply:
        return self.post(f"/rest/v1/rpc/{function}", body, **headers)
