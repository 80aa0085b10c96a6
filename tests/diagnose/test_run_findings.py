"""Findings about repetitions of a run, and the use of a repetition that follows from them."""

from __future__ import annotations

from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.diagnose.conftest import described
from trustbed.diagnose import CATALOGUE
from trustbed.diagnose.run_findings import run_findings, use

PUNCTUAL = {
    "packets": 1000,
    "p50_ns": 3000,
    "p99_ns": 14_000,
    "max_ns": 300_000,
    "late_by_more_than_a_packet_time": 0.0,
}
PUNCTUAL["overdue_share"] = 0.001
CLEAN: dict[str, Any] = {
    "emulator": {
        "departure_error": PUNCTUAL,
        "unsent_packets": 0,
        "pipes": [{"name": "up", "dropped": {"queue_full": 700}}],
        "ports": [{"host": "client", "socket_drops": 0}],
        "ledger": {"records": 1000, "lost": 0, "error": None},
    },
    "emulator_ready": {"priority": "fifo", "priority_refused": None},
    "backgrounds": [
        {
            "name": "noise",
            "send": {
                "generator_late": True,
                "departure_error": {
                    "generator_late": False,
                    "packets": 10,
                    "over_1ms_share": 0.001,
                },
            },
        }
    ],
    "workloads": [{"name": "pages", "outcome": "complete", "seconds": 10.0, "exit_code": 0}],
    "failures": [],
    "machine": {"steal_share": 0.0, "throttled_share": None},
}
LATE_SEND = {
    "generator_late": True,
    "departure_error": {
        "generator_late": True,
        "packets": 10,
        "over_1ms_share": 0.2,
        "max_ns": 5_000_000,
    },
}
LATE_USERS = {"classes": [], "start_error": LATE_SEND["departure_error"]}


def emulator(**keys: object) -> dict[str, Any]:
    return {"emulator": {**CLEAN["emulator"], **keys}}


def late(**keys: object) -> dict[str, Any]:
    return emulator(departure_error={**PUNCTUAL, **keys})


FOUND: list[tuple[str, dict[str, Any]]] = [
    ("run_emulator_late", {}),
    ("run_emulator_late", late(overdue_share=0.01)),
    ("run_emulator_late", late(overdue_share=0.0099, p99_ns=9_000_000, max_ns=300_000_000)),
    ("run_emulator_late", late(late_by_more_than_a_packet_time=0.5)),
    ("run_emulator_late", late(p50_ns=250_000)),
    ("run_emulator_late", late(p50_ns=249_000)),
    ("run_emulator_late", late(overdue_share=None, p99_ns=1_000_000)),
    ("run_emulator_late", late(overdue_share=None, late_by_more_than_a_packet_time=None)),
    ("run_emulator_dropped", emulator(unsent_packets=2)),
    ("run_emulator_dropped", emulator(ports=[{"socket_drops": 3}, {"socket_drops": 4}])),
    ("run_emulator_dropped", emulator(pipes=[{"dropped": {"emulator_full": 1, "lost": 9}}])),
    ("run_emulator_dropped", emulator(refused={"emulator_full": 3, "same_host": 9})),
    (
        "run_emulator_dropped",
        emulator(ports=[{"refused": {"oversized": 2, "checksum_missing": 3, "arp": 9}}]),
    ),
    ("run_processors_halt", {"emulator_ready": {"idle_refused": "not permitted"}}),
    ("run_priority_refused", {"emulator_ready": {"priority_refused": "not permitted"}}),
    ("run_ledger_incomplete", emulator(ledger={"lost": 5, "error": "disk full"})),
    ("run_generator_late", {"backgrounds": [{"name": "noise", "send": LATE_SEND}]}),
    ("run_generator_late", {"backgrounds": [{"name": "users", "send": LATE_USERS}]}),
    (
        "run_background_unsent",
        {
            "backgrounds": [
                {
                    "name": "noise",
                    "send": {
                        "sources": [
                            {"offered_packets": 900, "no_room_packets": 9, "failed_packets": 1},
                            {
                                "offered_packets": 100,
                                "after_end_packets": 40,
                                "connection": {"broken": "reset by peer"},
                            },
                        ]
                    },
                }
            ]
        },
    ),
    (
        "run_generator_short",
        {"backgrounds": [{"name": "users", "send": {"classes": [{"failed": {"no_port": 3}}]}}]},
    ),
    (
        "run_agent_failed",
        {"failures": [{"verb": "sink", "where": "server", "message": "it ended"}]},
    ),
    (
        "run_fault_not_applied",
        {
            "faults": [
                {
                    "name": "quota",
                    "kind": "cpu-quota",
                    "host": "client",
                    "reason": "no cgroup controller",
                    "hint": "as root",
                }
            ]
        },
    ),
    (
        "run_workload_failed",
        {"workloads": [{"name": "pages", "outcome": "failed", "exit_code": 7}]},
    ),
    (
        "run_workload_sent_nothing",
        {
            "workloads": [
                {
                    "name": "bulk",
                    "outcome": "complete",
                    "report": {"transfers": [{"payload_bytes": 0}, {"payload_bytes": 0}]},
                }
            ]
        },
    ),
    (
        "run_workload_time_limit",
        {
            "workloads": [
                {"name": "pages", "outcome": "time_limit", "seconds": 40.0, "limit_seconds": 40.0}
            ]
        },
    ),
    ("run_host_busy", {"machine": {"steal_share": 0.2}}),
    ("run_host_busy", {"machine": {"throttled_share": 0.01}}),
]


