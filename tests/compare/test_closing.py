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


@pytest.mark.parametrize(
    ("share", "named"), [(0.97, "offloads off"), (0.6, "guest as in the reference")]
)
def test_becoming_the_reference_is_named_only_where_nothing_else_closes_as_much(
    share: float, named: str
) -> None:
    chosen = random.Random(3)
    low = 0.5
    back = Changed(
        name="guest as in the reference", change="x", values=values({}, chosen), is_reference=True
    )
    rate = {"requests_per_second": low + share * (1 - low)}
    other = Changed(name="offloads off", change="y", values=values(rate, chosen))
    found = closing(
        "guest",
        values({}, chosen),
        values({"requests_per_second": low}, chosen),
        [back, other],
        titles={},
    )
    assert found.named == named


def test_a_gap_that_the_comparison_was_certain_of_need_not_be_certain_again() -> None:
    reference = {"retransmissions": [0.0, 0.0, 0.0], "reads": [2.0, 2.0, 2.0]}
    candidate = {"retransmissions": [0.3, 2.9, 5.2], "reads": [2.0, 2.0, 2.0]}
    back = Changed(name="no loss", change="x", values={**reference, "reads": [2.0, 2.0, 2.1]})

    def gaps(known: dict[str, float] | None) -> tuple[str, ...]:
        return closing("lossy", reference, candidate, [back], titles={}, known=known).gaps

    assert gaps(None) == ()
    assert gaps({"retransmissions": 2.5, "reads": 1.0}) == ("retransmissions",)
    assert gaps({"retransmissions": -2.5}) == (), "the other way round is none"
