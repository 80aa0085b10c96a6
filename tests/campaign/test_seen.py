"""Summaries of rounds, and of two-point captures."""

from __future__ import annotations

from typing import Any

import pytest

from trustbed.campaign import Load, SeenRound, TwoPointSummary
from trustbed.campaign.records import JudgedConnection, JudgedRound
from trustbed.scenario.campaign_model import Role


def row(role: Role, rate: float | None, **more: Any) -> JudgedConnection:  # noqa: ANN401 - columns
    return JudgedConnection(role=role, app_bytes_per_second=rate, rtt_base_seconds=0.02, **more)


def test_means_are_of_completed_connections() -> None:
    rows = [
        row("data", 10.0, idle_open_window_fraction=0.5, cause="host_stall", verdict="discard"),
        row("data", 20.0, idle_open_window_fraction=0.1, cause="window_limited", verdict="trust"),
        row("data", 99.0, failure="late"),
        row("probe", None),
    ]
    load = Load(steal_share=0.2, samples=9)
    judged = JudgedRound(
        use="discard", connections=rows, hosts={"sender": load, "receiver": None}, flags=[]
    )
    seen = SeenRound.of(4, 17, judged)
    assert (seen.number, seen.at_ns, seen.use, seen.causes) == (4, 17, "discard", ("host_stall",))
    assert (seen.data, seen.probe, seen.idle_open_window, seen.rtt_base) == (15.0, None, 0.3, 0.02)
    assert (seen.sender, seen.receiver) == (load, Load())


def test_a_round_in_which_nothing_was_measured_is_empty() -> None:
    assert SeenRound.of(1, None, JudgedRound()) == SeenRound(number=1)


def test_two_point_sums_leave_out_connections_that_a_capture_missed() -> None:
    found = TwoPointSummary()
    whole = {
        "lost_between": 2,
        "sent_between": 100,
        "needless": 1,
        "reordered": 0,
        "path_p50_seconds": 0.03,
        "turnaround_p50_seconds": 0.01,
    }
    found.add(row("data", 1.0, **whole))
    found.add(
        row(
            "data",
            1.0,
            **{**whole, "unseen": 3, "lost_between": 50, "turnaround_p50_seconds": 0.03},
        )
    )
    found.add(row("data", 1.0, lost_between=None))
    sums = found.sums("data")
    assert (
        sums.connections,
        sums.counted,
        sums.sent,
        sums.lost_between,
        sums.lost_between_share,
    ) == (2, 1, 100, 2, 0.02)
    assert [
        getattr(sums, name)
        for name in ("path_p50_seconds", "turnaround_p50_seconds", "receiver_share")
    ] == pytest.approx([0.03, 0.02, 0.4])
    assert sums.owd_min_seconds is None
    assert TwoPointSummary().sums("probe").lost_between_share is None


def test_losses_are_a_share_of_the_frames_known_to_be_delivered_or_lost() -> None:
    found = TwoPointSummary()
    found.add(row("data", 1.0, lost_between=2, passed_between=38, sent_between=100))
    found.add(row("data", 1.0, lost_between=0, passed_between=0, sent_between=100))
    sums = found.sums("data")
    assert (sums.connections, sums.counted) == (2, 1)
    assert (sums.sent, sums.lost_between, sums.lost_between_share) == (40, 2, 0.05)
