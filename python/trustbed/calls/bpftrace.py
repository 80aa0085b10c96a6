"""Reads what bpftrace prints, of the program :data:`PROGRAM`.

A line for every entry (``NANOSECONDS PID TID > NUMBER``) and return (``… < NUMBER RESULT``).
bpftrace's messages are skipped and counted; events that it lost are, too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

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
_EVENT = re.compile(r"(\d+) (\d+) (\d+) (?:> (-?\d+)|< (-?\d+) (-?\d+))")
_LOST = re.compile(r"(?:WARNING: )?[Ll]ost (\d+) events?.*")
_MESSAGES = ("Attaching ", "Attached ", "WARNING: ")
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
        time, pid, tid = int(event[1]), int(event[2]), int(event[3])
        if event[4] is not None:
            yield from pairing.enter(time, pid, tid, name_of(int(event[4]), architecture))
        else:
            call = name_of(int(event[5]), architecture)
            yield from pairing.leave(time, tid, call, int(event[6]))
    yield from pairing.rest()
