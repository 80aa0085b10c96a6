"""Findings about captures whose burstiness was measured."""

from __future__ import annotations

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.diagnose.conftest import described
from trustbed.diagnose import CATALOGUE
from trustbed.diagnose.burst_findings import burst_findings

CLEAN: dict[str, Any] = {"records": 1000, "packets": 1000, "clock_steps": 0, "super_packets": 0}
MODEL: dict[str, Any] = {
    "packets": 1000,
    "duration_seconds": 20.0,
    "window_seconds": 0.1,
    "windows": [{"packets": 5}],
    "summary": {"windows": 200},
    "rates": {"longest_silence_seconds": 0.5},
    "left_out": {"filtered": 0, "without_ip": 0},
    "offload": "stacked",
}
SUPER = {
    "super_packets": 7,
    "super_packet_frames": 70,
    "super_packets_guessed": 2,
    "super_packets_not_spread": 3,
}

FOUND: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("burst_no_packets", {}, {"packets": 0, "left_out": {"filtered": 10, "without_ip": 0}}),
    ("burst_no_whole_window", {}, {"summary": {"windows": 0}}),
    ("burst_clock_steps", {"clock_steps": 2, "clock_step_max_ns": 5 * 10**8}, {}),
    ("burst_silence", {}, {"rates": {"longest_silence_seconds": 15.0}}),
    ("burst_super_packets", SUPER, {}),
    ("burst_super_packets", SUPER, {"offload": "spread"}),
    ("burst_without_ip", {}, {"left_out": {"filtered": 0, "without_ip": 3}}),
]


def test_each_weakness_is_found(snapshot: SnapshotAssertion) -> None:
    found = [
        (burst_findings({**CLEAN, **facts}, {**MODEL, **model}), code)
        for code, facts, model in FOUND
    ]
    assert [len(findings) for findings, _ in found] == [1] * len(FOUND)
    assert [described(findings, code) for findings, code in found] == snapshot


def test_every_finding_about_bursts_is_tested() -> None:
    assert {code for code, *_ in FOUND} == {code for code in CATALOGUE if code.startswith("burst_")}


def test_a_clean_capture_has_none() -> None:
    assert burst_findings(CLEAN, MODEL) == []  # type: ignore[arg-type]


def test_what_concerns_arrival_times_is_shared_with_verdicts_and_nothing_else() -> None:
    facts = {
        **CLEAN,
        "reordered_records": 1,
        "tcp_connections": 3,
        "one_sided_connections": 3,
        "capture_duplicates": 3,
    }
    assert [found.code for found in burst_findings(facts, MODEL)] == ["records_out_of_order"]  # type: ignore[arg-type]


@pytest.mark.parametrize(("duration", "silence"), [(1.5, 0.9), (20.0, 9.9)])
def test_short_silences_are_none(duration: float, silence: float) -> None:
    model = {**MODEL, "duration_seconds": duration, "rates": {"longest_silence_seconds": silence}}
    assert burst_findings(CLEAN, model) == []  # type: ignore[arg-type]


def test_what_was_not_measured_is_not_judged() -> None:
    assert burst_findings(CLEAN, {**MODEL, "windows": [], "summary": None, "rates": None}) == []  # type: ignore[arg-type]
