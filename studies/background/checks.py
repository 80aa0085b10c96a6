"""Whether a measured comparison has a published direction. Pure.

Repetitions of a round are adjacent in time, so cells are compared round by round: the logarithm of
the ratio of two cells in each round, and Student's interval of its mean. Rounds in which one of the
two cells has no usable repetition are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from trustbed.workload import mean, mean_interval, quantile

Verdict = Literal["found", "contradicted", "open", "missing"]
Values = Mapping[int, float]
"""A number for every round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell of a run, by its label: what its usable repetitions gave, by round.

    Attributes:
        label: As ``trustbed run --dry-run`` prints it.
        seconds: Response times of all good requests.
        errors: Error of an estimator in percent.
        jitter: 95th percentile of the time between received packets of a stream, in seconds.
    """

    label: str
    seconds: Mapping[int, Sequence[float]] = field(default_factory=dict)
    errors: Values = field(default_factory=dict)
    jitter: Values = field(default_factory=dict)

    def at(self, share: float) -> Values:
        """A quantile of the response times of every round."""
        return self._each(lambda values: quantile(values, share))

    @property
    def medians(self) -> Values:
        """The median response time of every round."""
        return self.at(0.5)

    @property
    def means(self) -> Values:
        """The mean response time of every round."""
        return self._each(mean)

    @property
    def spread(self) -> Values:
        """The distance of the 95th from the 5th percentile in every round."""
        low, high = self.at(0.05), self.at(0.95)
        return {number: high[number] - low[number] for number in low}

    def _each(self, of: Callable[[Sequence[float]], float | None]) -> Values:
        found = ((number, of(values)) for number, values in self.seconds.items())
        return {number: value for number, value in found if value is not None}


Cells = Sequence[Cell]


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """A published direction, and what was measured.

    Attributes:
        statement: What the study says, as a statement about a number.
        measured: The number with its interval, in words.
        rounds: How many rounds it is from.
        verdict: ``found`` or ``contradicted`` if the whole interval says so; ``open`` if it says
            neither, ``missing`` without two rounds.
    """

    statement: str
    measured: str
    rounds: int
    verdict: Verdict


def cell(cells: Cells, label: str) -> Cell:
    """The cell whose label begins so; an empty one if there is none yet.

    Raises:
        ValueError: Several labels begin so.
    """
    found = [one for one in cells if one.label.startswith(label)]
    if len(found) > 1:
        raise ValueError(f"{label} begins several labels: {[one.label for one in found]}")
    return found[0] if found else Cell(label=label)


def ratio(above: Values, below: Values) -> Values:
    """The ratio of two numbers in every round that has both, above 0."""
    return {
        number: above[number] / below[number]
        for number in above
        if above[number] > 0 and below.get(number, 0.0) > 0
    }


def factor(statement: str, values: Values, *, above: float = 1.0) -> Check:
    """Whether the mean ratio lies above a number (geometric mean)."""
    logarithms = [math.log(value) for value in values.values()]
    return _check(statement, logarithms, math.log(above), lambda value: f"{math.exp(value):.2f} ×")


def below(statement: str, values: Values, *, least: float = 1.0) -> Check:
    """Whether the mean ratio lies below a number."""
    logarithms = [-math.log(value) for value in values.values()]
    found = _check(
        statement, logarithms, -math.log(least), lambda value: f"{math.exp(-value):.2f} ×"
    )
    return found


def points(statement: str, differences: Values) -> Check:
    """Whether the mean of differences lies above 0; percentage points."""
    return _check(statement, list(differences.values()), 0.0, lambda value: f"{value:+.1f} points")


def _check(
    statement: str, values: Sequence[float], than: float, shape: Callable[[float], str]
) -> Check:
    middle, interval = mean(values), mean_interval(values)
    if middle is None or interval is None:
        measured = "not measured" if middle is None else f"{shape(middle)} in a single round"
        return Check(statement=statement, measured=measured, rounds=len(values), verdict="missing")
    verdict: Verdict = (
        "found" if interval.low > than else "contradicted" if interval.high < than else "open"
    )
    ends = sorted((shape(interval.low), shape(interval.high)), key=_leading)
    measured = f"{shape(middle)} ({ends[0]} to {ends[1]})"
    return Check(statement=statement, measured=measured, rounds=len(values), verdict=verdict)


def _leading(text: str) -> float:
    return float(text.split()[0])


def differs(one: Cell, other: Cell, *, shares: Sequence[float]) -> tuple[bool, int]:
    """Whether two distributions differ at one of these quantiles, and from how many rounds.

    The level of each interval is raised so that all of them together hold with 95 %
    (Bonferroni).
    """
    level = 1 - 0.05 / len(shares)
    rounds = 0
    for share in shares:
        values = [math.log(value) for value in ratio(one.at(share), other.at(share)).values()]
        interval = mean_interval(values, level=level)
        rounds = len(values)
        if interval is not None and (interval.low > 0 or interval.high < 0):
            return True, rounds
    return False, rounds
