"""Differences as bars in a table: the interval, the mean, and the band of what is similar.

Drawn as SVG without a script, so that a table needs no chart engine; colours are the page's.
"""

from __future__ import annotations

from dataclasses import dataclass

from trustbed.compare.model import MetricResult

WIDTH = 240.0
REACH = 3.0
"""How many tolerances the axis shows on each side; what lies beyond is drawn at its edge."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar in units of the drawing, 0 to :data:`WIDTH`.

    Attributes:
        low: Left end of the interval.
        high: Right end.
        mean: Position of the difference.
        band_low: Left end of what is similar.
        band_high: Right end.
        beyond: −1 or 1 where the difference itself lies beyond the axis, else 0.
        label: The same in words, for those who do not see it.
    """

    low: float
    high: float
    mean: float
    band_low: float
    band_high: float
    beyond: int
    label: str


def bar_of(one: MetricResult, label: str) -> Bar | None:
    """The bar of a metric; ``None`` where its difference in percent is not known."""
    if one.difference_percent is None:
        return None
    tolerance = 100 * one.tolerance
    low = one.difference_percent if one.low_percent is None else one.low_percent
    high = one.difference_percent if one.high_percent is None else one.high_percent
    edge = REACH * tolerance
    return Bar(
        low=_place(low, edge),
        high=_place(high, edge),
        mean=_place(one.difference_percent, edge),
        band_low=_place(-tolerance, edge),
        band_high=_place(tolerance, edge),
        beyond=0
        if abs(one.difference_percent) <= edge
        else 1
        if one.difference_percent > 0
        else -1,
        label=label,
    )


def _place(percent: float, edge: float) -> float:
    inside = max(-edge, min(edge, percent))
    return round(WIDTH / 2 * (1 + inside / edge), 1)
