"""What every background costs the application: against none, and against constant traffic."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from trustbed.sensitivity.cascade import energies
from trustbed.sensitivity.model import Ratio, TreatmentResult
from trustbed.sensitivity.plan import QUIET, Treatment
from trustbed.sensitivity.statistics import Effect, between, effect
from trustbed.workload.distribution import quantile

NARROW = 0.1
"""Half of an interval's width, as a log ratio, from which on no more rounds are needed."""
STEADY = "steady"
_OUTSIDE = 1.25
"""How far beyond the last rate of constant traffic a rate may be, to be compared with it."""
_FULL = 1514 / 1448
"""Bytes of the frame of a full TCP segment with timestamps, by those of its payload."""
_FULLEST = 0.99
"""The share of the link beyond which constant traffic is not told apart."""
_LARGEST = 50.0
"""The largest log ratio that is written as a factor."""
LEAST_ROUNDS = 4
"""With fewer, intervals of several comparisons are so wide that nothing can be said."""


@dataclass(slots=True)
class Seen:
    """What was seen of a treatment: log values, queue and loss by round, and what it is alone.

    ``payload_rates`` is what it sent in each round beside the application, in bit/s, where its
    generator says so, and ``overhead`` how much more its packets are; ``broken`` counts repetitions
    in which the application gave nothing.
    """

    treatment: Treatment
    logs: dict[int, float] = field(default_factory=dict)
    payload_rates: dict[int, float] = field(default_factory=dict)
    overhead: float = _FULL
    broken: int = 0
    queues: dict[int, float] = field(default_factory=dict)
    losses: dict[int, float] = field(default_factory=dict)
    medians: list[float] = field(default_factory=list)
    p95s: list[float] = field(default_factory=list)
    failed: int = 0
    discarded: int = 0
    series: Sequence[float] = ()
    carried: float | None = None

    @property
    def is_broken(self) -> bool:
        """Whether the application mostly gave nothing."""
        return self.broken > len(self.logs)

    def rate(self, this_round: int) -> float | None:
        """Bit/s of frames in a round: beside the application, else by itself."""
        payload = self.payload_rates.get(this_round)
        return self.carried if payload is None else payload * self.overhead


def ratio(found: Effect | None) -> Ratio | None:
    """A log ratio as a factor."""
    if found is None:
        return None
    ends = [None if end is None else _factor(end) for end in (found.low, found.high)]
    return Ratio(value=_factor(found.value), low=ends[0], high=ends[1], rounds=found.rounds)


def _factor(log: float) -> float:
    return math.exp(max(-_LARGEST, min(_LARGEST, log)))


def slowdowns(seen: Sequence[Seen]) -> list[Effect | None]:
    """Every treatment against the quiet one, together right in 95 %."""
    quiet = quiet_of(seen)
    compared = max(1, len(seen) - 1)
    return [between(one.logs, quiet.logs, comparisons=compared) for one in seen]


def narrow(seen: Sequence[Seen]) -> bool:
    """Whether no interval is wider than needed: narrow, or far from 1 compared with its width."""
    return all(is_narrow(one) for one in slowdowns(seen)[1:])


def is_narrow(found: Effect | None, least: float = NARROW) -> bool:
    """Whether an interval is narrow, or far from no effect compared with its width."""
    return found is not None and found.half_width <= max(least, 0.25 * abs(found.value))


def quiet_of(seen: Sequence[Seen]) -> Seen:
    """The application without background."""
    return next(one for one in seen if one.treatment.name == QUIET)


def sent(one: Seen) -> float | None:
    """The mean rate of a background in bit/s: beside the application, else by itself."""
    payload = _mean(one.payload_rates.values())
    return one.carried if payload is None else payload * one.overhead


