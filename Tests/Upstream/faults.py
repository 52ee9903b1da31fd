"""Faults: what the upstream does to a request instead of, before or after serving it."""

from __future__ import annotations

import threading
from typing import Any

SLOW = {"delay", "delay_after", "hold"}
KINDS = SLOW | {"drop_before", "drop_after", "status", "error", "expired", "truncate", "body", "redirect",
                "oversize"}
ARGUMENTS = {
    "drop_before": {"reset"}, "drop_after": {"reset"}, "delay": {"seconds"}, "delay_after": {"seconds"},
    "status": {"code", "body", "commit"}, "error": {"code", "message", "status", "details", "hint", "commit"},
    "expired": set(), "truncate": set(), "body": {"data", "status", "commit"},
    "redirect": {"location", "status", "commit"}, "oversize": {"mode", "commit"}, "hold": {"where"},
}


class Fault(threading.Event):
    """One planned fault. `hits`: how often it struck; `reached`: set when it strikes.

    For `hold` it is the event that lets the held requests go on: `fault.reached.wait(5); …; fault.set()`.
    """

    def __init__(self, kind: str, times: int | None, function: str | None, after: int, args: dict[str, Any]):
        super().__init__()
        if kind not in KINDS:
            raise ValueError(f"unknown fault {kind!r}: one of {', '.join(sorted(KINDS))}")
        if unknown := args.keys() - ARGUMENTS[kind]:
            raise ValueError(f"{kind} takes no {', '.join(sorted(unknown))}")
        self.kind = kind
        self.times = times
        self.function = function
        self.after = after
        self.args = args
        self.hits = 0
        self.reached = threading.Event()

    def matches(self, function: str) -> bool:
        if self.function is None:
            return function != "token"
        return self.function in ("*", function)


class Plan:
    """The faults that wait for their requests, in the order they were planned."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self._struck: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, fault: Fault) -> Fault:
        with self._lock:
            self._faults.append(fault)
        return fault

    def clear(self) -> None:
        """Forgets what is planned and lets go what is held."""
        with self._lock:
            faults, self._faults, self._struck = self._faults + self._struck, [], []
        for fault in faults:
            fault.set()

    def take(self, function: str) -> Struck:
        """The faults this request meets: any number of slow ones, and the first of the others."""
        taken: list[Fault] = []
        with self._lock:
            for fault in list(self._faults):
                decided = fault.kind not in SLOW and any(each.kind not in SLOW for each in taken)
                if decided or not fault.matches(function):
                    continue
                if fault.after > 0:
                    fault.after -= 1
                    continue
                taken.append(fault)
                self._count(fault)
        return Struck(taken)

    def _count(self, fault: Fault) -> None:
        fault.hits += 1
        if fault.hits == 1:
            self._struck.append(fault)
        if fault.times is not None and fault.hits >= fault.times:
            self._faults.remove(fault)
        if fault.kind != "hold":
            fault.reached.set()


class Struck:
    """The faults of one request."""

    def __init__(self, faults: list[Fault]):
        self._slow = [fault for fault in faults if fault.kind in SLOW]
        self.final = next((fault for fault in faults if fault.kind not in SLOW), None)

    def pause(self, moment: str, closing: threading.Event) -> None:
        """Waits at a moment of the request: `start` (before the transaction), `commit` (before its commit),
        `answer` (after it)."""
        for fault in self._slow:
            if fault.kind == "hold" and fault.args.get("where", "commit") == moment:
                fault.reached.set()
                while not fault.wait(0.02) and not closing.is_set():
                    pass
            elif (fault.kind, moment) in {("delay", "start"), ("delay_after", "answer")}:
                closing.wait(fault.args.get("seconds", 1.0))
