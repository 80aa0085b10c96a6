"""Quantiles, means and distributions of a few thousand numbers.

Quantiles are those of R. J. Hyndman and Y. Fan, *Sample Quantiles in Statistical Packages*, The
American Statistician 50 (1996), type 7: linear between the ordered values. Without values, the
quantile, mean and deviation are ``None``, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


def quantile(values: Sequence[float], share: float) -> float | None:
    """The value that a share of all values does not exceed.

    >>> quantile([1.0, 2.0, 4.0], 0.75)
    3.0
    """
    return of_sorted(sorted(values), share)


def of_sorted(ordered: Sequence[float], share: float) -> float | None:
    """As :func:`quantile`, of values in order."""
    if not ordered:
        return None
    position = (len(ordered) - 1) * share
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (position - low) * (ordered[high] - ordered[low])


def mean(values: Sequence[float]) -> float | None:
    """The arithmetic mean, rounded once."""
    return math.fsum(values) / len(values) if values else None


def deviation(values: Sequence[float]) -> float | None:
    """The standard deviation of the sample (n − 1); of one value there is none."""
    middle = mean(values)
    if middle is None or len(values) < 2:
        return None
    return math.sqrt(math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1))


@dataclass(frozen=True, slots=True)
class Step:
    """A point of a distribution: ``share`` of all values are at most ``value``."""

    value: float
    share: float


def cumulative(values: Sequence[float], *, most: int = 10_000) -> list[Step]:
    """The empirical distribution, right-continuous: one step per distinct value.

    With more than ``most`` distinct values, only every n-th step is returned; each is exact, and
    the last step is always included.

    >>> cumulative([2.0, 1.0, 2.0, 3.0])
    [Step(value=1.0, share=0.25), Step(value=2.0, share=0.75), Step(value=3.0, share=1.0)]
    """
    if most < 2:
        raise ValueError(f"{most} steps are no distribution; request 2 or more")
    ordered = sorted(values)
    count = len(ordered)
    ends = [
        index + 1
        for index in range(count)
        if index + 1 == count or ordered[index] < ordered[index + 1]
    ]
    stride = max(1, math.ceil(len(ends) / (most - 1)))
    chosen = ends[::stride]
    if ends and chosen[-1] != count:
        chosen.append(count)
    return [Step(ordered[end - 1], end / count) for end in chosen]
