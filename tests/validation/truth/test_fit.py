"""What the fit makes of made-up answers.

Curves that rise, counts that are right, and a table that is written the same each time.
"""

from __future__ import annotations

import itertools
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trustbed.diagnose.calibration import PRIOR_ANSWERS, Calibration, CapturePoint, Counted
from trustbed.diagnose.confidence import HIGHEST, LOWEST
from validation.truth import command
from validation.truth.calibration import calibrate
from validation.truth.fit import (
    TABLE,
    Sample,
    StatedConfidence,
    brier,
    confidences,
    fit,
    held_out,
    isotonic,
    report,
    samples,
    unseen,
    written,
)
from validation.truth.result import VIEWS
from validation.truth.store import Store


def sample(
    kind: str,
    score: int,
    is_right: bool,
    *,
    point: CapturePoint = "beside",
    network: str = "one",
    name: str = "one",
) -> Sample:
    return Sample(
        name=name, network=network, point=point, kind=kind, score=score, is_right=is_right
    )


def many(
    kind: str, score: int, right: int, of: int, *, point: CapturePoint = "beside"
) -> list[Sample]:
    return [
        sample(
            kind,
            score,
            number < right,
            point=point,
            network=f"network {number % 10}",
            name=f"{kind}.{number}",
        )
        for number in range(of)
    ]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(1, 50)), max_size=12))
def test_the_isotonic_values_never_fall_and_keep_the_mean(
    points: list[tuple[float, float]],
) -> None:
    found = isotonic(points)
    assert len(found) == len(points)
    assert all(before <= after + 1e-12 for before, after in itertools.pairwise(found))
    weighed = sum(value * weight for value, weight in points)
    assert sum(
        value * weight for value, (_, weight) in zip(found, points, strict=True)
    ) == pytest.approx(weighed, abs=1e-9)


def test_the_isotonic_values_are_those_of_a_worked_example() -> None:
    assert isotonic([(0.2, 1), (0.6, 1), (0.3, 2), (0.9, 1)]) == pytest.approx([0.2, 0.4, 0.4, 0.9])
    assert isotonic([(0.1, 1), (0.5, 3)]) == [0.1, 0.5]


def test_no_curve_claims_that_all_are_right_or_none() -> None:
    curve = fit([*many("a", 99, 5_000, 5_000), *many("b", 5, 0, 5_000)])["beside"].curve
    assert curve == {5: LOWEST / 100, 99: HIGHEST / 100}


def test_counts_and_curve_of_a_capture_point() -> None:
    table = fit([*many("a", 60, 9, 10), *many("b", 90, 20, 20), *many("a", 60, 1, 4, point="away")])
    assert table["beside"].answers == {"a": Counted(9, 10), "b": Counted(20, 20)}
    assert table["away"].answers == {"a": Counted(1, 4)}
    low, high = (
        (right + PRIOR_ANSWERS * score / 100) / (of + PRIOR_ANSWERS)
        for right, of, score in ((9, 10, 60), (20, 20, 90))
    )
    assert table["beside"].curve == {60: round(low, 3), 90: round(high, 3)}
    assert list(table) == ["beside", "away"], (
        "in the order of the capture points, whatever that of the answers"
    )


def test_a_score_that_was_right_less_often_than_a_lower_one_is_worth_no_less() -> None:
    curve = fit([*many("a", 60, 30, 30), *many("b", 90, 10, 30)])["beside"].curve
    assert curve[60] == curve[90]


def test_of_many_answers_the_share_is_stated_and_it_holds() -> None:
    given = [*many("a", 60, 190, 200), *many("b", 90, 100, 200)]
    found = calibrate(confidences(fit(given), given))
    assert [each.holds for each in found.bins] == [True, True]
    assert found.error is not None
    assert found.error < 0.02
    assert calibrate(confidences({}, given)).error == pytest.approx((0.35 + 0.4) / 2)


def test_an_answer_is_held_out_with_its_whole_network() -> None:
    """Each network has one rule of its own, always wrong.

    With its network left out nothing is known, and the score stays.
    """
    given = [
        sample(f"rule {number}", 80, False, network=f"network {number}")
        for number in range(10)
        for _ in range(20)
    ]
    crossed = held_out(given)
    assert len(crossed) == len(given)
    assert {answer.confidence for _, answer in crossed} == {0.8}
    assert {answer.confidence for answer in confidences(fit(given), given)} < {
        number / 100 for number in range(20)
    }


def test_what_holds_for_all_networks_also_holds_for_those_left_out() -> None:
    random = Random(5)
    given = [
        sample("a", 60, random.random() < 0.9, network=f"network {number // 4}")
        for number in range(400)
    ]
    error = calibrate(answer for _, answer in held_out(given)).error
    assert error is not None
    assert error < 0.05


def test_the_brier_score() -> None:
    assert brier([StatedConfidence(0.8, True), StatedConfidence(0.5, False)]) == pytest.approx(
        (0.04 + 0.25) / 2
    )


