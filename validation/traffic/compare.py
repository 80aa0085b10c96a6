"""Two-sample comparisons of what was offered with what was generated."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass

LEAST = 16
"""Values, or coefficients of an octave, without which nothing is compared."""


def kolmogorov_smirnov(first: Sequence[float], second: Sequence[float]) -> float | None:
    """The largest distance between two empirical distributions; both samples rise."""
    if not first or not second:
        return None
    places = sorted({*first, *second})
    return max(
        abs(
            bisect.bisect_right(first, x) / len(first)
            - bisect.bisect_right(second, x) / len(second)
        )
        for x in places
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A quantity of both sides, and how far apart they may be."""

    group: str
    name: str
    expected: float | None
    found: float | None
    tolerance: float
    floor: float = 0.0
    """A difference below this is none; without a tolerance it is the limit."""
    count: int | None = None

    @property
    def error(self) -> float | None:
        """The relative difference."""
        if self.expected is None or self.found is None:
            return None
        if abs(self.found - self.expected) <= self.floor:
            return 0.0
        return (self.found - self.expected) / self.expected if self.expected else float("inf")

    @property
    def passes(self) -> bool | None:
        """Whether it is near enough; none where nothing can be said."""
        error = self.error
        return None if error is None else abs(error) <= self.tolerance


def table(lines: Sequence[Line]) -> str:
    """Lines as a table of Markdown."""
    rows = [
        "| | quantity | n | offered | generated | error | within | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for line in lines:
        error, limit = _error(line), _limit(line)
        said = {True: "passes", False: "**misses**", None: "–"}[line.passes]
        rows.append(
            f"| {line.group} | {line.name} | {'' if line.count is None else f'{line.count:,}'} "
            f"| {_number(line.expected)} | {_number(line.found)} "
            f"| {error} | {limit} | {said} |"
        )
    return "\n".join(rows)


def _error(line: Line) -> str:
    if line.expected is None or line.found is None:
        return "–"
    if not line.tolerance:
        return f"{line.found - line.expected:+.2g}"
    return f"{line.error:+.1%}"


def _limit(line: Line) -> str:
    return f"{line.tolerance:.0%}" if line.tolerance else f"{line.floor:.2g}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


def passed(lines: Sequence[Line]) -> tuple[int, int]:
    """How many pass, of how many that say something."""
    known = [line for line in lines if line.passes is not None]
    return sum(bool(line.passes) for line in known), len(known)
