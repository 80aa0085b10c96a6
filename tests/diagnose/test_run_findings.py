"""Findings about repetitions of a run, and what may be done with a repetition because of them."""

from __future__ import annotations

from typing import Any

import pytest

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


def emulator(**keys: object) -> dict[str, Any]:
    return {"emulator": {**CLEAN["emulator"], **keys}}


def late(**keys: object) -> dict[str, Any]:
    return emulator(departure_error={**PUNCTUAL, **keys})


FOUND = [
    (
        "run_emulator_late",
        "info",
        {},
        "emulator",
        "3.00 µs (p50), 14.0 µs (p99), 300 µs (most); 0 % later than a full packet takes on its "
        "link; packets were overdue for 0.1 %",
    ),
    (
        "run_emulator_late",
        "error",
        late(overdue_share=0.01),
        "emulator",
        "overdue for 1 % of the time",
    ),
    (
        "run_emulator_late",
        "info",
        late(overdue_share=0.0099, p99_ns=9_000_000, max_ns=300_000_000),
        "emulator",
        "300 ms (most)",
    ),
    (
        "run_emulator_late",
        "info",
        late(late_by_more_than_a_packet_time=0.5),
        "emulator",
        "50 % later than a full packet takes",
    ),
    ("run_emulator_late", "error", late(p50_ns=250_000), "emulator", "250 µs (p50)"),
    ("run_emulator_late", "info", late(p50_ns=249_000), "emulator", "249 µs (p50)"),
    (
        "run_emulator_late",
        "error",
        late(overdue_share=None, p99_ns=1_000_000),
        "emulator",
        "1.00 ms (p99)",
    ),
    (
        "run_emulator_late",
        "info",
        late(overdue_share=None, late_by_more_than_a_packet_time=None),
        "emulator",
        "300 µs (most)",
    ),
    ("run_emulator_dropped", "error", emulator(unsent_packets=2), "emulator", "lost 2 packets"),
    (
        "run_emulator_dropped",
        "error",
        emulator(ports=[{"socket_drops": 3}, {"socket_drops": 4}]),
        "emulator",
        "lost 7 packets",
    ),
    (
        "run_emulator_dropped",
        "error",
        emulator(pipes=[{"dropped": {"emulator_full": 1, "lost": 9}}]),
        "emulator",
        "lost 1 packet",
    ),
    (
        "run_emulator_dropped",
        "error",
        emulator(refused={"emulator_full": 3, "same_host": 9}),
        "emulator",
        "lost 3 packets",
    ),
    (
        "run_emulator_dropped",
        "error",
        emulator(ports=[{"refused": {"oversized": 2, "checksum_missing": 3, "arp": 9}}]),
        "emulator",
        "lost 5 packets",
    ),
    (
        "run_processors_halt",
        "info",
        {"emulator_ready": {"idle_refused": "not permitted"}},
        "emulator",
        "not permitted",
    ),
    (
        "run_priority_refused",
        "info",
        {"emulator_ready": {"priority_refused": "not permitted"}},
        "emulator",
        "not permitted",
    ),
    (
        "run_ledger_incomplete",
        "warning",
        emulator(ledger={"lost": 5, "error": "disk full"}),
        "emulator",
        "5 packets not in the ledger",
    ),
    (
        "run_generator_late",
        "error",
        {"backgrounds": [{"name": "noise", "send": LATE_SEND}]},
        "noise",
        "20 % of the packets of noise",
    ),
    (
        "run_agent_failed",
        "error",
        {"failures": [{"verb": "sink", "where": "server", "message": "it ended"}]},
        "server",
        "sink on server: it ended",
    ),
    (
        "run_fault_not_applied",
        "error",
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
        "client",
        "quota (cpu-quota on client) cannot be made here: no cgroup controller",
    ),
    (
        "run_workload_failed",
        "error",
        {"workloads": [{"name": "pages", "outcome": "failed", "exit_code": 7}]},
        "pages",
        "pages failed: exit code 7",
    ),
    (
        "run_workload_sent_nothing",
        "error",
        {
            "workloads": [
                {
                    "name": "bulk",
                    "outcome": "complete",
                    "report": {"transfers": [{"payload_bytes": 0}, {"payload_bytes": 0}]},
                }
            ]
        },
        "bulk",
        "sent nothing: 2 connections without",
    ),
    (
        "run_workload_time_limit",
        "error",
        {
            "workloads": [
                {"name": "pages", "outcome": "time_limit", "seconds": 40.0, "limit_seconds": 40.0}
            ]
        },
        "pages",
        "still running after 40.0 s",
    ),
    (
        "run_host_busy",
        "warning",
        {"machine": {"steal_share": 0.2}},
        "machine",
        "20 % of the processor time was stolen",
    ),
    (
        "run_host_busy",
        "info",
        {"machine": {"throttled_share": 0.01}},
        "machine",
        "1 % of the processor time was throttled",
    ),
]


@pytest.mark.parametrize(("code", "severity", "record", "scope", "words"), FOUND)
def test_each_weakness_is_found(
    code: str, severity: str, record: dict[str, Any], scope: str, words: str
) -> None:
    (found,) = [one for one in run_findings({**CLEAN, **record}) if one.code == code]
    assert (found.severity, found.scope) == (severity, scope)
    assert words in found.message


def test_every_finding_about_runs_is_tested() -> None:
    assert {code for code, *_ in FOUND} == {code for code in CATALOGUE if code.startswith("run_")}


def test_a_repetition_without_weakness_still_says_how_late_its_emulator_was() -> None:
    assert [found.code for found in run_findings(CLEAN)] == ["run_emulator_late"]


def test_what_is_not_known_is_no_finding() -> None:
    assert run_findings({}) == []


@pytest.mark.parametrize(
    ("record", "verdicts", "wanted", "words"),
    [
        ({}, {"trust": 3}, "trust", ""),
        ({}, {"trust": 3, "review": 1}, "review", "1 transfer of 4 to be reviewed"),
        ({}, {"discard": 2, "review": 1}, "discard", "2 transfers of 3 to be discarded"),
        (late(overdue_share=0.3), {"trust": 3}, "discard", "left late by"),
        ({"backgrounds": [{"name": "noise", "send": LATE_SEND}]}, {}, "discard", "noise"),
        ({"machine": {"steal_share": 0.2}}, {"trust": 1}, "review", "stolen"),
        ({}, {}, "trust", ""),
    ],
)
def test_what_may_be_done_with_a_repetition(
    record: dict[str, Any], verdicts: dict[str, int], wanted: str, words: str
) -> None:
    found, why = use(run_findings({**CLEAN, **record}), verdicts)
    assert found == wanted
    assert words in why


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
