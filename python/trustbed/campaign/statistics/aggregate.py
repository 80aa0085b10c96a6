"""Aggregates of all connections of a campaign, per pair of hosts, index and role.

- Means are over connections, as in the papers. Intervals are over rounds, one value of each: the
  connections of a round share its conditions, and an interval that took them for independent would
  be too narrow. Consecutive rounds are taken for independent; where conditions last longer than a
  period, intervals are too narrow all the same.
- Throughput is of completed connections. Failed ones keep their partial RTT, loss and spacing, and
  those count: to leave out the worst connections would flatter the path.
- A mean loss rate weighs every connection alike, the pooled one every segment. A probe of a few
  segments that loses one has a rate of many percent, so the two can differ much for probes.

Unknown values (``None``) are left out of sums; the mean of no values is ``None``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from statistics import NormalDist
from sys import intern

from trustbed.campaign.records import JudgedConnection
from trustbed.scenario.campaign_model import Role, Wanted
from trustbed.workload import Interval, deviation, mean, mean_interval
from trustbed.workload.distribution import of_sorted
from trustbed.workload.intervals import student

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of throughput that are given."""
EXCEEDS = 1.1
"""A mean throughput above so many times X₁ means that the assumed window is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """One of the two connections of a pair. Bytes, seconds; ``None`` is unknown.

    Attributes:
        pair: Name of the pair of hosts.
        round: Number of the round.
        index: Name of the index.
        number: Which connection pair of the round, from 0.
        role: ``probe`` or ``data``.
        failure: Why it failed; ``None``: it completed.
        app_bytes_per_second: At the receiver, from the accept to the last byte read.
        rtt_base_seconds: Mean of the pings before the round.
        rtt_mean_seconds: Mean round-trip time of its own packets.
        spacing_mean_seconds: Mean spacing of its own packets.
        loss_rate: Retransmitted over sent segments.
        segments: Sent, retransmissions included.
        retransmitted: Retransmitted ones of them.
        window_max_bytes: W, the largest window that the receiver advertised, as captured.
        payload_bytes_per_packet: p.
        packet_bytes: P, at IP level.
    """

    pair: str
    round: int
    index: str
    number: int
    role: Role
    failure: str | None = None
    app_bytes_per_second: float | None = None
    rtt_base_seconds: float | None = None
    rtt_mean_seconds: float | None = None
    spacing_mean_seconds: float | None = None
    loss_rate: float | None = None
    segments: int | None = None
    retransmitted: int | None = None
    window_max_bytes: float | None = None
    payload_bytes_per_packet: float | None = None
    packet_bytes: float | None = None

    @classmethod
    def of(cls, row: JudgedConnection) -> Connection:
        """From its judgement."""
        found = {field.name: getattr(row, field.name) for field in fields(cls)}
        return cls(**{**found, "pair": intern(row.pair), "index": intern(row.index)})

    @property
    def throughput(self) -> float | None:
        """B/s, of a completed connection."""
        return self.app_bytes_per_second if self.failure is None else None

    @property
    def x0(self) -> float | None:
        """X₀ in B/s: what the window allows at the round-trip time of the pings."""
        return self._bound(self.rtt_base_seconds)

    @property
    def x1(self) -> float | None:
        """X₁ in B/s: what the window allows at the measured round-trip time."""
        return self._bound(self.rtt_mean_seconds)

    def _bound(self, rtt: float | None) -> float | None:
        return window_bound(
            window=self.window_max_bytes,
            payload=self.payload_bytes_per_packet,
            packet=self.packet_bytes,
            rtt=rtt,
        )


def window_bound(
    *, window: float | None, payload: float | None, packet: float | None, rtt: float | None
) -> float | None:
    """W·p / (P·R) in B/s.

    What a window allows at a round-trip time, without loss (Lee et al., Eq. 1). Sizes in bytes,
    R in seconds.

    >>> window_bound(window=65535, payload=1368, packet=1420, rtt=0.02) // 100 / 10
    3156.7
    """
    if not window or not packet or payload is None or rtt is None or rtt <= 0:
        return None
    return window * payload / (packet * rtt)


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """All connections of a pair of hosts, an index and a role.

    Throughput in bytes/second, times in seconds, rates from 0 to 1.

    Attributes:
        pair: Name of the pair of hosts.
        index: Name of the index.
        role: ``probe`` or ``data``.
        connections: How many there were.
        failures: How many of them failed.
        rounds: How many rounds they are from.
        measured: Connections whose throughput is known and counts.
        throughput_min: The least of them.
        throughput_mean: Their mean.
        throughput_max: The largest.
        throughput_quantiles: (share, quantile) for each of :data:`SHARES`.
        throughput_interval: Of the mean of the rounds' means, at the wanted level.
        rounds_wanting: How many more rounds of this index the wanted interval needs, if they vary
            like those so far.
        rtt_base_mean: Mean over connections of the pings' mean before their round.
        rtt_mean: Mean over connections of their mean round-trip times.
        loss_mean: Mean over connections of their loss rates.
        loss_pooled: Retransmitted over sent segments of all connections.
        spacing_mean: Mean over connections of their mean spacings.
        x0: Mean of X₀ over connections.
        x1: Mean of X₁ over connections.
        exceeds_window_bound: Whether the mean throughput is above 1.1·X₁, of the connections for
            which both are known.
    """

    pair: str
    index: str
    role: Role
    connections: int
    failures: int
    rounds: int
    measured: int
    throughput_min: float | None
    throughput_mean: float | None
    throughput_max: float | None
    throughput_quantiles: tuple[tuple[float, float], ...]
    throughput_interval: Interval | None
    rounds_wanting: int | None
    rtt_base_mean: float | None
    rtt_mean: float | None
    loss_mean: float | None
    loss_pooled: float | None
    spacing_mean: float | None
    x0: float | None
    x1: float | None
    exceeds_window_bound: bool | None


def aggregate(rows: Iterable[Connection], wanted: Wanted | None = None) -> tuple[Aggregate, ...]:
    """One aggregate per pair of hosts, index and role, in the order in which these first appear."""
    groups: dict[tuple[str, str, Role], list[Connection]] = {}
    for row in rows:
        groups.setdefault((row.pair, row.index, row.role), []).append(row)
    return tuple(_aggregate(group, wanted or Wanted()) for group in groups.values())


def _aggregate(rows: Sequence[Connection], wanted: Wanted) -> Aggregate:
    first = rows[0]
    ordered = sorted(_known(rows, lambda row: row.throughput))
    means = _round_means(rows)
    quantiles = ((share, of_sorted(ordered, share)) for share in SHARES)
    return Aggregate(
        pair=first.pair,
        index=first.index,
        role=first.role,
        connections=len(rows),
        failures=sum(row.failure is not None for row in rows),
        rounds=len({row.round for row in rows}),
        measured=len(ordered),
        throughput_min=ordered[0] if ordered else None,
        throughput_mean=mean(ordered),
        throughput_max=ordered[-1] if ordered else None,
        throughput_quantiles=tuple(
            (share, value) for share, value in quantiles if value is not None
        ),
        throughput_interval=mean_interval(means, level=wanted.level),
        rounds_wanting=rounds_wanting(means, wanted),
        rtt_base_mean=mean(_known(rows, lambda row: row.rtt_base_seconds)),
        rtt_mean=mean(_known(rows, lambda row: row.rtt_mean_seconds)),
        loss_mean=mean(_known(rows, lambda row: row.loss_rate)),
        loss_pooled=_pooled(rows),
        spacing_mean=mean(_known(rows, lambda row: row.spacing_mean_seconds)),
        x0=mean(_known(rows, lambda row: row.x0)),
        x1=mean(_known(rows, lambda row: row.x1)),
        exceeds_window_bound=_exceeds(rows),
    )


def _known(rows: Iterable[Connection], value: Callable[[Connection], float | None]) -> list[float]:
    return [one for row in rows if (one := value(row)) is not None]


def _round_means(rows: Iterable[Connection]) -> list[float]:
    """The mean throughput of each round, in the order of the rounds."""
    found: dict[int, list[float]] = {}
    for row in rows:
        if row.throughput is not None:
            found.setdefault(row.round, []).append(row.throughput)
    return [math.fsum(values) / len(values) for _, values in sorted(found.items())]


def _pooled(rows: Iterable[Connection]) -> float | None:
    counted = [
        (row.retransmitted, row.segments)
        for row in rows
        if row.retransmitted is not None and row.segments is not None
    ]
    sent = sum(segments for _, segments in counted)
    return sum(again for again, _ in counted) / sent if sent else None


def _exceeds(rows: Iterable[Connection]) -> bool | None:
    both = [(row.throughput, row.x1) for row in rows]
    compared = [(got, bound) for got, bound in both if got is not None and bound is not None]
    if not compared:
        return None
    return math.fsum(got for got, _ in compared) > EXCEEDS * math.fsum(
        bound for _, bound in compared
    )


def rounds_wanting(means: Sequence[float], wanted: Wanted) -> int | None:
    """How many more values the mean's interval needs to reach the wanted width.

    Assumes that they vary like those so far.

    ``None`` when fewer than two values show how they vary, or when they have no mean that a width
    could be relative to. An estimate from few values is itself uncertain: it is to be made again
    when there are more.
    """
    middle, spread = mean(means), deviation(means)
    if middle is None or spread is None or middle <= 0:
        return None
    # The normal distribution needs fewer values than Student's t; a few more steps bridge what lies
    # between them.
    ratio = spread / (wanted.half_width * middle)
    count = max(2, math.ceil((NormalDist().inv_cdf((1 + wanted.level) / 2) * ratio) ** 2))
    while _student(count - 1, wanted.level) * ratio > math.sqrt(count):
        count += 1
    return max(0, count - len(means))


@lru_cache(maxsize=4096)
def _student(degrees: int, level: float) -> float:
    return student(degrees, level)
