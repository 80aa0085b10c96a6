"""Scenarios written for a test."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from trustbed.scenario import ScenarioFile, load

SMALL = """
[hosts.client]
[hosts.server]

[link]
rate = "20Mbit/s"
delay = "10ms"

[workload.transfer]
kind = "bulk"
host = "client"
to = "server"
"""

Write = Callable[[str], Path]
Read = Callable[[str], ScenarioFile]


@pytest.fixture
def written(tmp_path: Path) -> Write:
    """Writes a scenario and returns its path."""

    def write(text: str) -> Path:
        path = tmp_path / "study.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture
def read(written: Write) -> Read:
    """Writes a scenario and reads it."""
    return lambda text: load(written(text))


@pytest.fixture
def small() -> str:
    """The smallest scenario: two hosts, a link, a transfer."""
    return SMALL
