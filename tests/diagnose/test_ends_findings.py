"""Findings about two captures that were joined."""

from __future__ import annotations

from typing import Any

import pytest

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

FOUND = [
    (
        "two_point_capture_drops",
        {"dropped": [0, 20]},
        {},
        "warning",
        "20 packets passed a capture point and are missing in its capture",
    ),
    (
        "two_point_frames_missed",
        {},
        {"data_frames_missed": 10},
        "warning",
        "10 data frames (1 %) arrived and are missing",
    ),
    (
        "two_point_connections_apart",
        {"without_capture_point": [5, 20]},
        {},
        "warning",
        "2 % of the frames belong to connections that were not joined",
    ),
    (
        "two_point_delays_negative",
        {},
        {"delays_negative": 3, "owd_min_ns": -2_000_000},
        "warning",
        "they were sent, by up to 2.00 ms",
    ),
    (
        "two_point_clocks_slewed",
        {"clocks": {**CLOCKS, "clock_slew_seconds": 0.004}},
        {},
        "info",
        "drifted by 4.00 ms against each other",
    ),
    (
        "two_point_clocks_uncertain",
        {"clocks": {**CLOCKS, "ahead_error_seconds": 0.01}},
        {},
        "info",
        "may be wrong by 10.0 ms, either way",
    ),
]


@pytest.mark.parametrize(("code", "model", "row", "severity", "words"), FOUND)
def test_each_weakness_is_found(
    code: str, model: dict[str, Any], row: dict[str, Any], severity: str, words: str
) -> None:
    (found,) = two_point_findings({**MODEL, **model}, [{**ROW, **row}])
    assert (found.code, found.severity, found.scope) == (code, severity, "capture")
    assert words in found.message


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