def test_a_trace_that_lost_calls_or_markers_is_found() -> None:
    report = {
        "complete": False,
        "calls": 5000,
        "lost": 12,
        "lost_by_cpu": [12, 0],
        "markers_made": 32,
        "markers_seen": 32,
        "rows": {"rows_left_out": 3},
    }
    record = {**CLEAN, "traces": [{"name": "pages", "report": report}]}
    (found,) = [one for one in run_findings(record) if one.code == "trace_loss"]
    assert found.message == "the trace of pages lost 15 of 5,012 calls"
    assert (found.value, found.scope, found.severity) == (15.0, "pages", "warning")
    whole = {**report, "complete": True}
    for traces in ([{"name": "pages", "report": whole}], [{"name": "pages", "report": None}]):
        found_codes = {one.code for one in run_findings({**CLEAN, "traces": traces})}
        assert "trace_loss" not in found_codes


def test_each_weakness_is_found(snapshot: SnapshotAssertion) -> None:
    assert [
        described(run_findings({**CLEAN, **record}), code) for code, record in FOUND
    ] == snapshot


def test_every_finding_about_runs_is_tested() -> None:
    assert {code for code, _ in FOUND} == {code for code in CATALOGUE if code.startswith("run_")}


def test_a_repetition_without_weakness_still_states_its_departure_error() -> None:
    assert [found.code for found in run_findings(CLEAN)] == ["run_emulator_late"]


def test_what_is_not_known_is_no_finding() -> None:
    assert run_findings({}) == []


def test_what_may_be_done_with_a_repetition(snapshot: SnapshotAssertion) -> None:
    cases: list[tuple[dict[str, Any], dict[str, int]]] = [
        ({}, {"trust": 3}),
        ({}, {"trust": 3, "review": 1}),
        ({}, {"discard": 2, "review": 1}),
        (late(overdue_share=0.3), {"trust": 3}),
        ({"backgrounds": [{"name": "noise", "send": LATE_SEND}]}, {}),
        ({"machine": {"steal_share": 0.2}}, {"trust": 1}),
        ({}, {}),
    ]
    assert [
        use(run_findings({**CLEAN, **record}), verdicts) for record, verdicts in cases
    ] == snapshot


@pytest.mark.parametrize("payload", [1, None])
def test_one_byte_is_something_and_what_is_not_known_is_not_nothing(payload: int | None) -> None:
    transfers = [{"payload_bytes": 0}, {"payload_bytes": payload}]
    assert (
        run_findings(
            {
                "workloads": [
                    {"name": "bulk", "outcome": "complete", "report": {"transfers": transfers}}
                ]
            }
        )
        == []
    )
