"""The study of background traffic: comparisons on numbers that are known, and what they name."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from studies.background import checks, command, page, results
from studies.background.checks import Cell, below, cell, differs, factor, points, ratio
from studies.background.figures import FIGURES, Runs
from tests.report.run_directories import make_run
from trustbed.scenario import load
from trustbed.scenario.model import WORKLOAD_KINDS

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "background"
FILES = [file for figure in FIGURES for file in figure.files]
ROUNDS = range(10)


def fetches(label: str, scale: float, *, spread: float = 0.1) -> Cell:
    """Ten rounds of eleven fetches around a median of ``scale`` seconds."""
    each = {
        number: [scale * (1 + number / 1000) * (1 + spread * step / 5) for step in range(-5, 6)]
        for number in ROUNDS
    }
    return Cell(label=label, seconds=each)


def estimates(label: str, error: float) -> Cell:
    return Cell(label=label, errors={number: error + number / 10 for number in ROUNDS})


def stream(label: str, jitter: float) -> Cell:
    return Cell(label=label, jitter={number: jitter + number / 10_000 for number in ROUNDS})


# Comparisons.


def test_the_mean_of_ratios_has_students_interval() -> None:
    # Logarithms 0.1 and 0.3: mean 0.2, deviation 0.1·√2, and t(1, 97.5 %) = 12.706.
    reach = 12.706 * 0.1 * math.sqrt(2) / math.sqrt(2)
    found = factor("x", {0: math.exp(0.1), 1: math.exp(0.3)})
    assert found.measured == (
        f"{math.exp(0.2):.2f} × ({math.exp(0.2 - reach):.2f} × to {math.exp(0.2 + reach):.2f} ×)"
    )
    assert (found.verdict, found.rounds) == ("open", 2)


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ([1.5, 1.6, 1.55], "found"),
        ([0.5, 0.6, 0.55], "contradicted"),
        ([0.5, 2.0, 1.1], "open"),
        ([1.5], "missing"),
        ([], "missing"),
    ],
)
def test_a_direction_is_found_if_the_whole_interval_says_so(
    values: Sequence[float], verdict: str
) -> None:
    numbered = dict(enumerate(values))
    assert factor("x", numbered).verdict == verdict
    opposite = {"found": "contradicted", "contradicted": "found"}.get(verdict, verdict)
    assert below("x", numbered).verdict == opposite
    assert points("x", {number: value - 1 for number, value in numbered.items()}).verdict == verdict


def test_rounds_that_one_of_two_cells_lacks_are_left_out() -> None:
    assert ratio({0: 2.0, 1: 3.0, 2: 5.0}, {0: 1.0, 2: 2.0, 3: 1.0}) == {0: 2.0, 2: 2.5}


def test_a_label_names_one_cell() -> None:
    cells = [Cell(label="web, 2.5Mbit/s"), Cell(label="web, 9.9Mbit/s")]
    assert cell(cells, "web, 9") is cells[1]
    assert cell(cells, "none") == Cell(label="none")
    with pytest.raises(ValueError, match="begins several labels"):
        cell(cells, "web")


def test_distributions_of_one_median_differ_by_their_tails() -> None:
    narrow, wide = fetches("a", 1.0), fetches("b", 1.0, spread=0.5)
    assert differs(narrow, wide, shares=(0.5,)) == (False, 10)
    assert differs(narrow, wide, shares=(0.05, 0.5, 0.95)) == (True, 10)


# Figures, with results as the study has them, and with the opposite.

AS_PUBLISHED: Runs = {
    "figure-04": [
        *(fetches(f"{name} udp", 2.0) for name in ("cbr", "poisson", "playback")),
        *(fetches(f"{name} tcp", 1.0) for name in ("cbr", "poisson", "playback")),
    ],
    "figure-05": [
        fetches("0%, web", 1.0, spread=0.8),
        *(
            fetches(f"{loss}, none", median)
            for loss, median in (("0.1%", 0.8), ("0.5%", 0.9), ("1%", 1.0), ("2%", 1.2))
        ),
    ],
    "figure-06-07": [
        one
        for size in ("4KB", "1MB")
        for one in (
            fetches(f"{size}, none", 1.0),
            fetches(f"{size}, poisson", 1.5),
            fetches(f"{size}, web", 1.6, spread=0.6),
        )
    ],
    "figure-08": [
        one
        for rate, slowdown in (("5", 4.0), ("10", 2.0), ("20", 1.4), ("100", 1.1))
        for one in (
            fetches(f"{rate}Mbit/s, none", 1.0),
            fetches(f"{rate}Mbit/s, web", slowdown),
        )
    ],
    "figure-09": [
        fetches("none", 1.0),
        *(fetches(f"{name}, 2.5Mbit/s", 1.05) for name in ("web", "bursty")),
        *(fetches(f"{name}, 9.9Mbit/s", 2.0) for name in ("web", "bursty")),
    ],
    "figure-10": [
        stream(f"{rate}Mbit/s, {name}", jitter)
        for name, more in (("web", 1.0), ("bursty", 1.5))
        for rate, jitter in (("3.5", 0.06 * more), ("4", 0.05 * more), ("6", 0.04 * more))
    ],
    "figure-11": [
        stream(f"{buffer}, {name}", jitter)
        for buffer, jitter in (("0s", 0.04), ("10s", 0.05))
        for name in ("web", "bursty")
    ],
    **{
        f"figure-12-{rate}": [
            estimates(f"{model}, {tool}", error)
            for tool in ("pathload", "pathchirp")
            for model, error in (
                ("cbr", 2.0),
                ("poisson", 4.0),
                ("web", -20.0),
                ("bursty", 30.0),
            )
        ]
        for rate in (30, 50, 70)
    },
    "figure-13": [
        fetches("none", 1.0),
        fetches("poisson from client", 1.2),
        fetches("web from server", 1.3),
    ],
    "figure-14": [
        fetches("1MB, traffic1.model", 2.0),
        fetches("1MB, traffic2.model", 1.5),
        fetches("4KB, traffic1.model", 0.2),
        fetches("4KB, traffic2.model", 0.3),
    ],
}


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.number)
def test_the_published_direction_is_recognised(figure: object) -> None:
    (one,) = (each for each in FIGURES if each is figure)
    found = one.compare(AS_PUBLISHED)
    assert {check.verdict for check in found} == {"found"}, found
    assert page.summary(found) == "found"
    assert {check.rounds for check in found} == {10}


def relabelled(runs: Runs, swaps: dict[str, str]) -> Runs:
    """The runs with labels exchanged, so that every direction is reversed."""

    def other(label: str) -> str:
        return re.sub("|".join(swaps), lambda match: swaps[match.group()], label)

    return {
        file: [replace(one, label=other(one.label)) for one in cells]
        for file, cells in runs.items()
    }


@pytest.mark.parametrize(
    ("number", "swaps"),
    [
        ("4", {"udp": "tcp", "tcp": "udp"}),
        ("8", {"none": "web", "web": "none"}),
        ("11", {"10s": "0s", "0s": "10s"}),
        (
            "12",
            {
                "cbr": "web",
                "web": "cbr",
                "poisson": "bursty",
                "bursty": "poisson",
            },
        ),
        ("14", {"traffic1": "traffic2", "traffic2": "traffic1"}),
    ],
)
def test_the_opposite_is_a_contradiction(number: str, swaps: dict[str, str]) -> None:
    (figure,) = (one for one in FIGURES if one.number == number)
    found = figure.compare(relabelled(AS_PUBLISHED, swaps))
    assert {check.verdict for check in found} == {"contradicted"}, found


def test_a_loss_rate_with_the_models_distribution_leaves_figure_5_open() -> None:
    (figure,) = (one for one in FIGURES if one.number == "5")
    same = [one for one in AS_PUBLISHED["figure-05"] if not one.label.startswith("1%")]
    (found,) = figure.compare({"figure-05": [*same, fetches("1%, none", 1.0, spread=0.8)]})
    assert found.verdict == "open"
    assert found.measured == "not told apart from the model: 1%"


def test_what_was_not_measured_is_said_to_be_missing() -> None:
    rows = [line for line in command.page_of({}, []).splitlines() if re.match(r"\| \d", line)]
    assert len(rows) > 2 * len(FIGURES)
    assert [row for row in rows if not row.endswith("| not measured |")] == []


def test_the_page_has_every_figure_with_its_numbers() -> None:
    text = command.page_of(AS_PUBLISHED, [("figure-04", "79 of 80")])
    assert "| 13 | traffic on the reverse path slows forward transfers down | found |" in text
    assert (
        "| 4 | CBR: median over UDP / over TCP > 1 | 2.00 × (2.00 × to 2.00 ×) | 10 | found |"
        in text
    )
    assert "| figure-04 | 79 of 80 |" in text


# Files and runs.


@pytest.mark.parametrize("file", FILES)
def test_every_cell_that_a_comparison_names_is_in_the_scenario(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each comparison is given cells of all labels and may ask for no other."""
    if file in ("figure-10", "figure-11") and "media" not in WORKLOAD_KINDS:
        pytest.skip("there is no workload of the kind media")
    labels = [one.label for one in load(EXAMPLES / f"{file}.toml").cells]
    asked = []
    original = checks.cell

    def recorded(cells: Sequence[Cell], label: str) -> Cell:
        found = original(cells, label)
        if cells is given[file]:
            asked.append((label, found))
        return found

    given = {name: [] for name in FILES} | {file: [Cell(label=label) for label in labels]}
    monkeypatch.setattr("studies.background.figures.cell", recorded)
    (figure,) = (one for one in FIGURES if file in one.files)
    figure.compare(given)
    assert asked
    assert [label for label, found in asked if not any(found is one for one in given[file])] == []


