"""Reads what sysdig prints, of a live system or of a scap file (``sysdig -r FILE``).

In its own format: number, time, processor, command, thread, direction, event. Events that are no
calls are skipped and counted; those that sysdig dropped are counted as lost drops. Newer versions
report the returns of most calls only: their times are those of the returns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from trustbed.calls.errors import unreadable
from trustbed.calls.numbers import common
from trustbed.calls.pairing import Pairing
from trustbed.calls.results import address, whole
from trustbed.calls.table import Call
from trustbed.calls.times import Days, nanoseconds

_EVENT = re.compile(
    r"\d+ (?P<time>[\d:.]+) (?P<cpu>\d{1,20}) (?P<command>.*?) \((?P<tid>-?\d{1,20})(?:[.:]\d+)?\) "
    r"(?P<direction>[<>]) (?P<event>\w+) ?(?P<rest>.*)"
)
_RESULT = re.compile(r"(?:^| )(?:res|fd|ret)=(-?\w+)")
_NO_CALLS = frozenset(
    {
        "switch",
        "procexit",
        "procinfo",
        "signaldeliver",
        "page_fault",
        "cpu_hotplug",
        "container",
        "notification",
        "tracer",
        "k8s",
        "mesos",
        "infra",
        "syscall",
    }
)
_ADDRESSES = frozenset({"brk", "mmap", "mmap2"})
_DROPS = frozenset({"drop", "sysdigevent"})
_HINT = "print it with sysdig -r FILE, in sysdig's own format (without -p)"


def matches(line: str) -> bool:
    """Whether a line is one of sysdig's."""
    return _EVENT.fullmatch(line) is not None


def read(lines: Iterable[str], source: str, skipped: Counter[str]) -> Iterator[Call]:
    """The calls of a trace, in the order in which they returned.

    Raises:
        CallsError: A line is none of sysdig's; the message has its number.
    """
    pairing, days = Pairing(skipped, by_returns=True), Days()
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\n")
        if not text.strip():
            continue
        event = _EVENT.fullmatch(text)
        time = None if event is None else nanoseconds(event["time"])
        if event is None or time is None:
            raise unreadable(source, number, f"no event: {text[:60]!r}", _HINT)
        call, tid = common(event["event"]), int(event["tid"])
        if call in _DROPS:
            skipped["lost"] += event["direction"] == ">"
        elif call in _NO_CALLS or tid < 0:
            skipped["other events"] += 1
        elif event["direction"] == ">":
            yield from pairing.enter(days.since_first(time), tid, tid, call)
        else:
            result = _RESULT.search(event["rest"])
            read_as = address if call in _ADDRESSES else whole
            value = None if result is None else read_as(result[1])
            at = days.since_first(time)
            yield from pairing.leave(at, tid, call, value, int(event["cpu"]))
    yield from pairing.rest()
