"""How late the packets of one link were: everything a rule could look at, from the ledger. Pure.

DepartureError is the time from when a packet was due to when it was sent, as in the emulator's own
summary; one sent early counts as 0. Both directions of a link count together, and so does whatever
shares it with the transfer.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

from studies.departure_error.cases import FRAME_BYTES


@dataclass(frozen=True, slots=True)
class Sent:
    """A packet that came out of a link."""

    due: int
    done: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DepartureError:
    """Of all packets of a link. Times in nanoseconds, shares 0…1."""

    packets: int
    mean_ns: float
    p50_ns: int
    p90_ns: int
    p99_ns: int
    max_ns: int
    later_than_own_time: float
    later_than_frame_time: float
    later_than_rtt_share: float
    overdue_frame_share: float
    overdue_100us_share: float
    overdue_1ms_share: float

    @property
    def row(self) -> dict[str, float]:
        """For a line of JSON."""
        return asdict(self)


def departure_error(
    sent: Sequence[Sent], *, megabits: int, rtt_ns: int, begin: int, end: int
) -> DepartureError:
    """Of packets that were due between two moments; there must be some.

    `later_than_rtt_share` is the share of packets later than a twentieth of the round trip without
    queues. `overdue_…_share` is the share of the time in which at least one packet was overdue, of
    packets that were late by more than the time of a full frame, 100 µs, 1 ms: how much of the
    experiment took place while the emulator stood still.
    """
    within = [one for one in sent if begin <= one.due < end]
    late = [max(one.done - one.due, 0) for one in within]
    ordered = sorted(late)
    frame = FRAME_BYTES * 8e3 / megabits

    def quantile(share: float) -> int:
        return ordered[max(math.ceil(len(ordered) * share), 1) - 1]

    own = sum(each > one.length * 8e3 / megabits for each, one in zip(late, within, strict=True))
    overdue = [
        _union((one.due, one.done) for one in within if one.done - one.due > least)
        for least in (frame, 1e5, 1e6)
    ]
    return DepartureError(
        packets=len(late),
        mean_ns=sum(late) / len(late),
        p50_ns=quantile(0.5),
        p90_ns=quantile(0.9),
        p99_ns=quantile(0.99),
        max_ns=ordered[-1],
        later_than_own_time=own / len(late),
        later_than_frame_time=sum(each > frame for each in late) / len(late),
        later_than_rtt_share=sum(each > rtt_ns / 20 for each in late) / len(late),
        overdue_frame_share=overdue[0] / (end - begin),
        overdue_100us_share=overdue[1] / (end - begin),
        overdue_1ms_share=overdue[2] / (end - begin),
    )


def unasked(sent: Iterable[Sent], stops: Sequence[tuple[int, int]]) -> int:
    """The most that a packet was late by beyond the stops that fell into its wait, in nanoseconds.

    What the machine itself added.
    """
    most, first = 0, 0
    for one in sorted(sent, key=lambda one: one.due):
        while first < len(stops) and stops[first][1] <= one.due:
            first += 1
        late = one.done - one.due
        for begin, end in stops[first:]:
            if begin >= one.done:
                break
            late -= min(end, one.done) - max(begin, one.due)
        most = max(most, late)
    return most


def _union(spans: Iterable[tuple[int, int]]) -> int:
    """How long at least one of the spans lasted."""
    total, covered = 0, 0
    for begin, end in sorted(spans):
        total += max(end - max(begin, covered), 0)
        covered = max(covered, end)
    return total
