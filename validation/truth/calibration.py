"""Whether the stated confidence is right.

Of the answers given with confidence 0.8, are four in five right?

Reliability by ten bins of the stated confidence, equally wide, each with the Wilson interval of the
observed frequency, and the pooled calibration error: the mean over all answers of the distance
between what was stated and what was observed in their bin (expected calibration error: Naeini,
Cooper, Hauskrecht, *Obtaining Well Calibrated Probabilities Using Bayesian Binning*, AAAI 2015).
Pure.

The Brier skill compares the mean squared error with that of one confidence for all, the share of
right answers: 0 is no better than that, 1 is never wrong.

Bias: inside a bin mistakes of opposite sign cancel out; the error of few answers is rather too
large, because chance alone makes one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from validation.truth.intervals import Interval, wilson

BINS = 10
LEAST = 30
"""A bin with fewer answers is shown and not held against anybody."""
WANTED_ERROR = 0.05
WANTED_SKILL = 0.3


class Answered(Protocol):
    """An answer, with what was stated about it and what became of it."""

    @property
    def confidence(self) -> float:
        """0…1."""
        ...

    @property
    def is_right(self) -> bool:
        """Whether it was right."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Answers whose confidence lies between two edges.

    The lower edge belongs to the bin, in the last one both do.
    """

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
        """Whether what was stated, in the mean, lies in the interval.

        ``None`` for a bin with too few answers.
        """
        low, high = self.interval
        return None if self.answers < LEAST else low <= self.stated <= high


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The table, its pooled error (``None`` of nothing), and the Brier skill of all answers."""

    bins: tuple[Bin, ...]
    error: float | None
    skill: float | None = None


def calibrate(answers: Iterable[Answered]) -> Calibration:
    """Of all answers, whatever their cause."""
    given = list(answers)
    inside: list[list[Answered]] = [[] for _ in range(BINS)]
    for answer in given:
        inside[_index(answer.confidence)].append(answer)
    bins = tuple(_bin(index, found) for index, found in enumerate(inside) if found)
    error = (
        sum(each.answers * abs(each.stated - each.observed) for each in bins) / len(given)
        if given
        else None
    )
    return Calibration(bins=bins, error=error, skill=skill(given))


def brier(answers: Sequence[Answered]) -> float:
    """Mean squared error of the confidence (Brier, *Verification of Forecasts*, 1950)."""
    return sum((answer.confidence - answer.is_right) ** 2 for answer in answers) / len(answers)


def skill(answers: Sequence[Answered]) -> float | None:
    """By how much the Brier score is below that of the share of right answers, stated for each.

    ``None`` where all were right or none, or nothing was answered.
    """
    if not answers:
        return None
    share = sum(answer.is_right for answer in answers) / len(answers)
    base = share * (1 - share)
    return 1 - brier(answers) / base if base else None


def _index(confidence: float) -> int:
    # In whole hundredths, so that no rounding of a float moves an answer over an edge.
    return min(BINS - 1, round(100 * confidence) * BINS // 100)


def _bin(index: int, answers: Sequence[Answered]) -> Bin:
    return Bin(
        low=index / BINS,
        high=(index + 1) / BINS,
        answers=len(answers),
        right=sum(answer.is_right for answer in answers),
        stated=sum(answer.confidence for answer in answers) / len(answers),
    )
