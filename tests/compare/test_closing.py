"""Which change closes a gap: made differences whose cause is known."""

from __future__ import annotations

import random

import pytest

from bench.ablation import MADE, ablation, values
from trustbed.compare.closing import Changed, closing


@pytest.mark.parametrize("setting", sorted(MADE))
def test_the_setting_that_was_changed_is_named(setting: str) -> None:
    found = ablation(setting)
    assert found.named == setting
    assert found.settings[0].setting == setting
    assert found.sentence.startswith(f"What closes it: {setting} (")
    assert found.settings[0].closed == pytest.approx(1, abs=0.35)


def test_a_setting_that_changes_nothing_is_not_named() -> None:
    found = ablation("quota", only="queue")
    assert found.named is None
    assert found.sentence == (
        "Nothing that was changed closes half of the gap in requests_per_second for certain."
    )
    assert found.settings[0].closed is None


def test_without_a_gap_there_is_nothing_to_close() -> None:
    chosen = random.Random(1)
    found = closing("guest", values({}, chosen), values({}, chosen), [], titles={})
    assert found.gaps == ()
    assert "no gap to close" in found.sentence


def test_a_change_away_from_the_reference_closes_nothing() -> None:
    chosen = random.Random(2)
    worse = Changed(name="worse", change="x", values=values({"requests_per_second": 0.5}, chosen))
    found = closing(
        "guest",
        values({}, chosen),
        values({"requests_per_second": 0.8}, chosen),
        [worse],
        titles={"requests_per_second": "requests completed"},
    )
    assert found.named is None
    assert found.gaps == ("requests completed",)