@dataclass(frozen=True, slots=True)
class _Steady:
    """Constant traffic at several rates: what it costs in a round at any rate up to the largest.

    Between two rates the logarithm of the cost is taken to grow as that of one over what the
    traffic leaves of the link, which is how much longer anything takes that shares it.
    """

    capacity: float
    tried: Sequence[tuple[float, Seen]]
    quiet: Seen

    @classmethod
    def of(cls, seen: Sequence[Seen]) -> _Steady | None:
        tried = [
            (rate, one)
            for one in seen
            if one.treatment.name == STEADY and not one.treatment.reverse and (rate := sent(one))
        ]
        if not tried:
            return None
        capacity = max(rate / one.treatment.load for rate, one in tried)
        return cls(capacity, sorted(tried, key=lambda one: one[0]), quiet_of(seen))

    def log(self, this_round: int, rate: float) -> float | None:
        """The log cost; ``None`` beyond the last rate, or where the round lacks a neighbour."""
        last = self.tried[-1][0]
        if rate > last * _OUTSIDE:
            return None
        ends = [(0.0, self.quiet), *self.tried]
        (low, below), (high, above) = next(
            pair for pair in itertools.pairwise(ends) if min(rate, last) <= pair[1][0]
        )
        share = self._waits(rate, low) / self._waits(high, low)
        known = [(share, above), (1.0 - share, below)]
        if any(weight and this_round not in one.logs for weight, one in known):
            return None
        return sum(weight * one.logs[this_round] for weight, one in known if weight)

    def _waits(self, rate: float, from_rate: float) -> float:
        left = [1.0 - min(one / self.capacity, _FULLEST) for one in (rate, from_rate)]
        return math.log(left[1] / left[0])


def beyond(seen: Sequence[Seen]) -> list[Effect | None]:
    """What every treatment costs over constant traffic of the rate that it has, round by round."""
    compared = max(1, len(seen) - 1)
    return [effect(list(more.values()), comparisons=compared) for more in _more(seen)]


def _more(seen: Sequence[Seen]) -> list[dict[int, float]]:
    """The same by round; nothing of what is not compared with constant traffic.

    Against constant traffic of the same round, so that its own spread counts as well.
    """
    steady = _Steady.of(seen)
    found: list[dict[int, float]] = []
    for one in seen:
        if steady is None or one.treatment.reverse or one.treatment.name in (STEADY, QUIET):
            found.append({})
            continue
        found.append(
            {
                this_round: log - expected
                for this_round, log in sorted(one.logs.items())
                if (rate := one.rate(this_round)) is not None
                if (expected := steady.log(this_round, rate)) is not None
            }
        )
    return found


def together(seen: Sequence[Seen]) -> dict[float, Effect]:
    """What the backgrounds with the data cost in the mean of a round, by their load.

    Beside each of them rounds differ by what its users happened to do; their mean differs less, and
    is few comparisons.
    """
    quiet = quiet_of(seen)
    return _by_load(
        [
            (
                one.treatment.load,
                {key: one.logs[key] - log for key, log in quiet.logs.items() if key in one.logs},
            )
            for one in seen
            if one.treatment.name != QUIET and not one.treatment.reverse
        ]
    )


def together_beyond(seen: Sequence[Seen]) -> dict[float, Effect]:
    """What they cost in the mean over constant traffic of their rates, by their load."""
    return _by_load(
        [(one.treatment.load, more) for one, more in zip(seen, _more(seen), strict=True) if more]
    )


def _by_load(found: Sequence[tuple[float, Mapping[int, float]]]) -> dict[float, Effect]:
    loads = sorted({load for load, _ in found})
    effects = {}
    for load in loads:
        own = [ratios for other, ratios in found if other == load]
        keys = sorted({key for ratios in own for key in ratios})
        rounds = [[ratios[key] for ratios in own if key in ratios] for key in keys]
        # A mean of a few says more of these than of the round.
        means = [sum(one) / len(one) for one in rounds if 2 * len(one) > len(own)]
        effects[load] = effect(means, comparisons=len(loads))
    return {load: one for load, one in effects.items() if one is not None}


def treatments(seen: Sequence[Seen]) -> tuple[TreatmentResult, ...]:
    """The rows of the table."""
    return tuple(
        TreatmentResult(
            label=one.treatment.label,
            name=one.treatment.name,
            load=one.treatment.load,
            reverse=one.treatment.reverse,
            carried_bits_per_second=one.carried,
            energies=tuple(energies(one.series)),
            slowdown=ratio(slow),
            beyond=ratio(more),
            median=quantile(one.medians, 0.5),
            p95=quantile(one.p95s, 0.5),
            queue_seconds=_mean(one.queues.values()),
            lost=_mean(one.losses.values()),
            failed=one.failed,
        )
        for one, slow, more in zip(seen, slowdowns(seen), beyond(seen), strict=True)
    )


def _mean(values: Collection[float]) -> float | None:
    return sum(values) / len(values) if values else None


def surely(found: Effect) -> float:
    """How much slower at least, or faster; 0 where the interval includes no effect."""
    if found.low is None or found.high is None:
        return 0.0
    return found.low if found.low > 0 else min(found.high, 0.0)
