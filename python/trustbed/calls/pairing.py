"""Joins the entries and returns that tracers report one by one."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from trustbed.calls.table import Call

LAST = frozenset({"exit", "exit_group"})
"""Calls that do not return."""


RENAMED = frozenset({"rt_sigreturn", "execve", "execveat", "restart_syscall"})
"""Calls whose return has another number: what they return to is another program, or a call."""


_EXECS = frozenset({"execve", "execveat"})


class _Entry(NamedTuple):
    time_ns: int
    pid: int
    call: str


class Pairing:
    """The calls in which threads are, and by process those of them that execute a program.

    A return whose entry was before the beginning is counted in ``skipped`` as ``returns alone``; a
    thread has one of these at most, and any other is of an entry that was ``lost``.
    """

    def __init__(self, skipped: Counter[str], *, by_returns: bool = False) -> None:
        """``by_returns``: the tracer reports returns, and entries of some calls only."""
        self._skipped = skipped
        self._by_returns = by_returns
        self._inside: dict[int, _Entry] = {}
        self._executing: dict[int, OrderedDict[int, None]] = {}
        self._known: set[int] = set()

    def enter(self, time_ns: int, pid: int, tid: int, call: str) -> Iterator[Call]:
        """A thread enters a call; yields the earlier one, if that never returned."""
        earlier = self._take(tid)
        self._known.add(tid)
        if earlier is not None:
            yield Call(earlier.time_ns, earlier.pid, tid, earlier.call)
        if call in LAST:
            yield Call(time_ns, pid, tid, call)
        else:
            self._inside[tid] = _Entry(time_ns, pid, call)
            if call in _EXECS:
                self._executing.setdefault(pid, OrderedDict())[tid] = None

    def leave(
        self, time_ns: int, tid: int, call: str | None, result: int | None, cpu: int | None = None
    ) -> Iterator[Call]:
        """A thread returns from a call."""
        entry = self._take(tid)
        if call in _EXECS and result == 0 and (entry is None or entry.call not in _EXECS):
            # Another thread made it, and is its process's first from now on; that one is no more.
            maker = next(iter(self._executing.get(tid, ())), None)
            if maker is not None:
                if entry is not None:
                    yield Call(entry.time_ns, entry.pid, tid, entry.call)
                entry = self._take(maker)
        if entry is None and self._by_returns and call is not None and tid in self._known:
            yield Call(time_ns, tid, tid, call, result, None, cpu)
        elif entry is None:
            self._skipped["lost" if tid in self._known else "returns alone"] += 1
            self._known.add(tid)
        elif call is None or call == entry.call or entry.call in RENAMED:
            duration = time_ns - entry.time_ns
            yield Call(entry.time_ns, entry.pid, tid, entry.call, result, duration, cpu)
        else:
            # The call was made; whose return this is, nobody knows.
            self._skipped["lost"] += 1
            yield Call(entry.time_ns, entry.pid, tid, entry.call)

    def _take(self, tid: int) -> _Entry | None:
        """The call in which a thread is, which it leaves."""
        entry = self._inside.pop(tid, None)
        if entry is not None and entry.call in _EXECS:
            others = self._executing[entry.pid]
            del others[tid]
            if not others:
                del self._executing[entry.pid]
        return entry

    def rest(self) -> Iterator[Call]:
        """The calls that had not returned at the end."""
        for tid, entry in self._inside.items():
            yield Call(entry.time_ns, entry.pid, tid, entry.call)
        self._inside.clear()
        self._executing.clear()
