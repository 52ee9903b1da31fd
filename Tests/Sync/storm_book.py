"""The book of a storm: what was acknowledged, and whether the upstream's audit agrees with it.

Every write leaves something that no other write leaves: a mark, an amount, a tag, a deletion. So each can be found
in the audit of changes that landed, exactly once, or in the rejections of its device.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
from typing import Any, Iterable

OPEN_KINDS = ("DEAD_LETTER",)
TOO_MANY_SUMS = 12


@dataclasses.dataclass(frozen=True)
class Effect:
    """`mark` and `tag` have a unique text, `n` an amount, `gone` and `stamp` none."""

    kind: str
    value: Any = None


@dataclasses.dataclass(frozen=True)
class Write:
    """One mutation of one row. Not `certain`: no answer came, so it may have happened or not."""

    step: int
    device: str
    write_id: str | None
    table: str
    pk: str
    effects: tuple[Effect, ...]
    certain: bool = True


@dataclasses.dataclass(frozen=True)
class Change:
    """One row of the audit."""

    pushed: bool
    table: str
    pk: str
    op: str
    old: dict | None
    new: dict | None

    def became(self, column: str) -> Any:
        """The new value of a column if this change gave it that value, else None."""
        after = (self.new or {}).get(column)
        return after if after != (self.old or {}).get(column) else None


class Book:
    def __init__(self) -> None:
        self.writes: list[Write] = []
        # Once removals are forgotten, a queued insert of a removed key is as good as any.
        self.forgets = False

    def note(self, write: Write) -> None:
        self.writes.append(write)

    def judge(self, audit: list[Change], rejections: list[tuple[str, dict]]) -> list[str]:
        """What is wrong, in words. `rejections`: (device, entry)."""
        verdicts = _Verdicts(rejections)
        return (self._marks(audit, verdicts) + self._counts(audit, verdicts) + self._sums(audit, verdicts)
                + ([] if self.forgets else _revived(audit)) + verdicts.unnamed(self.writes))

    def _marks(self, audit: list[Change], verdicts: _Verdicts) -> list[str]:
        landed = _landed(audit)
        problems, known = [], set()
        for write in self.writes:
            for effect in write.effects:
                if effect.kind not in ("mark", "tag"):
                    continue
                key = (write.table, write.pk, effect.value)
                known.add(key)
                problems += _compare(write, effect, landed[key], verdicts.of(write))
        for key, times in landed.items():
            if key not in known:
                problems.append(f"{key} landed {times} times, and nobody was told so")
        return problems

    def _counts(self, audit: list[Change], verdicts: _Verdicts) -> list[str]:
        """Deletions and stamps have no mark: their numbers must agree, row by row."""
        found: collections.Counter = collections.Counter()
        for change in audit:
            if not change.pushed:
                continue
            if change.op == "DELETE":
                found["gone", change.table, change.pk] += 1
            elif change.op == "UPDATE" and change.became("deleted_at"):
                found["stamp", change.table, change.pk] += 1
        least, most = collections.Counter(), collections.Counter()
        for write in self.writes:
            for effect in write.effects:
                if effect.kind in ("gone", "stamp"):
                    key = (effect.kind, write.table, write.pk)
                    least[key] += verdicts.of(write) == "applied"
                    most[key] += verdicts.of(write) != "refused"
        return [f"{key}: happened {found[key]} times, acknowledged and not refused {least[key]}..{most[key]} times"
                for key in sorted({*found, *most}) if not least[key] <= found[key] <= most[key]]

    def _sums(self, audit: list[Change], verdicts: _Verdicts) -> list[str]:
        """What landed in a counter is the sum of what was acknowledged and not refused."""
        found: collections.Counter = collections.Counter()
        for change in audit:
            if change.pushed and change.op == "UPDATE" and "n" in change.new:
                found[change.table, change.pk] += change.new["n"] - change.old["n"]
        sure: collections.Counter = collections.Counter()
        unsure: dict = collections.defaultdict(list)
        for write in self.writes:
            for effect in write.effects:
                if effect.kind == "n" and verdicts.of(write) == "applied":
                    sure[write.table, write.pk] += effect.value
                elif effect.kind == "n" and verdicts.of(write) == "open":
                    unsure[write.table, write.pk].append(effect.value)
        return [f"{key}: increments of {found[key]} landed, {sure[key]} were acknowledged and not refused"
                f" ({unsure[key]} are open)"
                for key in sorted({*found, *sure, *unsure}) if found[key] - sure[key] not in _sums_of(unsure[key])]


class _Verdicts:
    """What became of a write: `applied`, `refused`, or `open` where either may have happened."""

    def __init__(self, rejections: Iterable[tuple[str, dict]]):
        self.entries = list(rejections)
        self.kinds: dict = collections.defaultdict(set)
        for _, entry in self.entries:
            self.kinds[entry["write_id"], entry["pk"]].add(entry["kind"])
            if entry["kind"] == "BATCH_ABORTED":
                self.kinds[entry["write_id"], None].add(entry["kind"])

    def of(self, write: Write) -> str:
        if not write.certain:
            return "open"
        kinds = self.kinds.get((write.write_id, write.pk), set()) | self.kinds.get((write.write_id, None), set())
        if kinds & set(OPEN_KINDS):
            return "open"
        return "refused" if kinds else "applied"

    def unnamed(self, writes: list[Write]) -> list[str]:
        """A rejection names a write that was made."""
        made = {(write.write_id, write.pk) for write in writes}
        lost = any(not write.certain for write in writes)
        return [f"{device}: a rejection of a write nobody made: {entry}" for device, entry in self.entries
                if (entry["write_id"], entry["pk"]) not in made and not lost]


def _landed(audit: list[Change]) -> collections.Counter:
    """How often a mark or a tag was given to a row by a push."""
    landed: collections.Counter = collections.Counter()
    for change in audit:
        if not change.pushed or change.op == "DELETE":
            continue
        if mark := change.became("mark"):
            landed[change.table, change.pk, mark] += 1
        before = collections.Counter((change.old or {}).get("tags") or [])
        for tag, times in collections.Counter(change.new.get("tags") or []).items():
            if times > before[tag]:
                landed[change.table, change.pk, tag] += times - before[tag]
    return landed


def _compare(write: Write, effect: Effect, times: int, verdict: str) -> list[str]:
    wanted = {"applied": (1,), "refused": (0,), "open": (0, 1)}[verdict]
    if times in wanted:
        return []
    return [f"{effect.value} landed {times} times, but it is {verdict}: {write}"]


def _revived(audit: list[Change]) -> list[str]:
    """No push creates a row again that was deleted."""
    gone, problems = set(), []
    for change in audit:
        key = (change.table, change.pk)
        if change.op == "DELETE":
            gone.add(key)
        elif change.op == "INSERT":
            if change.pushed and key in gone:
                problems.append(f"{key} was deleted and came back by a push")
            gone.discard(key)
    return problems


def _sums_of(amounts: list[int]) -> set[int]:
    amounts = amounts[:TOO_MANY_SUMS]
    return {sum(some) for size in range(len(amounts) + 1) for some in itertools.combinations(amounts, size)}
