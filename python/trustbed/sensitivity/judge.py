"""Observations of a study into answers: pure arithmetic over rounds and treatments."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from trustbed.sensitivity.cascade import Band, energies
from trustbed.sensitivity.model import (
    BandResult,
    OctaveResult,
    Ratio,
    Said,
    TreatmentResult,
)
from trustbed.sensitivity.plan import QUIET, Treatment
from trustbed.sensitivity.statistics import (
    BOOTSTRAPS,
    Effect,
    between,
    determined,
    effect,
    partial,
)
from trustbed.sensitivity.words import factor, number, scale, span
from trustbed.workload.distribution import quantile

NEGLIGIBLE = math.log(1.05)
"""What a slowdown must exceed to matter."""
SMALLEST = math.log(1.02)
"""What a band must cause to be named."""
NARROW = 0.1
"""Half of an interval's width, as a log ratio, from which on no more rounds are needed."""
STEADY = "steady"
SLOW = "as slow"
_OUTSIDE = 1.1
"""How far beyond the last rate of constant traffic a rate may be, to be compared with it."""
APART = 0.15
"""By how much one of queue and loss must explain more than the other to be named."""
EXPLAINED = 0.5
_LARGEST = 50.0
"""The largest log ratio that is written as a factor."""
LEAST_ROUNDS = 4
"""With fewer, intervals of several comparisons are so wide that nothing can be said."""
HALF = 0.5
"""The share of the largest effect from which on a shorter time scale is named."""


@dataclass(slots=True)
class Seen:
    """What was seen of a treatment: log values, queue and loss by round, and what it is alone.

    ``rates`` is what it sent in each round beside the application, in bit/s of IP packets, where
    its generator says so; ``broken`` counts repetitions in which the application gave nothing.
    """

    treatment: Treatment
    logs: dict[int, float] = field(default_factory=dict)
    rates: dict[int, float] = field(default_factory=dict)
    broken: int = 0
    queues: dict[int, float] = field(default_factory=dict)
    losses: dict[int, float] = field(default_factory=dict)
    medians: list[float] = field(default_factory=list)
    p95s: list[float] = field(default_factory=list)
    failed: int = 0
    series: Sequence[float] = ()
    carried: float | None = None


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
    quiet = _quiet(seen)
    compared = max(1, len(seen) - 1)
    return [between(one.logs, quiet.logs, comparisons=compared) for one in seen]


def narrow(seen: Sequence[Seen]) -> bool:
    """Whether no interval is wider than needed: narrow, or far from 1 compared with its width."""
    return all(is_narrow(one) for one in slowdowns(seen)[1:])


def is_narrow(found: Effect | None, least: float = NARROW) -> bool:
    """Whether an interval is narrow, or far from no effect compared with its width."""
    return found is not None and found.half_width <= max(least, 0.25 * abs(found.value))


def _quiet(seen: Sequence[Seen]) -> Seen:
    return next(one for one in seen if one.treatment.name == QUIET)


def _smooth(seen: Sequence[Seen], quiet: Seen) -> list[tuple[float, float]]:
    """What constant traffic costs by its rate: (bit/s, log slowdown), from none on."""
    points = [
        (rate, found.value)
        for one in seen
        if one.treatment.name == STEADY and not one.treatment.reverse
        if (rate := sent(one)) and (found := between(one.logs, quiet.logs)) is not None
    ]
    return [(0.0, 0.0), *sorted(points)] if points else []


def sent(one: Seen) -> float | None:
    """The mean rate of a background in bit/s: beside the application, else by itself."""
    return _mean(one.rates.values()) or one.carried


def _at(curve: Sequence[tuple[float, float]], rate: float) -> float | None:
    """A curve at a rate; ``None`` beyond its last point, where nobody knows it."""
    if rate > curve[-1][0] * _OUTSIDE:
        return None
    for (x0, y0), (x1, y1) in itertools.pairwise(curve):
        if rate <= x1 and x1 > x0:
            return y0 + (y1 - y0) * (rate - x0) / (x1 - x0)
    return curve[-1][1]


