"""Whether a stated confidence means what it says: of the answers given with confidence 0.8, are four in five right?

Reliability by bins of the stated confidence, each with the Wilson interval of the observed frequency, and the pooled calibration error:
the mean over all answers of the distance between what was stated and what was observed in its bin (expected calibration error: Naeini,
Cooper, Hauskrecht, AAAI 2015). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from validation.truth.intervals import Interval, wilson
from validation.truth.score import Case

EDGES = (0.0, 0.45, 0.55, 0.65, 0.75, 0.85, 0.95, 1.0)
LEAST = 30
"""A bin with fewer answers is shown and not held against anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Answers whose confidence lies between two edges."""

    low: float
    high: float
    answers: int
    right: int
    stated: float

    @property
    def observed(self) -> float:
        """Share of right ones."""
        return self.right / self.answers

    @property
    def interval(self) -> Interval:
        """Of that share."""
        return wilson(self.right, self.answers)

    @property
    def holds(self) -> bool | None:
        """Whether what was stated lies in the interval; ``None`` for a bin with too few answers."""
        low, high = self.interval
        return None if self.answers < LEAST else low <= self.stated <= high


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The table, and its pooled error (``None`` of nothing)."""

    bins: tuple[Bin, ...]
    error: float | None


def calibrate(cases: Iterable[Case]) -> Calibration:
    """Of all answers, whatever their cause."""
    given = list(cases)
    bins = tuple(found for place in range(len(EDGES) - 1) if (found := _bin(given, place)) is not None)
    error = sum(each.answers * abs(each.stated - each.observed) for each in bins) / len(given) if given else None
    return Calibration(bins=bins, error=error)


def _bin(cases: Sequence[Case], place: int) -> Bin | None:
    low, high = EDGES[place], EDGES[place + 1]
    last = place == len(EDGES) - 2
    inside = [case for case in cases if low <= case.confidence and (case.confidence < high or last)]
    if not inside:
        return None
    stated = sum(case.confidence for case in inside) / len(inside)
    return Bin(low=low, high=high, answers=len(inside), right=sum(case.is_right for case in inside), stated=stated)
