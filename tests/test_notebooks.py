"""The notebooks run from top to bottom, and show what their text says.

One kernel carries out all of them, and forgets each before the next: to start it and to load what
it draws with costs as much as they do. `make docs` gives each a kernel of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tools import notebooks

ROOT = Path(__file__).resolve().parent.parent

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
FEWER = "from trustbed.compare import needed; needed.ROUNDS = 30"
"""Simulated comparisons for how many repetitions would settle what is open."""
FORGET = "%reset -f"


def code(source: str) -> dict[str, Any]:
    """A cell that was not carried out."""
    cell = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
    return {**cell, "source": source}


@pytest.fixture(scope="module")
def carried_out(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, SimpleNamespace]:
    """Every notebook by name, with the outputs of its cells; pictures and samples are small."""
    place = tmp_path_factory.mktemp("checkout")
    for name in ("recordings", "tests"):
        (place / name).symlink_to(ROOT / name)
    directory = place / "examples" / "notebooks"
    directory.mkdir(parents=True)
    archive = "large-objects.tar.xz"
    (directory / archive).symlink_to(notebooks.DIRECTORY / archive)
    joined: dict[str, Any] = {}
    cells = [code(FEWER), code(FORGET)]
    ends = []
    for path in notebooks.NOTEBOOKS:
        text = path.read_text(encoding="utf-8")
        assert text.count("scale_factor=2") == 1
        joined = json.loads(text.replace("scale_factor=2", "scale_factor=1"))
        ends.append((path.stem, len(cells), len(cells) + len(joined["cells"])))
        cells += [*joined["cells"], code(FORGET)]
    for number, cell in enumerate(cells):
        cell["id"] = f"{number:03}"
    (directory / "all.ipynb").write_text(json.dumps(joined | {"cells": cells}), encoding="utf-8")
    done = notebooks.executed(directory / "all.ipynb").cells
    return {name: SimpleNamespace(cells=done[start:end]) for name, start, end in ends}


def test_there_are_these() -> None:
    assert [path.stem for path in notebooks.NOTEBOOKS] == sorted(SHOWN)


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_git_keeps_no_outputs(path: Path) -> None:
    kept = path.read_text(encoding="utf-8")
    assert kept == notebooks.stripped(path), "run: python -m tools.notebooks"


@pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_shows_what_it_says(
    path: Path, carried_out: Mapping[str, SimpleNamespace], tmp_path: Path
) -> None:
    pictures, printed = SHOWN[path.stem]
    text = notebooks.page(carried_out[path.stem], path.stem, tmp_path / "pictures")
    assert len(list(tmp_path.glob("pictures/*.png"))) == pictures
    assert [one for one in printed if not re.search(one, text)] == []
