"""Findings about two captures that were joined."""

from __future__ import annotations

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.diagnose.conftest import described
from trustbed.diagnose import CATALOGUE
from trustbed.diagnose.two_point_findings import two_point_findings

CLOCKS: dict[str, Any] = {
    "ahead_seconds": 0.1,
    "ahead_error_seconds": 0.0,
    "skew": None,
    "skew_error": None,
    "clock_slew_seconds": None,
    "stated": True,
    "frames": 900,
}
MODEL: dict[str, Any] = {
    "clocks": CLOCKS,
    "frames": [1000, 1000],
    "without_capture_point": [0, 0],
    "others": [0, 0],
    "dropped": [0, 0],
    "evicted_connections": 0,
}
ROW: dict[str, Any] = {
    "data_frames_delivered": 990,
    "data_frames_missed": 0,
    "no_payload_frames_delivered": 10,
    "delays_negative": 0,
    "owd_min_ns": 10_000_000,
}

FOUND: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("two_point_capture_drops", {"dropped": [0, 20]}, {}),
    ("two_point_frames_missed", {}, {"data_frames_missed": 10}),
    ("two_point_connections_apart", {"without_capture_point": [5, 20]}, {}),
    ("two_point_delays_negative", {}, {"delays_negative": 3, "owd_min_ns": -2_000_000}),
    ("two_point_clocks_slewed", {"clocks": {**CLOCKS, "clock_slew_seconds": 0.004}}, {}),
    ("two_point_clocks_uncertain", {"clocks": {**CLOCKS, "ahead_error_seconds": 0.01}}, {}),
]


def test_each_weakness_is_found(snapshot: SnapshotAssertion) -> None:
    found = [
        (two_point_findings({**MODEL, **model}, [{**ROW, **row}]), code)
        for code, model, row in FOUND
    ]
    assert [len(findings) for findings, _ in found] == [1] * len(FOUND)
    assert [described(findings, code) for findings, code in found] == snapshot


def test_every_finding_about_both_ends_is_tested() -> None:
    assert {code for code, *_ in FOUND} == {
        code for code in CATALOGUE if code.startswith("two_point_")
    }


def test_two_good_captures_of_one_clock_have_none() -> None:
    assert two_point_findings(MODEL, [ROW]) == []


@pytest.mark.parametrize(
    "row",
    [
        {"data_frames_missed": 0, "data_frames_delivered": 2000},
        {"data_frames_missed": 1, "data_frames_delivered": 2000},
        {"delays_negative": 1, "data_frames_delivered": 2000},
    ],
)
def test_one_in_two_thousand_is_none(row: dict[str, Any]) -> None:
    assert two_point_findings(MODEL, [{**ROW, **row}]) == []


def test_captures_without_a_frame_have_none() -> None:
    assert (
        two_point_findings(
            {**MODEL, "frames": [0, 0], "clocks": {**CLOCKS, "ahead_error_seconds": 0.01}}, []
        )
        == []
    )
