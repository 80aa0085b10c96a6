"""How well a probe predicts its data.

A least-squares line from the throughput of probes to that of the data beside them.

A point is a completed connection pair. The line is evaluated by cross-validation: each round is
left out once, its points are predicted from all others, and the relative error |predicted −
measured| / measured is taken. A whole round is left out, since its connection pairs share its
conditions: each could be predicted from its neighbours of the same second, which no predictor has.
With one connection pair at once this is ordinary leave-one-out.

The line is fitted to the measured throughputs; it predicts the same path, index and hours, and
nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trustbed.campaign.statistics.aggregate import Connection
from trustbed.scenario.campaign_model import Role
from trustbed.workload import mean, quantile

_ALIKE = 1e-6
"""Probes whose throughputs deviate by less than this share of their mean determine no line.

Rounding errors of a difference of sums are smaller.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """The line of a pair of hosts and an index, and its errors.

    Attributes:
        pair: Name of the pair of hosts.
        index: Name of the index.
        points: Completed connection pairs.
        rounds: Their rounds.
        slope: B/s of data per B/s of probe; ``None`` when the probes determine no line.
        intercept: Data at a probe of 0, in B/s.
        predicted: Points that could be predicted from the other rounds.
        error_mean: Mean of their relative errors.
        error_median: Median of them.
        error_p90: What nine of ten do not exceed.
        error_max: The largest.
    """

    pair: str
    index: str
    points: int
    rounds: int
    slope: float | None
    intercept: float | None
    predicted: int
    error_mean: float | None
    error_median: float | None
    error_p90: float | None
    error_max: float | None


@dataclass(frozen=True, slots=True)
class Point:
    """A connection pair: its round, and the throughputs of probe and data in B/s."""

    round: int
    probe: float
    data: float


@dataclass(frozen=True, slots=True)
class Line:
    """Data = intercept + slope · probe."""

    slope: float
    intercept: float

    def at(self, probe: float) -> float:
        """The data that belongs to a probe, in B/s."""
        return self.intercept + self.slope * probe


def predict(rows: Iterable[Connection]) -> tuple[Prediction, ...]:
    """One prediction per pair of hosts and index, in the order in which these first appear."""
    groups: dict[tuple[str, str], dict[tuple[int, int], dict[Role, float]]] = {}
    for row in rows:
        group = groups.setdefault((row.pair, row.index), {})
        if row.throughput is not None and row.throughput > 0:
            group.setdefault((row.round, row.number), {})[row.role] = row.throughput
    found = []
    for (pair, index), group in groups.items():
        points = [
            Point(number, both["probe"], both["data"])
            for (number, _), both in sorted(group.items())
            if len(both) == 2
        ]
        found.append(_prediction(pair, index, points))
    return tuple(found)


def _prediction(pair: str, index: str, points: Sequence[Point]) -> Prediction:
    line = fit(points)
    errors = left_out_errors(points)
    return Prediction(
        pair=pair,
        index=index,
        points=len(points),
        rounds=len({point.round for point in points}),
        slope=None if line is None else line.slope,
        intercept=None if line is None else line.intercept,
        predicted=len(errors),
        error_mean=mean(errors),
        error_median=quantile(errors, 0.5),
        error_p90=quantile(errors, 0.9),
        error_max=max(errors, default=None),
    )


def fit(points: Sequence[Point]) -> Line | None:
    """The line of least squares.

    ``None`` when all probes are alike, or when there are fewer than two.
    """
    return _Sums.of(points, _centre(points)).line()


def left_out_errors(points: Sequence[Point]) -> list[float]:
    """The relative error of every point that the other rounds' points predict, in round order.

    Takes a round's sums from those of all, instead of fitting all others again for each.
    """
    centre = _centre(points)
    everything = _Sums.of(points, centre)
    rounds: dict[int, list[Point]] = {}
    for point in points:
        rounds.setdefault(point.round, []).append(point)
    errors = []
    for _, own in sorted(rounds.items()):
        line = everything.without(_Sums.of(own, centre)).line()
        if line is not None:
            errors += [abs(line.at(point.probe) - point.data) / point.data for point in own]
    return errors


def _centre(points: Sequence[Point]) -> tuple[float, float]:
    """The middle of all points. Sums of squares around it keep their digits."""
    return mean([point.probe for point in points]) or 0.0, mean(
        [point.data for point in points]
    ) or 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sums:
    """Sums over points, as differences from a centre."""

    centre: tuple[float, float]
    count: int
    x: float
    y: float
    xx: float
    xy: float

    @classmethod
    def of(cls, points: Sequence[Point], centre: tuple[float, float]) -> _Sums:
        away = [(point.probe - centre[0], point.data - centre[1]) for point in points]
        return cls(
            centre=centre,
            count=len(points),
            x=math.fsum(x for x, _ in away),
            y=math.fsum(y for _, y in away),
            xx=math.fsum(x * x for x, _ in away),
            xy=math.fsum(x * y for x, y in away),
        )

    def without(self, others: _Sums) -> _Sums:
        return _Sums(
            centre=self.centre,
            count=self.count - others.count,
            x=self.x - others.x,
            y=self.y - others.y,
            xx=self.xx - others.xx,
            xy=self.xy - others.xy,
        )

    def line(self) -> Line | None:
        if self.count < 2:
            return None
        spread = self.xx - self.x * self.x / self.count
        if spread <= self.count * (_ALIKE * self.centre[0]) ** 2:
            return None
        slope = (self.xy - self.x * self.y / self.count) / spread
        middle = self.centre[0] + self.x / self.count, self.centre[1] + self.y / self.count
        return Line(slope, middle[1] - slope * middle[0])
