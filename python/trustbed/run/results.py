"""The results of a run, read from its directory: measurements, use of repetitions, report.

``trustbed.report`` reads and renders them; nothing here carries out a run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import msgspec

from trustbed.findings import Finding
from trustbed.report import printable
from trustbed.report.run import words as run_words
from trustbed.report.run.model import read_model
from trustbed.report.run.reading import Run as _Reading
from trustbed.report.run.records import RunModel
from trustbed.run.directory import SCENARIO
from trustbed.run.session_about import session_about

if TYPE_CHECKING:
    import pyarrow as pa


def open_run(path: str | os.PathLike[str]) -> Run:
    """Opens a run directory, complete or not.

    Raises:
        RunDirectoryError: There is none, or its manifest is damaged.
    """
    run = Run(Path(path))
    _ = run._reading  # raises errors now
    return run


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionFinding(Finding):
    """A finding about a repetition, or about a ``capture`` of it."""

    repetition: int
    capture: str | None = None


@dataclass(frozen=True, repr=False)
class Run:
    """A run: the results of its cells, the use of its repetitions, and its report.

    Attributes:
        path: The run directory.
    """

    path: Path

    @cached_property
    def _reading(self) -> _Reading:
        return _Reading(self.path)

    @cached_property
    def model(self) -> RunModel:
        """Everything that the report shows. Read once."""
        return read_model(self.path)

    @cached_property
    def _json(self) -> dict[str, Any]:
        return self.model.json()

    @property
    def cells(self) -> Sequence[Mapping[str, Any]]:
        """One row per cell of the matrix, with the results of its workloads."""
        cells: Sequence[Mapping[str, Any]] = self._json["cells"]
        return cells

    @property
    def repetitions(self) -> Sequence[Mapping[str, Any]]:
        """One row per repetition: its use (trust, review, discard), why, its findings."""
        repetitions: Sequence[Mapping[str, Any]] = self._json["repetitions"]
        return repetitions

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of the tables that :meth:`rows` returns."""
        return ("repetitions", "cells", "findings")

    @property
    def findings(self) -> Sequence[RepetitionFinding]:
        """The findings of all repetitions, each with the ``repetition`` that it is from."""
        return msgspec.convert(list(self.rows("findings")), list[RepetitionFinding])

    def rows(self, table: str = "repetitions") -> Iterator[Mapping[str, Any]]:
        """The rows of a table as JSON carries them."""
        if table == "findings":
            return (
                {"repetition": one["number"], **finding}
                for one in self.repetitions
                for finding in one["findings"]
            )
        return iter({"repetitions": self.repetitions, "cells": self.cells}[table])

    def table(self, name: str, repetition: int) -> pa.Table | None:
        """A derived table of a repetition by its number, for example ``fetch.requests``.

        ``None`` if it has none.
        """
        return self._reading.repetitions[repetition].table(name)

    def report(
        self, path: str | os.PathLike[str], *, about: Mapping[str, Any] | None = None
    ) -> None:
        """Writes the report: one self-contained HTML page."""
        from trustbed.report.run import page as run_page

        file = self.path / SCENARIO
        scenario = file.read_text(encoding="utf-8") if file.is_file() else ""
        run_page.write(Path(path), self.model, about or session_about(), scenario=scenario)

    def write_json(self, stream: TextIO, *, about: Mapping[str, Any] | None = None) -> None:
        """Writes the model as one JSON document."""
        document = {"trustbed": dict(about or session_about()), **self._json}
        printable.write_json(document, stream)

    def __repr__(self) -> str:
        return f"<Run {self.path}: {run_words.standing(self.model)}>"

    def _repr_html_(self) -> str:
        from trustbed.report.transfer import notebook

        return notebook.run(self.model)
