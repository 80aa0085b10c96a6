"""How many repetitions would settle what is open, by simulation from the observed spread.

Supposes that the means and standard deviations are those that were observed, and normal values:
then a sample's mean and variance are drawn directly (W. S. Gosset, *Biometrika* 6, 1908), without
drawing its values. Bias: what is open because the true difference lies near a bound needs more than
the answer says, since the observed difference is taken for the true one.
"""

from __future__ import annotations

import math
import random

from trustbed.compare.statistics import (
    ALPHA,
    LEAST,
    Sample,
    difference_p,
    equivalence_p,
    welch,
)

MOST = 200
"""Repetitions on each side beyond which nothing is tried."""
ROUNDS = 300
"""Simulated comparisons per number of repetitions."""
SETTLED = 0.8
"""The share of them that must be settled, the usual power of a test."""
_GROWTH = 1.15


def repetitions_needed(
    reference: Sample,
    candidate: Sample,
    *,
    tolerance: float,
    resolution: float,
    family: int,
    seed: str,
) -> int | None:
    """Repetitions on each side with which the metric is different or equivalent in 80 %.

    More than either side has: with those it is open. ``None`` if not even :data:`MOST` would do,
    or if a side has no spread to go by. ``family`` is how many tests share the error: each gets
    its part (Bonferroni), a little less than Holm's procedure would give it.
    """
    if reference.sd is None or candidate.sd is None:
        return None
    generator = random.Random(seed)
    tried = max(LEAST, reference.count + 1, candidate.count + 1)
    while tried <= MOST:
        settled = sum(
            _settled(
                _drawn(reference, tried, generator),
                _drawn(candidate, tried, generator),
                tolerance,
                resolution,
                family,
            )
            for _ in range(ROUNDS)
        )
        if settled >= SETTLED * ROUNDS:
            return tried
        tried = max(tried + 1, math.ceil(tried * _GROWTH))
    return None


def _drawn(true: Sample, count: int, generator: random.Random) -> Sample:
    assert true.sd is not None, "checked before"
    degrees = count - 1
    variance = true.sd**2 * generator.gammavariate(degrees / 2, 2.0) / degrees
    middle = generator.gauss(true.mean, true.sd / math.sqrt(count))
    return Sample(middle, math.sqrt(variance), count)


def _settled(
    reference: Sample, candidate: Sample, tolerance: float, resolution: float, family: int
) -> bool:
    found = welch(reference, candidate)
    assert found is not None, "both have a spread"
    size = abs(reference.mean)
    if equivalence_p(found, tolerance * size) <= ALPHA:
        return True
    return difference_p(found, resolution * size) * family <= ALPHA
