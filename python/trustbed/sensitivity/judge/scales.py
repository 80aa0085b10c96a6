"""At which time scales burstiness matters: by surrogates, and by the energies of the suite."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from trustbed.sensitivity.cascade import Band, energies
from trustbed.sensitivity.judge.answers import NEGLIGIBLE
from trustbed.sensitivity.judge.effects import Seen, quiet_of, ratio, sent
from trustbed.sensitivity.judge.wording import SLOW, ratio_interval
from trustbed.sensitivity.model import BandResult, OctaveResult, Ratio, Said
from trustbed.sensitivity.statistics import BOOTSTRAPS, Effect, between, partial
from trustbed.sensitivity.words import scale, span
from trustbed.workload.distribution import quantile

SMALLEST = math.log(1.02)
"""What a band must cause to be named."""
HALF = 0.5
"""The share of the largest effect from which on a shorter time scale is named."""


def octaves(seen: Sequence[Seen], *, seed: int) -> tuple[OctaveResult, ...]:
    """How slowdowns go with the energy of every octave over the suite, load given."""
    quiet = quiet_of(seen)
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
            f"{ratio_interval(widest.effect)} {word}, which includes no effect.",
        )
    largest = math.log(most.effect.value)
    alike = [one for one in found if one.matters and math.log(one.effect.value) / largest >= HALF]
    last = max(alike, key=lambda one: one.last)
    told = (
        f"amplified instead of flattened at {span(most.shortest_seconds, most.longest_seconds)}, "
        f"{base} makes it {ratio_interval(most.effect)} {word}"
    )
    for one in found:
        if one.matters and 0 < math.log(one.effect.value) / largest < HALF:
            shorter = span(one.shortest_seconds, one.longest_seconds)
            told += f", at {shorter} {ratio_interval(one.effect)}"
    if largest < 0:
        told += (
            "; so bursts there help it: played back, what exceeds the link is lost and takes no "
            "room later"
        )
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


def shown(found: Sequence[BandResult], base: str | None, word: str = SLOW) -> Said | None:
    """That background matters, where surrogates show it; ``None`` where they do not."""
    most = strongest(found)
    if most is None or base is None:
        return None
    ends = [math.log(end) for end in (most.effect.low, most.effect.high) if end is not None]
    if min(map(abs, ends)) < NEGLIGIBLE:
        return None
    bursts = span(most.shortest_seconds, most.longest_seconds)
    return Said(
        answer="yes",
        sentence=f"Background matters: {base}, its bursts of {bursts} amplified instead of "
        f"flattened, makes it {ratio_interval(most.effect)} {word}. It is certain of no background "
        "as it is.",
    )


def _is_within(found: Ratio) -> bool:
    return (
        found.low is not None
        and found.high is not None
        and -NEGLIGIBLE <= math.log(found.low) <= math.log(found.high) <= NEGLIGIBLE
    )
