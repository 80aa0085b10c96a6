"""Results of test packets and estimators before a round's connections, per round and per pair.

The offset between the clocks is an error of one-way delays, but not of their differences: delays
are given above the minimum of their round, and jitter is P95 − P50 of them. That needs clocks that
were not stepped: a round in which one was stepped has losses and no delays. An estimate is an
interval, or a bound where an estimator ended at a limit of the rates that it can send; of pathChirp
both bounds are the mean of its estimates. A measurement that failed has a row that states so. No
verdict depends on any of this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import msgspec

from trustbed.campaign.answers import (
    DelayQuantiles,
    Delays,
    Estimated,
    LostProbes,
    Offset,
    Pathchirp,
    Probed,
    ProbedClocks,
    Runs,
)
from trustbed.campaign.records import OneWayDelay, RoundDelay, RoundEstimate, RoundPath, RoundRecord
from trustbed.workload import mean

Direction = Literal["forward", "backward"]
DIRECTIONS: tuple[Direction, ...] = ("forward", "backward")
_WHOLE = {
    "pathload": ("resolution", "grey_region", "highest_rate", "lowest_rate"),
    "pathchirp": ("time_limit",),
}
"""The endings of an estimator that was not ended early.

Pathload ends when it has converged; pathChirp, which never converges, at its time limit.
"""


def path_of(record: RoundRecord, *, clock_stepped: bool = False) -> RoundPath:
    """The results in a round's record.

    ``clock_stepped``: a host's clock is known to have been stepped during the round; test packets
    alone do not always show it.
    """
    asked = record.delay is not msgspec.UNSET
    return RoundPath(
        delay=_delay(record.delay.read if record.delay else None, clock_stepped) if asked else None,
        bandwidth=tuple(
            _estimate(name, None if report is None else report.read)
            for name, report in (record.bandwidth or {}).items()
        ),
    )


def _delay(answer: Probed | None, clock_stepped: bool) -> RoundDelay:
    report = answer or Probed()
    clocks = report.clocks or ProbedClocks()
    clock_stepped = answer is not None and bool(
        clock_stepped
        or clocks.uneven
        or clocks.clock_steps
        or (report.reflector and report.reflector.clock_steps)
    )
    delays = (not clock_stepped and report.delays) or Delays()
    offset = (not clock_stepped and clocks.offset) or Offset()
    lost = report.directions or LostProbes()
    if lost.lost_somewhere_probes:
        lost = LostProbes()  # the direction of some losses is unknown
    return RoundDelay(
        answered=answer is not None,
        clock_stepped=clock_stepped,
        sent_probes=report.sent_probes,
        answered_probes=report.answered_probes,
        round_trip_least_seconds=(
            None if delays.round_trip is None else delays.round_trip.least_ns / 1e9
        ),
        receiver_ahead_seconds=_seconds(offset.ahead_ns),
        receiver_ahead_error_seconds=_seconds(offset.error_ns),
        forward=_direction(lost.lost_forward_probes, delays.forward),
        backward=_direction(lost.lost_backward_probes, delays.backward),
    )


def _direction(lost: int | None, delay: DelayQuantiles | None) -> OneWayDelay:
    if delay is None or not delay.probes:
        return OneWayDelay(lost=lost)
    p50, p95 = ((one - delay.least_ns) / 1e9 for one in (delay.p50_ns, delay.p95_ns))
    return OneWayDelay(
        lost=lost,
        above_least_p50_seconds=p50,
        above_least_p95_seconds=p95,
        jitter_seconds=p95 - p50,
    )


def _estimate(name: str, answer: Estimated | None) -> RoundEstimate:
    report = answer or Estimated()
    ending, at_limit = report.ending, report.ending == "highest_rate"
    runs = (report.streams if name == "pathload" else report.chirps) or Runs()
    used, low, high = runs.used, None, None
    if name == "pathchirp":
        found = report.pathchirp or Pathchirp()
        at_limit = _is_at_limit(found)
        low = found.mean_ip_bits_per_second
        high = None if at_limit else low
        # The receiver reported these chirps, and pathChirp could not use them.
        used = None if used is None else used - found.unusable_chirps
    elif report.pathload is not None:
        low, high = report.pathload.low_bits_per_second, report.pathload.high_bits_per_second
    return RoundEstimate(
        estimator=name,
        answered=answer is not None,
        low_bits_per_second=low,
        high_bits_per_second=high,
        at_limit=at_limit,
        ending=ending,
        ended_early=ending is not None and _is_early(name, ending),
        runs=runs.sent,
        runs_used=used,
        sent_ip_bytes=report.sent_ip_bytes,
        duration_seconds=_seconds(report.duration_ns),
    )


def _is_at_limit(pathchirp: Pathchirp) -> bool:
    """Whether an estimate near the highest rate of a chirp makes the mean a lower bound."""
    behind = pathchirp.estimates_in_mean
    return behind > 0 and any(one.at_limit for one in pathchirp.estimates[-behind:])


def _is_early(estimator: str, ending: str) -> bool:
    return ending not in _WHOLE[estimator]


def _seconds(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9


class DirectionSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One direction over rounds."""

    lost_share: float | None
    above_least_p50_mean_seconds: float | None
    above_least_p95_mean_seconds: float | None
    jitter_mean_seconds: float | None
    jitter_max_seconds: float | None


