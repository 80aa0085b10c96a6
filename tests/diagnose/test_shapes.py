"""Numbers about a transfer's shape: their definitions, their ends, and unknown where a part is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustbed.diagnose import THRESHOLDS, Evidence, shapes

FULL = Evidence(
    rtt_base_seconds=0.02,
    rtt_high_seconds=0.05,
    rtt_before_loss_seconds=0.05,
    payload_bytes=1448,
    packet_bytes=1500,
)
"""Losses while the RTT was highest; the rate is unknown."""
AFAR = Evidence(
    pauses_estimated=True,
    rtt_base_seconds=0.02,
    rtt_seconds=0.03,
    answer_seconds=0.03,
    answer_least_seconds=0.02,
)


def test_the_packets_own_time_is_that_of_two_at_the_highest_rate() -> None:
    assert shapes.packets_own_seconds(
        replace(FULL, rate_high_bytes_per_second=289_600)
    ) == pytest.approx(0.01)
    assert shapes.packets_own_seconds(FULL) == 0
    assert (
        shapes.packets_own_seconds(
            replace(FULL, rate_high_bytes_per_second=289_600, payload_bytes=None)
        )
        == 0
    )


def test_losses_lie_between_an_empty_path_and_the_fullest_seen() -> None:
    assert shapes.queue_at_loss(FULL) == 1
    assert shapes.queue_at_loss(replace(FULL, rtt_before_loss_seconds=0.02)) == 0
    assert shapes.queue_at_loss(replace(FULL, rtt_before_loss_seconds=0.035)) == pytest.approx(0.5)


def test_the_packets_own_time_is_no_queue() -> None:
    slow = replace(FULL, rate_high_bytes_per_second=289_600)
    assert shapes.queue_at_loss(replace(slow, rtt_before_loss_seconds=0.03)) == 0
    assert shapes.queue_at_loss(replace(slow, rtt_before_loss_seconds=0.04)) == pytest.approx(0.5)


def test_a_path_that_was_never_full_overflowed_nowhere() -> None:
    assert shapes.queue_at_loss(replace(FULL, rtt_high_seconds=0.02)) == 0


@pytest.mark.parametrize(
    "unknown", ["rtt_base_seconds", "rtt_high_seconds", "rtt_before_loss_seconds"]
)
def test_without_a_part_nothing_is_known_of_the_queue(unknown: str) -> None:
    changes: dict[str, Any] = {unknown: None}
    assert shapes.queue_at_loss(replace(FULL, **changes)) is None


SECONDS = st.floats(1e-6, 10.0)


@given(SECONDS, SECONDS, SECONDS, SECONDS, st.floats(1.0, 1e10))
def test_the_rank_of_losses_is_a_share_and_rises_with_the_rtt_before_them(
    base: float, high: float, one: float, other: float, rate: float
) -> None:
    known = replace(
        FULL, rtt_base_seconds=base, rtt_high_seconds=high, rate_high_bytes_per_second=rate
    )
    lower, upper = (
        shapes.queue_at_loss(replace(known, rtt_before_loss_seconds=rtt))
        for rtt in sorted((one, other))
    )
    assert lower is not None
    assert upper is not None
    assert 0 <= lower <= upper <= 1


QUEUED = replace(
    FULL, rtt_seconds=0.04, rate_high_bytes_per_second=289_600, capacity_source="delivery_rate"
)
"""10 ms for two packets of its own, 20 ms of them at the rate above the base."""


def test_a_queue_is_what_lies_above_base_and_own_packets() -> None:
    assert shapes.queue_inflation(QUEUED) == pytest.approx(0.04 / 0.03)
    assert shapes.queued_packets(QUEUED, QUEUED.rate_high_bytes_per_second) == pytest.approx(4)


@pytest.mark.parametrize(
    "unknown", ["rtt_base_seconds", "rtt_seconds", "rate_high_bytes_per_second"]
)
def test_a_capacity_is_refuted_by_what_is_known_only(unknown: str) -> None:
    empty = replace(QUEUED, rtt_seconds=0.02)
    assert shapes.is_capacity_refuted(empty, THRESHOLDS)
    assert not shapes.is_capacity_refuted(QUEUED, THRESHOLDS)
    assert not shapes.is_capacity_refuted(replace(empty, capacity_source="given"), THRESHOLDS)
    changes: dict[str, Any] = {unknown: None}
    assert not shapes.is_capacity_refuted(replace(empty, **changes), THRESHOLDS)


def test_a_step_is_measured_by_its_lower_level_whichever_comes_first() -> None:
    up = Evidence(floor_before_seconds=0.02, floor_after_seconds=0.03)
    down = Evidence(floor_before_seconds=0.03, floor_after_seconds=0.02)
    assert shapes.floor_step(up) == shapes.floor_step(down) == pytest.approx(0.5)
    assert shapes.floor_step(replace(up, floor_before_seconds=None)) is None
    assert shapes.floor_step(replace(up, floor_before_seconds=0.0)) is None


def test_late_and_needless_segments_are_added_and_shared_by_all() -> None:
    assert (
        shapes.late_share(Evidence(late_segments=3, spurious_retransmissions=2, data_segments=1000))
        == 0.005
    )
    frozen = Evidence(
        late_segments=0, spurious_retransmissions=22, fast_retransmissions=0, data_segments=1000
    )
    assert shapes.late_share(frozen) == 0
    assert shapes.late_share(replace(frozen, fast_retransmissions=1)) == 0.001, "one was requested"
    assert shapes.late_share(replace(frozen, fast_retransmissions=30)) == 0.022
    assert shapes.late_share(replace(frozen, fast_retransmissions=None)) == 0.022
    assert shapes.late_share(replace(frozen, late_segments=1)) == 0.001
    assert shapes.late_share(Evidence(late_segments=3, data_segments=1000)) == 0.003
    assert shapes.late_share(Evidence(data_segments=1000)) is None
    assert shapes.late_share(Evidence(late_segments=3, data_segments=0)) is None


def test_the_senders_part_of_the_rtt_increase_is_known_away_from_it_only() -> None:
    assert shapes.late_part(AFAR) == pytest.approx(1)
    assert shapes.late_part(replace(AFAR, answer_seconds=0.022)) == pytest.approx(0.2)
    for unknown in (
        {"pauses_estimated": False},
        {"answer_seconds": None},
        {"answer_least_seconds": None},
        {"rtt_base_seconds": None},
        {"rtt_seconds": None},
        {"rtt_seconds": 0.02},
    ):
        changes: dict[str, Any] = unknown
        assert shapes.late_part(replace(AFAR, **changes)) is None