def beyond(seen: Sequence[Seen]) -> list[Effect | None]:
    """What every treatment costs over constant traffic of the rate that it has, round by round."""
    quiet = _quiet(seen)
    curve = _smooth(seen, quiet)
    compared = max(1, len(seen) - 1)
    found: list[Effect | None] = []
    for one in seen:
        if not curve or one.treatment.reverse or one.treatment.name in (STEADY, QUIET):
            found.append(None)
            continue
        ratios = [
            one.logs[key] - quiet.logs[key] - expected
            for key in sorted(one.logs.keys() & quiet.logs.keys())
            if (rate := one.rates.get(key) or one.carried) is not None
            if (expected := _at(curve, rate)) is not None
        ]
        found.append(effect(ratios, comparisons=compared))
    return found


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


# Answers.


def matters(seen: Sequence[Seen], word: str = SLOW) -> Said:
    """Does background matter here at all? ``word``: what a larger number means."""
    others = [one for one in seen if one.treatment.name != QUIET]
    quiet = _quiet(seen)
    broken = [one for one in others if one.broken > len(one.logs) and quiet.broken == 0]
    if broken:
        names = ", ".join(one.treatment.label for one in broken)
        return Said(
            answer="yes",
            sentence=f"Background matters: beside {names} the application mostly gave no result, "
            "and alone it always did.",
        )
    found = [
        (one.treatment.label, slow)
        for one, slow in zip(seen, slowdowns(seen), strict=True)
        if one.treatment.name != QUIET and slow is not None and slow.low is not None
    ]
    if not found:
        return Said(
            answer="unknown",
            sentence="Fewer than two rounds have both a background and the application alone.",
        )
    most = max(found, key=lambda one: _surely(one[1]))
    worst = f"{most[0]} makes it {_interval(most[1])} {word} as without background"
    if any(slow.excludes(NEGLIGIBLE) for _, slow in found):
        return Said(answer="yes", sentence=f"Background matters: {worst}.")
    if len(found) == len(others) and all(slow.within(NEGLIGIBLE) for _, slow in found):
        return Said(
            answer="no",
            sentence="Background does not matter here: beside all of them the application is "
            f"within 5 % of what it is alone ({worst}).",
        )
    return Said(
        answer="unknown",
        sentence=f"Too uncertain to say whether background matters: {worst}.",
    )


def kind(seen: Sequence[Seen], word: str = SLOW) -> Said:
    """Is it the mean load, or what the traffic is like at the same load?"""
    slow = dict(zip((one.treatment.label for one in seen), slowdowns(seen), strict=True))
    steady = [
        found
        for one in seen
        if one.treatment.name == STEADY and not one.treatment.reverse
        if (found := slow[one.treatment.label]) is not None
    ]
    more = [
        (one, found)
        for one, found in zip(seen, beyond(seen), strict=True)
        if found is not None and found.low is not None
    ]
    if not steady or not more:
        return Said(
            answer="unknown",
            sentence="No background could be compared with constant traffic of its rate, so load "
            "and burstiness cannot be told apart.",
        )
    load = any(found.excludes(NEGLIGIBLE) for found in steady)
    heavy = max(steady, key=lambda found: found.value)
    most, by = max(more, key=lambda one: abs(_surely(one[1])))
    bursts = any(found.excludes(NEGLIGIBLE) for _, found in more)
    told = (
        f"constant traffic makes it up to {_interval(heavy)} {word} as none; over constant traffic "
        f"of the same rate, {most.treatment.label} makes it {_interval(by)} {word}"
    )
    if bursts and by.value < 0:
        return Said(
            answer="load",
            sentence="The mean load, and less of it where the background gives way to the "
            f"application: {told}.",
        )
    if bursts and load:
        bigger = "burstiness" if abs(by.value) > abs(heavy.value) else "load"
        return Said(answer="both", sentence=f"Both, {bigger} more: {told}.")
    if bursts:
        return Said(answer="burstiness", sentence=f"Burstiness, not the mean load: {told}.")
    close = all(found.within(NEGLIGIBLE) for _, found in more)
    if load and close:
        return Said(
            answer="load",
            sentence=f"The mean load; what the traffic is like makes less than 5 %: {told}.",
        )
    if close and all(found.within(NEGLIGIBLE) for found in steady):
        return Said(answer="neither", sentence=f"Neither: {told}.")
    return Said(
        answer="load, perhaps more" if load else "unknown",
        sentence=f"{'Load matters; whether' if load else 'Whether'} burstiness does is within the "
        f"uncertainty: {told}.",
    )


