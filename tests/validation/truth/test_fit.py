"""What the fit makes of made-up answers.

Probabilities that hold, families held out, and a model that is written the same each time.
"""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from trustbed.diagnose.calibration import (
    Answered,
    CapturePoint,
    Counted,
    Model,
    probability,
    stated,
)
from trustbed.diagnose.features import FEATURES
from validation.truth import command
from validation.truth.calibration import brier, calibrate, skill
from validation.truth.fit import (
    TABLE,
    Sample,
    StatedConfidence,
    confidences,
    fit,
    held_out,
    report,
    samples,
    written,
)
from validation.truth.result import VIEWS

UNKNOWN = (None,) * len(FEATURES)


def sample(
    kind: str,
    score: int,
    is_right: bool,
    *,
    point: CapturePoint = "beside",
    cause: str = "shaped",
    family: str = "one",
    name: str = "one",
    trip: float = 0.01,
    features: tuple[float | None, ...] = UNKNOWN,
) -> Sample:
    answered = Answered(
        point=point,
        cause=cause,
        kind=kind,
        score=score,
        features=features,
        quantities={"RTT": trip},
    )
    return Sample(name=name, family=family, made=cause, answered=answered, is_right=is_right)


def many(
    kind: str,
    score: int,
    right: int,
    of: int,
    *,
    point: CapturePoint = "beside",
    cause: str = "shaped",
) -> list[Sample]:
    return [
        sample(
            kind,
            score,
            number < right,
            point=point,
            cause=cause,
            family=f"family {number % 4}",
            name=f"{kind}.{number}",
        )
        for number in range(of)
    ]


def test_of_many_answers_the_share_is_stated_and_it_holds() -> None:
    given = [*many("a", 60, 190, 200), *many("b", 90, 100, 200, cause="outage")]
    found = calibrate(confidences(fit(given), given))
    assert [each.holds for each in found.bins] == [True, True]
    assert found.error is not None
    assert found.error < 0.03
    assert calibrate(confidences(None, given)).error == pytest.approx((0.35 + 0.4) / 2)
    assert found.skill is not None
    assert found.skill > 0.2


def test_a_kind_with_few_answers_is_worth_what_its_cause_is() -> None:
    model = fit([*many("a", 80, 180, 200), *many("few", 80, 0, 1)])
    shares = [probability(model, sample(kind, 80, True).answered) for kind in ("a", "few", "new")]
    assert shares[0] == pytest.approx(0.9, abs=0.03)
    assert 0.6 < shares[1] < shares[2] < 0.95


def test_a_feature_that_tells_right_from_wrong_is_used() -> None:
    random = Random(4)
    given = []
    for number in range(400):
        value = random.gauss(0.0, 1.0)
        features = (value, *UNKNOWN[1:])
        is_right = random.random() < (0.95 if value > 0 else 0.4)
        given.append(sample("a", 80, is_right, name=f"a.{number}", features=features))
    model = fit(given)
    low, high = (
        probability(model, replace(given[0].answered, features=(value, *UNKNOWN[1:])))
        for value in (-1.5, 1.5)
    )
    assert low < 0.5
    assert high > 0.85


def test_no_model_claims_that_all_are_right() -> None:
    given = many("a", 99, 50, 50)
    found = stated(fit(given), given[0].answered)
    assert found is not None
    assert found.hundredths == 99


def test_answers_prior_and_range_are_counted() -> None:
    given = [
        *many("a", 60, 9, 10),
        *many("b", 90, 20, 20, cause="outage"),
        *many("a", 60, 1, 4, point="away"),
        sample("a", 60, True, name="far", trip=0.1234),
    ]
    model = fit(given)
    assert model.answers == {
        "outage beside": Counted(20, 20),
        "shaped away": Counted(1, 4),
        "shaped beside": Counted(10, 11),
    }
    assert model.kind_answers["a away"] == Counted(1, 4)
    # A transfer is counted once, however many captures of it were judged.
    assert model.made == {"outage": round(20 / 31, 3), "shaped": round(11 / 31, 3)}
    assert model.seen == {"RTT": (0.01, 0.13)}


