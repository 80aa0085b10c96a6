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
TIMED: dict[str, Any] = {"path": 0.0}

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
    ("receiver_limited", {**SLOW, "window_closed": 0.2}, 60, {**TIMED, "zero_window": 0.15}, 80),
    (
        "send_buffer_limited",
        {**TIMED, "sender_buffer": 0.9},
        60,
        {"send_buffer_limited": 0.5},
        80,
    ),
    ("host_scheduling", {**PAUSING, "cpu_share": 0.9}, 60, {"cpu_share": 0.89}, 80),
    ("host_scheduling", {**PAUSING, "cpu_share": 0.94}, 60, {"cpu_share": 0.95}, 40),
    ("host_scheduling", PAUSING, 60, {"window_saturated": 0.9}, 70),
    ("host_scheduling", PAUSING, 60, {"idle_open_window_fraction": 0.45}, 70),
    ("host_scheduling", PAUSING, 60, {"loss": 0.0009}, 70),
    ("host_scheduling", PAUSING, 60, {"loss": None}, 70),
    ("host_scheduling", {**PAUSING, "processor_missed": 0.49}, 60, {"processor_missed": 0.5}, 80),
    (
        "host_scheduling",
        {**PAUSING, **TIMED, "idle_sender": 0.5},
        60,
        {"workload": "bulk"},
        80,
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
        {**TIMED, "idle_application": 0.5, "processor_missed": 0.05},
        60,
        {"processor_missed": 0.049},
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
        if cause != "policed"
    }


def test_losses_that_show_a_policer_are_heavy(healthy: Evidence) -> None:
    policed: dict[str, Any] = {
        "queued_before_loss": 0.0,
        "exchanges_lossy": 1,
        "exchanges_bucket_empty": 1,
    }
    diagnosis = diagnose(replace(healthy, loss=0.01, **policed))
    assert (diagnosis.cause, diagnosis.score) == ("policed", 0.8)


def test_where_the_packets_leave_more_than_one_reading_the_score_is_capped(
    healthy: Evidence,
) -> None:
    silent = replace(healthy, **TIMED, idle_sender=0.5)
    case = Case.of(silent, THRESHOLDS)
    assert CONFIDENCE["host_scheduling"].hundredths(case) == 80
    assert (diagnose(silent).score, diagnose(silent).verdict) == (0.75, "review")
    bulk = replace(silent, workload="bulk")
    assert (diagnose(bulk).score, diagnose(bulk).verdict) == (0.99, "discard")


def test_a_host_is_discarded_from_eighty_on(healthy: Evidence) -> None:
    pausing = replace(healthy, **PAUSING)
    assert diagnose(replace(pausing, window_saturated=1.0)).verdict == "review"
    assert (
        diagnose(replace(pausing, window_saturated=1.0, idle_open_window_fraction=0.45)).verdict
        == "discard"
    )
