"""How long a run takes.

What the scenario says first, corrected by what finished repetitions took.
"""

from __future__ import annotations

from collections.abc import Sequence

_AROUND = 4.0
"""Seconds that a repetition needs beside its traffic, until one has been measured.

Making the network, waiting, judging.
"""


class Forecast:
    """Expected and measured lengths of repetitions, in seconds. Reads no clock."""

    def __init__(self, traffic: Sequence[float], *, finished: int = 0) -> None:
        self._expected = [seconds + _AROUND for seconds in traffic]
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
        """The next repetition is complete and took so long."""
        self._counted += self._expected[self._finished]
        self._measured += seconds
        self._finished += 1

    @property
    def left_seconds(self) -> float:
        """Time left, if the rest deviates from its estimate as the measured repetitions did."""
        pace = self._measured / self._counted if self._counted else 1.0
        return pace * sum(self._expected[self._finished :])
