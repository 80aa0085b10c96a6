"""Delay variation, gaps and rate of a received media stream.

Every measure takes times of sending and of arrival, which may be of different clocks: a constant
offset cancels in all of them. Clocks that run at different rates do not cancel over a long run:
:func:`without_skew` removes that first.

* Jitter as a filter: RFC 3550, section 6.4.1.
* Packet delay variation (PDV) and inter-packet delay variation (IPDV): RFC 5481, section 4.
* p95 − p50 of the one-way delay, which owping prints as jitter.
* The gaps between received packets, which K. V. Vishwanath and A. Vahdat call jitter (*Evaluating
  Distributed Systems: Does Background Traffic Matter?*, USENIX ATC 2008, section 4).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from trustbed.workload.distribution import mean, quantile

SKEW_SECONDS = 60.0
"""Clock skew is removed from runs that are longer than this."""


def gaps(arrived: Sequence[float]) -> list[float]:
    """The time between each packet and the one received before it; one fewer than packets.

    >>> gaps([50, 70, 95])
    [20, 25]
    """
    return [later - earlier for earlier, later in pairwise(arrived)]


def delays(sent: Sequence[float], arrived: Sequence[float]) -> list[float]:
    """The one-way delay of each packet, plus the offset between the clocks."""
    return [late - early for early, late in zip(sent, arrived, strict=True)]


def jitter(delay: Sequence[float]) -> list[float]:
    """The jitter of RFC 3550 after each packet but the first: J += (|D| − J) / 16.

    D is the difference between the delays of a packet and the one received before it.

    >>> jitter([50, 50, 55])
    [0.0, 0.3125]
    """
    found, filtered = [], 0.0
    for difference in ipdv(delay):
        filtered += (abs(difference) - filtered) / 16
        found.append(filtered)
    return found


def pdv(delay: Sequence[float]) -> list[float]:
    """By how much the delay of each packet exceeds the least of all (RFC 5481, section 4.2)."""
    least = min(delay, default=0.0)
    return [one - least for one in delay]


def ipdv(delay: Sequence[float]) -> list[float]:
    """The delay of each packet minus that of the one before it (RFC 5481, section 4.1)."""
    return [later - earlier for earlier, later in pairwise(delay)]


def delay_spread(delay: Sequence[float]) -> float | None:
    """The 95th percentile of the delay minus its median; None without packets."""
    high, middle = quantile(delay, 0.95), quantile(delay, 0.5)
    return None if high is None or middle is None else high - middle


def without_skew(times: Sequence[float], delay: Sequence[float]) -> list[float]:
    """The delays without the drift of one clock against the other.

    Subtracts the slope of the line that lies below all delays and closest to them (S. B. Moon,
    P. Skelly, D. Towsley, *Estimation and Removal of Clock Skew from Network Delay Measurements*,
    INFOCOM 1999). A path whose least delay really changes in one direction looks like drift, so
    runs of up to :data:`SKEW_SECONDS` are returned as they are.

    Args:
        times: When each packet was sent, in seconds.
        delay: Its delay, in seconds.
    """
    if not times or max(times) - min(times) <= SKEW_SECONDS:
        return list(delay)
    slope, first = _lower_slope(times, delay), min(times)
    return [one - slope * (at - first) for at, one in zip(times, delay, strict=True)]


def _lower_slope(times: Sequence[float], delay: Sequence[float]) -> float:
    """The slope of the lower convex hull at the mean of the times.

    Of all lines below the points, the one through that edge is closest to them in sum.
    """
    hull: list[tuple[float, float]] = []
    for point in sorted(zip(times, delay, strict=True)):
        if hull and hull[-1][0] == point[0]:
            continue  # a higher one at the same time
        while len(hull) > 1 and _turns_right(hull[-2], hull[-1], point):
            hull.pop()
        hull.append(point)
    middle = mean(times) or 0.0
    left, right = next(
        pair for pair in pairwise(hull) if pair[0][0] <= middle <= pair[1][0] + 1e-12
    )
    return (right[1] - left[1]) / (right[0] - left[0])


def _turns_right(
    one: tuple[float, float], two: tuple[float, float], three: tuple[float, float]
) -> bool:
    return (two[0] - one[0]) * (three[1] - one[1]) <= (two[1] - one[1]) * (three[0] - one[0])


def adequate_share(
    arrived: Sequence[float],
    sizes: Sequence[int],
    *,
    rate: float,
    frames_per_second: float,
    length: float = 0.0,
) -> float | None:
    """The share of seconds in which at least the rate of the media was received.

    The seconds follow each other from half a frame before the first packet, so that a frame
    that comes a little early or late does not count in the wrong one. Only complete seconds
    count; None if there is none.

    Args:
        arrived: When each packet arrived, in seconds and in order.
        sizes: Its payload in bytes.
        rate: The rate of the media in bit/s.
        frames_per_second: The rate of its frames.
        length: The length of the media in seconds: what stops before lacks those seconds.
    """
    if not arrived:
        return None
    half = 0.5 / frames_per_second
    begin = arrived[0] - half
    complete = math.floor(max(arrived[-1] + half - begin, length) + 1e-9)
    if complete < 1:
        return None
    # Of the seconds with packets: a clock that jumps makes any number without.
    bits: Counter[int] = Counter()
    for at, size in zip(arrived, sizes, strict=True):
        second = math.floor(at - begin)
        if second < complete:
            bits[second] += 8 * size
    return sum(received >= rate for received in bits.values()) / complete