class DelaySummary(msgspec.Struct, frozen=True, kw_only=True):
    """Means over rounds; shares of all test packets, by direction where the reflector counted."""

    rounds: int
    failed_rounds: int
    clock_stepped_rounds: int
    sent_probes: int
    answered_probes: int
    lost_share: float | None
    round_trip_least_seconds: float | None
    forward: DirectionSummary
    backward: DirectionSummary


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """The number of rounds in which an estimator ended so; ``early``: before its regular end."""

    ending: str
    rounds: int
    early: bool


class EstimatorSummary(msgspec.Struct, frozen=True, kw_only=True):
    """One estimator's results over rounds."""

    estimator: str
    rounds: int
    failed_rounds: int
    estimates: int
    low_mean_bits_per_second: float | None
    high_mean_bits_per_second: float | None
    low_min_bits_per_second: float | None
    high_max_bits_per_second: float | None
    at_least_rounds: int
    at_least_mean_bits_per_second: float | None
    at_most_rounds: int
    at_most_mean_bits_per_second: float | None
    endings: tuple[Ending, ...]
    runs: int
    runs_used: int


class PathSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Results of test packets and estimators; ``delay`` is null if it was not measured."""

    delay: DelaySummary | None
    bandwidth: tuple[EstimatorSummary, ...]


class Paths:
    """The rounds of a pair of hosts."""

    def __init__(self) -> None:
        self._delays: list[RoundDelay] = []
        self._estimates: dict[str, list[RoundEstimate]] = {}

    def add(self, found: RoundPath | None) -> None:
        """Adds the results of :func:`path_of` for a round; ignores rounds without any."""
        if found is None:
            return
        if found.delay is not None:
            self._delays.append(found.delay)
        for one in found.bandwidth:
            self._estimates.setdefault(one.estimator, []).append(one)

    def summary(self) -> PathSummary:
        """All of them together."""
        return PathSummary(
            delay=_delay_summary(self._delays) if self._delays else None,
            bandwidth=tuple(_estimator(name, rounds) for name, rounds in self._estimates.items()),
        )


def _delay_summary(rounds: Sequence[RoundDelay]) -> DelaySummary:
    sent = sum(one.sent_probes for one in rounds)
    answered = sum(one.answered_probes for one in rounds)
    counted = [one for one in rounds if None not in (one.forward.lost, one.backward.lost)]
    known = sum(one.sent_probes for one in counted)

    def direction(name: Direction) -> DirectionSummary:
        own: list[OneWayDelay] = [getattr(one, name) for one in rounds]
        lost = sum(getattr(one, name).lost for one in counted)
        jitter = [one.jitter_seconds for one in own if one.jitter_seconds is not None]
        p50 = [one.above_least_p50_seconds for one in own]
        p95 = [one.above_least_p95_seconds for one in own]
        return DirectionSummary(
            lost_share=lost / known if known else None,
            above_least_p50_mean_seconds=mean([one for one in p50 if one is not None]),
            above_least_p95_mean_seconds=mean([one for one in p95 if one is not None]),
            jitter_mean_seconds=mean(jitter),
            jitter_max_seconds=max(jitter, default=None),
        )

    least = [one.round_trip_least_seconds for one in rounds]
    return DelaySummary(
        rounds=len(rounds),
        failed_rounds=sum(not one.answered for one in rounds),
        clock_stepped_rounds=sum(one.clock_stepped for one in rounds),
        sent_probes=sent,
        answered_probes=answered,
        lost_share=1 - answered / sent if sent else None,
        round_trip_least_seconds=min((one for one in least if one is not None), default=None),
        forward=direction("forward"),
        backward=direction("backward"),
    )


def _estimator(name: str, rounds: Sequence[RoundEstimate]) -> EstimatorSummary:
    bounds = [(one.low_bits_per_second, one.high_bits_per_second) for one in rounds]
    both = [(low, high) for low, high in bounds if low is not None and high is not None]
    at_least = [low for low, high in bounds if low is not None and high is None]
    at_most = [high for low, high in bounds if low is None and high is not None]
    endings = Counter(one.ending for one in rounds if one.ending is not None)
    return EstimatorSummary(
        estimator=name,
        rounds=len(rounds),
        failed_rounds=sum(not one.answered for one in rounds),
        estimates=len(both),
        low_mean_bits_per_second=mean([low for low, _ in both]),
        high_mean_bits_per_second=mean([high for _, high in both]),
        low_min_bits_per_second=min((low for low, _ in both), default=None),
        high_max_bits_per_second=max((high for _, high in both), default=None),
        at_least_rounds=len(at_least),
        at_least_mean_bits_per_second=mean(at_least),
        at_most_rounds=len(at_most),
        at_most_mean_bits_per_second=mean(at_most),
        endings=tuple(
            Ending(ending=ending, rounds=count, early=_is_early(name, ending))
            for ending, count in endings.most_common()
        ),
        runs=sum(one.runs or 0 for one in rounds),
        runs_used=sum(one.runs_used or 0 for one in rounds),
    )
