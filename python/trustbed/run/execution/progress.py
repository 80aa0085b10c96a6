"""The expected duration of a run: the scenario's, corrected by that of finished repetitions."""

from __future__ import annotations

from collections.abc import Sequence

_OVERHEAD = 4.0
"""Seconds of a repetition beside its traffic (set-up, waiting, judging), until one is measured."""


class Forecast:
    """Expected and measured durations of repetitions, in seconds. Reads no clock."""

    def __init__(self, traffic: Sequence[float], *, finished: int = 0) -> None:
        self._expected = [seconds + _OVERHEAD for seconds in traffic]
        self._finished = finished
        self._measured = 0.0
        self._counted = 0.0

    @property
    def total(self) -> int:
        """Repetitions in the run."""
        return len(self._expected)

    @property
    def finished(self) -> int:
        """Repetitions that are complete."""
        return self._finished

    def on_finished(self, seconds: float) -> None:
        """Records the duration of the next complete repetition."""
        self._counted += self._expected[self._finished]
        self._measured += seconds
        self._finished += 1

    @property
    def left_seconds(self) -> float:
        """Time left, if the rest deviates from its estimate as the measured repetitions did."""
        pace = self._measured / self._counted if self._counted else 1.0
        return pace * sum(self._expected[self._finished :])
