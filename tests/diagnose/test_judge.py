"""Whole tables: one diagnosis per row, in order, streaming, with what the person knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trustbed.diagnose import TOO_SHORT, CaptureFacts, diagnose, examine, judge, tally, verdict_columns
from trustbed.diagnose.evidence import Evidence


def test_one_diagnosis_per_row_in_order(row: dict[str, Any]) -> None:
    slow = {**row, "throughput_bytes_per_second": 1e6, "withheld_fraction": 0.6}
    causes = [diagnosis.cause for diagnosis in judge([row, {"too_short": True}, slow], {})]
    assert causes == ["window_limited", "insufficient", "host_scheduling"]


def test_rows_are_taken_one_at_a_time(row: dict[str, Any]) -> None:
    taken: list[int] = []

    def rows() -> Iterator[dict[str, Any]]:
        for index in range(3):
            taken.append(index)
            yield row

    diagnoses = judge(rows(), {})
    next(diagnoses)
    assert taken == [0]


def test_short_transfers_share_one_object() -> None:
    diagnoses = list(judge([{"too_short": True}] * 1000, {}))
    assert all(diagnosis is TOO_SHORT for diagnosis in diagnoses)
    assert all(diagnosis is TOO_SHORT for diagnosis in examine([{"too_short": True}] * 1000, {}).diagnoses)


def test_judge_and_examine_agree_with_diagnose(row: dict[str, Any], healthy: Evidence) -> None:
    (judged,) = judge([row], {})
    assert [judged] == examine([row], {}).diagnoses
    assert (judged.cause, judged.score, judged.verdict) == ("window_limited", diagnose(healthy).score, "trust")
    assert judged.shares is not None


def test_what_the_person_knows_counts(row: dict[str, Any]) -> None:
    pausing = {**row, "throughput_bytes_per_second": 1e6, "withheld_fraction": 0.6, "app_limited_fraction": 0.6}
    (unknown,), (bulk,) = judge([pausing], {}), judge([pausing], {}, workload="bulk")
    assert (unknown.cause, bulk.cause) == ("sender_application_limited", "host_scheduling")
    link = {**row, "throughput_bytes_per_second": 1.18e6}
    (unknown,), (given,) = judge([link], {}), judge([link], {}, capacity=10e6)
    assert (unknown.cause, given.cause) == ("unexplained", "bandwidth_limited")


def test_the_capture_counts(row: dict[str, Any]) -> None:
    facts: CaptureFacts = {"timestamp_granularity_ns": 10_000_000, "records": 1000}
    (diagnosis,) = judge([row], facts)
    assert (diagnosis.verdict, diagnosis.flags) == ("review", ("coarse_timestamps",))


def test_columns(row: dict[str, Any]) -> None:
    columns = verdict_columns(examine([{**row, "window_estimated": True}, {"too_short": True}], {}).diagnoses)
    assert columns == {
        "cause": ["window_limited", "insufficient"],
        "confidence": [0.7, 0.99],
        "verdict": ["review", "not_judged"],
        "rule": ["window_explains", "too_short"],
        "verdict_flags": [["window_estimated"], ["too_short"]],
    }


def test_tally(row: dict[str, Any]) -> None:
    slow = {**row, "throughput_bytes_per_second": 1e6}
    assert tally(judge([slow, row, {"too_short": True}, row], {})) == {
        "verdicts": {"trust": 2, "review": 1, "not_judged": 1},
        "causes": {"insufficient": 1, "window_limited": 2, "unexplained": 1},
    }
    assert tally([]) == {"verdicts": {}, "causes": {}}
