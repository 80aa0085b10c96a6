"""Reads what ``perf script`` prints of system calls.

Of ``perf record -e 'raw_syscalls:*'``, whose calls are numbers, or of ``-e 'syscalls:*'``, whose
events have the names. Other events are skipped and counted; events that perf lost are, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from trustbed.calls.errors import unreadable
from trustbed.calls.numbers import common, name_of
from trustbed.calls.pairing import Pairing
from trustbed.calls.results import whole
from trustbed.calls.table import Call
from trustbed.calls.times import nanoseconds

_EVENT = re.compile(
    r"\s*(?P<command>\S+(?: \S+)*?)\s+(?:(?P<pid>\d{1,20})/)?(?P<tid>\d{1,20})\s+"
    r"(?:\[(?P<cpu>\d{1,20})\]\s+)?"
    r"(?P<time>\d{1,20}\.\d{1,20}):\s+(?:\d+\s+)?(?P<event>[\w-]+(?::[\w-]+)*):\s?(?P<rest>.*)"
)
_LOSS = re.compile(r"PERF_RECORD_LOST(?:_SAMPLES)?\b")
_LOST = re.compile(r"lost\s+(\d{1,20})(?!\d)")
_RAW = re.compile(r"NR (-?\d{1,20}) (?:= (-?\w+)|\(.*)")
_HINT = "record it with perf record -e 'raw_syscalls:*' -a, and print it with perf script"


def matches(line: str) -> bool:
    """Whether a line is one of perf's."""
    return _EVENT.fullmatch(line) is not None or _lost(line) is not None


def _lost(line: str) -> int | None:
    """How many events a line reports as lost, if it does.

    In two steps: an expression for both would seek the number behind every mark of a line.
    """
    loss = _LOSS.search(line)
    found = None if loss is None else _LOST.search(line, loss.end())
    return None if found is None else int(found[1])


def read(
    lines: Iterable[str], source: str, skipped: Counter[str], architecture: str
) -> Iterator[Call]:
    """The calls of a trace, in the order in which they returned.

    Raises:
        CallsError: A line is none of perf's; the message has its number.
    """
    pairing = Pairing(skipped)
    for number, line in enumerate(lines, 1):
        text = line.rstrip("\n")
        if not text.strip() or text.startswith("#"):
            continue
        lost = _lost(text)
        if lost is not None:
            skipped["lost"] += lost
            continue
        event = _EVENT.fullmatch(text)
        time = None if event is None else nanoseconds(event["time"])
        if event is None or time is None:
            raise unreadable(source, number, f"no event: {text[:60]!r}", _HINT)
        tid = int(event["tid"])
        pid = int(event["pid"] or tid)
        cpu = None if event["cpu"] is None else int(event["cpu"])
        system, _, name = event["event"].partition(":")
        if system == "raw_syscalls":
            raw = _RAW.fullmatch(event["rest"])
            if raw is None:
                raise unreadable(source, number, f"no call: {event['rest'][:40]!r}", _HINT)
            call, printed = name_of(int(raw[1]), architecture), raw[2]
        elif system == "syscalls":
            named = name.removeprefix("sys_enter_").removeprefix("sys_exit_")
            call, printed = common(named), event["rest"]
        else:
            skipped["other events"] += 1
            continue
        if name.startswith("sys_enter"):
            yield from pairing.enter(time, pid, tid, call)
        else:
            yield from pairing.leave(time, tid, call, whole((printed or "").strip()), cpu)
    yield from pairing.rest()
