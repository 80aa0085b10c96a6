"""Every example scenario can be read, and its dry run is what its page shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from trustbed.cli import main

DIRECTORY = Path(__file__).resolve().parents[2] / "examples"
EXAMPLES = sorted(DIRECTORY.glob("*.toml"))


def test_the_page_names_all_of_them_and_no_others() -> None:
    named = set(
        re.findall(r"\b[\w-]+\.toml\b", (DIRECTORY / "README.md").read_text(encoding="utf-8"))
    )
    assert named == {path.name for path in EXAMPLES}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_dry_run_prints_what_it_would_do(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(path), "--dry-run", "--json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    cells = [cell["number"] for cell in planned["cells"]]
    assert len(planned["order"]) == len(cells) * planned["repetitions"]
    assert {one["cell"] for one in planned["order"]} == set(cells)
    assert [network["cell"] for network in planned["topologies"]] == cells
    assert all(network["pipes"] and len(network["hosts"]) >= 2 for network in planned["topologies"])
    assert planned["expected_seconds"] > 0


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_plan_for_people_names_its_cells(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(path), "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"\d+ cells?, \d+ repetitions? of each: \d+ in all", printed)
    assert "  host " in printed
    assert "  link " in printed
    assert "expected time: " in printed
