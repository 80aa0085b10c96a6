"""Reads what bpftrace prints, of the program :data:`PROGRAM`.

A line for every entry (``NANOSECONDS PID TID > NUMBER``) and return (``… < NUMBER RESULT``).
bpftrace's messages are skipped and counted; events that it lost are, too.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from trustbed.calls.errors import unreadable
from trustbed.calls.numbers import name_of
from trustbed.calls.pairing import Pairing
from trustbed.calls.table import Call

PROGRAM = (
    "tracepoint:raw_syscalls:sys_enter "
    '{ printf("%llu %d %d > %d\\n", nsecs, pid, tid, args.id); } '
    "tracepoint:raw_syscalls:sys_exit "
    '{ printf("%llu %d %d < %d %lld\\n", nsecs, pid, tid, args.id, args.ret); }'
)
"""What bpftrace is to run: ``bpftrace -e PROGRAM``."""
_NUMBER = r"(-?\d{1,20})"
_EVENT = re.compile(
    r"(\d{1,20}) (\d{1,20}) (\d{1,20}) " + rf"(?:> {_NUMBER}|< {_NUMBER} {_NUMBER})"
)
_LOST = re.compile(r"(?:WARNING: )?[Ll]ost (\d{1,20}) events?.*")
_MESSAGES = ("Attaching ", "Attached ", "WARNING: ")
_LATEST_NS = 1_000_000_000
"""How much later than others an event may be printed; 0.2 s have been reported."""
_MOST_WAITING = 1_000_000
"""Events that wait for earlier ones, at most: more than bpftrace prints in that time."""
_HINT = "let bpftrace print what `trustbed trace --help` shows"


def matches(line: str) -> bool:
    """Whether a line is one of the program's."""
    return _EVENT.fullmatch(line) is not None


def read(
    lines: Iterable[str], source: str, skipped: Counter[str], architecture: str
) -> Iterator[Call]:
    """The calls of a trace, in the order in which they returned.

    Raises:
        CallsError: A line is none of the program's; the message has its number.
    """
    pairing = Pairing(skipped)
    for event in _in_order(_events(lines, source, skipped)):
        number = event.entered if event.entered is not None else event.returned
        call = name_of(number, architecture)
        if event.entered is not None:
            yield from pairing.enter(event.time_ns, event.pid, event.tid, call)
        else:
            yield from pairing.leave(event.time_ns, event.tid, call, event.result)
    yield from pairing.rest()


class _Event(NamedTuple):
    """An entry or a return: by time, and as printed where times are equal."""

    time_ns: int
    line: int
    pid: int
    tid: int
    entered: int | None
    returned: int
    result: int


def _in_order(events: Iterable[_Event]) -> Iterator[_Event]:
    """By time: bpftrace prints a processor's events one batch after the other's.

    What is bounded is how many wait, too: times that do not grow would hold a whole trace.
    """
    waiting: list[_Event] = []
    newest = 0
    for event in events:
        heapq.heappush(waiting, event)
        newest = max(newest, event.time_ns)
        while waiting[0].time_ns < newest - _LATEST_NS or len(waiting) > _MOST_WAITING:
            yield heapq.heappop(waiting)
    yield from sorted(waiting)


def _events(lines: Iterable[str], source: str, skipped: Counter[str]) -> Iterator[_Event]:
    for number, line in enumerate(lines, 1):
        text = line.strip()
        lost = _LOST.fullmatch(text)
        if lost is not None:
            skipped["lost"] += int(lost[1])
            continue
        if not text or text.startswith(_MESSAGES):
            skipped["messages"] += bool(text)
            continue
        event = _EVENT.fullmatch(text)
        if event is None:
            raise unreadable(source, number, f"no event: {text[:60]!r}", _HINT)
        time, pid, tid, entered, returned, result = (
            None if text is None else int(text) for text in event.groups()
        )
        yield _Event(time or 0, number, pid or 0, tid or 0, entered, returned or 0, result or 0)
