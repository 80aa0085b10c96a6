"""The estimate of what the network would have given.

By hand, when there is one, and that it never replaces the measured value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from trustbed.diagnose import THRESHOLDS, Evidence, compensation, diagnose
from trustbed.diagnose.causes import Cause
from trustbed.diagnose.compensation import (
    Compensation,
    compensated,
    estimated,
    start_share,
    steady_rate,
)
from trustbed.diagnose.compensation_table import HIGH, LOW
from trustbed.diagnose.conditions import Case
from trustbed.diagnose.quality import Quality

BESIDE = Quality(at="sender")
STARVED = Evidence(
    throughput_bytes_per_second=1e6,
    window_bytes=144_800,
    outstanding_max_bytes=144_800,
    payload_bytes=1448,
    packet_bytes=1500,
    rtt_base_seconds=0.05,
    rtt_seconds=0.052,
    loss=0.0,
    loss_events=0,
    long_pause_fraction=0.0,
    idle_open_window_fraction=0.6,
    duration_seconds=3.0,
)


def case(**changes: Any) -> Case:  # noqa: ANN401 - fields of the evidence
    return Case.of(replace(STARVED, **changes), THRESHOLDS)


def estimate(
    quality: Quality = BESIDE,
    cause: Cause = "host_scheduling",
    **changes: Any,  # noqa: ANN401
) -> Compensation:
    return estimated(case(**changes), cause, quality)


def test_the_rate_is_what_the_window_allows_at_the_measured_round_trip() -> None:
    # 144800 B · 1448/1500 / 52 ms
    assert steady_rate(case()) == pytest.approx(2_688_082, abs=1)


def test_of_a_round_trip_that_bursts_made_longer_a_tenth_above_the_base_counts() -> None:
    # 57.5 ms is 1.15 times the base: 144800 B · 1448/1500 / 55 ms
    assert steady_rate(case(rtt_seconds=0.0575)) == pytest.approx(2_541_459, abs=1)


def test_slow_start_costs_its_round_trips_less_what_was_sent_in_them() -> None:
    # 10 → 100 segments: log₂ 10 = 3.3219 round trips of 52 ms, in which 90 segments go instead of
    # 332.19: 2.4219 round trips of 3 s
    assert start_share(case()) == pytest.approx(0.041980, abs=1e-6)
    # 10 → 20 segments: one round trip, in which 10 segments go instead of 20
    assert start_share(case(window_bytes=28_960)) == pytest.approx(0.5 * 0.052 / 3)
    assert start_share(case(window_bytes=14_480)) == 0


def test_the_estimate_and_its_interval() -> None:
    found = estimate()
    # 2688082 · (1 - 0.041980)
    assert found.bytes_per_second == pytest.approx(2_575_236, abs=2)
    assert found.low_bytes_per_second == pytest.approx(2_575_236 * LOW, abs=2)
    assert found.high_bytes_per_second == pytest.approx(2_575_236 * HIGH, abs=2)
    assert found.why_not == ""
    assert found.words(1e6) == (
        "measured 8.00 Mbit/s; without the stalls about 20.6 Mbit/s (19.0 Mbit/s to 22.7 "
        "Mbit/s), an estimate"
    )


def test_a_network_gave_at_least_what_was_measured() -> None:
    found = estimate(throughput_bytes_per_second=2.6e6)
    assert found.bytes_per_second == found.low_bytes_per_second == 2.6e6
    assert found.high_bytes_per_second == pytest.approx(HIGH * 2.6e6)


def test_there_is_no_estimate_where_no_validated_transfer_was_alike(
    snapshot: SnapshotAssertion,
) -> None:
    cases: list[dict[str, Any]] = [
        {"loss": 0.001},
        {"loss": None},
        {"rtt_seconds": 0.06},
        {"rtt_base_seconds": None},
        {"outstanding_max_bytes": 0.94 * 144_800},
        {"outstanding_max_bytes": None},
        {"window_bytes": None},
        {"send_buffer_limited": 0.5},
        {"duration_seconds": None},
        # 2.4219 round trips of 52 ms are 126 ms: a fifth of 630 ms
        {"duration_seconds": 0.62},
    ]
    estimates = [estimate(**changes) for changes in cases]
    for found in estimates:
        assert found.bytes_per_second is None
        assert found.low_bytes_per_second is None
        assert found.high_bytes_per_second is None
    assert [found.words(1e6) for found in estimates] == snapshot


def test_the_borders_belong_to_the_validated_side() -> None:
    for changes in (
        {"loss": 0.00099},
        {"rtt_seconds": 0.0599},
        {"outstanding_max_bytes": 0.951 * 144_800},
        {"duration_seconds": 0.64},
    ):
        assert estimate(**changes).why_not == ""


def test_a_link_that_is_narrower_than_the_window_leaves_no_estimate() -> None:
    # 16 Mbit/s of IP packets: 1.93 MB/s of payload, below the 2.69 MB/s of the window; a queue
    # stood before it
    queued = {"rtt_high_seconds": 0.2, "rate_high_bytes_per_second": 1.93e6}
    found = estimate(capacity_bytes_per_second=2e6, capacity_source="given", **queued)
    assert "what a link would have carried" in found.why_not


@pytest.mark.parametrize("at", ["receiver", "middle", "unknown", None])
def test_only_beside_the_sender(at: str | None) -> None:
    assert "not taken beside the sender" in estimate(Quality(at=at)).why_not


def test_a_window_of_unknown_scale_bounds_nothing() -> None:
    assert "not known for certain" in estimate(Quality(at="sender", window_estimated=True)).why_not


@pytest.mark.parametrize("cause", ["driver_stall", "host_stall"])
def test_machines_that_stopped_altogether_were_never_validated(cause: Cause) -> None:
    assert estimate(cause=cause).why_not == "no validated transfer stalled like this one"


def test_only_discarded_transfers_have_estimates() -> None:
    assert compensated(case(), "host_scheduling", "review", BESIDE) is None
    assert compensated(case(), "sender_application_limited", "discard", BESIDE) is None
    assert (
        diagnose(
            replace(STARVED, throughput_bytes_per_second=2.6e6, idle_open_window_fraction=0.0),
            quality=BESIDE,
        ).compensation
        is None
    )


def test_an_estimate_that_is_not_good_enough_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compensation, "IS_SHOWN", False)
    found = compensated(case(), "host_scheduling", "discard", BESIDE)
    assert found == Compensation(why_not="too few validated transfers show how near it comes")
    monkeypatch.setattr(compensation, "IS_SHOWN", True)
    assert compensated(case(), "host_scheduling", "discard", BESIDE) == estimate()


def test_a_diagnosis_carries_it_beside_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compensation, "IS_SHOWN", True)
    diagnosis = diagnose(STARVED, quality=BESIDE)
    assert (diagnosis.cause, diagnosis.verdict) == ("host_scheduling", "discard")
    assert diagnosis.compensation == estimate()
