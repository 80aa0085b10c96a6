"""Which change closes a gap: made differences whose cause is known."""

from __future__ import annotations

import random
from collections.abc import Mapping

import pytest

from trustbed.compare.closing import Changed, closing
from trustbed.compare.model import Ablation

MADE = {
    "quota": {"requests_per_second": 0.8},
    "offloads": {"packets_captured": 0.4},
    "queue": {"retransmissions": 30.0},
    "jitter": {"jitter_seconds": 3.0},
    "loss": {"requests_per_second": 0.9, "retransmissions": 60.0},
    "card": {"requests_per_second": 0.5, "reads": 1.8, "jitter_seconds": 1.5},
    "tracing": {"requests_per_second": 0.86},
    "cpu": {"context_switches": 1.6},
    "background": {"requests_per_second": 0.7, "jitter_seconds": 4.0},
    "ack": {"packets_wire": 1.12, "packets_captured": 1.12},
}
"""What each setting does to a metric: a factor."""
PLAIN = {
    "requests_per_second": 1000.0,
    "packets_captured": 20.0,
    "packets_wire": 30.0,
    "retransmissions": 0.01,
    "jitter_seconds": 0.001,
    "reads": 2.0,
    "context_switches": 3.0,
}


def _values(
    effects: Mapping[str, float], chosen: random.Random, count: int = 5
) -> dict[str, list[float]]:
    return {
        key: [mean * effects.get(key, 1.0) * (1 + chosen.gauss(0, 0.02)) for _ in range(count)]
        for key, mean in PLAIN.items()
    }


def _ablation(true: str, *, only: str | None = None) -> Ablation:
    chosen = random.Random(true)
    changed = [
        Changed(
            name=name,
            change=f"{name} removed",
            values=_values({} if name == true else MADE[true], chosen),
        )
        for name in MADE
        if only is None or name == only
    ]
    return closing("guest", _values({}, chosen), _values(MADE[true], chosen), changed, titles={})


@pytest.mark.parametrize("setting", sorted(MADE))
def test_the_setting_that_was_changed_is_named(setting: str) -> None:
    found = _ablation(setting)
    assert found.named == setting
    assert found.settings[0].setting == setting
    assert found.settings[0].closed == pytest.approx(1, abs=0.35)


def test_a_setting_that_changes_nothing_is_not_named() -> None:
    found = _ablation("quota", only="queue")
    assert found.named is None
    assert found.sentence == (
        "Nothing that was changed closes half of the gap in requests_per_second for certain."
    )
    assert found.settings[0].closed is None


def test_without_a_gap_there_is_nothing_to_close() -> None:
    chosen = random.Random(1)
    found = closing("guest", _values({}, chosen), _values({}, chosen), [], titles={})
    assert found.gaps == ()
    assert "no gap to close" in found.sentence


def test_a_change_away_from_the_reference_closes_nothing() -> None:
    chosen = random.Random(2)
    worse = Changed(name="worse", change="x", values=_values({"requests_per_second": 0.5}, chosen))
    found = closing(
        "guest",
        _values({}, chosen),
        _values({"requests_per_second": 0.8}, chosen),
        [worse],
        titles={"requests_per_second": "requests completed"},
    )
    assert found.named is None
    assert found.gaps == ("requests completed",)
