"""Every finding of the catalogue is found where it should be, and not without its cause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.diagnose.conftest import described
from trustbed.diagnose import (
    CATALOGUE,
    CaptureFacts,
    Finding,
    capture_findings,
    host_findings,
    judge,
)
from trustbed.diagnose.findings import finding
from trustbed.diagnose.host import HostEvidence
from trustbed.diagnose.judge import FINDINGS_SHOWN
from trustbed.diagnose.two_point import TwoPointEvidence

CLEAN: CaptureFacts = {
    "files": [
        {
            "name": "a.pcapng",
            "interfaces": [{"name": "eth0", "records": 10_000, "dropped": 0, "os_dropped": 0}],
        }
    ],
    "problems": [],
    "skips": [{"reason": "not_ip", "records": 0, "first_index": None}],
    "records": 10_000,
    "packets": 10_000,
    "clock_steps": 0,
    "reordered_records": 0,
    "timestamp_granularity_ns": 1,
    "equal_timestamp_share": 0.01,
    "bunched_share": 0.1,
    "snapped_records": 0,
    "capture_duplicates": 0,
    "acked_unseen_bytes": 0,
    "unique_bytes": 10_000_000,
    "tcp_connections": 3,
    "offloaded_connections": 0,
    "one_sided_connections": 0,
    "midstream_connections": 0,
    "evicted_connections": 0,
    "wild_seq": 0,
    "ignored_holes": 0,
}


def interface(**counters: int | None) -> dict[str, Any]:
    return {"files": [{"interfaces": [{"records": 9_000, **counters}]}]}


# code, and facts that make it
ABOUT_CAPTURES: list[tuple[str, dict[str, Any]]] = [
    ("capture_kernel_drops", interface(dropped=1000)),
    ("capture_kernel_drops", interface(os_dropped=1)),
    ("capture_loss", {"acked_unseen_bytes": 20_000}),
    ("capture_loss", {"acked_unseen_bytes": 1000}),
    ("capture_duplicates", {"capture_duplicates": 5000}),
    ("capture_duplicates", {"capture_duplicates": 5000, "deduplicated": True}),
    ("capture_duplicates", {"capture_duplicates": 5}),
    ("clock_step", {"clock_steps": 2, "clock_step_max_ns": 1_500_000_000}),
    ("records_out_of_order", {"reordered_records": 7, "reorder_max_ns": 3_000_000}),
    ("records_out_of_order", {"reordered_records": 100, "reorder_max_ns": 3_000_000}),
    ("coarse_timestamps", {"timestamp_granularity_ns": 10_000_000}),
    ("bunched_timestamps", {"equal_timestamp_share": 0.6}),
    ("bunched_timestamps", {"bunched_share": 0.6}),
    ("timestamps_missing", {"records_without_time": 12}),
    ("timestamps_missing", {"problems": [{"code": "no_timestamp", "file": "a", "offset": 9}]}),
    ("snap_truncation", {"snapped_records": 9000}),
    (
        "snap_truncation",
        {"snapped_records": 9000, "skips": [{"reason": "truncated", "records": 3}]},
    ),
    ("offload", {"offloaded_connections": 2}),
    ("one_sided", {"one_sided_connections": 1}),
    ("midstream", {"midstream_connections": 3}),
    ("evicted_connections", {"evicted_connections": 5, "tcp_connections": None}),
    (
        "read_problem",
        {
            "problems": [
                {
                    "code": "skipped_bytes",
                    "file": "a.pcap",
                    "offset": 4711,
                    "record": 42,
                    "detail": "7 bytes passed over",
                }
            ]
        },
    ),
    (
        "read_problem",
        {"problems": [{"code": "truncated_record", "file": "a.pcap", "offset": 9, "record": 1}]},
    ),
    ("read_problem", {"problems_left_out": {"bad_block": 9}}),
    ("skipped_records", {"skips": [{"reason": "not_ip", "records": 3}]}),
    ("skipped_records", {"skips": [{"reason": "bad_header", "records": 100}]}),
    ("skipped_records", {"skips": [{"reason": "bad_header", "records": 99}]}),
    ("skipped_records", {"skips": [{"reason": "unsupported_link", "records": 10_000}]}),
    ("wild_sequence_numbers", {"wild_seq": 4}),
    ("ignored_holes", {"ignored_holes": 1}),
]


def test_about_the_capture(snapshot: SnapshotAssertion) -> None:
    assert [
        described(capture_findings({**CLEAN, **facts}), code) for code, facts in ABOUT_CAPTURES
    ] == snapshot


def test_a_clean_capture_has_none() -> None:
    assert capture_findings(CLEAN) == []


def test_what_is_unknown_is_no_finding() -> None:
    assert capture_findings({}) == []
    assert capture_findings(dict.fromkeys(CLEAN)) == []  # type: ignore[arg-type]


def test_a_record_without_time_is_no_reading_problem() -> None:
    codes = {
        finding.code
        for finding in capture_findings(
            {**CLEAN, "problems": [{"code": "no_timestamp"}], "problems_left_out": {}}
        )
    }
    assert codes == {"timestamps_missing"}


# code: (changes to a healthy row, options)
ABOUT_TRANSFERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "connection_outage": ({"outage_ns": 2_500_000_000}, {}),
    "isolated_long_pause": ({"spacing_max_ns": 30_000_000}, {}),
    "exceeds_window_bound": ({"throughput_bytes_per_second": 6.2e6}, {}),
    "exceeds_capacity": ({}, {"capacity": 10e6}),
    "sent_at_other_end": (
        {},
        {"host_of": lambda _: HostEvidence(ends=TwoPointEvidence(sent_here=False))},
    ),
    "pauses_ambiguous": (
        {"throughput_bytes_per_second": 1e6, "share_window": 0.43, "share_idle_sender": 0.5},
        {},
    ),
    "window_estimated": ({"window_estimated": True}, {}),
    "echoed_rtt": (
        {"rtt_source": "timestamp_echo", "rtt_path_ns": 30e6, "share_path": None},
        {},
    ),
    "estimated_spacing": (
        {
            "spacing_source": "estimated",
            "throughput_bytes_per_second": 1e6,
            "share_window": 0.43,
            "share_idle_sender": 0.5,
        },
        {},
    ),
    "capture_loss": ({"acked_unseen_bytes": 1_000_000}, {}),
    "one_sided": ({"window_max_bytes": None, "rtt_base_ns": None, "rtt_path_ns": None}, {}),
}


def test_about_a_transfer(row: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    assert judge([row], CLEAN).findings == []
    assert [
        described(judge([{**row, **changes}], CLEAN, **options).findings, code)
        for code, (changes, options) in ABOUT_TRANSFERS.items()
    ] == snapshot


def test_estimated_pauses_are_no_matter_where_nothing_rests_on_them(row: dict[str, Any]) -> None:
    assert judge([{**row, "spacing_source": "estimated"}], CLEAN).findings == []


def test_an_outage_below_two_seconds_is_none(row: dict[str, Any]) -> None:
    assert judge([{**row, "outage_ns": 1_999_999_999}], CLEAN).findings == []


def stall(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {**row, "stall_gaps_ns": [6_000_000_000, 2_000_000_000]},
        {**row, "transfer": "9.0", "stall_gaps_ns": [6_000_000_000]},
    ]


# code: rows made of a healthy one
ABOUT_ALL_ROWS: dict[str, Callable[[dict[str, Any]], list[dict[str, Any]]]] = {
    "nothing_judged": lambda row: [{**row, "too_short": True}] * 3,
    "capture_point_unknown": lambda row: [{**row, "at": "unknown"}, row],
    "host_stall": stall,
}


def test_about_all_rows(row: dict[str, Any], snapshot: SnapshotAssertion) -> None:
    assert [
        described(judge(rows(row), CLEAN).findings, code) for code, rows in ABOUT_ALL_ROWS.items()
    ] == snapshot


def test_a_transfer_by_itself_is_not_counted_out(row: dict[str, Any]) -> None:
    (found,) = [
        one
        for one in judge([{**row, "too_short": True}], CLEAN).findings
        if one.code == "nothing_judged"
    ]
    assert found.message == "no transfer was long enough to be judged"


def test_a_contradicted_capture_point_concerns_the_capture_and_each_transfer(
    row: dict[str, Any],
) -> None:
    found = [
        one
        for one in judge([{**row, "capture_point_contradicted": True}, row], CLEAN).findings
        if one.code == "capture_point_contradicted"
    ]
    assert [one.scope for one in found] == ["capture", row["transfer"]]


def test_subflows_concern_the_capture_and_each_transfer(
    row: dict[str, Any], snapshot: SnapshotAssertion
) -> None:
    found = [
        one
        for one in judge([{**row, "multipath": True}, row], CLEAN).findings
        if one.code == "multipath"
    ]
    assert [one.scope for one in found] == ["capture", row["transfer"]]
    assert [one.message for one in found] == snapshot


def test_a_capture_without_transfers_has_no_finding_about_them() -> None:
    assert judge([], CLEAN).findings == []


def test_a_short_stall_is_reported_and_lowers_nothing() -> None:
    (found,) = host_findings({"10.0.0.1": (2.5,), "10.0.0.2": ()})
    assert (found.severity, found.value, found.threshold) == ("info", 2.5, 5.0)


def test_every_finding_is_tested() -> None:
    tested = {code for code, _ in ABOUT_CAPTURES} | {
        *ABOUT_TRANSFERS,
        *ABOUT_ALL_ROWS,
        "capture_point_contradicted",
        "multipath",
        "time_unknown",
    }
    assert tested == {
        code
        for code in CATALOGUE
        if not code.startswith(("burst_", "machine_", "observer_", "run_", "trace_", "two_point_"))
    }


def test_many_transfers_with_the_same_finding_are_folded(row: dict[str, Any]) -> None:
    rows = [
        {**row, "transfer": f"{index}.0", "spacing_max_ns": 30_000_000}
        for index in range(FINDINGS_SHOWN + 7)
    ]
    found = judge(rows, CLEAN).findings
    assert len(found) == FINDINGS_SHOWN + 1
    assert found[-1].message == "the same of 7 more transfers"
    assert found[-1].scope == "capture"


def test_findings_come_in_a_fixed_order(row: dict[str, Any]) -> None:
    rows = [{**row, "outage_ns": 3_000_000_000, "stall_gaps_ns": [6_000_000_000], "at": "unknown"}]
    codes = [finding.code for finding in judge(rows, {**CLEAN, "wild_seq": 1}).findings]
    assert codes == [
        "wild_sequence_numbers",
        "capture_point_unknown",
        "host_stall",
        "connection_outage",
        "capture_point_unknown",
    ]


def test_a_finding_is_data() -> None:
    (found,) = capture_findings({**CLEAN, "clock_steps": 1, "clock_step_max_ns": 20_000_000})
    assert isinstance(found, Finding)
    values = asdict(found)
    assert list(values) == [
        "code",
        "severity",
        "scope",
        "message",
        "value",
        "threshold",
        "unit",
        "evidence",
        "meaning",
        "next_step",
    ]
    assert all(
        values[name]
        for name in (
            "code",
            "severity",
            "scope",
            "message",
            "unit",
            "evidence",
            "meaning",
            "next_step",
        )
    )


def test_a_finding_has_a_severity_of_the_catalogue_and_plain_words() -> None:
    found = finding("multipath", "2 subflows")
    assert "`" not in found.next_step
    assert finding("read_problem", "cut", severity="warning").severity == "warning"
    with pytest.raises(AssertionError, match="does not know read_problem as info"):
        finding("read_problem", "cut", severity="info")
