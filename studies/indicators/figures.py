"""How well a number tells seconds with oversize pauses from others.

Rank correlation, the best threshold, precision and recall. Pure.

Seconds of one transfer resemble each other, so intervals are found by drawing whole transfers. The
threshold is chosen on transfers of odd seeds, and judged on those of even ones.

Spearman, *The Proof and Measurement of Association between Two Things*, 1904; equal values share
the mean of their ranks.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from studies.departure_error.rules import Scored
from validation.truth.intervals import Interval, bootstrap


class Point(NamedTuple):
    """A second.

    What the indicator said, the share that the sender held back, and whether its pauses were
    oversize.
    """

    value: float
    share: float
    is_long_pause: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The seconds of one transfer."""

    is_odd: bool
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What came of a indicator. ``threshold`` is infinite where no odd second was oversize."""

    seconds: int
    oversize: int
    correlation: float | None
    interval: Interval | None
    threshold: float
    odd: Scored
    even: Scored
    even_seconds: int


def figures(cases: Sequence[Case]) -> Figures:
    """Of all transfers with this indicator."""
    odd, even = (points(case for case in cases if case.is_odd is side) for side in (True, False))
    threshold = best(odd)
    return Figures(
        seconds=len(odd) + len(even),
        oversize=sum(point.is_long_pause for point in (*odd, *even)),
        correlation=correlation(points(cases)),
        interval=bootstrap(cases, lambda drawn: correlation(points(drawn))),
        threshold=threshold,
        odd=scored(odd, threshold),
        even=scored(even, threshold),
        even_seconds=len(even),
    )


def points(cases: Iterable[Case]) -> list[Point]:
    """All seconds."""
    return [point for case in cases for point in case.points]


def correlation(found: Sequence[Point]) -> float | None:
    """Spearman's ρ of what the indicator said and the share that was held back.

    Unknown where either never changes.
    """
    return spearman([point.value for point in found], [point.share for point in found])


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Pearson's correlation of ranks.

    ``None`` for less than two pairs, or where all of one side are equal.
    """
    a, b = ranks(first), ranks(second)
    if len(a) < 2:
        return None
    mean = (len(a) + 1) / 2
    variances = [sum((rank - mean) ** 2 for rank in side) for side in (a, b)]
    if not all(variances):
        return None
    return sum((x - mean) * (y - mean) for x, y in zip(a, b, strict=True)) / math.sqrt(
        variances[0] * variances[1]
    )


def ranks(values: Sequence[float]) -> list[float]:
    """From 1; equal values share the mean of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    begin = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or values[order[end]] != values[order[begin]]:
            for place in order[begin:end]:
                found[place] = (begin + 1 + end) / 2
            begin = end
    return found


def scored(found: Sequence[Point], threshold: float) -> Scored:
    """How often it is right to call a second oversize from the threshold on."""
    told = [(point.is_long_pause, point.value >= threshold) for point in found]
    return Scored(told.count((True, True)), told.count((False, True)), told.count((True, False)))


def best(found: Sequence[Point]) -> float:
    """The threshold with the highest F1; of several the highest.

    It is a value above zero: what never moves tells nothing.
    """
    threshold, most = math.inf, 0.0
    for value in sorted({point.value for point in found if point.value > 0}, reverse=True):
        f1 = scored(found, value).f1
        if f1 > most:
            threshold, most = value, f1
    return threshold
