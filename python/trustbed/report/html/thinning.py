"""Thins chart columns once more, for pages of many transfers.

Time is cut into slices; of each slice the smallest and the largest value stay, so that no outlier
is lost. The engine has thinned before: a series that is short enough passes unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trustbed.report.transfer.model import Series

VALUES: Mapping[str, str] = {
    "segments": "low",
    "acks": "offset",
    "rtt": "seconds",
    "rto": "raw_seconds",
    "outstanding": "bytes",
    "spacing": "seconds",
    "response": "seconds",
    "throughput": "bytes_per_second",
}
"""The column of each line that decides which points are its extremes."""

STEPS = 400
"""A cumulative distribution is drawn in about so many steps."""

TAIL = 20
"""The longest so many values of a distribution are all drawn."""


def thinned(series: Series, points: int) -> Series:
    """The series with at most about ``points`` points per line.

    A stretch that is drawn packet by packet stays whole.
    """
    return {name: _thinned(name, part, points) for name, part in series.items()}


def _thinned(name: str, part: Any, points: int) -> Any:  # noqa: ANN401 - lines, and the numbers beside them
    if name in VALUES:
        return _line(part, VALUES[name], points)
    return _distribution(part, min(points, STEPS)) if name.endswith("_cdf") else part


def _distribution(columns: Mapping[str, Sequence[Any]], steps: int) -> Mapping[str, Sequence[Any]]:
    """Steps at equal distances of share, and every one of the longest few."""
    length = len(columns["share"])
    if length <= steps:
        return columns
    drawn = sorted(
        {index * (length - 1) // steps for index in range(steps + 1)}
        | set(range(length - TAIL, length))
    )
    return {name: [values[index] for index in drawn] for name, values in columns.items()}


def _line(
    columns: Mapping[str, Sequence[Any]], value: str, points: int
) -> Mapping[str, Sequence[Any]]:
    times = columns["t"]
    if len(times) <= points:
        return columns
    drawn = sorted(_extremes(times, columns[value], columns.get("kind"), max(1, points // 2)))
    return {name: [values[index] for index in drawn] for name, values in columns.items()}


def _extremes(
    times: Sequence[float], values: Sequence[float], kinds: Sequence[str] | None, slices: int
) -> set[int]:
    """The indices of the lowest and highest value of each time slice, for each kind by itself."""
    width = (times[-1] - times[0]) / slices or 1.0
    extremes: dict[tuple[int, str], tuple[int, int]] = {}
    for index, (time, value) in enumerate(zip(times, values, strict=True)):
        slot = (int((time - times[0]) / width), kinds[index] if kinds else "")
        low, high = extremes.get(slot, (index, index))
        extremes[slot] = (
            index if value < values[low] else low,
            index if value > values[high] else high,
        )
    return {index for pair in extremes.values() for index in pair}
