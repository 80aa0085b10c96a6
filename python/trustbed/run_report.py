"""A run directory, looked at: what its workloads measured, which repetitions may be used, and its report.

Reading and showing are ``trustbed.report``'s; nothing here carries anything out.
"""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from trustbed.report import run_words
from trustbed.report.run_model import read_model
from trustbed.report.run_reading import Run as _Reading
from trustbed.run.directory import SCENARIO

if TYPE_CHECKING:
    import pyarrow as pa


def open_run(path: str | os.PathLike[str]) -> Run:
    """Opens a run directory, complete or not.

    Raises:
        RunDirectoryError: There is none, or its manifest is damaged.
    """
    return Run(Path(path))


class Run:
    """A run: ``cells`` with their results, ``repetitions`` with what may be done with them, ``report()`` for a page."""

    def __init__(self, path: Path) -> None:
        self._reading = _Reading(path)

    @property
    def path(self) -> Path:
        """The run directory."""
        return self._reading.path

    @cached_property
    def model(self) -> dict[str, Any]:
        """Everything that the report shows, as ``trustbed report --json`` prints it. Read once."""
        return read_model(self.path)

    @property
    def cells(self) -> Sequence[Mapping[str, Any]]:
        """One row per cell of the matrix, with the results of its workloads."""
        cells: Sequence[Mapping[str, Any]] = self.model["cells"]
        return cells

    @property
    def repetitions(self) -> Sequence[Mapping[str, Any]]:
        """One row per repetition: its use (trust, review, discard), why, its findings."""
        repetitions: Sequence[Mapping[str, Any]] = self.model["repetitions"]
        return repetitions

    def table(self, name: str, repetition: int) -> pa.Table | None:
        """A derived table of a repetition by its number, for example ``fetch.requests``; ``None`` if it has none."""
        return self._reading.repetitions[repetition].table(name)

    def report(
        self, path: str | os.PathLike[str], *, about: Mapping[str, Any] | None = None
    ) -> None:
        """Writes the report: one self-contained HTML page."""
        from trustbed.report import run_page

        file = self.path / SCENARIO
        scenario = file.read_text(encoding="utf-8") if file.is_file() else ""
        run_page.write(Path(path), self.model, about or self._about(), scenario=scenario)

    def write_json(self, stream: TextIO, *, about: Mapping[str, Any] | None = None) -> None:
        """Writes the model as one JSON document."""
        json.dump(
            {"trustbed": dict(about or self._about()), **self.model},
            stream,
            ensure_ascii=False,
            allow_nan=False,
            indent=1,
        )
        stream.write("\n")

    def _about(self) -> dict[str, Any]:
        from trustbed import __version__

        started = (
            datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        )
        return {"version": __version__, "command": None, "started": started}

    def __repr__(self) -> str:
        return f"<Run {self.path}: {run_words.standing(self.model)}>"

    def _repr_html_(self) -> str:
        from trustbed.report import notebook

        return notebook.run(self.model)
