"""Confidence intervals of a mean, a median, a share or a ratio of quantiles.

- Of a mean: Student's t. Right for values that are roughly normal, or for many of them.
- Of a median or another quantile: order statistics. The interval lies between two of the values;
  that it covers the quantile follows from the binomial distribution alone, whatever the values'
  distribution is (W. J. Conover, *Practical Nonparametric Statistics*, 3.2). Below six values there
  is none for the median at 95 %.
- Of a share: that of E. B. Wilson (*Journal of the American Statistical Association* 22, 1927),
  which stays between 0 and 1 and is right for small numbers too.
- Of a ratio of two quantiles: the bootstrap of B. Efron (*Annals of Statistics* 7, 1979),
  percentile method. The distribution of a quantile of a resample is known (the rank of an order
  statistic is beta distributed), so ranks are drawn instead of resamples.

All of them assume values that do not depend on each other. Requests of one run share its
conditions: an interval over runs takes one value of each run, not every request.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

from trustbed.workload.distribution import deviation, mean, of_sorted

LEVEL = 0.95
"""The confidence level: the share of intervals that cover the true value."""
ROUNDS = 10_000
"""Rounds of the bootstrap."""
_BISECTIONS = 100
_NORMAL_FROM = 1000


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval from ``low`` to ``high``.

    Attributes:
        low: Lower end.
        high: Upper end.
        method: How it was found: ``student``, ``order_statistics``, ``wilson`` or ``bootstrap``.
    """

    low: float
    high: float
    method: str


def student(degrees: int, level: float = LEVEL) -> float:
    """The factor t of a two-sided interval with so many degrees of freedom.

    The distribution for whole degrees of freedom is a finite sum (M. Abramowitz and I. A. Stegun,
    *Handbook of Mathematical Functions*, 26.7.3 and 26.7.4), and is inverted by halving. From 1000
    degrees on, where the sum is long, three terms of the expansion around the normal distribution
    (26.7.5) are good to a part in ten million.

    >>> round(student(9), 6)
    2.262157
    """
    if degrees < 1:
        raise ValueError(f"{degrees} degrees of freedom leave nothing to estimate; give 1 or more")
    if degrees >= _NORMAL_FROM:
        normal = NormalDist().inv_cdf((1 + level) / 2)
        return (
            normal
            + (normal**3 + normal) / (4 * degrees)
            + (5 * normal**5 + 16 * normal**3 + 3 * normal) / (96 * degrees**2)
        )
    low, high = 0.0, math.pi / 2
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _within(middle, degrees) < level else (low, middle)
    return math.tan(low) * math.sqrt(degrees)


def _within(angle: float, degrees: int) -> float:
    """How likely Student's t stays within ±√degrees · tan(angle)."""
    cosine = math.cos(angle)
    if degrees % 2:
        term, total = cosine, 0.0
        for factor in range(3, degrees + 1, 2):
            total += term
            term *= cosine * cosine * (factor - 1) / factor
        return 2 / math.pi * (angle + math.sin(angle) * total)
    term, total = 1.0, 0.0
    for factor in range(2, degrees + 1, 2):
        total += term
        term *= cosine * cosine * (factor - 1) / factor
    return math.sin(angle) * total


def mean_interval(values: Sequence[float], *, level: float = LEVEL) -> Interval | None:
    """The interval of the mean, by Student's t; None for fewer than two values."""
    middle, spread = mean(values), deviation(values)
    if middle is None or spread is None:
        return None
    reach = student(len(values) - 1, level) * spread / math.sqrt(len(values))
    return Interval(middle - reach, middle + reach, "student")


def share_interval(hits: int, of: int, *, level: float = LEVEL) -> Interval | None:
    """The interval of the share ``hits`` / ``of``; None if ``of`` is 0.

    >>> found = share_interval(1, 10)
    >>> round(found.low, 4), round(found.high, 4)
    (0.0179, 0.4042)
    """
    if of == 0:
        return None
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, squared = hits / of, z * z
    centre = (share + squared / (2 * of)) / (1 + squared / of)
    half = z / (1 + squared / of) * math.sqrt(share * (1 - share) / of + squared / (4 * of * of))
    # At its ends the formula gives exactly none and all; floating-point numbers only nearly.
    return Interval(
        0.0 if hits == 0 else centre - half, 1.0 if hits == of else centre + half, "wilson"
    )


def quantile_interval(
    values: Sequence[float], share: float = 0.5, *, level: float = LEVEL
) -> Interval | None:
    """The interval of a quantile (default: the median), by order statistics.

    None if there are too few values. Each end is missed with a probability of at most
    (1 − ``level``) / 2, so the interval is conservative.
    """
    if not 0 < share < 1:
        raise ValueError(
            f"a share of {share} has no order statistics around it; give one between 0 and 1"
        )
    ordered = sorted(values)
    count = len(ordered)
    low = _rank(count, share, (1 - level) / 2)
    high = _rank(count, 1 - share, (1 - level) / 2)
    if low == 0 or high == 0:
        return None
    return Interval(ordered[low - 1], ordered[count - high], "order_statistics")


def _rank(count: int, share: float, miss: float) -> int:
    """The highest rank (from 1) that lies above the quantile at most so often; 0 if there is none.

    The value of rank r lies above it when fewer than r of all values do not: binomial.
    """
    if count == 0:
        return 0
    logarithms = math.log(share), math.log1p(-share)
    # Further down the sum is below any probability that matters.
    first = max(0, math.floor(count * share - 12 * math.sqrt(count * share * (1 - share)) - 12))
    below = 0.0
    for number in range(first, count + 1):
        choices = math.lgamma(count + 1) - math.lgamma(number + 1) - math.lgamma(count - number + 1)
        below += math.exp(choices + number * logarithms[0] + (count - number) * logarithms[1])
        if below > miss:
            return number
    return count


def ratio_interval(
    values: Sequence[float],
    share: float,
    baseline: Sequence[float],
    *,
    seed: int,
    level: float = LEVEL,
    rounds: int = ROUNDS,
) -> Interval | None:
    """The interval of a quantile of ``values`` over the median of ``baseline``, by the bootstrap.

    The same seed gives the same interval. None if either side has fewer than two values, or if the
    baseline's median could be 0.
    """
    above, below = sorted(values), sorted(baseline)
    if len(above) < 2 or len(below) < 2 or below[0] <= 0:
        return None
    draw = random.Random(seed)
    ratios = sorted(
        _redrawn(above, share, draw) / _redrawn(below, 0.5, draw) for _ in range(rounds)
    )
    low, high = of_sorted(ratios, (1 - level) / 2), of_sorted(ratios, (1 + level) / 2)
    return None if low is None or high is None else Interval(low, high, "bootstrap")


def _redrawn(ordered: Sequence[float], share: float, draw: random.Random) -> float:
    """A quantile of a resample: the order statistic of a rank drawn from its beta distribution."""
    count = len(ordered)
    exact = (count - 1) * share
    rank = math.floor(exact) + (draw.random() < exact - math.floor(exact))
    position = draw.betavariate(rank + 1, count - rank)
    return ordered[min(math.floor(position * count), count - 1)]
