"""What a threshold or a rule is worth: what decides costs its answers, what never does nothing."""

from __future__ import annotations

from typing import Any

import pytest

from trustbed.diagnose import rules
from trustbed.diagnose.diagnosis import diagnose
from trustbed.diagnose.evidence import Evidence
from validation.truth import published
from validation.truth.ablation import Ablation, Without, table
from validation.truth.fit import HALF
from validation.truth.result import Result

SOME = ("undisturbed-window", "route-change")
"""Kinds that are judged here, and how many of each at most: all would take a minute."""
EACH = 12


@pytest.fixture(scope="module")
def ablation() -> Ablation:
    kept: dict[str, list[Any]] = {kind: [] for kind in SOME}
    for one in published.read(published.DIRECTORY, SOME).chosen(HALF):
        kept[one.stored["kind"]].append(one.stored)
    return Ablation(Result([one for kind in kept.values() for one in kind[:EACH]]))


def test_nothing_is_lost_without_what_decides_nothing(ablation: Ablation) -> None:
    found = {one.name: one for one in ablation.rules}
    assert ablation.figures.right > 0
    assert found["pauses_alone"].differs == 0
    assert found["pauses_alone"].figures == ablation.figures
    _costs(found["floor_has_two_levels"], ablation)


def test_a_threshold_is_worth_what_its_condition_is(ablation: Ablation) -> None:
    found = {one.name: one for one in ablation.thresholds}
    assert found["clock_step_share"].differs == 0
    _costs(found["floor_flight"], ablation)


def test_the_procedure_is_whole_again_afterwards(ablation: Ablation) -> None:
    before = rules.STAGES
    printed = table(ablation)
    assert rules.STAGES is before
    assert diagnose(Evidence(too_short=True)).rule == "too_short"
    assert "floor_has_two_levels" in printed
    assert "(nothing left out)" in printed


def _costs(without: Without, ablation: Ablation) -> None:
    assert without.differs > 0
    assert without.figures.right < ablation.figures.right
