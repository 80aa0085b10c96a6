"""Numbers about a transfer's shape: their definitions, their ends, and unknown where a part is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trustbed.diagnose import THRESHOLDS, Evidence, diagnose, shapes

FULL = Evidence(
    rtt_base_seconds=0.02,
    rtt_high_seconds=0.05,
    rtt_before_loss_seconds=0.05,
    payload_bytes=1448,
    packet_bytes=1500,
)
"""Losses while the RTT was highest; the rate is unknown."""
CAPPED = Evidence(
    throughput_bytes_per_second=0.9e6,
    rtt_seconds=0.02,
    window_bytes=65535,
    outstanding_mean_bytes=18_000,
    outstanding_max_bytes=20_000,
    pauses_estimated=False,
)
AFAR = Evidence(
    pauses_estimated=True,
    rtt_base_seconds=0.02,
    rtt_seconds=0.03,
    answer_seconds=0.03,
    answer_least_seconds=0.02,
    owd_increase_seconds=0.004,
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
    assert shapes.high_inflation(QUEUED) == pytest.approx(0.05 / 0.03)
    assert shapes.queued_packets(QUEUED) == pytest.approx(4)
    assert shapes.packets_at_loss(QUEUED) == pytest.approx(4)
    assert shapes.packets_at_loss(replace(QUEUED, rtt_before_loss_seconds=0.029)) == pytest.approx(
        -0.2
    )


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


@pytest.mark.parametrize(
    "unknown", ["rtt_base_seconds", "rtt_before_loss_seconds", "rate_high_bytes_per_second"]
)
def test_packets_before_losses_need_every_part(unknown: str) -> None:
    changes: dict[str, Any] = {unknown: None}
    assert shapes.packets_at_loss(replace(QUEUED, **changes)) is None


def test_the_longest_account_of_a_silence_counts() -> None:
    interrupted = Evidence(outage_seconds=2.0, unanswered_seconds=3.0, interrupted_seconds=9.0)
    assert shapes.silent_seconds(Evidence()) == 0
    assert shapes.silent_seconds(interrupted) == 3.0
    assert shapes.silent_seconds(replace(interrupted, pauses_estimated=False)) == 3.0, (
        "beside the sender nothing needs to be guessed"
    )
    assert shapes.silent_seconds(replace(interrupted, pauses_estimated=True)) == 9.0
    afar = replace(interrupted, pauses_estimated=True, loss=0.0)
    assert shapes.silent_seconds(afar) == 3.0, "a sender that repeats only what had arrived stalled"
    assert shapes.silent_seconds(replace(afar, loss=0.01)) == 9.0


def test_a_step_is_measured_by_its_lower_level_whichever_comes_first() -> None:
    up = Evidence(floor_before_seconds=0.02, floor_after_seconds=0.03)
    down = Evidence(floor_before_seconds=0.03, floor_after_seconds=0.02)
    assert shapes.floor_step(up) == shapes.floor_step(down) == pytest.approx(0.5)
    assert shapes.floor_step(replace(up, floor_before_seconds=None)) is None
    assert shapes.floor_step(replace(up, floor_before_seconds=0.0)) is None


def test_ratios_of_rates() -> None:
    bent = Evidence(burst_rate_bytes_per_second=3e6, sustained_rate_bytes_per_second=2e6)
    assert shapes.burst_ratio(bent) == 1.5
    assert shapes.burst_ratio(replace(bent, sustained_rate_bytes_per_second=0.0)) is None
    steady = Evidence(
        throughput_bytes_per_second=3e6,
        rate_high_bytes_per_second=2e6,
        capacity_source="delivery_rate",
    )
    assert shapes.mean_over_steady(steady) == 1.5
    assert shapes.mean_over_steady(replace(steady, capacity_source="given")) is None, (
        "only a rate that was seen to be steady"
    )


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


@pytest.mark.parametrize(
    "change",
    [
        {"outstanding_mean_bytes": 10_900},
        {"window_bytes": 24_999},
        {"rtt_seconds": 0.0115},
        {"rtt_seconds": 0.0245},
        {"pauses_estimated": True},
        {"answer_seconds": 0.0011, "rtt_base_seconds": 0.02},
        {"outstanding_max_bytes": None},
    ],
)
def test_a_ceiling_of_the_flight_needs_every_part(change: dict[str, Any]) -> None:
    assert shapes.is_flight_capped(CAPPED, THRESHOLDS)
    assert not shapes.is_flight_capped(replace(CAPPED, **change), THRESHOLDS)


def test_how_late_a_sender_reacts_is_seen_beside_it_only() -> None:
    beside = Evidence(pauses_estimated=False, answer_seconds=0.005, rtt_base_seconds=0.02)
    assert shapes.answer_share(beside) == 0.25
    for change in (
        {"pauses_estimated": True},
        {"pauses_estimated": None},
        {"answer_seconds": None},
        {"rtt_base_seconds": None},
    ):
        changes: dict[str, Any] = change
        assert shapes.answer_share(replace(beside, **changes)) is None


def test_the_forward_share_of_the_rtt_increase_is_known_away_from_the_sender_only() -> None:
    assert shapes.owd_share(AFAR) == pytest.approx(0.4)
    assert shapes.owd_share(replace(AFAR, pauses_estimated=False)) is None
    assert shapes.owd_share(replace(AFAR, owd_increase_seconds=None)) is None


def test_a_rise_that_is_small_is_no_share_of_anything() -> None:
    assert shapes.owd_share(replace(AFAR, answer_seconds=0.0219, rtt_seconds=0.021)) is None, (
        "less than two ticks of a clock"
    )
    assert shapes.owd_share(replace(AFAR, answer_seconds=0.0249)) is None, (
        "less than half of what the RTT rose by"
    )


def test_a_kernel_that_paces_meanwhile_does_not_hide_a_window_that_is_full() -> None:
    full = Evidence(
        throughput_bytes_per_second=0.54e6,
        window_bytes=4344,
        payload_bytes=1448,
        packet_bytes=1500,
        rtt_base_seconds=0.0053,
        rtt_seconds=0.00534,
        loss=0.0,
        rwnd_limited=0.57,
        window_saturated=0.99,
        processor_missed=0.001,
        long_pause_fraction=0.0,
        idle_open_window_fraction=0.0,
    )
    assert diagnose(full).cause == "acknowledgements_delayed"
    for changes in (
        {"rwnd_limited": 0.49},
        {"window_saturated": 0.89},
        {"processor_missed": 0.05},
        {"processor_missed": None},
    ):
        assert diagnose(replace(full, **changes)).cause != "acknowledgements_delayed", changes
