"""Faults by HTTP, for testers outside Python: POST /control/{fail,clear,offline}, GET /control/requests."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING

import rpc

if TYPE_CHECKING:
    from upstream import Upstream


def run(upstream: Upstream, command: str, body: bytes) -> bytes:
    """`fail` takes the arguments of `Upstream.fail` as a JSON object, `kind` among them; `clear` forgets
    planned faults and lets held requests go on; `offline` takes `seconds` (default 5)."""
    arguments = rpc.parsed(body)
    if command == "fail":
        try:
            upstream.fail(**arguments)
        except (TypeError, ValueError) as error:
            raise rpc.Refusal(400, "PGRST102", str(error)) from error
    elif command == "clear":
        upstream.clear_faults()
    elif command == "offline":
        threading.Timer(0.05, _away, (upstream, float(arguments.get("seconds", 5)))).start()
    else:
        raise rpc.Refusal(404, "PGRST125", "no such control: fail, clear, offline")
    return b"{}"


def requests(upstream: Upstream) -> bytes:
    """What was asked so far, without headers: tokens stay out of it."""
    return json.dumps([{"function": each.function, "body": each.body, "status": each.status}
                       for each in list(upstream.requests)], default=repr).encode()


def _away(upstream: Upstream, seconds: float) -> None:
    upstream.offline()
    upstream.closing.wait(seconds)
    if not upstream.closing.is_set():
        upstream.online()
