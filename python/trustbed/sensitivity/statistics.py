"""Intervals and small regressions over repetitions that come in rounds.

A round has every treatment once, in random order, minutes apart at most. So treatments are compared
within rounds (randomised blocks, R. A. Fisher, *The Design of Experiments*, 1935), as log ratios: a
difference of 0.1 is 10 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trustbed.workload.distribution import deviation, mean
from trustbed.workload.intervals import student

LEVEL = 0.95
BOOTSTRAPS = 400


@dataclass(frozen=True, slots=True)
class Effect:
    """A mean log ratio with its interval; ``None`` where fewer than two rounds have both sides."""

    value: float
    low: float | None
    high: float | None
    rounds: int

    @property
    def half_width(self) -> float:
        """Half of the interval's width; infinite without one."""
        return math.inf if self.low is None or self.high is None else (self.high - self.low) / 2

    def excludes(self, bound: float = 0.0) -> bool:
        """Whether the interval lies above ``bound``, or below ``-bound``."""
        if self.low is None or self.high is None:
            return False
        return self.low > bound or self.high < -bound

    def within(self, bound: float) -> bool:
        """Whether the interval lies between ``-bound`` and ``bound``."""
        return (
            self.low is not None
            and self.high is not None
            and -bound <= self.low <= self.high <= bound
        )


def effect(ratios: Sequence[float], *, comparisons: int = 1) -> Effect | None:
    """The mean of log ratios, one of each round, with Student's interval.

    Of several comparisons each gets a share of the error (C. E. Bonferroni): together they are
    right in 95 %.
    """
    if not ratios:
        return None
    value = mean(ratios) or 0.0
    spread = deviation(ratios)
    if len(ratios) < 2 or spread is None:
        return Effect(value, None, None, len(ratios))
    level = 1 - (1 - LEVEL) / comparisons
    reach = student(len(ratios) - 1, level) * spread / math.sqrt(len(ratios))
    return Effect(value, value - reach, value + reach, len(ratios))


def between(
    one: Mapping[int, float], other: Mapping[int, float], *, comparisons: int = 1
) -> Effect | None:
    """One treatment against another: log values by round."""
    return effect(
        [one[key] - other[key] for key in sorted(one.keys() & other.keys())],
        comparisons=comparisons,
    )


def correlation(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Pearson's r; ``None`` where either does not vary, or of fewer than three points."""
    count = len(xs)
    if count < 3:
        return None
    x, y = sum(xs) / count, sum(ys) / count
    xx = sum((one - x) ** 2 for one in xs)
    yy = sum((one - y) ** 2 for one in ys)
    if xx <= 1e-12 * max(1.0, x * x) * count or yy <= 1e-12 * max(1.0, y * y) * count:
        return None
    xy = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True))
    return xy / math.sqrt(xx * yy)


def partial(xs: Sequence[float], ys: Sequence[float], given: Sequence[float]) -> float | None:
    """The correlation of x and y among those alike in ``given`` (linear); ``None`` if unknown."""
    together, of_x, of_y = correlation(xs, ys), correlation(xs, given), correlation(ys, given)
    if of_x is None or of_y is None:
        return together
    rest = (1 - of_x**2) * (1 - of_y**2)
    if together is None or rest <= 1e-9:
        return None
    return max(-1.0, min(1.0, (together - of_x * of_y) / math.sqrt(rest)))


def determined(ys: Sequence[float], *columns: Sequence[float]) -> float | None:
    """R²: the share of the variance of y that one or two columns explain (least squares)."""
    simple = [correlation(column, ys) for column in columns]
    known = [one for one in simple if one is not None]
    if not known:
        return None
    if len(columns) == 1 or len(known) == 1:
        return max(one**2 for one in known)
    first, second = known
    both = correlation(columns[0], columns[1])
    if both is None or 1 - both**2 <= 1e-9:
        return max(first**2, second**2)
    explained = (first**2 + second**2 - 2 * first * second * both) / (1 - both**2)
    return max(0.0, min(1.0, explained))
