"""Findings about transfers and hosts, from rows of the transfers table and their diagnoses.

Reports what the flags and limits of a diagnosis mean; changes nothing.

Bias: a host is named only if the engine found a stall on several of its connections at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Protocol

from trustbed.diagnose.ambiguity import Alternative
from trustbed.diagnose.catalogue import finding
from trustbed.diagnose.causes import Cause
from trustbed.diagnose.evidence import Row
from trustbed.diagnose.limits import AppliedLimit
from trustbed.diagnose.numbers import Numbers
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

FINDING_COLUMNS = (
    "transfer",
    "outage_ns",
    "spacing_max_ns",
    "rtt_base_ns",
    "long_pause_fraction",
    "throughput_bytes_per_second",
    "app_limited_fraction",
)
"""The columns of a transfer that its findings ask for."""


class Judged(Protocol):
    """What the findings take of a diagnosis, with its words or without."""

    @property
    def cause(self) -> Cause: ...  # noqa: D102
    @property
    def flags(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def numbers(self) -> Numbers | None: ...  # noqa: D102
    @property
    def limits(self) -> tuple[AppliedLimit, ...]: ...  # noqa: D102
    @property
    def alternatives(self) -> tuple[Alternative, ...]: ...  # noqa: D102


Noted = tuple[str, Callable[[], Finding]]
"""The code of a finding, and what words it: of many of one kind only some are shown."""


def transfer_findings(
    row: Row, judged: Judged, *, thresholds: Thresholds = THRESHOLDS
) -> Iterator[Finding]:
    """The findings about one judged transfer."""
    return (word() for _, word in noted(row, judged, thresholds=thresholds))


def noted(row: Row, judged: Judged, *, thresholds: Thresholds = THRESHOLDS) -> Iterator[Noted]:
    """The same before they are worded."""
    seconds = (row.get("outage_ns") or 0) / 1e9
    if seconds >= OUTAGE_SECONDS:
        yield "connection_outage", partial(_outage, row, seconds)
    if judged.flags and judged.numbers is not None:
        yield from _flagged(row, judged, judged.numbers, thresholds)
    if judged.cause in ("host_scheduling", "sender_application_limited"):
        for other in judged.alternatives:
            yield "pauses_ambiguous", partial(_ambiguous, row, judged.cause, other, thresholds)
    for applied in judged.limits:
        yield applied.limit.code, partial(_limited, row, applied, thresholds)


def _scope(row: Row) -> str:
    return str(row.get("transfer") or "transfer")


def _limited(row: Row, applied: AppliedLimit, thresholds: Thresholds) -> Finding:
    held = ", and its verdict held at review" if applied.limit.review else ""
    return finding(
        applied.limit.code,
        f"score limited to {applied.limit.cap / 100:.2f}{held}: "
        f"{applied.limit.wording(thresholds)}",
        value=applied.value,
        threshold=applied.threshold,
        scope=_scope(row),
        evidence=f"what may still be concluded: {applied.limit.remains}",
    )


def _outage(row: Row, seconds: float) -> Finding:
    return finding(
        "connection_outage",
        f"stalled for {seconds_words(seconds)} with data outstanding",
        value=seconds,
        threshold=OUTAGE_SECONDS,
        scope=_scope(row),
        evidence="silence, or retransmissions of one range only",
    )


def _flagged(row: Row, judged: Judged, numbers: Numbers, thresholds: Thresholds) -> Iterator[Noted]:
    flags = judged.flags
    if "isolated_long_pause" in flags:
        yield "isolated_long_pause", partial(_isolated, row)
    if SENT_AT_OTHER_END in flags:
        yield SENT_AT_OTHER_END, partial(_at_other_end, row)
    for code, bound, limit in (
        ("exceeds_window_bound", numbers.x1_bytes_per_second, thresholds.window_exceeded),
        ("exceeds_capacity", numbers.x3_bytes_per_second, thresholds.capacity_exceeded),
    ):
        if code in flags and bound:
            yield code, partial(_exceeding, row, code, bound, limit)


def _isolated(row: Row) -> Finding:
    longest, base = (row.get("spacing_max_ns") or 0) / 1e9, (row.get("rtt_base_ns") or 0) / 1e9
    return finding(
        "isolated_long_pause",
        f"longest pause {seconds_words(longest)}, base RTT {seconds_words(base)}",
        value=longest,
        threshold=base,
        scope=_scope(row),
        evidence=(
            f"all pauses longer than the RTT: "
            f"{percent_words(row.get('long_pause_fraction'))} of the time"
        ),
    )


def _at_other_end(row: Row) -> Finding:
    return finding(
        SENT_AT_OTHER_END,
        "the other capture was taken at its sender; its verdict is held at review",
        scope=_scope(row),
    )


def _exceeding(row: Row, code: str, bound: float, limit: float) -> Finding:
    throughput = row.get("throughput_bytes_per_second") or 0.0
    return finding(
        code,
        f"{rate_words(throughput)} is {number_words(throughput / bound)} times "
        f"the possible {rate_words(bound)}",
        value=throughput / bound,
        threshold=limit,
        scope=_scope(row),
        evidence=f"throughput {throughput:.0f} B/s, bound {bound:.0f} B/s",
    )


def _ambiguous(row: Row, cause: Cause, other: Alternative, thresholds: Thresholds) -> Finding:
    return finding(
        "pauses_ambiguous",
        f"{cause}, or else {other.cause}: {other.hint}",
        value=row.get("app_limited_fraction"),
        threshold=thresholds.app_limited,
        scope=_scope(row),
        evidence=f"settled by {other.settled_by}",
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
