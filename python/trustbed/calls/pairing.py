"""Joins the entries and returns that tracers report one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from trustbed.calls.table import Call

LAST = frozenset({"exit", "exit_group"})
"""Calls that do not return."""


class _Entry(NamedTuple):
    time_ns: int
    pid: int
    call: str


class Pairing:
    """The calls in which threads are.

    A return whose entry was before the beginning is counted in ``skipped`` as ``returns alone``.
    """

    def __init__(self, skipped: Counter[str]) -> None:
        self._skipped = skipped
        self._inside: dict[int, _Entry] = {}

    def enter(self, time_ns: int, pid: int, tid: int, call: str) -> Iterator[Call]:
        """A thread enters a call; yields the earlier one, if that never returned."""
        earlier = self._inside.pop(tid, None)
        if earlier is not None:
            yield Call(earlier.time_ns, earlier.pid, tid, earlier.call)
        if call in LAST:
            yield Call(time_ns, pid, tid, call)
        else:
            self._inside[tid] = _Entry(time_ns, pid, call)

    def leave(
        self, time_ns: int, tid: int, call: str | None, result: int | None, cpu: int | None = None
    ) -> Iterator[Call]:
        """A thread returns from a call."""
        entry = self._inside.pop(tid, None)
        if entry is None or (call is not None and call != entry.call):
            self._skipped["returns alone"] += 1
            return
        duration = time_ns - entry.time_ns
        yield Call(entry.time_ns, entry.pid, tid, entry.call, result, duration, cpu)

    def rest(self) -> Iterator[Call]:
        """The calls that had not returned at the end."""
        for tid, entry in self._inside.items():
            yield Call(entry.time_ns, entry.pid, tid, entry.call)
        self._inside.clear()
