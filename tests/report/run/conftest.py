"""Runs that are read once for all tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.report.run_directories import make_run
from trustbed.report.run.model import read_model
from trustbed.report.run.records import CellResults, RunModel, WorkloadResult


def with_cells(model: RunModel, change: Callable[[CellResults], CellResults]) -> RunModel:
    """The model with every cell changed."""
    return replace(model, cells=[change(cell) for cell in model.cells])


def with_workload(
    cell: CellResults, change: Callable[[WorkloadResult], WorkloadResult]
) -> CellResults:
    """A cell with its first workload changed."""
    first, *others = cell.workloads
    return replace(cell, workloads=[change(first), *others])


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven cells, three rounds; the emulator of the last repetition was late."""
    return make_run(tmp_path_factory.mktemp("runs") / "study").path


@pytest.fixture(scope="session")
def model(study: Path) -> RunModel:
    return read_model(study)
