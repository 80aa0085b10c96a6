"""Findings about two captures that were joined."""

from __future__ import annotations

from typing import Any

import pytest

from trustbed.diagnose import CATALOGUE
from trustbed.diagnose.ends_findings import ends_findings

CLOCKS: dict[str, Any] = {
    "ahead_seconds": 0.1,
    "ahead_error_seconds": 0.0,
    "skew": None,
    "skew_error": None,
    "steered_seconds": None,
    "stated": True,
    "frames": 900,
}
MODEL: dict[str, Any] = {
    "clocks": CLOCKS,
    "frames": [1000, 1000],
    "placeless": [0, 0],
    "others": [0, 0],
    "dropped": [0, 0],
    "evicted_connections": 0,
}
ROW: dict[str, Any] = {
    "data_passed": 990,
    "data_unseen": 0,
    "bare_passed": 10,
    "delays_negative": 0,
    "delay_floor_ns": 10_000_000,
}

FOUND = [
    ("ends_capture_drops", {"dropped": [0, 20]}, {}, "warning", "20 packets passed a place and are not in its capture"),
    ("ends_frames_unseen", {}, {"data_unseen": 10}, "warning", "10 data frames (1 %) arrived and were not seen"),
    ("ends_connections_apart", {"placeless": [5, 20]}, {}, "warning", "2 % of the frames belong to connections that were not joined"),
    ("ends_delays_negative", {}, {"delays_negative": 3, "delay_floor_ns": -2_000_000}, "warning", "they were sent, by up to 2.00 ms"),
    ("ends_clocks_steered", {"clocks": {**CLOCKS, "steered_seconds": 0.004}}, {}, "info", "went 4.00 ms against each other"),
    ("ends_clocks_uncertain", {"clocks": {**CLOCKS, "ahead_error_seconds": 0.01}}, {}, "info", "may be wrong by 10.0 ms, either way"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "model", "row", "severity", "words"), FOUND)
def test_each_weakness_is_found(
    code: str, model: dict[str, Any], row: dict[str, Any], severity: str, words: str
) -> None:
    (found,) = ends_findings({**MODEL, **model}, [{**ROW, **row}])
    assert (found.code, found.severity, found.scope) == (code, severity, "capture")
    assert words in found.message


def test_every_finding_about_both_ends_is_tested() -> None:
    assert {code for code, *_ in FOUND} == {code for code in CATALOGUE if code.startswith("ends_")}


def test_two_good_captures_of_one_clock_have_none() -> None:
    assert ends_findings(MODEL, [ROW]) == []


@pytest.mark.parametrize(
    "row",
    [
        {"data_unseen": 0, "data_passed": 2000},
        {"data_unseen": 1, "data_passed": 2000},
        {"delays_negative": 1, "data_passed": 2000},
    ],
)
def test_one_in_two_thousand_is_none(row: dict[str, Any]) -> None:
    assert ends_findings(MODEL, [{**ROW, **row}]) == []


def test_captures_without_a_frame_have_none() -> None:
    assert (
        ends_findings(
            {**MODEL, "frames": [0, 0], "clocks": {**CLOCKS, "ahead_error_seconds": 0.01}}, []
        )
        == []
    )
