"""The made differences of the bench are what they are called, and answers are read right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bench.explained import MADE, REFERENCE, Made, answer, candidate
from trustbed.compare.settings import settings
from trustbed.scenario import load
from trustbed.scenario.toml_text import toml


@pytest.mark.parametrize("one", MADE, ids=lambda one: one.key)
def test_one_setting_matters_among_two_that_do_not(one: Made, tmp_path: Path) -> None:
    file = tmp_path / "candidate.toml"
    file.write_text(toml(candidate(one)), encoding="utf-8")
    tried, _ = settings(load(file), candidate(one), REFERENCE)
    back = [
        setting for setting in tried if "reference" in setting.name or "without" in setting.name
    ]
    assert len(back) == 3
    assert sum(one.is_named_by(setting.name) for setting in back) == 1
    assert not any(setting.is_reference for setting in tried)


@pytest.mark.parametrize(
    ("named", "right"),
    [
        ("link.loss as in the reference", True),
        ("no loss of the link", True),
        ("link.delay as in the reference", False),
        (None, False),
    ],
)
def test_an_answer_is_right_where_it_names_the_setting(named: str | None, right: bool) -> None:
    levels = [
        {"level": "network", "verdict": "different"},
        {"level": "delay", "verdict": "open"},
    ]
    compared: dict[str, Any] = {
        "cases": [{"candidates": [{"levels": levels}]}],
        "explanation": [{"named": named, "sentence": "It is.", "rounds": 5}],
    }
    found = answer(MADE[0], compared)
    assert (found.right, found.levels, found.rounds) == (right, ["network"], 5)
    assert not answer(MADE[0], {**compared, "explanation": []}).right