def direction(seen: Sequence[Seen], word: str = SLOW) -> Said:
    """Does traffic against the application's data matter?"""
    slow = dict(zip((one.treatment.label for one in seen), slowdowns(seen), strict=True))
    pairs = [
        (one.treatment.label, ahead, found)
        for one in seen
        if one.treatment.reverse
        if (found := slow[one.treatment.label]) is not None and found.low is not None
        if (ahead := slow.get(one.treatment.label.removesuffix(" reverse"))) is not None
    ]
    if not pairs:
        return Said(answer="unknown", sentence="Traffic against the data was not tried.")
    label, ahead, back = max(pairs, key=lambda one: _surely(one[2]))
    told = f"{label} makes it {_interval(back)} {word}, with the data {_interval(ahead)}"
    if any(found.excludes(NEGLIGIBLE) for _, _, found in pairs):
        return Said(answer="both", sentence=f"Traffic against the data matters too: {told}.")
    if all(one.within(NEGLIGIBLE) for _, ahead, back in pairs for one in (ahead, back)):
        return Said(answer="neither", sentence=f"Neither does: {told}.")
    if all(found.within(NEGLIGIBLE) for _, _, found in pairs):
        return Said(answer="forward", sentence=f"Only traffic with the data matters: {told}.")
    return Said(
        answer="unknown",
        sentence=f"Whether traffic against the data matters is within the uncertainty: {told}.",
    )


def way(seen: Sequence[Seen]) -> Said:
    """Does it act by the queue, or by losses? From all repetitions."""
    quiet = _quiet(seen)
    rows = [
        (one.logs[key] - quiet.logs[key], one.queues[key], one.losses[key])
        for one in seen
        if not one.treatment.reverse
        for key in sorted(one.logs.keys() & quiet.logs.keys() & one.queues.keys())
    ]
    if not rows:
        return Said(answer="unknown", sentence="What the link did was not recorded.")
    ys, queues, losses = ([row[place] for row in rows] for place in range(3))
    by_queue, by_loss = determined(ys, queues), determined(ys, losses)
    if not any(losses):
        if (by_queue or 0.0) >= EXPLAINED:
            return Said(
                answer="queue",
                sentence="The queue: no packet was lost, and the queue's mean delay explains "
                f"{by_queue:.0%} of the differences between repetitions.".replace("%", " %"),
            )
        return Said(
            answer="unknown",
            sentence="No packet was lost, and the queue's mean delay explains only "
            f"{by_queue or 0.0:.0%} of the differences between repetitions.".replace("%", " %"),
        )
    told = (
        f"the queue's mean delay explains {by_queue or 0.0:.0%}, the share of lost packets "
        f"{by_loss or 0.0:.0%}, both {determined(ys, queues, losses) or 0.0:.0%} of the "
        "differences between repetitions"
    ).replace("%", " %")
    apart = (by_queue or 0.0) - (by_loss or 0.0)
    if max(by_queue or 0.0, by_loss or 0.0) < EXPLAINED:
        return Said(answer="unknown", sentence=f"Neither by itself: {told}.")
    if apart > APART:
        return Said(answer="queue", sentence=f"The queue rather than losses: {told}.")
    if apart < -APART:
        return Said(answer="loss", sentence=f"Losses rather than the queue: {told}.")
    return Said(
        answer="not separable",
        sentence=f"Queue and losses come together, and cannot be told apart here: {told}.",
    )


def octaves(seen: Sequence[Seen], *, seed: int) -> tuple[OctaveResult, ...]:
    """How slowdowns go with the energy of every octave over the suite, load given."""
    quiet = _quiet(seen)
    rows = [
        (energies(one.series), carried, found.value)
        for one in seen
        if (carried := sent(one)) and one.series and not one.treatment.reverse
        if (found := between(one.logs, quiet.logs)) is not None
    ]
    results = []
    for place in range(min((len(levels) for levels, _, _ in rows), default=0)):
        points = [
            (level, carried, slow)
            for levels, carried, slow in rows
            if (level := levels[place]) is not None
        ]
        value = _partial(points)
        if value is None:
            continue
        low, high = _bootstrapped(points, seed + place)
        results.append(
            OctaveResult(
                octave=place + 1,
                seconds=Band(place + 1, place + 1).seconds()[0],
                correlation=value,
                low=low,
                high=high,
            )
        )
    return tuple(results)


