"""How much of a second a sender held back what it could have sent.

The pauses that a diagnosis looks at, cut into seconds. Pure.

A diagnosis calls the pauses of a transfer oversize by three shares of its time: f, in turns longer
than the base RTT; h, in responses that were withheld; and the share with nothing outstanding under
an open window. Here the same turns (table `spacing` of the sender's capture) are laid over a window
of time, and the same thresholds are asked.

Bias: whether the sender was allowed to send is judged by the receiver's window alone; a small
congestion window looks held back too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trustbed.diagnose.thresholds import THRESHOLDS

LEAST_NS = 500_000_000
"""What of a window lies within the transfer must be so long: less says nothing of a second."""

Interval = tuple[int, int]
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The pauses of a sender. Nanoseconds since the workload began; intervals are from, until."""

    first_ns: int
    last_ns: int
    """First and last data."""
    longer: tuple[Interval, ...]
    withheld: tuple[Interval, ...]
    empty: tuple[Interval, ...]

    @classmethod
    def of(cls, turns: Iterable[Row], transfer: Row, *, origin_ns: int) -> Held:
        """From the rows of the table `spacing` of one transfer, and its row of `transfers`."""
        base, threshold = transfer["rtt_base_ns"], transfer["idle_open_window_threshold_ns"]
        longer, withheld, empty, seen = [], [], [], []
        for turn in turns:
            at = turn["ts_ns"] - origin_ns
            seen.append(at)
            spacing, response, category = turn["spacing_ns"], turn["response_ns"], turn["category"]
            if category == "spacing" and spacing is not None:
                if base is not None and spacing > base:
                    longer.append((at - spacing, at))
                if turn["empty"]:
                    empty.append((at - spacing, at))
            if (
                category in ("spacing", "window_wait")
                and response is not None
                and threshold is not None
                and response > threshold
            ):
                withheld.append((at - response, at))
        first, last = min(seen, default=0), max(seen, default=0)
        return cls(
            first_ns=first,
            last_ns=last,
            longer=tuple(longer),
            withheld=tuple(withheld),
            empty=tuple(empty),
        )

    @classmethod
    def read(cls, kept: Row) -> Held:
        """What was kept as JSON."""
        lists = {
            key: tuple((begin, end) for begin, end in kept[key])
            for key in ("longer", "withheld", "empty")
        }
        return cls(first_ns=kept["first_ns"], last_ns=kept["last_ns"], **lists)

    def during(self, begin: int, end: int) -> Second | None:
        """What of a window was held back.

        Nothing is said where less than half a second of it lies within the transfer.
        """
        begin, end = max(begin, self.first_ns), min(end, self.last_ns)
        if end - begin < LEAST_NS:
            return None
        shares = (
            covered(intervals, begin, end) / (end - begin)
            for intervals in (self.longer, self.withheld, self.empty)
        )
        longer, withheld, empty = shares
        every = covered((*self.longer, *self.withheld, *self.empty), begin, end) / (end - begin)
        return Second(longer=longer, withheld=withheld, empty=empty, share=every)


@dataclass(frozen=True, slots=True, kw_only=True)
class Second:
    """Shares of a window.

    In turns longer than the base RTT, withheld, with nothing outstanding, and in any of these.
    """

    longer: float
    withheld: float
    empty: float
    share: float

    @property
    def is_long_pause(self) -> bool:
        """Whether a diagnosis would call these pauses oversize."""
        return (
            self.longer >= THRESHOLDS.long_pause_fraction
            or self.withheld >= THRESHOLDS.idle_open_window_fraction
            or self.empty >= THRESHOLDS.empty_fraction
        )


def covered(intervals: Sequence[Interval], begin: int, end: int) -> int:
    """How much of a window lies in any of the intervals; what lies in several counts once."""
    total, until = 0, begin
    for start, stop in sorted(intervals):
        start, stop = max(start, until), min(stop, end)
        if stop > start:
            total += stop - start
            until = stop
    return total
