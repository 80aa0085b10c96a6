"""The progress of a run on standard error: a line per complete repetition, a live one below."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from typing import Any

from trustbed.cli import progress
from trustbed.report import words
from trustbed.report.printable import printable, redraw
from trustbed.run.execution.listener import Listener
from trustbed.run.execution.progress import Forecast
from trustbed.run.matrix import Repetition
from trustbed.scenario import Cell


class Shown(Listener):
    """Shows no progress. The base of those that do."""

    def close(self) -> None:
        """Clears the progress line."""


class Lines(Shown):
    """A line per complete repetition; on a terminal a live line with the current phase below."""

    def __init__(self, *, live: bool, cells: int) -> None:
        self._live = live
        self._cells = cells
        self._forecast: Forecast | None = None
        self._label = ""

    def on_begun(self, forecast: Forecast) -> None:
        """What is to do."""
        self._forecast = forecast
        if forecast.finished:
            self._print(
                f"continues: {words.counted(forecast.finished, 'repetition')} of "
                f"{forecast.total} complete"
            )
        if forecast.finished < forecast.total:
            left = words.counted(forecast.total - forecast.finished, "repetition")
            self._print(f"{left} to do, about {words.duration(forecast.left_seconds)}")

    def on_repetition(self, repetition: Repetition, cell: Cell, forecast: Forecast) -> None:
        """The repetition that the next lines are about."""
        self._label = (
            f"{repetition.directory}  {cell.label}" if self._cells > 1 else repetition.directory
        )

    def on_phase(self, name: str) -> None:
        """Redraws the live line."""
        if not self._live or self._forecast is None:
            return
        finished, total = self._forecast.finished, self._forecast.total
        left = words.duration(self._forecast.left_seconds)
        text = f"{finished}/{total}  {self._label}  {name}  about {left} left"
        columns = shutil.get_terminal_size().columns - 1
        redraw(printable(text)[:columns], sys.stderr)
        sys.stderr.flush()

    def on_judged(
        self,
        repetition: Repetition,
        cell: Cell,
        record: Mapping[str, Any],
        findings: Mapping[str, Any],
    ) -> None:
        """A line for a complete repetition."""
        why = f": {findings['why']}" if findings["why"] else ""
        self._print(f"{self._label}  {words.duration(record['seconds'])}  {findings['use']}{why}")

    def _print(self, text: str) -> None:
        if self._live:
            redraw(text, sys.stderr, end="\n")
        else:
            sys.stderr.write(f"{text}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Clears the progress line."""
        if self._live:
            redraw("", sys.stderr)
            sys.stderr.flush()


class Parts:
    """The progress of several runs one after the other, each with its title."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._shown: Shown | None = None
        self._title = ""

    def part(self, title: str, cells: int) -> Shown:
        """The listener of the next run."""
        self.close()
        if self._quiet:
            self._shown = Shown()
            return self._shown
        if title != self._title:
            print(f"{title}: {words.counted(cells, 'cell')}", file=sys.stderr)
            self._title = title
        self._shown = Lines(live=progress.visible(quiet=False), cells=cells)
        return self._shown

    def close(self) -> None:
        """Clears the progress line."""
        if self._shown is not None:
            self._shown.close()