def executed(text: str, directory: Path) -> Calibration:
    file = directory / "table.py"
    file.write_text(text, encoding="utf-8")
    return runpy.run_path(str(file))["CALIBRATION"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "given",
    [
        [],
        many("a", 60, 3, 5),
        [*many("a", 60, 9, 10), *many("b", 99, 20, 20), *many("b", 70, 1, 4, point="away")],
    ],
)
def test_the_written_table_is_the_fitted_one_in_the_linters_format(
    given: list[Sample], tmp_path: Path
) -> None:
    table = fit(given)
    text = written(table, 7)
    assert executed(text, tmp_path) == table
    assert "from 7 transfers" in text
    ruff = shutil.which("ruff") or str(Path(sys.executable).with_name("ruff"))
    for check in (["format", "--diff"], ["check"]):
        run = subprocess.run(
            [ruff, *check, "--stdin-filename", str(TABLE), "-"],
            input=text,
            capture_output=True,
            text=True,
            check=False,
            cwd=TABLE.parent,
        )
        assert run.returncode == 0, run.stdout + run.stderr


def test_the_order_of_the_answers_leaves_no_trace() -> None:
    given = [*many("b", 60, 9, 10), *many("a", 90, 20, 20), *many("c", 70, 1, 4, point="away")]
    shuffled = Random(3).sample(given, len(given))
    assert written(fit(given), 1) == written(fit(shuffled), 1)
    assert sorted(held_out(given), key=repr) == sorted(held_out(shuffled), key=repr)


def test_the_report_compares_the_score_the_table_and_tables_without_the_network() -> None:
    lines = report([*many("a", 60, 190, 200), *many("b", 90, 20, 20, point="away")]).splitlines()
    assert [line.split("  ")[0] for line in lines[1:9:4]] == ["beside", "away"]
    assert lines[2].split() == [
        "the",
        "score",
        "itself",
        "0.600",
        "0.350",
        "0.1700",
        "0",
        "of",
        "1",
    ]
    assert "fitted without the network" in lines[4]


def judged(standing: str = "healthy", **more: Any) -> Any:  # noqa: ANN401 - stands for a judged transfer
    answer = SimpleNamespace(**{"point": "beside", "rule": "a", "score": 0.7, "flags": (), **more})
    counts = standing in ("healthy", "disturbed")
    case = SimpleNamespace(name="policer.3", counts=counts, is_right=True)
    network = {
        "family": "wireless",
        "rate_megabits": 10,
        "round_trip_ms": 20,
        "limit": "link",
        "congestion_control": "reno",
        "seconds": 3,
    }
    return SimpleNamespace(
        answers={VIEWS[0].name: answer},
        case=lambda view: case if view == VIEWS[0] else None,
        stored={"network": network},
    )


def test_only_development_answers_are_fitted_to_and_limits_make_kinds_of_their_own() -> None:
    requested: list[str] = []
    weak = ("self_queueing", "echoed_rtt", "capture_loss")
    given = [judged(), judged("slight"), judged("unclear"), judged(flags=weak), judged(point=None)]

    def chosen(half: str) -> list[Any]:
        requested.append(half)
        return given

    found = samples(SimpleNamespace(chosen=chosen))  # type: ignore[arg-type]
    assert requested == ["development"]
    assert [(one.name, one.point, one.kind, one.score) for one in found] == [
        ("policer.3", "beside", kind, 70) for kind in ("a", "a under echoed_rtt and capture_loss")
    ]


def test_transfers_that_were_seen_are_left_out_and_compared() -> None:
    given = [*many("a", 60, 9, 10), *many("b", 60, 3, 4)]
    new, words = unseen(given, {f"a.{number}" for number in range(10)})
    assert [one.kind for one in new] == ["b"] * 4
    assert [line.split()[-3:] for line in words.splitlines()[1:]] == [
        ["10", "10", "90.0%"],
        ["4", "4", "75.0%"],
    ]
    assert unseen(given, ())[0] == given
    assert unseen(given, {one.name for one in given})[0] == []


def test_the_command_writes_the_table_and_reports_its_accuracy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.py"
    monkeypatch.setattr("validation.truth.fit.TABLE", table)
    monkeypatch.setattr("validation.truth.fit.samples", lambda _result: many("a", 60, 190, 200))
    monkeypatch.setattr(
        "validation.truth.command.Result",
        SimpleNamespace(of=lambda _store: SimpleNamespace(made=[None])),
    )
    seen = tmp_path / "seen"
    Store(seen).write({"name": "a.199"})
    assert command.main(["--directory", str(tmp_path), "--fit", "--seen", str(seen)]) == 0
    assert "fitted without the network" in capsys.readouterr().out
    text = table.read_text(encoding="utf-8")
    assert text == written(fit(many("a", 60, 190, 200)[:199]), 199)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["seen", "table.py"]


def test_nothing_to_fit_to_is_an_error_that_leaves_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("validation.truth.fit.TABLE", tmp_path / "table.py")
    monkeypatch.setattr("validation.truth.fit.samples", lambda _result: [])
    monkeypatch.setattr(
        "validation.truth.command.Result",
        SimpleNamespace(of=lambda _store: SimpleNamespace(made=[None])),
    )
    assert command.main(["--directory", str(tmp_path), "--fit"]) == 2
    assert "nothing to fit to" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_the_table_in_force_is_as_it_was_written() -> None:
    text = TABLE.read_text(encoding="utf-8")
    transfers = int(text.split(" transfers. Do not edit")[0].rsplit(" ", 1)[1])
    from trustbed.diagnose.calibration_table import CALIBRATION

    assert written(CALIBRATION, transfers) == text, "run: python -m validation truth --fit"
