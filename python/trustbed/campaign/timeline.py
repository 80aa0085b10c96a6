"""A campaign over time: a point for each round that was judged, and which hosts and which hours of the day measured hosts most.

Takes what was judged of rounds, as the library's face of campaigns has it. Reads nothing, knows no clock but the rounds' own.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import fmean
from typing import Any

from trustbed.workload import Interval, share_interval

Judged = Mapping[str, Any]

FEWEST = 5
"""Rounds of an hour or a host without which nothing is said of it."""
_USES = ("trust", "review", "discard", None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A round, or the mean of several of one use. Rates in B/s, times in seconds, shares from 0 to 1; ``None``: not known.

    Attributes:
        at: When it began, in seconds after the campaign.
        rounds: How many it stands for.
        use: What may be done with it.
        data: Mean throughput of its data connections, at the receiver.
        probe: That of its probes.
        ping: Mean round trip before it.
        sender_stolen: Share of the sender's time that the hypervisor gave to others.
        sender_throttled: Share that a quota stopped it for.
        sender_late: The most that a sleeping thread woke up too late.
        receiver_stolen: The same of the receiver.
        receiver_throttled: The same of the receiver.
        receiver_late: The same of the receiver.
    """

    at: float
    rounds: int = 1
    use: str | None = None
    data: float | None = None
    probe: float | None = None
    ping: float | None = None
    sender_stolen: float | None = None
    sender_throttled: float | None = None
    sender_late: float | None = None
    receiver_stolen: float | None = None
    receiver_throttled: float | None = None
    receiver_late: float | None = None

    @classmethod
    def of(cls, judged: Judged, *, at: float) -> Point:
        """From what was judged of a round."""
        rows = judged["connections"]
        told: dict[str, Any] = {}
        for role in ("sender", "receiver"):
            host = judged["hosts"].get(role) or {}
            late = host.get("nap_late_max_ns")
            told[f"{role}_stolen"], told[f"{role}_throttled"] = host.get("steal_share"), host.get("throttled_share")
            told[f"{role}_late"] = None if late is None else late / 1e9
        return cls(
            at=at,
            use=judged["use"],
            data=_rate(rows, "data"),
            probe=_rate(rows, "probe"),
            ping=next((row["rtt_base_seconds"] for row in rows if row.get("rtt_base_seconds") is not None), None),
            **told,
        )


def _rate(rows: Iterable[Mapping[str, Any]], role: str) -> float | None:
    known = (row["app_bytes_per_second"] for row in rows if row["role"] == role and row["failure"] is None)
    found = [rate for rate in known if rate is not None]
    return fmean(found) if found else None


_MEANT = tuple(field.name for field in fields(Point) if field.name not in ("at", "rounds", "use"))


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """At most so many stretches of equal length, in each the mean of the points of each use; few points stay as they are."""
    if len(points) <= most:
        return list(points)
    first, last = points[0].at, max(point.at for point in points)
    length = (last - first) / most or 1.0
    held: dict[tuple[int, str | None], list[Point]] = {}
    for point in points:
        held.setdefault((min(most - 1, int((point.at - first) / length)), point.use), []).append(point)
    order = sorted(held, key=lambda key: (key[0], _USES.index(key[1]) if key[1] in _USES else len(_USES)))
    return [_together(held[key]) for key in order]


def _together(points: Sequence[Point]) -> Point:
    means = {}
    for name in _MEANT:
        known = [value for point in points if (value := getattr(point, name)) is not None]
        means[name] = fmean(known) if known else None
    return Point(at=fmean(point.at for point in points), rounds=sum(point.rounds for point in points), use=points[0].use, **means)


@dataclass(frozen=True, slots=True, kw_only=True)
class Discarded:
    """How many rounds of an hour, or of a host, measured a host.

    Attributes:
        what: The hour of the day (UTC), or the host.
        rounds: That were judged.
        discarded: Those of them that must not be used.
        interval: Of the share, at the wanted level.
        avoid: Whether the share is larger than that of all other rounds, the interval says.
    """

    what: str
    rounds: int
    discarded: int
    interval: Interval | None
    avoid: bool


def by_hour(rounds: Sequence[tuple[int, str | None]], *, level: float) -> list[Discarded]:
    """Hours of the day, in their order. ``rounds`` are moments of the real-time clock (nanoseconds) and uses."""
    return _shares([(datetime.datetime.fromtimestamp(at // 1_000_000_000, datetime.UTC).strftime("%H"), use) for at, use in rounds], level)


def by_host(rounds: Sequence[tuple[str, str | None]], *, level: float) -> list[Discarded]:
    """Hosts by name. ``rounds`` are sender and use: what makes a round be discarded is the machine that sends."""
    return _shares(rounds, level)


def _shares(rounds: Sequence[tuple[str, str | None]], level: float) -> list[Discarded]:
    counts: dict[str, list[int]] = {}
    for name, use in rounds:
        count = counts.setdefault(name, [0, 0])
        count[0] += 1
        count[1] += use == "discard"
    total, bad = len(rounds), sum(use == "discard" for _, use in rounds)
    found = []
    for name, (own, own_bad) in sorted(counts.items()):
        interval = share_interval(own_bad, own, level=level)
        others = total - own
        rest = (bad - own_bad) / others if others else 0.0
        avoid = own >= FEWEST and interval is not None and interval.low > rest
        found.append(Discarded(what=name, rounds=own, discarded=own_bad, interval=interval, avoid=avoid))
    return found
