"""Whole tables: one outcome per row, in order, streaming, with what the person knows."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from trustbed.diagnose import (
    CAUSES,
    FLAGS,
    VERDICTS,
    CaptureFacts,
    CaptureQuality,
    compensation,
    diagnose,
    judge,
    tally,
    verdict_columns,
)
from trustbed.diagnose.diagnosis import TOO_SHORT_OUTCOME
from trustbed.diagnose.evidence import Evidence
from trustbed.diagnose.judge import judge_row
from trustbed.diagnose.limits import LIMITS
from trustbed.diagnose.rules import RULES

SILENT = {"throughput_bytes_per_second": 1e6, "share_window": 0.33, "share_idle_sender": 0.6}
"""Instead of a full window, the sender's silences."""
NAMES = [*FLAGS, *(rule.name for rule in RULES), *(limit.code for limit in LIMITS)]
"""What an outcome refers to and does not hold."""
UNSENT = {"throughput_bytes_per_second": 1e6, "share_window": 0.3, "share_idle_application": 0.6}
"""The same, with nothing left to send."""


def test_one_outcome_per_row_in_order(row: dict[str, Any]) -> None:
    rows = [row, {"too_short": True}, {**row, **SILENT}]
    causes = [outcome.cause for outcome in judge(rows, {}).outcomes]
    assert causes == ["window_limited", "insufficient", "host_scheduling"]


def test_short_transfers_share_one_object() -> None:
    assert all(
        outcome is TOO_SHORT_OUTCOME for outcome in judge([{"too_short": True}] * 1000, {}).outcomes
    )


def test_what_is_kept_of_a_judged_transfer_is_small(row: dict[str, Any]) -> None:
    silent = {**row, **SILENT, "window_estimated": True, "spacing_source": "estimated"}
    for kept in judge([row, silent], {}, workload="bulk").outcomes:
        own = [part for part in kept if isinstance(part, (float, tuple))]
        assert sys.getsizeof(kept) + sum(map(sys.getsizeof, own)) < 256
        for name in (kept.cause, kept.verdict, kept.rule, *kept.flags):
            assert any(name is word for word in (*CAUSES, *VERDICTS, *NAMES)), f"{name} is a copy"


def test_judge_agrees_with_diagnose(row: dict[str, Any], timed: Evidence) -> None:
    (kept,) = judge([row], {}).outcomes
    judged = judge_row(row, CaptureQuality())
    assert (judged.cause, judged.score, judged.verdict) == (
        "window_limited",
        diagnose(timed).score,
        "trust",
    )
    assert judged.shares is not None
    assert kept == tuple(getattr(judged, name) for name in kept._fields)


def test_what_the_person_knows_counts(row: dict[str, Any]) -> None:
    pausing = {**row, **UNSENT}
    (unknown,), (bulk,) = (
        judge([pausing], {}).outcomes,
        judge([pausing], {}, workload="bulk").outcomes,
    )
    assert (unknown.cause, bulk.cause) == ("sender_application_limited", "host_scheduling")
    link = {**row, "throughput_bytes_per_second": 1.18e6, "share_path": None}
    (unknown,), (given,) = (
        judge([link], {}).outcomes,
        judge([link], {}, capacity=10e6).outcomes,
    )
    assert (unknown.cause, given.cause) == ("unexplained", "bandwidth_limited")


def test_the_capture_counts(row: dict[str, Any]) -> None:
    facts: CaptureFacts = {"timestamp_granularity_ns": 10_000_000, "records": 1000}
    (outcome,) = judge([row], facts).outcomes
    assert (outcome.verdict, outcome.flags) == ("review", ("coarse_timestamps",))


def test_columns(row: dict[str, Any]) -> None:
    columns = verdict_columns(
        judge([{**row, "window_estimated": True}, {"too_short": True}], {}).outcomes
    )
    assert columns == {
        "cause": ["window_limited", "insufficient"],
        "confidence": [0.7, 0.99],
        "verdict": ["review", "not_judged"],
        "rule": ["window_bound", "too_short"],
        "verdict_flags": [["window_estimated"], ["too_short"]],
        "without_stalls_bytes_per_second": [None, None],
        "without_stalls_low_bytes_per_second": [None, None],
        "without_stalls_high_bytes_per_second": [None, None],
    }


def test_only_a_discarded_transfer_has_an_estimate_beside_its_throughput(
    row: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compensation, "IS_SHOWN", True)
    stalled = {
        **row,
        **SILENT,
        "at": "sender",
        "throughput_bytes_per_second": 1.3e6,
        "outstanding_max_bytes": 65_535,
    }
    columns = verdict_columns(judge([row, stalled], {}, workload="bulk").outcomes)
    assert columns["verdict"] == ["trust", "discard"]
    low, middle, high = (
        columns[f"without_stalls_{part}bytes_per_second"] for part in ("low_", "", "high_")
    )
    assert low[0] is middle[0] is high[0] is None
    # 65535 B · 1448/1500 / 20.1 ms are 3.147 MB/s; slow start takes 1.40 of 10 s / 20.1 ms round
    # trips
    assert middle[1] == pytest.approx(3.139e6, rel=0.001)
    assert low[1] < middle[1] < high[1]  # type: ignore[operator]


def test_tally(row: dict[str, Any]) -> None:
    silent = {**row, **SILENT}
    assert tally(judge([silent, row, {"too_short": True}, row], {}).outcomes) == {
        "verdicts": {"trust": 2, "review": 1, "not_judged": 1},
        "causes": {"insufficient": 1, "window_limited": 2, "host_scheduling": 1},
    }
    assert tally([]) == {"verdicts": {}, "causes": {}}
