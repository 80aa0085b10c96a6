"""Scenarios written for a test."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from trustbed.scenario import ScenarioError, ScenarioFile, load

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


def refusals(read: Callable[[str], object], texts: Iterable[str], directory: Path) -> str:
    """How each text is refused: the line that is named, the message and the hint."""
    found = []
    for text in texts:
        with pytest.raises(ScenarioError) as caught:
            read(text)
        error = caught.value
        assert error.file is not None
        assert error.message.startswith(f"{directory}/{error.file.name}")
        assert error.key in error.message
        lines = ["", *error.file.read_text(encoding="utf-8").splitlines(), ""]
        line = lines[error.line or 0]
        words = f"{error.message}\n    hint: {error.hint}".replace(str(directory), "DIRECTORY")
        found.append(f"{line}\n    {words}\n")
    return "\n".join(found)
