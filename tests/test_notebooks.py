"""The notebooks run from top to bottom, and show what their text says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tools import notebooks

SHOWN = {
    "a-campaigns-week": (
        3,
        [r"alpha as sender.*\n +between 9:00 and 12:00", r"zeta: down for 7.0"],
    ),
    "burstiness-and-buffers": (
        4,
        [r"guest with a CPU quota +13.6 Mbit/s", r"packets lost by 32 kB"],
    ),
    "comparing-testbeds": (2, [r"e1000 against none", r"packets/request from server.*\+9.1 %"]),
    "first-verdict": (3, [r"host_scheduling", r"bulk_sender_was_silent"]),
}
"""Notebook → how many pictures it shows, and what its printed outputs hold."""


def test_there_are_these() -> None:
    assert [path.stem for path in notebooks.NOTEBOOKS] == sorted(SHOWN)


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_git_keeps_no_outputs(path: Path) -> None:
    kept = path.read_text(encoding="utf-8")
    assert kept == notebooks.stripped(path), "run: python -m tools.notebooks"


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_shows_what_it_says(path: Path, tmp_path: Path) -> None:
    pictures, printed = SHOWN[path.stem]
    text = notebooks.page(notebooks.executed(path), path.stem, tmp_path / "pictures")
    assert len(list(tmp_path.glob("pictures/*.png"))) == pictures
    assert [one for one in printed if not re.search(one, text)] == []
