"""Reads what ``strace -f -tt -T`` prints.

A call that others interrupt is printed in two parts (``<unfinished ...>``, ``<... resumed>``),
which are joined; one in which strace let go of the thread (``<detached ...>``) did not return.
Signals, exits, strace's own messages and calls that it could not tell (``????``) are skipped and
counted. strace numbers threads only: the process of a thread is known where its ``clone`` is in the
trace, and otherwise taken to be itself. A number alone before a call is a process, and no time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from trustbed.calls.errors import unreadable
from trustbed.calls.results import error_number, whole
from trustbed.calls.table import Call
from trustbed.calls.times import Days, nanoseconds

_PREFIX = re.compile(
    r"(?:\[pid +(\d{1,20})\] |(\d{1,20}) +)?(\d{1,20}(?::\d\d:\d\d)?(?:\.\d+)?) (.*)",
    re.DOTALL,
)
_CALL = re.compile(r"(\w+)\((.*)\) *= (.+)", re.DOTALL)
_BEGUN = re.compile(r"(\w+)\(")
_PAUSED = re.compile(r"<(?:unfinished|detached|pid changed to \d{1,20}) \.\.\.>(?:\) *= \?)?")
_UNTOLD = re.compile(r"\?+\(.*|<\.\.\. \?+ resumed>.*", re.DOTALL)
_RESUMED = re.compile(r"<\.\.\. (\w+) resumed>(.*)\) *= (.+)", re.DOTALL)
_GONE = re.compile(r"<\.\.\. (\w+) resumed>.*<unfinished \.\.\.>\) *= \?", re.DOTALL)
_NUMBERED = re.compile(r"-1 (?:\w+ )?\((?:Unknown error|errno) (\d{1,20})\)")
_RESULT = re.compile(r"(\?|-?\w+)(?: ([A-Z]\w+))?")
_LASTED = re.compile(r"<(\d+\.\d+)>$")
_SUPERSEDED = re.compile(r"\+\+\+ superseded by execve in pid (\d{1,20}) \+\+\+")
_HINT = "record it with strace -f -tt -T -o FILE"
_OWN = re.compile(r"(?:\[pid +\d+\] )?(?:strace: |Process )")


def matches(line: str) -> bool:
    """Whether a line is one of strace's."""
    prefix = _PREFIX.fullmatch(line)
    return prefix is not None and bool(
        _CALL.match(prefix[4]) or _unfinished(prefix[4]) or prefix[4].startswith(("+++", "---"))
    )


def _is_process(prefix: re.Match[str]) -> bool:
    """Whether what looks like a time is a process: ``-o`` without ``-tt`` pads it to five digits.

    Whole seconds are a time only behind a process (``--timestamps=unix``).
    """
    return not (prefix[1] or prefix[2]) and prefix[3].isdecimal()


class _Threads:
    """The calls in which threads are, and the processes of threads."""

    def __init__(self) -> None:
        self.inside: dict[int, tuple[int, str, str]] = {}
        self._processes: dict[int, int] = {}

    def process(self, tid: int) -> int:
        return self._processes.get(tid, tid)

    def learn(self, tid: int, call: str, arguments: str, result: int | None) -> None:
        """A thread that another one starts belongs to its process."""
        if call.startswith("clone") and "CLONE_THREAD" in arguments and result and result > 0:
            self._processes[result] = self.process(tid)


