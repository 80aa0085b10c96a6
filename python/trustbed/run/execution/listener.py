"""Callbacks for the progress of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trustbed.run.execution.progress import Forecast
from trustbed.run.matrix import Repetition
from trustbed.scenario import Cell


class Listener:
    """Callbacks of a run's progress; each does nothing until it is overridden."""

    def on_begun(self, forecast: Forecast) -> None:
        """The run begins, or goes on."""

    def on_repetition(self, repetition: Repetition, cell: Cell, forecast: Forecast) -> None:
        """A repetition begins."""

    def on_phase(self, name: str) -> None:
        """A phase of it begins."""

    def on_judged(
        self,
        repetition: Repetition,
        cell: Cell,
        record: Mapping[str, Any],
        findings: Mapping[str, Any],
    ) -> None:
        """It is complete and judged."""
