"""Every finding of the catalogue is found where it should be, and not without its cause."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

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


# code: (facts that make it, its severity, a part of its message)
ABOUT_CAPTURES: list[tuple[str, dict[str, Any], str, str]] = [
    ("capture_kernel_drops", interface(dropped=1000), "warning", "1000 packets (10 %) dropped"),
    ("capture_kernel_drops", interface(os_dropped=1), "info", "1 packet (0.011 %) dropped"),
    (
        "capture_loss",
        {"acked_unseen_bytes": 20_000},
        "warning",
        "20.0 kB (0.2 %) acknowledged but never captured",
    ),
    ("capture_loss", {"acked_unseen_bytes": 1000}, "info", "1.00 kB"),
    (
        "capture_duplicates",
        {"capture_duplicates": 5000},
        "warning",
        "5000 packets (50 %) captured twice",
    ),
    (
        "capture_duplicates",
        {"capture_duplicates": 5000, "deduplicated": True},
        "info",
        "the copies were removed",
    ),
    ("capture_duplicates", {"capture_duplicates": 5}, "info", "0.05 %"),
    (
        "clock_step",
        {"clock_steps": 2, "clock_step_max_ns": 1_500_000_000},
        "warning",
        "2 times, by up to 1.50 s",
    ),
    (
        "records_out_of_order",
        {"reordered_records": 7, "reorder_max_ns": 3_000_000},
        "info",
        "7 records (0.07 %)",
    ),
    (
        "records_out_of_order",
        {"reordered_records": 100, "reorder_max_ns": 3_000_000},
        "warning",
        "by up to 3.00 ms",
    ),
    (
        "coarse_timestamps",
        {"timestamp_granularity_ns": 10_000_000},
        "warning",
        "a multiple of 10.0 ms",
    ),
    (
        "bunched_timestamps",
        {"equal_timestamp_share": 0.6},
        "warning",
        "60 % of the records have the timestamp",
    ),
    (
        "bunched_timestamps",
        {"bunched_share": 0.6},
        "info",
        "60 % of the records were timestamped in bunches",
    ),
    (
        "timestamps_missing",
        {"records_without_time": 12},
        "warning",
        "12 records without a timestamp",
    ),
    (
        "timestamps_missing",
        {"problems": [{"code": "no_timestamp", "file": "a", "offset": 9}]},
        "warning",
        "1 record",
    ),
    (
        "snap_truncation",
        {"snapped_records": 9000},
        "info",
        "9000 records (90 %) stored in part; their headers are whole",
    ),
    (
        "snap_truncation",
        {"snapped_records": 9000, "skips": [{"reason": "truncated", "records": 3}]},
        "warning",
        "the headers of 3 records were cut",
    ),
    ("offload", {"offloaded_connections": 2}, "info", "2 connections of 3 with packets larger"),
    (
        "one_sided",
        {"one_sided_connections": 1},
        "warning",
        "1 connection of 3 captured in one direction only",
    ),
    ("midstream", {"midstream_connections": 3}, "info", "3 connections of 3 already running"),
    (
        "evicted_connections",
        {"evicted_connections": 5, "tcp_connections": None},
        "warning",
        "5 connections given up",
    ),
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
        "error",
        "a.pcap: 7 bytes passed over (byte 4711, record 42)",
    ),
    (
        "read_problem",
        {"problems": [{"code": "truncated_record", "file": "a.pcap", "offset": 9, "record": 1}]},
        "warning",
        "truncated_record (byte 9",
    ),
    (
        "read_problem",
        {"problems_left_out": {"bad_block": 9}},
        "error",
        "9 more problems of the kind bad_block",
    ),
    (
        "skipped_records",
        {"skips": [{"reason": "not_ip", "records": 3}]},
        "info",
        "3 records (0.03 %) not measured: no IP packets",
    ),
    (
        "skipped_records",
        {"skips": [{"reason": "bad_header", "records": 100}]},
        "warning",
        "100 records (1 %)",
    ),
    (
        "skipped_records",
        {"skips": [{"reason": "bad_header", "records": 99}]},
        "info",
        "headers contradict themselves",
    ),
    (
        "skipped_records",
        {"skips": [{"reason": "unsupported_link", "records": 10_000}]},
        "warning",
        "link type",
    ),
    ("wild_sequence_numbers", {"wild_seq": 4}, "warning", "4 fields"),
    ("ignored_holes", {"ignored_holes": 1}, "warning", "1 hole"),
]


@pytest.mark.parametrize(("code", "facts", "severity", "words"), ABOUT_CAPTURES)
def test_about_the_capture(code: str, facts: dict[str, Any], severity: str, words: str) -> None:
    found = [finding for finding in capture_findings({**CLEAN, **facts}) if finding.code == code]  # type: ignore[typeddict-item]
    assert [(finding.severity, finding.scope) for finding in found] == [(severity, "capture")]
    assert words in found[0].message


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


# code: (changes to a healthy row, options, a part of the message)
ABOUT_TRANSFERS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "connection_outage": ({"outage_ns": 2_500_000_000}, {}, "stalled for 2.50 s"),
    "isolated_long_pause": (
        {"spacing_max_ns": 30_000_000},
        {},
        "longest pause 30.0 ms, base RTT 20.0 ms",
    ),
    "exceeds_window_bound": (
        {"throughput_bytes_per_second": 6.2e6},
        {},
        "49.6 Mbit/s is 1.97 times the possible 25.2 Mbit/s",
    ),
    "exceeds_capacity": (
        {},
        {"capacity": 10e6},
        "24.8 Mbit/s is 2.57 times the possible 9.65 Mbit/s",
    ),
    "sent_at_other_end": (
        {},
        {"host_of": lambda _: HostEvidence(ends=TwoPointEvidence(sent_here=False))},
        "the other capture was taken at its sender; its verdict is held at review",
    ),
    "pauses_ambiguous": (
        {
            "throughput_bytes_per_second": 1e6,
            "idle_open_window_fraction": 0.5,
            "app_limited_fraction": 0.3,
        },
        {},
        "host_scheduling, or else sender_application_limited: window full 60 %",
    ),
    "window_estimated": (
        {"window_estimated": True},
        {},
        "score limited to 0.70, and its verdict held at review",
    ),
    "echoed_rtt": (
        {"rtt_source": "timestamp_echo", "rtt_path_ns": 30e6},
        {},
        "score limited to 0.70, and its verdict held at review",
    ),
    "estimated_spacing": (
        {
            "spacing_source": "estimated",
            "throughput_bytes_per_second": 1e6,
            "idle_open_window_fraction": 0.5,
        },
        {},
        "score limited to 0.70: pauses were estimated",
    ),
    "capture_loss": ({"acked_unseen_bytes": 1_000_000}, {}, "score limited to 0.70"),
    "one_sided": (
        {"window_max_bytes": None, "rtt_base_ns": None, "rtt_path_ns": None},
        {},
        "score limited to 0.50",
    ),
}


@pytest.mark.parametrize("code", ABOUT_TRANSFERS)
def test_about_a_transfer(code: str, row: dict[str, Any]) -> None:
    changes, options, words = ABOUT_TRANSFERS[code]
    assert [finding.code for finding in judge([row], CLEAN).findings] == []
    found = [
        finding
        for finding in judge([{**row, **changes}], CLEAN, **options).findings
        if finding.code == code
    ]
    assert [finding.scope for finding in found] == ["1.0"]
    assert words in found[0].message


def test_estimated_pauses_are_no_matter_where_nothing_rests_on_them(row: dict[str, Any]) -> None:
    assert judge([{**row, "spacing_source": "estimated"}], CLEAN).findings == []


def test_an_outage_below_two_seconds_is_none(row: dict[str, Any]) -> None:
    assert judge([{**row, "outage_ns": 1_999_999_999}], CLEAN).findings == []


def stall(row: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {**row, "stall_gaps_ns": [6_000_000_000, 2_000_000_000]},
        {**row, "transfer": "9.0", "stall_gaps_ns": [6_000_000_000]},
    ]


# code: (rows made of a healthy one, scope, a part of the message)
ABOUT_ALL_ROWS: dict[str, tuple[Callable[[dict[str, Any]], list[dict[str, Any]]], str, str]] = {
    "nothing_judged": (
        lambda row: [{**row, "too_short": True}] * 3,
        "capture",
        "none of 3 transfers",
    ),
    "capture_point_unknown": (
        lambda row: [{**row, "at": "unknown"}, row],
        "capture",
        "the capture point of 1 transfer is unknown",
    ),
    "host_stall": (stall, "10.0.0.1", "10.0.0.1 stopped 2 times, for 8.00 s in total"),
}


@pytest.mark.parametrize("code", ABOUT_ALL_ROWS)
def test_about_all_rows(code: str, row: dict[str, Any]) -> None:
    rows, scope, words = ABOUT_ALL_ROWS[code]
    found = [finding for finding in judge(rows(row), CLEAN).findings if finding.code == code]
    assert [finding.scope for finding in found] == [scope]
    assert words in found[0].message


def test_a_transfer_by_itself_is_not_counted_out(row: dict[str, Any]) -> None:
    (found,) = [
        one
        for one in judge([{**row, "too_short": True}], CLEAN).findings
        if one.code == "nothing_judged"
    ]
    assert found.message == "no transfer was long enough to be judged"


def test_a_place_that_was_said_wrongly_is_told_of_the_capture_and_of_each_transfer(
    row: dict[str, Any],
) -> None:
    found = [
        one
        for one in judge([{**row, "capture_point_contradicted": True}, row], CLEAN).findings
        if one.code == "capture_point_contradicted"
    ]
    assert [one.scope for one in found] == ["capture", row["transfer"]]
    assert found[0].message == "1 transfer captured at the other end than given"


def test_subflows_are_told_of_the_capture_and_of_each_transfer(row: dict[str, Any]) -> None:
    found = [
        one
        for one in judge([{**row, "multipath": True}, row], CLEAN).findings
        if one.code == "multipath"
    ]
    assert [one.scope for one in found] == ["capture", row["transfer"]]
    assert found[0].message == "1 subflow of Multipath TCP among the transfers"
    assert (
        "verdict held at review: the connection is one subflow of a Multipath TCP connection"
        in found[1].message
    )


def test_a_capture_without_transfers_judges_nothing_and_says_so_elsewhere() -> None:
    assert judge([], CLEAN).findings == []


def test_a_short_stall_is_told_and_lowers_nothing() -> None:
    (found,) = host_findings({"10.0.0.1": (2.5,), "10.0.0.2": ()})
    assert (found.severity, found.value, found.threshold) == ("info", 2.5, 5.0)


def test_every_finding_is_tested() -> None:
    tested = {code for code, *_ in ABOUT_CAPTURES} | {
        *ABOUT_TRANSFERS,
        *ABOUT_ALL_ROWS,
        "capture_point_contradicted",
        "multipath",
    }
    assert tested == {
        code
        for code in CATALOGUE
        if not code.startswith(("burst_", "machine_", "run_", "two_point_"))
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
