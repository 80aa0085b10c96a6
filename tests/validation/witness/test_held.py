"""Pauses cut into seconds: against the transfer's own columns, against a slow count, and by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustbed import analyze
from trustbed.diagnose.thresholds import THRESHOLDS
from validation.witness.held import Held, Second, covered
from validation.witness.transfer import held_of

S, MS = 1_000_000_000, 1_000_000
ORIGIN = 7 * S
RECORDINGS = Path(__file__).resolve().parents[3] / "recordings"


def turn(
    at_ms: int,
    spacing_ms: int | None,
    *,
    response_ms: int | None = None,
    category: str | None = "spacing",
    empty: bool = False,
) -> Any:  # noqa: ANN401 - a row
    return {
        "ts_ns": ORIGIN + at_ms * MS,
        "spacing_ns": None if spacing_ms is None else spacing_ms * MS,
        "response_ns": None if response_ms is None else response_ms * MS,
        "category": category,
        "empty": empty,
    }


TRANSFER = {"rtt_base_ns": 20.0 * MS, "withheld_threshold_ns": 4.0 * MS}


def held(*turns: Any) -> Held:  # noqa: ANN401 - rows
    return Held.of(
        [turn(0, None, category=None), *turns, turn(3000, None, category=None)],
        TRANSFER,
        origin_ns=ORIGIN,
    )


def test_a_turn_belongs_to_the_seconds_that_it_lies_in() -> None:
    found = held(turn(1200, 500))
    first, second = found.during(0, S), found.during(S, 2 * S)
    assert first == Second(longer=0.3, withheld=0.0, empty=0.0, share=0.3)
    assert second == Second(longer=0.2, withheld=0.0, empty=0.0, share=0.2)


@pytest.mark.parametrize(
    ("one", "longer", "withheld", "empty"),
    [
        (turn(900, 20), 0.0, 0.0, 0.0),  # as long as the base RTT is not longer
        (turn(900, 21), 0.021, 0.0, 0.0),
        (turn(900, 10, empty=True), 0.0, 0.0, 0.01),
        (turn(900, 500, category="recovery_wait", response_ms=500), 0.0, 0.0, 0.0),
        (turn(900, 500, category="window_wait", response_ms=400), 0.0, 0.4, 0.0),
        (turn(900, 1, response_ms=4), 0.0, 0.0, 0.0),
        (turn(900, 1, response_ms=5), 0.0, 0.005, 0.0),
    ],
)
def test_turns_count_as_the_transfers_columns_count_them(
    one: Any, longer: float, withheld: float, empty: float
) -> None:  # noqa: ANN401 - a row
    found = held(one).during(0, S)
    assert found is not None
    assert [found.longer, found.withheld, found.empty] == pytest.approx([longer, withheld, empty])
    assert found.share == pytest.approx(max(longer, withheld, empty))


def test_a_second_is_oversize_by_the_thresholds_of_a_diagnosis() -> None:
    nothing = {"longer": 0.0, "withheld": 0.0, "empty": 0.0, "share": 0.0}
    limits = {
        "longer": THRESHOLDS.oversize_fraction,
        "withheld": THRESHOLDS.withheld_fraction,
        "empty": THRESHOLDS.empty_fraction,
    }
    for key, limit in limits.items():
        assert Second(**nothing | {key: limit}).is_oversize
        assert not Second(**nothing | {key: limit - 0.01}).is_oversize


def test_what_lies_outside_of_the_transfer_says_nothing() -> None:
    found = held(turn(200, 100))
    assert found.during(-S // 2 - 1, S // 2 - 1) is None
    assert found.during(-S // 2, S // 2) is not None
    assert found.during(2 * S + S // 2 + 1, 4 * S) is None
    assert Held.of([], TRANSFER, origin_ns=0).during(0, S) is None


def test_what_is_kept_is_read_as_it_was() -> None:
    found = held(turn(1200, 500, response_ms=600, empty=True))
    kept = {
        "first_ns": 0,
        "last_ns": 3 * S,
        "longer": [[700 * MS, 1200 * MS]],
        "empty": [[700 * MS, 1200 * MS]],
    }
    assert Held.read({**kept, "withheld": [[600 * MS, 1200 * MS]]}) == found


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12),
    st.integers(0, 40),
    st.integers(1, 30),
)
def test_covered_time_is_that_of_a_slow_count(
    drawn: list[tuple[int, int]], begin: int, length: int
) -> None:
    intervals = [(start, start + lasts) for start, lasts in drawn]
    slow = sum(
        any(start <= each < stop for start, stop in intervals)
        for each in range(begin, begin + length)
    )
    assert covered(intervals, begin, begin + length) == slow


@pytest.mark.parametrize("name", ["starved-process", "guest-frozen", "application-limited"])
def test_all_seconds_together_are_the_transfers_own_columns(name: str) -> None:
    """Against the engine's sums, which come from histograms: exact to 0.8 % a turn."""
    analysis = analyze(RECORDINGS / f"{name}.sender.pcap.gz", at="sender", workers=1, samples=True)
    row = max(analysis.transfers.to_pylist(), key=lambda one: one["unique_bytes"] or 0)
    found = held_of(analysis, row, origin_ns=0)
    sums = {
        key: sum(end - begin for begin, end in getattr(found, key))
        for key in ("longer", "withheld", "empty")
    }
    assert sums["longer"] == pytest.approx(row["oversize_ns"], rel=0.02)
    assert sums["withheld"] == pytest.approx(row["withheld_ns"], rel=0.02)
    assert sums["empty"] == pytest.approx(row["empty_fraction"] * row["duration_ns"], rel=0.02)
    assert any(sums.values())