def test_an_answer_is_held_out_with_its_whole_family() -> None:
    """Each family has one cause of its own, always wrong.

    With its family left out nothing is known, and the score stays as far as it may.
    """
    given = [
        sample(f"rule {number}", 80, False, cause=f"cause {number}", family=f"family {number}")
        for number in range(5)
        for _ in range(20)
    ]
    crossed = held_out(given)
    assert len(crossed) == len(given)
    assert {answer.confidence for _, answer in crossed} == {0.8}
    assert max(answer.confidence for answer in confidences(fit(given), given)) < 0.2


def test_what_holds_for_all_families_also_holds_for_those_left_out() -> None:
    random = Random(5)
    given = [
        sample("a", 60, random.random() < 0.9, family=f"family {number % 6}", name=f"a.{number}")
        for number in range(400)
    ]
    error = calibrate(answer for _, answer in held_out(given)).error
    assert error is not None
    assert error < 0.05


def test_the_brier_score_and_its_skill() -> None:
    given = [StatedConfidence(0.8, True), StatedConfidence(0.5, False)]
    assert brier(given) == pytest.approx((0.04 + 0.25) / 2)
    assert skill(given) == pytest.approx(1 - 0.145 / 0.25)
    assert skill([]) is None
    assert skill([StatedConfidence(0.8, True)]) is None


def executed(text: str, directory: Path) -> Model | None:
    file = directory / "table.py"
    file.write_text(text, encoding="utf-8")
    return runpy.run_path(str(file))["MODEL"]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "given",
    [
        [],
        many("a", 60, 3, 5),
        [*many("a", 60, 9, 10), *many("b", 99, 20, 20), *many("b", 70, 1, 4, point="away")],
    ],
)
def test_the_written_model_is_the_fitted_one_in_the_linters_format(
    given: list[Sample], tmp_path: Path
) -> None:
    model = fit(given) if given else None
    text = written(model, 7)
    assert executed(text, tmp_path) == model
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


def test_the_report_compares_the_score_the_model_and_models_without_the_family() -> None:
    lines = report([*many("a", 60, 190, 200), *many("b", 90, 20, 20, point="away")]).splitlines()
    assert [line.split("  ")[0] for line in lines[1:9:4]] == ["beside", "away"]
    assert lines[2].split()[:6] == ["the", "score", "itself", "0.600", "0.350", "0.1700"]
    assert "fitted without the family" in lines[4]


def judged(standing: str = "healthy", **more: Any) -> Any:  # noqa: ANN401 - stands for a judged transfer
    answer = SimpleNamespace(**{"answered": sample("a", 70, True).answered, **more})
    counts = standing in ("healthy", "disturbed")
    case = SimpleNamespace(name="policer.3", made="policed", counts=counts, is_right=True)
    return SimpleNamespace(
        answers={VIEWS[0].name: answer},
        case=lambda view: case if view == VIEWS[0] else None,
        network=SimpleNamespace(family="wireless"),
    )


def test_only_development_answers_that_count_are_fitted_to() -> None:
    requested: list[str] = []
    given = [judged(), judged("slight"), judged("unclear"), judged(answered=None)]

    def chosen(half: str) -> list[Any]:
        requested.append(half)
        return given

    found = samples(SimpleNamespace(chosen=chosen))  # type: ignore[arg-type]
    assert requested == ["development"]
    assert [(one.name, one.family, one.made, one.answered.score) for one in found] == [
        ("policer.3", "wireless", "policed", 70)
    ]


def test_the_command_writes_the_model_and_reports_its_accuracy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.py"
    given = many("a", 60, 190, 200)
    monkeypatch.setattr("validation.truth.fit.TABLE", table)
    monkeypatch.setattr("validation.truth.fit.samples", lambda _result: given)
    monkeypatch.setattr(
        "validation.truth.command.Result",
        SimpleNamespace(of=lambda _store: SimpleNamespace(made=[None])),
    )
    assert command.main(["--directory", str(tmp_path), "--fit"]) == 0
    assert "fitted without the family" in capsys.readouterr().out
    assert table.read_text(encoding="utf-8") == written(fit(given), 200)
    assert [file.name for file in tmp_path.iterdir()] == ["table.py"]


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


def test_the_model_in_force_is_as_it_was_written() -> None:
    text = TABLE.read_text(encoding="utf-8")
    transfers = int(text.split(" transfers. Do not edit")[0].rsplit(" ", 1)[1])
    from trustbed.diagnose.calibration_table import MODEL

    assert written(MODEL, transfers) == text, "run: python -m validation truth --fit"
