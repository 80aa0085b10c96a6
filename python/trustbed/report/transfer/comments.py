"""What the comments on packets say: one short sentence each.

Begins with :data:`PREFIX`, by which a filter finds them (``frame.comment contains "trustbed"``).
Nothing is decided here.
"""

from __future__ import annotations

from trustbed.diagnose.time_budget import STATES
from trustbed.report import words
from trustbed.report.printable import printable

PREFIX = "trustbed: "

_AGAIN = {
    "fast": "fast retransmission of {size}, after duplicate ACKs or SACK",
    "timeout": "retransmission of {size} after a timeout (RTO)",
    "tail_loss_probe": "tail-loss probe repeats {size}",
    "spurious": "spurious retransmission of {size}, which the receiver had acknowledged before",
    "reordered": "{size} overtaken before the capture point",
    "lost_upstream": "{size} whose first copy was lost before the capture point, or not captured",
}
_POLICED = {
    **_AGAIN,
    "lost_upstream": "{size} whose first copy, by all evidence, a policer dropped before the "
    "capture point",
}


def of(sentence: str, endpoints: str) -> str:
    """The whole comment: whose it is, what happened, and in which transfer."""
    return printable(f"{PREFIX}{sentence} (transfer {endpoints})")


def phase(state: str, nanoseconds: int, *, mixed: bool) -> str:
    """At the first packet of a phase; of one that joins several states, the longest is named."""
    time = words.duration(nanoseconds / 1e9)
    if mixed:
        return f"phase begins: several short states, mostly {STATES[state]}, for {time}"
    return f"phase begins: {STATES[state]} for {time}"


def pause(nanoseconds: int) -> str:
    """At the arrival after which the sender could send, and did not for a while."""
    time = words.duration(nanoseconds / 1e9)
    return f"sender idle {time} with an open window begins here"


def again(cause: str | None, octets: int, *, policed: bool) -> str:
    """At a segment that repeats bytes or fills a hole; ``cause`` is its ``subclass``."""
    size = words.counted(octets, "byte")
    shapes = _POLICED if policed else _AGAIN
    return shapes.get(cause or "", "retransmission of {size}").format(size=size)


def drop(octets: int, nanoseconds: int) -> str:
    """At a segment of which a policer behind the capture point dropped something."""
    size, time = words.counted(octets, "byte"), words.duration(nanoseconds / 1e9)
    return f"policer drops {size} of this segment, by all evidence; sent again {time} later"
