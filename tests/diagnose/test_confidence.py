"""Every line of the confidence table adds its points, and only when it applies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from trustbed.diagnose import THRESHOLDS, Cause, Evidence, diagnose
from trustbed.diagnose.conditions import Case
from trustbed.diagnose.confidence import CONFIDENCE

PAUSING: dict[str, Any] = {
    "throughput_bytes_per_second": 1.0e6,
    "long_pause_fraction": 0.4,
    "idle_open_window_fraction": 0.0,
    "window_saturated": 0.5,
    "loss": 0.001,
}
BLIND: dict[str, Any] = {
    "long_pause_fraction": None,
    "idle_open_window_fraction": None,
    "spacing_mean_seconds": None,
}
SLOW: dict[str, Any] = {"throughput_bytes_per_second": 1.0e6}
CAPPED: dict[str, Any] = {"outstanding_mean_bytes": 19_000.0, "outstanding_max_bytes": 20_000.0}
BENT: dict[str, Any] = {
    "burst_rate_bytes_per_second": 3.9e6,
    "sustained_rate_bytes_per_second": 3.0e6,
    "rate_low_bytes_per_second": 2.86e6,
    "rate_middle_bytes_per_second": 3.0e6,
    "sustained_rtt_min_seconds": 0.025,
}

# cause, addition: (evidence without it, confidence, change, confidence with it)
STEPS: list[tuple[Cause, dict[str, Any], int, dict[str, Any], int]] = [
    (
        "driver_stall",
        {"stall_gaps_seconds": (9.0,), "kernel_reset": True},
        90,
        {"stall_gaps_seconds": (13.0,)},
        99,
    ),
    ("driver_stall", {"stall_gaps_seconds": (13.5,)}, 80, {"kernel_reset": True}, 99),
    ("host_stall", {"stall_gaps_seconds": (7.0,), "cpu_share": 0.9}, 60, {"cpu_share": 0.89}, 80),
    ("network_loss", {**SLOW, **BLIND, "loss": 0.0099, "loss_events": 4}, 60, {"loss": 0.01}, 80),
    (
        "network_loss",
        {**SLOW, **BLIND, "loss": 0.006, "loss_events": 4},
        60,
        {"long_pause_fraction": 0.0},
        70,
    ),
    (
        "network_loss",
        {**BLIND, "throughput_bytes_per_second": 0.8e6, "loss": 0.009, "loss_events": 99},
        70,
        {"loss": 0.0101},
        90,
    ),
    (
        "network_loss",
        {**BLIND, **SLOW, "loss": 0.0055, "loss_events": 99},
        70,
        {"throughput_bytes_per_second": 0.5e6},
        60,
    ),
    (
        "network_congestion",
        {**SLOW, **BLIND, "rtt_seconds": 0.0245},
        60,
        {"rtt_seconds": 0.0251},
        70,
    ),
    (
        "network_congestion",
        {**SLOW, **BLIND, "rtt_seconds": 0.0245, "loss": 0.0001},
        60,
        {"loss": 0.00011, "loss_events": 1},
        70,
    ),
    (
        "network_congestion",
        {**SLOW, **BLIND, "rtt_seconds": 0.0245},
        60,
        {"throughput_bytes_per_second": 2.4e6},
        70,
    ),
    (
        "network_congestion",
        {**SLOW, **BLIND, "rtt_seconds": 0.0245},
        60,
        {"idle_open_window_fraction": 0.0},
        70,
    ),
    (
        "bandwidth_limited",
        {**BLIND, **SLOW, "capacity_bytes_per_second": 1.1e6},
        80,
        {"long_pause_fraction": 0.1},
        90,
    ),
    (
        "window_limited",
        {**BLIND, "throughput_bytes_per_second": 3.7e6, "window_saturated": None},
        60,
        {**SLOW, "window_bytes": 20_000},
        80,
    ),
    ("window_limited", {**BLIND, "window_saturated": 0.89}, 80, {"window_saturated": 0.9}, 90),
    ("window_limited", {**BLIND, "window_saturated": 0.89}, 80, {"long_pause_fraction": 0.0}, 90),
    ("receiver_limited", {**SLOW, "window_closed": 0.49}, 60, {"window_closed": 0.5}, 80),
    (
        "receiver_limited",
        {**SLOW, "window_closed": 0.2},
        60,
        {"window_shrunk": 0.5, "rwnd_limited": 0.5},
        90,
    ),
    (
        "policed",
        {**SLOW, "loss_level_rank": 0.1, "loss": 0.0099, "loss_events": 20},
        60,
        {"loss": 0.01},
        70,
    ),
    (
        "policed",
        {**SLOW, "loss": 0.002, "loss_events": 20, "loss_level_rank": 0.1},
        60,
        {"rtt_before_loss_seconds": 0.02, "rtt_high_seconds": 0.06},
        80,
    ),
    ("shaped", {**BLIND, **BENT}, 80, {"long_pause_fraction": 0.0}, 90),
    (
        "reordering",
        {**BLIND, **SLOW, "late_segments": 9, "data_segments": 2000},
        60,
        {"late_segments": 10},
        80,
    ),
    (
        "reordering",
        {**BLIND, **SLOW, "late_segments": 9, "data_segments": 2000},
        60,
        {"long_pause_fraction": 0.0},
        70,
    ),
    ("send_buffer_limited", {**SLOW, **CAPPED}, 60, {"send_buffer_limited": 0.5}, 80),
    ("host_scheduling", {**PAUSING, "cpu_share": 0.9}, 60, {"cpu_share": 0.89}, 80),
    ("host_scheduling", {**PAUSING, "cpu_share": 0.94}, 60, {"cpu_share": 0.95}, 40),
    ("host_scheduling", PAUSING, 60, {"window_saturated": 0.9}, 70),
    ("host_scheduling", PAUSING, 60, {"idle_open_window_fraction": 0.45}, 70),
    ("host_scheduling", PAUSING, 60, {"loss": 0.0009}, 70),
    ("host_scheduling", PAUSING, 60, {"loss": None}, 70),
    (
        "host_scheduling",
        {**PAUSING, "answer_seconds": 0.0019, "unfilled_per_train": 0.0},
        60,
        {"answer_seconds": 0.0021},
        70,
    ),
    (
        "host_scheduling",
        {**SLOW, **BLIND, "rate_high_bytes_per_second": 2e6, "window_saturated": 0.5},
        70,
        {"long_pause_fraction": 0.0},
        60,
    ),
    (
        "sender_application_limited",
        {**PAUSING, "workload": "interactive"},
        60,
        {"app_limited_fraction": 0.5},
        80,
    ),
    (
        "sender_application_limited",
        {**PAUSING, "workload": "interactive", "rwnd_limited": 0.4, "unfilled_per_train": 0.32},
        60,
        {"unfilled_per_train": 0.33},
        80,
    ),
    ("slow_start", {**SLOW, **BLIND, "slow_start": True}, 70, {"long_pause_fraction": 0.0}, 80),
]


@pytest.mark.parametrize(("cause", "before", "without", "change", "with_it"), STEPS)
def test_additions(
    cause: Cause,
    before: dict[str, Any],
    without: int,
    change: dict[str, Any],
    with_it: int,
    healthy: Evidence,
) -> None:
    evidence = replace(healthy, **before)
    first, second = diagnose(evidence), diagnose(replace(evidence, **change))
    assert (first.cause, round(first.confidence * 100)) == (cause, without)
    assert (second.cause, round(second.confidence * 100)) == (cause, with_it)


def test_bases_without_additions(healthy: Evidence) -> None:
    assert diagnose(replace(healthy, **SLOW)).confidence == 0.3
    assert diagnose(replace(healthy, throughput_bytes_per_second=None)).confidence == 0.4
    assert diagnose(replace(healthy, failed=True)).confidence == 0.99


def test_every_addition_is_tested(healthy: Evidence) -> None:
    flipped = set()
    for cause, before, _, change, _ in STEPS:
        evidence = replace(healthy, **before)
        first, second = (
            Case.of(evidence, THRESHOLDS),
            Case.of(replace(evidence, **change), THRESHOLDS),
        )
        for points, condition in CONFIDENCE[cause].additions:
            if condition.holds(first) != condition.holds(second):
                flipped.add((cause, points, condition.words))
    assert flipped == {
        (cause, points, condition.words)
        for cause, table in CONFIDENCE.items()
        for points, condition in table.additions
    }


def test_what_is_left_by_elimination_is_for_a_human(healthy: Evidence) -> None:
    """Nothing but fast moments.

    A kernel that misses its processor makes it sure, a full window does not.
    """
    left = replace(healthy, **SLOW, rate_high_bytes_per_second=2e6)
    assert diagnose(left).rule == "ran_now_and_then"
    assert diagnose(left).verdict == "review"
    assert diagnose(replace(left, cpu_share=0.5)).verdict == "discard"


def test_a_host_is_discarded_from_eighty_on(healthy: Evidence) -> None:
    pausing = replace(healthy, **PAUSING)
    assert diagnose(replace(pausing, window_saturated=1.0)).verdict == "review"
    assert (
        diagnose(replace(pausing, window_saturated=1.0, idle_open_window_fraction=0.45)).verdict
        == "discard"
    )
