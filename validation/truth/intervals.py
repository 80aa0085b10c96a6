"""Intervals of shares, and of any figure of a list of cases.

Wilson, *Probable Inference, the Law of Succession, and Statistical Inference*, 1927, for shares: it
stays between 0 and 1 and is right for small numbers. For the rest the percentile bootstrap of
Efron, 1979: cases are drawn with replacement, the figure is computed again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from trustbed.workload import share_interval

DRAWS = 400

T = TypeVar("T")
Interval = tuple[float, float]


def wilson(hits: int, of: int) -> Interval:
    """95 % interval of a share; all of 0…1 where nothing was counted."""
    found = share_interval(hits, of)
    return (0.0, 1.0) if found is None else (found.low, found.high)


def bootstrap(
    cases: Sequence[T],
    figure: Callable[[Sequence[T]], float | None],
    *,
    seed: int = 1,
    draws: int = DRAWS,
) -> Interval | None:
    """95 % interval of a figure; ``None`` where it cannot be computed from most draws."""
    random = Random(seed)
    found = (
        sorted(
            value
            for _ in range(draws)
            if (value := figure(random.choices(cases, k=len(cases)))) is not None
        )
        if cases
        else []
    )
    if len(found) <= draws // 2:
        return None
    return (found[int(0.025 * (len(found) - 1))], found[math.ceil(0.975 * (len(found) - 1))])
