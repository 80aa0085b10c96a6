"""The cells of a run directory as the comparisons take them.

Repetitions to be discarded are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies.background.checks import Cell, Cells
from trustbed.run.results import Run, open_run
from trustbed.workload import steady_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The cells of a run, and how many of its complete repetitions are used."""

    cells: Cells
    used: int
    complete: int


def read(directory: Path) -> Results:
    """The results of a run, complete or not.

    Raises:
        RunDirectoryError: There is none, or it is damaged.
    """
    run = open_run(directory)
    complete = [one for one in run.repetitions if one["complete"]]
    usable = [one for one in complete if one["use"] != "discard"]
    seconds: dict[int, dict[int, list[float]]] = defaultdict(dict)
    errors: dict[int, dict[int, float]] = defaultdict(dict)
    jitter: dict[int, dict[int, float]] = defaultdict(dict)
    for repetition in usable:
        cell, number = repetition["cell"], repetition["round"]
        if responses := _responses(run, repetition):
            seconds[cell][number] = responses
        error = _single(run, repetition, "bandwidth.summary", "error_percent")
        if error is not None:
            errors[cell][number] = error
        gap_ns = _single(run, repetition, "stream.playout", "gap_p95_ns")
        if gap_ns is not None:
            jitter[cell][number] = gap_ns / 1e9
    cells = [
        Cell(
            label=one["label"],
            seconds=seconds.get(one["number"], {}),
            errors=errors.get(one["number"], {}),
            jitter=jitter.get(one["number"], {}),
        )
        for one in run.cells
    ]
    return Results(cells=cells, used=len(usable), complete=len(complete))


def _responses(run: Run, repetition: Mapping[str, Any]) -> list[float]:
    table = run.table("fetch.requests", repetition["number"])
    return (
        [] if table is None or not table.num_rows else list(steady_rows(table, warm_up=0.0).seconds)
    )


def _single(run: Run, repetition: Mapping[str, Any], name: str, column: str) -> float | None:
    """A number of a table of one row."""
    table = run.table(name, repetition["number"])
    if table is None or not table.num_rows:
        return None
    value: float | None = table.column(column).to_pylist()[0]
    return value
