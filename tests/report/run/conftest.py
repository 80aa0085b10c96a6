"""Runs that are read once for all tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.report.run_directories import make_run
from trustbed.report.run.model import read_model

Model = dict[str, Any]


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven cells, three rounds; the emulator of the last repetition was late."""
    return make_run(tmp_path_factory.mktemp("runs") / "study").path


@pytest.fixture(scope="session")
def model(study: Path) -> Model:
    return read_model(study)
