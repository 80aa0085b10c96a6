"""Every example scenario can be read, and its dry run is what its page shows."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from trustbed.cli import main
from trustbed.scenario import load
from trustbed.scenario.model import WORKLOAD_KINDS

DIRECTORY = Path(__file__).resolve().parents[2] / "examples"
EXAMPLES = sorted(DIRECTORY.glob("*.toml"))
BACKGROUND = DIRECTORY / "background"
FIGURES = sorted(BACKGROUND.glob("*.toml"))
TESTBEDS = DIRECTORY / "virtually-the-same"
REALITY = DIRECTORY / "second-reality"


def test_the_page_names_all_of_them_and_no_others() -> None:
    named = set(
        re.findall(r"\b[\w-]+\.toml\b", (DIRECTORY / "README.md").read_text(encoding="utf-8"))
    )
    assert named == {path.name for path in EXAMPLES}


def test_the_page_of_the_study_links_every_figure() -> None:
    page = (BACKGROUND / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\]\(([\w-]+\.toml)\)", page)) == {path.name for path in FIGURES}


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_a_figure_of_the_study_can_be_read_and_says_what_it_repeats(path: Path) -> None:
    _skip_unknown_kinds(path)
    study = load(path)
    text = path.read_text(encoding="utf-8")
    if path.stem.startswith("figure"):
        assert study.first.repetitions == 10
        assert all(word in text for word in ("# Published: ", "# Scale: ", "USENIX ATC 2008"))
    command = f"#     trustbed run examples/background/{path.name} "
    minutes = [line for line in text.splitlines() if line.startswith(command)]
    assert [bool(re.search(r"about \d+ (minutes|seconds)$", line)) for line in minutes] == [True]
    rates = [
        one.forward.rate for cell in study.cells for one in cell.scenario.links if one.forward.rate
    ]
    assert max(rates) <= 100_000_000, "two cores"


@pytest.mark.parametrize("name", ["quick.toml", "study.toml", "large.toml"])
def test_the_study_of_testbeds_compares_a_namespace_with_two_nics(name: str) -> None:
    page = (TESTBEDS / "README.md").read_text(encoding="utf-8")
    assert {path.name for path in TESTBEDS.glob("*.toml")} == set(
        re.findall(r"\]\(([\w-]+\.toml)\)", page)
    )
    study = load(TESTBEDS / name)
    assert {cell.levels["hosts.server.guest"] for cell in study.cells} == {
        "none",
        "e1000",
        "virtio-net",
    }
    assert all(cell.scenario.traces for cell in study.cells)


def test_the_physical_side_differs_from_the_quick_study_in_its_hosts_alone() -> None:
    real, made = (load(TESTBEDS / name).first for name in ("physical.toml", "quick.toml"))
    assert [host.machine is not None for host in real.hosts] == [True, True]
    for what in ("workloads", "traces", "duration_ns", "warm_up_ns", "repetitions", "seed"):
        assert getattr(real, what) == getattr(made, what)


@pytest.mark.parametrize("path", sorted(REALITY.glob("*.toml")), ids=lambda path: path.stem)
def test_a_comparison_of_today_says_its_command_and_has_its_page(path: Path) -> None:
    study = load(path)
    assert study.first.repetitions == 10
    page = (REALITY / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(
        rf"trustbed compare --by (\S+) examples/second-reality/{path.name}\n", page
    )
    assert command in study.cells[0].levels
    assert command in path.read_text(encoding="utf-8")
    assert (REALITY.parent / "reports" / f"{path.stem}.html").is_file()


def _skip_unknown_kinds(path: Path) -> None:
    kinds = set(re.findall(r'^kind = "(\w+)"', path.read_text(encoding="utf-8"), re.MULTILINE))
    if missing := kinds - set(WORKLOAD_KINDS):
        pytest.skip(f"there is no workload of the kind {', '.join(sorted(missing))}")


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
