"""Findings about a repetition.

What in its emulator, generators, workload and machine makes its numbers less reliable.

Input is the record that the run wrote (``repetition.json``) and a summary of its samples; captures
are judged elsewhere. A repetition with an error among its findings is to be discarded, whatever its
captures show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from trustbed.diagnose.catalogue import finding
from trustbed.findings import Finding
from trustbed.findings.words import count_words, percent_words, seconds_words

Record = Mapping[str, Any]
Use: TypeAlias = Literal["trust", "review", "discard"]

STALL_SHARE = 0.01
"""Share of the time with packets overdue by more than 1 ms from which a repetition is discarded.

Measured (docs/validation.md, "Departure error of the emulator"). Where the machine stalled, and the
emulator with it, this one number finds 98 % of the transfers whose throughput, median round trip or
cause changed, and 73 % of what it discards was changed: no worse than p99, a single packet's
departure error and the share later than a packet's own time together. p99 alone misses a stall of a
tenth of a second in every second, when few packets are in flight meanwhile. Undisturbed repetitions
stay below 0.5 %. The rule errs on the side of discarding: where only the emulator stalls, queues
bridge most of it.
"""
LATE_SECONDS = 1e-3
"""The 99th percentile instead, for records without that share; finds 93 %, 77 % of it changed."""
MEDIAN_SECONDS = 2.5e-4
"""Or half of the packets this late: both directions then add 5 % to a round trip of 10 ms.
By argument, not measured: a stop makes single packets late, a coarse timer all of them.
"""
BUSY_SHARE = 0.05
"""Share of processor time that others took."""


def _departure_error(record: Record) -> Iterator[Finding]:
    departure_error = (record.get("emulator") or {}).get("departure_error") or {}
    p50, p99, most = (departure_error.get(key) for key in ("p50_ns", "p99_ns", "max_ns"))
    if p50 is None or p99 is None or most is None:
        return
    stall_share, share = (
        departure_error.get(key) for key in ("overdue_share", "late_by_more_than_a_packet_time")
    )
    stalled = p99 / 1e9 >= LATE_SECONDS if stall_share is None else stall_share >= STALL_SHARE
    late = stalled or p50 / 1e9 >= MEDIAN_SECONDS
    if late and not stalled:
        decided = (p50 / 1e9, MEDIAN_SECONDS)
    elif stall_share is None:
        decided = (p99 / 1e9, LATE_SECONDS)
    else:
        decided = (stall_share, STALL_SHARE)
    times = ", ".join(
        f"{seconds_words(value / 1e9)} ({name})"
        for name, value in (("p50", p50), ("p99", p99), ("most", most))
    )
    packet = (
        "packet" if stall_share is None else "full packet"
    )  # older emulators counted against each packet's own time
    beyond = (
        "" if share is None else f"; {percent_words(share)} later than a {packet} takes on its link"
    )
    overdue = (
        ""
        if stall_share is None
        else f"; packets were overdue for {percent_words(stall_share)} of the time"
    )
    yield finding(
        "run_emulator_late",
        f"the emulator's packets left late by {times}{beyond}{overdue}",
        value=decided[0],
        threshold=decided[1],
        scope="emulator",
        evidence=f"{departure_error.get('packets')} packets",
        severity=None if late else "info",
    )


def _dropped(record: Record) -> Iterator[Finding]:
    emulator = record.get("emulator") or {}
    unsent = emulator.get("unsent_packets") or 0
    ports = emulator.get("ports") or ()
    # Packets that come in are refused, copies that a link makes are dropped behind it.
    full = (emulator.get("refused") or {}).get("emulator_full") or 0
    full += sum(
        (pipe.get("dropped") or {}).get("emulator_full") or 0
        for pipe in emulator.get("pipes") or ()
    )
    missed = sum(port.get("socket_drops") or 0 for port in ports)
    offloaded = sum(
        (port.get("refused") or {}).get(reason) or 0
        for port in ports
        for reason in ("oversized", "checksum_missing")
    )
    lost = unsent + full + missed + offloaded
    if lost:
        reasons = f"{missed} not received in time, {full} without room inside, {unsent} not sent"
        yield finding(
            "run_emulator_dropped",
            f"the emulator lost {count_words(lost, 'packet')}",
            value=float(lost),
            threshold=0.0,
            scope="emulator",
            evidence=reasons
            + (f", {offloaded} left by their host to a card's offloads" if offloaded else ""),
        )


def _priority(record: Record) -> Iterator[Finding]:
    refused = (record.get("emulator_ready") or {}).get("priority_refused")
    if refused:
        yield finding(
            "run_priority_refused",
            f"no real-time priority: {refused}",
            scope="emulator",
            evidence=str(refused),
        )


def _idle(record: Record) -> Iterator[Finding]:
    refused = (record.get("emulator_ready") or {}).get("idle_refused")
    if refused:
        yield finding(
            "run_processors_halt",
            f"idle processors halt: {refused}",
            scope="emulator",
            evidence=str(refused),
        )


def _ledger(record: Record) -> Iterator[Finding]:
    ledger = (record.get("emulator") or {}).get("ledger") or {}
    lost = ledger.get("lost") or 0
    if lost:
        message = f"{count_words(lost, 'packet')} not in the ledger"
        yield finding(
            "run_ledger_incomplete",
            message,
            value=float(lost),
            threshold=0.0,
            scope="emulator",
            evidence=str(ledger.get("error") or ""),
        )


def _generators(record: Record) -> Iterator[Finding]:
    for background in record.get("backgrounds") or ():
        sent = background.get("send") or {}
        yield from _short(background["name"], sent)
        yield from _unsent(background["name"], sent)
        # Of users the starts of requests, responses and connections count.
        what = "starts" if "start_error" in sent else "packets"
        departure_error = sent.get("departure_error") or sent.get("start_error") or {}
        if departure_error.get(
            "generator_late"
        ):  # of all sources together: of one with a hundred packets a single one would be enough
            share = departure_error.get("over_1ms_share")
            worst = seconds_words((departure_error.get("max_ns") or 0) / 1e9)
            yield finding(
                "run_generator_late",
                f"{percent_words(share)} of the {what} of {background['name']} left over "
                f"1 ms late, at most {worst}",
                value=share,
                threshold=0.01,
                scope=background["name"],
                evidence=f"{departure_error.get('packets')} {what}",
            )


def _unsent(name: str, sent: Record) -> Iterator[Finding]:
    """What was to be sent and did not leave this host. TCP that gives way is none of it."""
    sources = sent.get("sources") or ()
    reasons = {
        words: sum(one.get(key) or 0 for one in sources)
        for key, words in (
            ("no_room_packets", "found no room in the host's queue"),
            ("failed_packets", "could not be sent"),
            ("after_end_packets", "came after their connection had ended"),
        )
    }
    unsent = sum(reasons.values())
    offered = sum(one.get("offered_packets") or 0 for one in sources)
    if not offered or unsent < _UNSENT_SHARE * offered:
        return
    failures = [one["failure"] for one in sources if one.get("failure")]
    failures += [
        one["connection"]["broken"]
        for one in sources
        if (one.get("connection") or {}).get("broken")
    ]
    yield finding(
        "run_background_unsent",
        f"{percent_words(unsent / offered)} of the packets of {name} were not sent: "
        + ", ".join(f"{count:,} {why}" for why, count in reasons.items() if count),
        value=unsent / offered,
        threshold=_UNSENT_SHARE,
        scope=name,
        evidence=failures[0] if failures else f"{unsent:,} of {offered:,} packets",
    )


_UNSENT_SHARE = 0.01
_NO_ROOM = ("too_many", "no_port", "no_socket", "no_address")
"""Why a connection of users could not be opened, where the network had no part in it."""


def _short(name: str, sent: Record) -> Iterator[Finding]:
    refused = {
        reason: sum(one["failed"].get(reason, 0) for one in sent.get("classes") or ())
        for reason in _NO_ROOM
    }
    count = sum(refused.values())
    if count:
        yield finding(
            "run_generator_short",
            f"{count:,} {'connection' if count == 1 else 'connections'} of {name} could not be "
            "opened on this machine",
            value=float(count),
            threshold=0.0,
            scope=name,
            evidence=", ".join(
                f"{number} {reason}" for reason, number in refused.items() if number
            ),
        )


def _agents(record: Record) -> Iterator[Finding]:
    for failure in record.get("failures") or ():
        yield finding(
            "run_agent_failed",
            f"{failure['verb']} on {failure['where']}: {failure['message']}",
            scope=failure["where"],
            evidence=failure["verb"],
        )


def _faults(record: Record) -> Iterator[Finding]:
    for fault in record.get("faults") or ():
        reason = fault.get("reason")
        if reason:
            yield finding(
                "run_fault_not_applied",
                f"{fault['name']} ({fault['kind']} on {fault['host']}) cannot be made "
                f"here: {reason}",
                scope=fault["host"],
                evidence=str(fault.get("hint") or ""),
            )


def _workloads(record: Record) -> Iterator[Finding]:
    for workload in record.get("workloads") or ():
        name, seconds = workload["name"], workload.get("seconds")
        if workload["outcome"] == "time_limit":
            message = f"{name} was still running after {seconds_words(seconds)} and was ended"
            yield finding(
                "run_workload_time_limit",
                message,
                value=seconds,
                threshold=workload.get("limit_seconds"),
                scope=name,
            )
        elif workload["outcome"] == "failed":
            reason = workload.get("reason") or f"exit code {workload.get('exit_code')}"
            yield finding(
                "run_workload_failed",
                f"{name} failed: {reason}",
                scope=name,
                evidence=str(workload.get("log") or ""),
            )
        elif (transfers := (workload.get("report") or {}).get("transfers")) and all(
            one.get("payload_bytes") == 0 for one in transfers
        ):
            message = (
                f"{name} sent nothing: {count_words(len(transfers), 'connection')} without a "
                f"byte of payload"
            )
            yield finding("run_workload_sent_nothing", message, value=0, scope=name)


def _machine(record: Record) -> Iterator[Finding]:
    machine = record.get("machine") or {}
    for key, what in (
        ("steal_share", "stolen by the hypervisor"),
        ("throttled_share", "throttled by a quota"),
    ):
        share = machine.get(key)
        if share:
            yield finding(
                "run_host_busy",
                f"{percent_words(share)} of the processor time was {what}",
                value=share,
                threshold=BUSY_SHARE,
                scope="machine",
                severity=None if share >= BUSY_SHARE else "info",
            )


def _traces(record: Record) -> Iterator[Finding]:
    for trace in record.get("traces") or ():
        report = trace.get("report") or {}
        if report.get("complete") is not False:
            continue
        left_out = (report.get("rows") or {}).get("rows_left_out") or 0
        lost = report["lost"] + left_out
        seen, made = report["markers_seen"], report["markers_made"]
        yield finding(
            "trace_loss",
            f"the trace of {trace['name']} lost {lost:,} of {report['calls'] + report['lost']:,} "
            f"calls",
            value=float(lost),
            threshold=0.0,
            scope=trace["name"],
            evidence=f"{seen} of {made} marker calls, lost by processor: "
            + ", ".join(f"{one:,}" for one in report["lost_by_cpu"]),
        )


CHECKS: tuple[Callable[[Record], Iterator[Finding]], ...] = (
    _faults,
    _workloads,
    _agents,
    _departure_error,
    _dropped,
    _priority,
    _idle,
    _ledger,
    _generators,
    _traces,
    _machine,
)


def run_findings(record: Record) -> list[Finding]:
    """Every finding about a repetition, in a fixed order."""
    return [found for check in CHECKS for found in check(record)]


def use(findings: Sequence[Finding], verdicts: Mapping[str, int]) -> tuple[Use, str]:
    """The verdict on a repetition, and its reasons.

    Its own findings first, then the verdicts of the workload's transfers.
    """
    grave = next((found for found in findings if found.severity == "error"), None)
    if grave is not None:
        return "discard", grave.message
    for verdict in ("discard", "review"):
        count = verdicts.get(verdict, 0)
        if count:
            what = "to be discarded" if verdict == "discard" else "to be reviewed"
            return (
                "discard" if verdict == "discard" else "review"
            ), f"{count_words(count, 'transfer')} of {sum(verdicts.values())} {what}"
    warning = next((found for found in findings if found.severity == "warning"), None)
    return ("trust", "") if warning is None else ("review", warning.message)