def read(lines: Iterable[str], source: str, skipped: Counter[str]) -> Iterator[Call]:
    """The calls of a trace, in the order in which they returned.

    Raises:
        CallsError: A line is none of strace's; the message has its number.
    """
    threads, days, named = _Threads(), Days(), set[bool]()
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\n")
        if not text.strip() or _OWN.match(text):
            skipped["messages"] += bool(text.strip())
            continue
        prefix = _PREFIX.fullmatch(text)
        time = None if prefix is None else nanoseconds(prefix[3])
        if prefix is None or time is None or _is_process(prefix):
            raise unreadable(source, number, f"no time before {text[:40]!r}", _HINT)
        tid, rest = int(prefix[1] or prefix[2] or 0), prefix[4]
        named.add(bool(tid))
        if len(named) > 1:
            # On a terminal strace names a process only while there are several: whose calls the
            # others are, nobody knows.
            raise unreadable(source, number, "lines with and without a process", _HINT)
        yield from _line(rest, days.since_first(time), tid, threads, skipped, (source, number))
    for tid, (entered, call, _) in threads.inside.items():
        yield Call(entered, threads.process(tid), tid, call)


def _line(
    text: str, time: int, tid: int, threads: _Threads, skipped: Counter[str], at: tuple[str, int]
) -> Iterator[Call]:
    if text.startswith("---"):
        skipped["signals"] += 1
        return
    if text.startswith("+++"):
        skipped["exits"] += 1
        if (last := threads.inside.pop(tid, None)) is not None:
            yield Call(last[0], threads.process(tid), tid, last[1])
        superseded = _SUPERSEDED.fullmatch(text)
        if superseded and (begun := threads.inside.pop(int(superseded[1]), None)) is not None:
            threads.inside[tid] = begun
        return
    if _UNTOLD.fullmatch(text):
        skipped["calls untold"] += 1
        return
    gone = _GONE.fullmatch(text)
    resumed = None if gone else _RESUMED.fullmatch(text)
    if gone or resumed:
        entry = threads.inside.pop(tid, None)
        if entry is None:
            skipped["returns alone"] += 1
            return
        entered, call, arguments = entry
        if resumed is not None and resumed[1] != call:
            skipped["returns alone"] += 1
            resumed = None
        if resumed is None:
            yield Call(entered, threads.process(tid), tid, call)
            return
        arguments, printed = arguments + resumed[2], resumed[3]
    elif (unfinished := _unfinished(text)) is not None:
        if (earlier := threads.inside.get(tid)) is not None:
            yield Call(earlier[0], threads.process(tid), tid, earlier[1])
        threads.inside[tid] = (time, *unfinished)
        return
    elif (whole_call := _CALL.fullmatch(text)) is not None:
        entered, call, arguments, printed = time, whole_call[1], whole_call[2], whole_call[3]
    else:
        raise unreadable(*at, f"no call: {text[:60]!r}", _HINT)
    result = _result(printed, at)
    threads.learn(tid, call, arguments, result)
    duration = None if result is None else _duration(printed, at)
    yield Call(entered, threads.process(tid), tid, call, result, duration)


def _unfinished(text: str) -> tuple[str, str] | None:
    """A call that has not returned, and its arguments so far.

    An expression for the spaces before the mark would try those of the arguments again and again.
    """
    begun, mark = _BEGUN.match(text), text.rfind("<")
    if begun is None or mark < 0 or _PAUSED.fullmatch(text, mark) is None:
        return None
    return begun[1], text[begun.end() : mark].rstrip(" ")


def _result(printed: str, at: tuple[str, int]) -> int | None:
    if (numbered := _NUMBERED.match(printed)) is not None:
        return -int(numbered[1])
    found = _RESULT.match(printed)
    value, error = ("", None) if found is None else (found[1], found[2])
    if value in ("-1", "?") and error is not None:
        number = error_number(error)
        if number is not None:
            return -number
    if value == "?":
        return None
    result = whole(value)
    if result is None:
        raise unreadable(*at, f"{printed[:40]!r} is no result", _HINT)
    return result


def _duration(printed: str, at: tuple[str, int]) -> int | None:
    """What ``-T`` prints, in nanoseconds."""
    found = _LASTED.search(printed)
    if found is None:
        return None
    lasted = nanoseconds(found[1])
    if lasted is None:
        raise unreadable(*at, f"{found[1][:40]!r} is no duration", _HINT)
    return lasted
