"""Each study can still be begun, and its page can be made from measurements."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from studies import pages
from studies.__main__ import STUDIES, main
from studies.departure_error import cases
from studies.field import endurance_page
from studies.field.endurance_page import Round
from studies.indicators import plan
from trustbed.scenario import load


def test_departure_error(tmp_path: Path) -> None:
    for group in cases.GROUPS:
        file = tmp_path / f"{group}.toml"
        file.write_text(cases.scenario(group, 5), encoding="utf-8")
        assert {case.name for case in cases.GROUPS[group]} <= {
            link.name for link in load(file).first.links
        }
    output = tmp_path / "page.md"
    words = ["--minutes", "0", "--results", str(tmp_path / "none"), "--partial"]
    assert main(["departure_error", *words, "--output", str(output)]) == 1
    assert output.read_text(encoding="utf-8").startswith(
        "<!-- Made by `python -m studies departure_error`. Do not edit. -->\n\n# Departure error"
    )


def test_indicators(tmp_path: Path) -> None:
    output = tmp_path / "page.md"
    words = ["--score-only", "--directory", str(tmp_path), "--partial"]
    assert main(["indicators", *words, "--output", str(output)]) == 1
    text = output.read_text(encoding="utf-8")
    assert f"{len(plan.steps(2))} of its steps are missing" in text


def test_endurance() -> None:
    rounds = [
        Round(
            pair=pair,
            number=number,
            began=30.0 * number,
            ended=30.0 * number + 10,
            outcome="complete",
            use="trust",
            causes=("window_limited",),
        )
        for pair in ("a-b", "c-d")
        for number in range(4)
    ]
    told = {
        "began": 0.0,
        "seconds": 120,
        "code": 0,
        "pairs": [["a", "b"], ["c", "d"]],
        "period": 30,
        "faults": [],
    }
    checks = endurance_page.checked(told, rounds)
    page = endurance_page.render(json.loads(json.dumps(told)), rounds, checks)
    assert [one.what for one in checks if one.what not in page] == []


@pytest.mark.parametrize("study", ["departure_error", "indicators", "field"])
def test_its_page_is_shipped(study: str) -> None:
    lines = pages.page(study).read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("<!-- Made by `python -m studies ")
    assert lines[2].startswith("# ")


def test_a_name_that_is_no_study_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nothing"]) == 2
    usage = capsys.readouterr().err
    assert [name for name in STUDIES if name not in usage] == []
