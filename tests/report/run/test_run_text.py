"""A run in the terminal.

Word for word, within its width, in every state that a run can be in.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from syrupy.assertion import SnapshotAssertion

from tests.report.run.conftest import with_cells, with_workload
from tests.report.run_directories import make_run
from trustbed.report import text
from trustbed.report.paint import Paint
from trustbed.report.printable import printable_screen
from trustbed.report.run import page as run_page
from trustbed.report.run import text as run_text
from trustbed.report.run import words as run_words
from trustbed.report.run.model import read_model
from trustbed.report.run.records import (
    Bandwidth,
    CellResults,
    Estimate,
    Limit,
    MeanAndDeviation,
    RunModel,
    Users,
)


def test_the_study_word_for_word(model: RunModel, snapshot: SnapshotAssertion) -> None:
    assert run_text.render(model, "study") == snapshot


@pytest.mark.parametrize("columns", [40, 60, 72, 100, 300])
def test_no_line_is_wider_than_asked(model: RunModel, columns: int) -> None:
    widest = max(
        len(line) for line in run_text.render(model, "study", columns=columns).splitlines()
    )
    assert widest <= text.fitted(columns)


def test_colour_changes_no_word(model: RunModel) -> None:
    painted = printable_screen(run_text.render(model, "study", paint=Paint(on=True)))
    assert "\x1b[1;31mdiscard" in painted
    assert re.sub(r"\x1b\[[0-9;]*m", "", painted) == run_text.render(model, "study")


def test_a_run_that_has_not_begun_says_so(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    found = read_model(make_run(tmp_path / "run", repetitions=1, leave_out=7).path)
    assert run_words.headline(found) == "No repetition is complete yet."
    assert run_words.standing(found) == snapshot
    assert run_text.render(found, "run") == snapshot


def test_a_run_of_nothing_but_discarded_repetitions_is_not_summed_up(
    model: RunModel, snapshot: SnapshotAssertion
) -> None:
    changed = with_cells(model, lambda cell: replace(cell, only_discarded=True))
    assert run_words.headline(changed) == snapshot
    assert run_words.assurance(changed) == ""


def without(model: RunModel, *fields: str) -> RunModel:
    """The model with cells compared with nothing, and workloads that lack these fields."""
    lacking = {"slowdown": [], **dict.fromkeys(fields)}

    def change(cell: CellResults) -> CellResults:
        return replace(
            cell, baseline=None, workloads=[replace(one, **lacking) for one in cell.workloads]
        )

    return with_cells(model, change)


def test_without_a_baseline_the_range_is_told(model: RunModel, snapshot: SnapshotAssertion) -> None:
    assert run_words.headline(without(model)) == snapshot


def test_without_results_the_background_is_told(
    model: RunModel, snapshot: SnapshotAssertion
) -> None:
    text = run_words.headline(without(model, "measure"))
    assert text == snapshot


def test_background_that_does_not_matter_is_told_so(
    model: RunModel, snapshot: SnapshotAssertion
) -> None:
    changed = with_cells(
        model,
        lambda cell: with_workload(
            cell,
            lambda one: replace(
                one, slowdown=[replace(point, ratio=1.01) for point in one.slowdown]
            ),
        ),
    )
    assert run_words.headline(changed) == snapshot


def test_findings_of_many_repetitions_are_told_once_with_the_worst(model: RunModel) -> None:
    late = next(one for one in model.repetitions if one.findings).findings[0]
    mild = {**late, "severity": "info", "value": 0.00004, "message": "mild"}
    worse = {**mild, "value": 0.00009, "message": "worse"}
    noise = {**mild, "code": "capture_snapped", "scope": "capture"}
    others = [one for one in model.repetitions if not one.findings]
    rows = [
        replace(one, findings=[late, late] if index < 2 else [worse if index == 5 else mild, noise])
        for index, one in enumerate(others)
    ]
    found = run_words.gathered(rows)
    assert [(row["code"], row["severity"], row["found_in"]) for row in found] == [
        ("run_emulator_late", "error", "2 of 20"),
        ("run_emulator_late", "info", "18 of 20"),
    ]
    assert found[1]["message"] == f"worse ({others[5].directory})"


def test_a_single_error_stands_with_its_repetition_alone(model: RunModel) -> None:
    assert run_words.gathered(model.repetitions) == []


def test_what_weakens_results_is_said_once(tmp_path: Path) -> None:
    found = read_model(make_run(tmp_path / "run", repetitions=1).path)
    notes = run_words.notes(found.cells, "fetch")
    assert len(notes) == 3
    assert "every cell has a single repetition" in notes[1]
    assert "is to be discarded" in notes[2]


def test_what_limited_the_transfers_stands_beside_the_result_and_the_reason(
    model: RunModel, snapshot: SnapshotAssertion
) -> None:
    lost = Limit(cause="network_loss", verdict="review", count=3)
    first, *others = model.repetitions
    first = replace(
        first,
        use="review",
        why="1 transfer of 1 to be reviewed",
        transfers=[replace(lost, count=1), Limit(cause="slow_start", verdict="trust", count=4)],
    )
    changed = replace(
        with_cells(
            model,
            lambda cell: with_workload(cell, lambda one: replace(one, transfers=[lost])),
        ),
        repetitions=[first, *others],
    )
    text = run_text.render(changed, "study")
    assert text.count("slowed by packet loss") == 7 + 1
    assert text == snapshot
    narrow = run_text.render(changed, "study", columns=60)
    assert "slowed by packet loss" not in narrow.split("Repetitions to discard")[0]


def over(*values: float) -> MeanAndDeviation:
    """The mean of values, with a deviation of 1."""
    return (
        MeanAndDeviation(mean=sum(values) / len(values), sd=1.0, count=len(values))
        if values
        else MeanAndDeviation()
    )


def test_an_estimator_has_its_error_and_what_was_available(model: RunModel) -> None:
    bounds = [(over(12.5e6), over(14.3e6)), (over(900e3), over(1.5e6)), (over(), over(9e6))]

    def change(cell: CellResults) -> CellResults:
        low, high = bounds[cell.number % 3]
        found = Bandwidth(
            error=over(-3.0), low=low, high=high, estimate=over(13e6), available=over(14e6)
        )
        error = replace(
            cell.workloads[0],
            measure="estimation_error",
            slowdown=[],
            transfers=[],
            rtt_mean_seconds=None,
            mean=Estimate(value=-3.0, low=-12.0, high=6.0, basis="repetitions"),
            bandwidth=found,
        )
        return replace(cell, workloads=[error])

    text = run_text.render(with_cells(model, change), "study")
    head, *rows = text[text.index("CELL") :].splitlines()[:4]
    assert head.split("  ")[-1].strip() == "LOW–HIGH"
    assert rows[0].split()[-11:-4] == ["-3.0", "%", "-12", "%–+6.0", "%", "1.0", "%"]
    assert rows[0].endswith("14.0 Mbit/s        12.5–14.3 Mbit/s")
    assert rows[1].endswith("900 kbit/s–1.50 Mbit/s")
    assert rows[2].endswith("?–9.00 Mbit/s")
    assert "The error of the estimate of fetch is between -3.0 %" in text


def test_users_of_models_have_a_table(model: RunModel) -> None:
    users = Users(
        sessions=12,
        connections=1234,
        failed=3,
        most_open=40,
        server_bits_per_second=4.5e6,
        client_bits_per_second=2e5,
    )

    def with_users(cell: CellResults) -> CellResults:
        return replace(
            cell, backgrounds=[replace(one, users=users) for one in cell.backgrounds[:1]]
        )

    changed = with_cells(model, with_users)
    shown = run_text.render(changed, "study")
    assert re.search(r"cross +12 +1,234 +3 +4\.50 Mbit/s", shown)
    table = run_page.users(changed)
    assert table is not None
    assert [cell.text for cell in table.lines[0].cells[:4]] == ["12", "1,234", "3", "40"]
    assert run_page.users(model) is None
