"""What the programs printed, by file name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

FIXTURES = Path(__file__).resolve().parent / "fixtures"


@pytest.fixture
def output() -> Callable[[str], str]:
    """Reads a recorded output."""
    return lambda name: (FIXTURES / name).read_text(encoding="utf-8")