Point = tuple[float, float, float]


def _partial(points: Sequence[Point]) -> float | None:
    levels, carried, slow = ([one[place] for one in points] for place in range(3))
    return partial(levels, slow, carried) if len(points) > 3 else None


def _bootstrapped(points: Sequence[Point], seed: int) -> tuple[float | None, float | None]:
    chosen = random.Random(seed)
    values = [
        found
        for _ in range(BOOTSTRAPS)
        if (found := _partial([chosen.choice(points) for _ in points])) is not None
    ]
    if len(values) < BOOTSTRAPS / 2:
        return None, None
    return quantile(values, 0.025), quantile(values, 0.975)


def changes(seen: Sequence[Seen]) -> dict[Band, Effect]:
    """Amplified against flattened, of every band that has both; together right in 95 %."""
    sides = _by_band(seen)
    return {
        band: change
        for band, one in sorted(sides.items())
        if len(one) > 1
        if (change := between(one[True].logs, one[False].logs, comparisons=len(sides))) is not None
    }


def _by_band(seen: Sequence[Seen]) -> dict[Band, dict[bool, Seen]]:
    found: dict[Band, dict[bool, Seen]] = {}
    for one in seen:
        if one.treatment.band is not None:
            found.setdefault(one.treatment.band, {})[one.treatment.amplified] = one
    return found


def bands(seen: Sequence[Seen]) -> tuple[BandResult, ...]:
    """Every band's effect; the unchanged series is the treatment without a band."""
    sides = _by_band(seen)
    base = next((one for one in seen if one.treatment.band is None), None)
    found = []
    for band, change in changes(seen).items():
        value = ratio(change)
        assert value is not None
        shortest, longest = band.seconds()
        amplified, flattened = sides[band][True], sides[band][False]
        found.append(
            BandResult(
                first=band.first,
                last=band.last,
                shortest_seconds=shortest,
                longest_seconds=longest,
                effect=value,
                amplified=ratio(between(amplified.logs, base.logs)) if base else None,
                flattened=ratio(between(flattened.logs, base.logs)) if base else None,
                matters=change.excludes() and abs(change.value) > SMALLEST,
            )
        )
    return tuple(found)


def strongest(found: Sequence[BandResult]) -> BandResult | None:
    """The band with the largest effect among those that matter."""
    known = [one for one in found if one.matters]
    return max(known, key=lambda one: abs(math.log(one.effect.value)), default=None)


def onset(found: Sequence[BandResult]) -> BandResult | None:
    """The shortest time scales that matter, with half of the largest effect or more.

    An application that one time scale overcomes (a buffer that overflows) reacts to all longer
    ones as well; the shortest names the buffer. Effects of the other sign are of another kind.
    """
    most = strongest(found)
    if most is None:
        return None
    largest = math.log(most.effect.value)
    return min(
        (one for one in found if one.matters and math.log(one.effect.value) / largest >= HALF),
        key=lambda one: one.first,
    )


