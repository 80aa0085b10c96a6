"""Two samples of one metric, one value per repetition: similar, overlapping, equivalent, different?

Four questions that are often taken for one:

- *similar*: the means differ by at most the tolerance. Says nothing of uncertainty.
- *overlap*: the 95 % intervals of the means touch. Rewards noise: a wide interval overlaps easily.
- *equivalent*: the difference lies within the tolerance, uncertainty counted: two one-sided Welch
  tests at 5 % (TOST; D. J. Schuirmann, *Journal of Pharmacokinetics and Biopharmaceutics* 15,
  1987) against the tolerance of the reference's mean.
- *different*: the difference exceeds the resolution, uncertainty counted: Welch's test (B. L.
  Welch, *Biometrika* 34, 1947) of |m_c − m_r| ≤ resolution·|m_r| (J. L. Hodges and E. L. Lehmann,
  *Journal of the Royal Statistical Society* B 16, 1954).
  Of several metrics each is judged by S. Holm's procedure (*Scandinavian Journal of Statistics* 6,
  1979), so that a whole report calls equal testbeds different in at most 5 %.

A difference can be both different and equivalent: it is there, and it is small. What is neither is
open: more repetitions would tell.

Bias: the reference's mean is taken as known where it scales tolerance and resolution; with n ≥ 10
and a spread of some percent this is far below the half-widths.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from trustbed.compare import student
from trustbed.workload.distribution import deviation, mean

LEVEL = 0.95
TOLERANCE = 0.10
"""What counts as similar, as a share of the reference's mean (Crussell et al.)."""
RESOLUTION = 0.01
"""The smallest difference that is worth a word, as a share of the reference's mean."""
ALPHA = 0.05
LEAST = 3
"""With fewer values on a side there is no judgement but similar."""
NORMAL = 1.959964


@dataclass(frozen=True, slots=True)
class Sample:
    """Mean and standard deviation (n − 1) of one value per repetition.

    ``sd`` is ``None`` of fewer than two values.
    """

    mean: float
    sd: float | None
    count: int

    @property
    def half_width(self) -> float | None:
        """Half of the mean's 95 % interval, by Student's t."""
        if self.sd is None:
            return None
        share = (1 + LEVEL) / 2
        return student.quantile(share, self.count - 1) * self.sd / math.sqrt(self.count)

    @property
    def half_width_normal(self) -> float | None:
        """The same by the normal distribution, as published tables have it."""
        return None if self.sd is None else NORMAL * self.sd / math.sqrt(self.count)


def sample(values: Sequence[float]) -> Sample | None:
    """The sample of some values; ``None`` without any."""
    middle = mean(values)
    return None if middle is None else Sample(middle, deviation(values), len(values))


def similar(reference: float, candidate: float, tolerance: float = TOLERANCE) -> bool:
    """|m_c − m_r| ≤ tolerance·|m_r|; of a reference of 0 only 0 is similar.

    >>> similar(50.0, 44.5), similar(638, 590), similar(0.0, 0.0)
    (False, True, True)
    """
    return abs(candidate - reference) <= tolerance * abs(reference)


def overlap(
    reference: float, half: float | None, candidate: float, other_half: float | None
) -> bool | None:
    """Whether the intervals of two means touch; ``None`` where either has none."""
    if half is None or other_half is None:
        return None
    return abs(candidate - reference) <= half + other_half


@dataclass(frozen=True, slots=True)
class Welch:
    """The difference of two means, its standard error and degrees of freedom.

    Degrees after F. E. Satterthwaite (*Biometrics Bulletin* 2, 1946). ``error`` is 0 where neither
    side varies: then every difference is certain.
    """

    difference: float
    error: float
    degrees: float

    def exceeds(self, bound: float) -> float:
        """How likely so large a difference is, at most, if the true one is at most ``bound``.

        The p value of the null hypothesis difference ≤ bound, one-sided.
        """
        return self._tail(self.difference - bound)

    def falls_below(self, bound: float) -> float:
        """The same of the null hypothesis difference ≥ bound."""
        return self._tail(bound - self.difference)

    def _tail(self, beyond: float) -> float:
        if self.error == 0:
            return 0.0 if beyond > 0 else 1.0
        return student.upper_tail(beyond / self.error, self.degrees)

    def interval(self, level: float = LEVEL) -> tuple[float, float]:
        """The confidence interval of the difference."""
        if self.error == 0:
            return self.difference, self.difference
        reach = student.quantile((1 + level) / 2, self.degrees) * self.error
        return self.difference - reach, self.difference + reach


def welch(reference: Sample, candidate: Sample) -> Welch | None:
    """Candidate less reference; ``None`` of fewer than two values on a side."""
    if reference.sd is None or candidate.sd is None:
        return None
    parts = [one.sd**2 / one.count for one in (reference, candidate) if one.sd is not None]
    error = math.sqrt(sum(parts))
    counts = (reference.count, candidate.count)
    scale = max(abs(reference.mean), abs(candidate.mean))
    if error <= 1e-12 * scale:  # rounding of values that are all the same
        return Welch(candidate.mean - reference.mean, 0.0, float(sum(counts) - 2))
    below = sum((part / error**2) ** 2 / (n - 1) for part, n in zip(parts, counts, strict=True))
    return Welch(candidate.mean - reference.mean, error, 1 / below)


def difference_p(found: Welch, bound: float) -> float:
    """The p value of |true difference| ≤ ``bound``: how likely so large a one is at the bound.

    With a bound of 0 it is Welch's two-sided test.
    """
    size = abs(found.difference)
    if found.error == 0:
        return 0.0 if size > bound else 1.0
    tails = (size - bound, size + bound)
    return min(1.0, sum(student.upper_tail(one / found.error, found.degrees) for one in tails))


def equivalence_p(found: Welch, bound: float) -> float:
    """The p value of |true difference| ≥ ``bound``: the larger of two one-sided tests.

    Where nothing varies a difference of exactly the bound is not beyond it.
    """
    if found.error == 0:
        return 0.0 if abs(found.difference) <= bound else 1.0
    return max(found.falls_below(bound), found.exceeds(-bound))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p values: those at most α are significant, together in error in at most α.

    >>> [round(one, 3) for one in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted
