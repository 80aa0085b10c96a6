"""The beginning of a run directory that is written by hand, through the directory's own interface.

Its scenario, manifest and host, and which repetitions are to be written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from msgspec import to_builtins

from trustbed.run import manifest
from trustbed.run.directory import RunDirectory
from trustbed.run.matrix import Repetition, order
from trustbed.scenario import Cell, load

EPOCH = 1_767_225_600_000_000_000
"""2026-01-01T00:00:00Z, second 0 of every repetition."""


@dataclass(frozen=True, slots=True)
class BegunRun:
    """A run, and its repetitions that are to be written; the others stay incomplete."""

    directory: RunDirectory
    cells: Sequence[Cell]
    repetitions: Sequence[Repetition]


@contextmanager
def begun_run(
    path: Path,
    text: str,
    *,
    repetitions: int | None = None,
    leave_out: int = 0,
    machine: str = "x86_64",
) -> Iterator[BegunRun]:
    """A run of a scenario, without its last ``leave_out`` repetitions.

    In the block nothing is flushed to the disk: that is for machines that crash, and no test can
    see it.
    """
    path.mkdir(parents=True, exist_ok=True)
    file = path.parent / f"{path.name}.toml"
    file.write_text(text, encoding="utf-8")
    study = load(file)
    planned = order(
        study.cells, repetitions=repetitions or study.first.repetitions, seed=study.first.seed
    )
    directory = RunDirectory(path)
    session = {
        "version": "0.1.0",
        "command": f"trustbed run {file.name}",
        "started": "2026-01-01T00:00:00Z",
    }
    directory.begin(
        to_builtins(manifest.describe(study, planned, session=session)),
        text,
        {"kernel": "6.1.0", "machine": machine, "cores": 2},
    )
    with patch("os.fsync"):
        yield BegunRun(directory, study.cells, planned[: len(planned) - leave_out])