def test_every_figure_of_the_directory_is_compared() -> None:
    assert {path.stem for path in EXAMPLES.glob("figure-*.toml")} == set(FILES)


def test_every_scenario_gets_some_rounds_before_any_gets_all() -> None:
    assert list(command.planned(["a", "b"], 10)) == [
        ("a", 2), ("b", 2), ("a", 3), ("b", 3), ("a", 4), ("b", 4), ("a", 6), ("b", 6),
        ("a", 10), ("b", 10),
    ]  # fmt: skip
    assert list(command.planned(["a"], 2)) == [("a", 2)]


def test_discarded_repetitions_of_a_run_are_left_out(tmp_path: Path) -> None:
    directory = make_run(tmp_path / "run")
    found = results.read(directory.path)
    assert found.complete == 21
    assert found.used == 20  # the last one's emulator was late
    none = cell(found.cells, "none")
    assert sorted(none.seconds) == [0, 1, 2]
    # The response times of the hand-written run, of which the median is 0.40 s times its stretch.
    assert none.medians[0] == pytest.approx(0.40, rel=0.03)
    assert len(none.seconds[0]) == 5


def test_a_budget_of_nothing_only_renders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--budget", "0", "--directory", str(tmp_path / "runs"), "--print"]
    assert command.main(words) == 1
    printed = capsys.readouterr()
    assert printed.out.startswith("<!-- Made by `python -m studies background`. Do not edit. -->")
    assert f"0 of {len(FILES)} scenarios are complete" in printed.err


def test_an_unknown_file_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["--only", "figure-99"])
    assert "figure-99 is none of figure-04" in capsys.readouterr().err
