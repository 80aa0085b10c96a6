"""Published cases and recorded transfers get their known causes, verdicts and numbers."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from trustbed.diagnose import Evidence, diagnose
from trustbed.diagnose.numbers import derive
from trustbed.diagnose.thresholds import THRESHOLDS

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
NUMBERS = {
    "X0_Bps": "x0_bytes_per_second",
    "X1_Bps": "x1_bytes_per_second",
    "X2_Bps": "x2_bytes_per_second",
    "expected_Bps": "expected_bytes_per_second",
    "ratio": "ratio",
    "rtt_inflation": "rtt_inflation",
    "T_pkt_s": "packet_period_seconds",
    "oversize": "long_pauses",
}
#: Flags of the published cases that have another name here.
FLAGS = {"isolated_oversize_spacing": "isolated_long_pause"}


def test_there_are_cases(
    published_cases: list[dict[str, Any]], recorded_cases: list[dict[str, Any]]
) -> None:
    assert len(published_cases) == 34
    assert len(recorded_cases) == 10


def test_published_cases(published_cases: list[dict[str, Any]]) -> None:
    for case in published_cases:
        diagnosis = diagnose(Evidence.from_published(case["evidence"]))
        expected = case["expect"]
        assert diagnosis.cause == expected["cause"], case["case"]
        assert diagnosis.confidence == pytest.approx(expected["confidence"], abs=1e-9), case["case"]
        assert diagnosis.verdict == expected["verdict"], case["case"]
        assert list(diagnosis.flags) == [FLAGS.get(flag, flag) for flag in expected["flags"]]
        assert (diagnosis.numbers is None) == (not expected["numbers"]), case["case"]
        for name, value in expected["numbers"].items():
            ours = getattr(diagnosis.numbers, NUMBERS[name])
            if value is None or isinstance(value, bool):
                assert ours is value, (case["case"], name)
            else:
                assert ours == pytest.approx(value, rel=1e-9), (case["case"], name)


def test_recorded_transfers_from_the_capture_alone(recorded_cases: list[dict[str, Any]]) -> None:
    for case in recorded_cases:
        diagnosis = diagnose(Evidence.from_published(case["evidence"]))
        assert diagnosis.cause in case["accept_from_capture_alone"], case["name"]
        assert diagnosis.verdict in case["verdicts_accepted"], case["name"]


def test_recorded_transfers_declared_as_bulk(recorded_cases: list[dict[str, Any]]) -> None:
    declared = [case for case in recorded_cases if case["accept_when_workload_is_bulk"] is not None]
    assert len(declared) == 9
    for case in declared:
        diagnosis = diagnose(Evidence.from_published({**case["evidence"], "workload": "bulk"}))
        assert diagnosis.cause in case["accept_when_workload_is_bulk"], case["name"]
        assert diagnosis.verdict in case["verdicts_accepted"], case["name"]


def test_where_two_causes_are_acceptable_the_other_one_is_named(
    recorded_cases: list[dict[str, Any]],
) -> None:
    for case in recorded_cases:
        diagnosis = diagnose(Evidence.from_published(case["evidence"]))
        named = {diagnosis.cause, *(alternative.cause for alternative in diagnosis.alternatives)}
        assert set(case["accept_from_capture_alone"]) <= named, case["name"]


def test_the_starved_guest_leaves_no_doubt(recorded_cases: list[dict[str, Any]]) -> None:
    (case,) = [case for case in recorded_cases if case["name"] == "guest-quota"]
    diagnosis = diagnose(Evidence.from_published(case["evidence"]))
    assert diagnosis.headline == "the sending host stalled — do not use"
    assert diagnosis.reasons[:3] == (
        "13.1 Mbit/s where window and delay allow 30.3 Mbit/s (43 %)",
        "idle with an open window for 80 % of the time",
        "RTT 20.7 ms is the path's own (base 20.0 ms), no packet lost",
    )
    assert diagnosis.alternatives == ()


def test_published_window_bounds() -> None:
    golden = json.loads((GOLDEN / "throughput.json").read_text(encoding="utf-8"))
    printed, rtt = golden["from_paper"]["ideal_KBps"], golden["from_paper"]["ping_rtt_s"]
    for pair, kilobytes in printed.items():
        evidence = Evidence(
            window_bytes=65535, payload_bytes=1368, packet_bytes=1420, rtt_base_seconds=rtt[pair]
        )
        x0 = derive(evidence, THRESHOLDS).x0_bytes_per_second
        assert x0 is not None
        assert math.floor(x0 / 100) / 10 == kilobytes, pair
