"""Findings about transfers and hosts, from rows of the transfers table and their diagnoses.

Reports what the flags and limits of a diagnosis mean; changes nothing.

Bias: a host is named only if the engine found a stall on several of its connections at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trustbed.diagnose.catalogue import finding
from trustbed.diagnose.diagnosis import Diagnosis
from trustbed.diagnose.evidence import Row
from trustbed.diagnose.thresholds import THRESHOLDS, Thresholds
from trustbed.diagnose.two_point import SENT_AT_OTHER_END
from trustbed.findings import Finding
from trustbed.findings.words import (
    count_words,
    number_words,
    percent_words,
    rate_words,
    seconds_words,
)

OUTAGE_SECONDS = 2.0


def transfer_findings(
    row: Row, diagnosis: Diagnosis, *, thresholds: Thresholds = THRESHOLDS
) -> Iterator[Finding]:
    """The findings about one judged transfer."""
    scope = str(row.get("transfer") or "transfer")
    yield from _outage(row, scope)
    yield from _flagged(row, diagnosis, scope, thresholds)
    yield from _ambiguous(row, diagnosis, scope, thresholds)
    for applied in diagnosis.limits:
        held = ", and its verdict held at review" if applied.limit.review else ""
        yield finding(
            applied.limit.code,
            f"score limited to {applied.limit.cap / 100:.2f}{held}: "
            f"{applied.limit.wording(thresholds)}",
            value=applied.value,
            threshold=applied.threshold,
            scope=scope,
            evidence=f"what may still be concluded: {applied.limit.remains}",
        )


def _outage(row: Row, scope: str) -> Iterator[Finding]:
    seconds = (row.get("outage_ns") or 0) / 1e9
    if seconds >= OUTAGE_SECONDS:
        yield finding(
            "connection_outage",
            f"stalled for {seconds_words(seconds)} with data outstanding",
            value=seconds,
            threshold=OUTAGE_SECONDS,
            scope=scope,
            evidence="silence, or retransmissions of one range only",
        )


def _flagged(
    row: Row, diagnosis: Diagnosis, scope: str, thresholds: Thresholds
) -> Iterator[Finding]:
    numbers = diagnosis.numbers
    if numbers is None:
        return
    if "isolated_long_pause" in diagnosis.flags:
        longest, base = (row.get("spacing_max_ns") or 0) / 1e9, (row.get("rtt_base_ns") or 0) / 1e9
        yield finding(
            "isolated_long_pause",
            f"longest pause {seconds_words(longest)}, base RTT {seconds_words(base)}",
            value=longest,
            threshold=base,
            scope=scope,
            evidence=(
                f"all pauses longer than the RTT: "
                f"{percent_words(row.get('long_pause_fraction'))} of the time"
            ),
        )
    if SENT_AT_OTHER_END in diagnosis.flags:
        yield finding(
            SENT_AT_OTHER_END,
            "the other capture was taken at its sender; its verdict is held at review",
            scope=scope,
        )
    throughput = row.get("throughput_bytes_per_second") or 0.0
    for code, bound, limit in (
        ("exceeds_window_bound", numbers.x1_bytes_per_second, thresholds.window_exceeded),
        ("exceeds_capacity", numbers.x3_bytes_per_second, thresholds.capacity_exceeded),
    ):
        if code in diagnosis.flags and bound:
            yield finding(
                code,
                f"{rate_words(throughput)} is {number_words(throughput / bound)} times "
                f"the possible {rate_words(bound)}",
                value=throughput / bound,
                threshold=limit,
                scope=scope,
                evidence=f"throughput {throughput:.0f} B/s, bound {bound:.0f} B/s",
            )


def _ambiguous(
    row: Row, diagnosis: Diagnosis, scope: str, thresholds: Thresholds
) -> Iterator[Finding]:
    if diagnosis.cause not in ("host_scheduling", "sender_application_limited"):
        return
    for alternative in diagnosis.alternatives:
        yield finding(
            "pauses_ambiguous",
            f"{diagnosis.cause}, or else {alternative.cause}: {alternative.hint}",
            value=row.get("app_limited_fraction"),
            threshold=thresholds.app_limited,
            scope=scope,
            evidence=f"settled by {alternative.settled_by}",
        )


def host_findings(
    gaps: Mapping[str, tuple[float, ...]], *, thresholds: Thresholds = THRESHOLDS
) -> Iterator[Finding]:
    """The findings about hosts that stopped: address → lengths of its stalls in seconds."""
    for host in sorted(gaps):
        stalls = gaps[host]
        if stalls:
            yield finding(
                "host_stall",
                f"{host} stopped {count_words(len(stalls), 'time')}, for "
                f"{seconds_words(sum(stalls))} in total",
                value=sum(stalls),
                threshold=thresholds.stall_seconds,
                scope=host,
                evidence="stalls of " + ", ".join(seconds_words(stall) for stall in stalls),
                severity=None if sum(stalls) >= thresholds.stall_seconds else "info",
            )