def scales(found: Sequence[BandResult], base: str | None, word: str = SLOW) -> Said:
    """At which time scales does burstiness matter?"""
    if not found or base is None:
        return Said(answer="unknown", sentence="No surrogates were tried.")
    most, first = strongest(found), onset(found)
    if most is None or first is None:
        if all(_is_within(one.effect) for one in found):
            return Said(
                answer="none",
                sentence=f"None: with any band of {base} flattened or amplified the application "
                "stays within 5 %.",
            )
        widest = max(found, key=lambda one: abs(math.log(one.effect.value)))
        return Said(
            answer="unknown",
            sentence=f"The surrogates of {base} cannot tell: the largest effect, at "
            f"{span(widest.shortest_seconds, widest.longest_seconds)}, is "
            f"{_factor_interval(widest.effect)} {word}, which includes no effect.",
        )
    largest = math.log(most.effect.value)
    alike = [one for one in found if one.matters and math.log(one.effect.value) / largest >= HALF]
    last = max(alike, key=lambda one: one.last)
    told = (
        f"amplified instead of flattened at {span(most.shortest_seconds, most.longest_seconds)}, "
        f"{base} makes it {_factor_interval(most.effect)} {word}"
    )
    if largest < 0:
        told += "; so bursts there help it"
    if first == last:
        return Said(
            answer=span(first.shortest_seconds, first.longest_seconds),
            sentence=f"Bursts of {span(first.shortest_seconds, first.longest_seconds)}: {told}.",
        )
    return Said(
        answer=f"from {scale(first.shortest_seconds)} on",
        sentence=f"Bursts of {scale(first.shortest_seconds)} to {scale(last.longest_seconds)}, "
        f"most at {span(most.shortest_seconds, most.longest_seconds)}: {told}.",
    )


def _is_within(found: Ratio) -> bool:
    return (
        found.low is not None
        and found.high is not None
        and -NEGLIGIBLE <= math.log(found.low) <= math.log(found.high) <= NEGLIGIBLE
    )


def bracket(seen: Sequence[Seen]) -> tuple[Treatment, ...]:
    """The fewest backgrounds between which all the others lie, with none at all.

    The slowest is the one with the highest lower end of its interval. Of those whose slowdown is
    as large within the uncertainty, the one at the lower load: it needs less to show the same.
    """
    known = [
        (one.treatment, found)
        for one, found in zip(seen, slowdowns(seen), strict=True)
        if found is not None and one.treatment.name != QUIET
    ]
    if not known:
        return ()
    quiet = _quiet(seen).treatment
    slowest = max(known, key=lambda one: _surely(one[1]))
    fastest = min(known, key=lambda one: one[1].value)
    least = slowest[1].low if slowest[1].low is not None else slowest[1].value
    alike = [one for one in known if one[1].value >= least and _surely(one[1]) > 0] or [slowest]
    highest = min(alike, key=lambda one: (one[0].load, -one[1].value))
    chosen = [quiet]
    if fastest[1].value < 0 and fastest[1].excludes():
        chosen.append(fastest[0])
    if highest[0] not in chosen:
        chosen.append(highest[0])
    return tuple(chosen)


def advice(answers: Mapping[str, Said], chosen: Sequence[Treatment]) -> tuple[str, ...]:
    """What to do, from the answers."""
    found = []
    if answers["matters"].answer == "no":
        found.append(
            "Evaluate it without background, and say so with this page: at these loads and on "
            "this link background changes nothing that these rounds could see."
        )
        return tuple(found)
    if answers["kind"].answer == "load":
        found.append("Constant traffic at the right mean rate is enough as background.")
    elif answers["kind"].answer in ("both", "burstiness"):
        found.append(
            "Constant or Poisson traffic is not enough: use backgrounds with the burstiness that "
            "its users will meet, at the same mean rate."
        )
    if answers["scales"].answer not in ("unknown", "none"):
        found.append(
            f"A background must be realistic at these time scales: {answers['scales'].answer}. "
            "Compare its energy there with that of the network which you care about "
            "(trustbed burst CAPTURE)."
        )
    if answers["direction"].answer == "both":
        found.append("Put background on the reverse path as well, where acknowledgements queue.")
    if len(chosen) > 1:
        found.append(
            f"Report it beside {' and '.join(one.label for one in chosen)}: everything that was "
            "tried lies between them, within the uncertainty."
        )
    if any(one.answer == "unknown" for one in answers.values()):
        found.append("Where an answer is unknown, give more time (--budget) or longer repetitions.")
    return tuple(found)


def _surely(found: Effect) -> float:
    """How much slower at least, or faster; 0 where the interval includes no effect."""
    if found.low is None or found.high is None:
        return 0.0
    return found.low if found.low > 0 else min(found.high, 0.0)


def _interval(found: Effect) -> str:
    value = ratio(found)
    assert value is not None
    return _factor_interval(value)


def _factor_interval(found: Ratio) -> str:
    if found.low is None or found.high is None:
        return factor(found.value)
    return f"{factor(found.value)} ({number(found.low)} to {number(found.high)})"
