"""Findings about the capture as a whole, computed from its facts before any verdict.

Each check looks at one weakness and yields at most a few findings; a key that is missing means
unknown and yields none. Changes no verdict: the limits do that.

Bias: only what was counted can be found; a capture without counters (pcap has none) may have
dropped packets and not show it here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trustbed.diagnose.catalogue import finding
from trustbed.diagnose.facts import CaptureFacts
from trustbed.diagnose.quality import NO_TIME, UNMEASURED, kernel_drops, records_without_time
from trustbed.diagnose.thresholds import THRESHOLDS, Thresholds
from trustbed.findings import Finding, Severity
from trustbed.findings.words import bytes_words, count_words, percent_words, seconds_words


def _softened(value: float, threshold: float) -> Severity | None:
    return None if value >= threshold else "info"


def _kernel_drops(facts: CaptureFacts, thresholds: Thresholds) -> Iterator[Finding]:
    dropped, recorded = kernel_drops(facts)
    if dropped:
        share = dropped / (dropped + recorded)
        yield finding(
            "capture_kernel_drops",
            f"{count_words(dropped, 'packet')} ({percent_words(share)}) dropped while capturing",
            value=share,
            threshold=thresholds.kernel_drop_share,
            evidence=f"{dropped} dropped, {recorded} recorded, by the interface statistics",
            severity=_softened(share, thresholds.kernel_drop_share),
        )


def _capture_loss(facts: CaptureFacts, thresholds: Thresholds) -> Iterator[Finding]:
    unseen, seen = facts.get("acked_unseen_bytes") or 0, facts.get("unique_bytes") or 0
    if unseen:
        share = unseen / (unseen + seen)
        yield finding(
            "capture_loss",
            f"{bytes_words(unseen)} ({percent_words(share)}) acknowledged but never captured",
            value=share,
            threshold=thresholds.capture_loss_share,
            evidence=f"{unseen} bytes unseen, {seen} bytes seen",
            severity=_softened(share, thresholds.capture_loss_share),
        )


def _duplicates(facts: CaptureFacts, thresholds: Thresholds) -> Iterator[Finding]:
    copies, packets = facts.get("capture_duplicates") or 0, facts.get("packets") or 0
    if copies:
        share = min(1.0, copies / packets) if packets else 1.0
        removed = bool(facts.get("deduplicated"))
        yield finding(
            "capture_duplicates",
            f"{count_words(copies, 'packet')} ({percent_words(share)}) captured "
            f"twice{'; the copies were removed' if removed else ''}",
            value=share,
            threshold=thresholds.duplicate_share,
            evidence=f"{copies} copies within 1 ms among {packets} packets",
            severity="info" if removed else _softened(share, thresholds.duplicate_share),
        )


def _clock_step(facts: CaptureFacts, _thresholds: Thresholds) -> Iterator[Finding]:
    steps = facts.get("clock_steps") or 0
    if steps:
        size = (facts.get("clock_step_max_ns") or 0) / 1e9
        message = (
            f"the clock stepped back {count_words(steps, 'time')}, by up to {seconds_words(size)}"
        )
        yield finding(
            "clock_step",
            message,
            value=size,
            threshold=0.01,
            evidence=f"{steps} steps beyond the reorder buffer of 10 ms",
        )


def _out_of_order(facts: CaptureFacts, thresholds: Thresholds) -> Iterator[Finding]:
    records, total = facts.get("reordered_records") or 0, facts.get("records") or 0
    if records:
        size = (facts.get("reorder_max_ns") or 0) / 1e9
        share = records / total if total else 1.0
        yield finding(
            "records_out_of_order",
            f"{count_words(records, 'record')} ({percent_words(share)}) out of order, by "
            f"up to {seconds_words(size)}",
            value=size,
            threshold=None,
            evidence=f"{records} of {total} records",
            severity="warning" if share >= thresholds.reordered_share else None,
        )


def _coarse(facts: CaptureFacts, thresholds: Thresholds) -> Iterator[Finding]:
    granularity = (facts.get("timestamp_granularity_ns") or 0) / 1e9
    if granularity >= thresholds.coarse_timestamp_seconds:
        yield finding(
            "coarse_timestamps",
            f"every timestamp is a multiple of {seconds_words(granularity)}",
            value=granularity,
            threshold=thresholds.coarse_timestamp_seconds,
            evidence="the largest power of ten that divides every timestamp",
        )


def _bunched(facts: CaptureFacts, thresholds: Thresholds) -> Iterator[Finding]:
    severity: Severity | None
    equal, bunched = facts.get("equal_timestamp_share") or 0.0, facts.get("bunched_share") or 0.0
    if equal >= thresholds.equal_timestamp_share:
        message = f"{percent_words(equal)} of the records have the timestamp of the one before"
        value, threshold, severity = equal, thresholds.equal_timestamp_share, None
    elif bunched >= thresholds.bunched_share:
        message = f"{percent_words(bunched)} of the records were timestamped in bunches"
        value, threshold, severity = bunched, thresholds.bunched_share, "info"
    else:
        return
    evidence = (
        f"equal to the record before: {percent_words(equal)}; in bunches: {percent_words(bunched)}"
    )
    yield finding(
        "bunched_timestamps",
        message,
        value=value,
        threshold=threshold,
        evidence=evidence,
        severity=severity,
    )


def _timestamps_missing(facts: CaptureFacts, _thresholds: Thresholds) -> Iterator[Finding]:
    records = records_without_time(facts)
    if records:
        yield finding(
            "timestamps_missing",
            f"{count_words(records, 'record')} without a timestamp",
            value=float(records),
        )


def _snap_truncation(facts: CaptureFacts, _thresholds: Thresholds) -> Iterator[Finding]:
    snapped, records = facts.get("snapped_records") or 0, facts.get("records") or 0
    cut = sum(
        skip.get("records") or 0
        for skip in facts.get("skips") or ()
        if skip.get("reason") == "truncated"
    )
    if snapped or cut:
        share = min(1.0, snapped / records) if records else 1.0
        headers = (
            f"; the headers of {count_words(cut, 'record')} were cut"
            if cut
            else "; their headers are whole"
        )
        yield finding(
            "snap_truncation",
            f"{count_words(snapped, 'record')} ({percent_words(share)}) stored in part{headers}",
            value=share,
            evidence=f"{snapped} of {records} records, {cut} with cut headers",
            severity="warning" if cut else None,
        )


def _connections(
    code: str, key: str, what: str
) -> Callable[[CaptureFacts, Thresholds], Iterator[Finding]]:
    def check(facts: CaptureFacts, _thresholds: Thresholds) -> Iterator[Finding]:
        count, total = facts.get(key) or 0, facts.get("tcp_connections")
        if isinstance(count, int) and count:
            of = "" if total is None else f" of {total}"
            yield finding(
                code, f"{count_words(count, 'connection')}{of} {what}", value=float(count)
            )

    return check


def _problems(facts: CaptureFacts, _thresholds: Thresholds) -> Iterator[Finding]:
    for problem in facts.get("problems") or ():
        code, file, offset = (
            problem.get("code", "problem"),
            problem.get("file", "input"),
            problem.get("offset") or 0,
        )
        if code != NO_TIME:
            yield finding(
                "read_problem",
                f"{file}: {problem.get('detail') or code} (byte {offset}, record "
                f"{problem.get('record') or 0})",
                value=float(offset),
                evidence=code,
                # A capture that was cut while it ran lacks its last record and nothing else.
                severity="warning" if code == "truncated_record" else None,
            )
    for code, count in dict(facts.get("problems_left_out") or {}).items():
        if code != NO_TIME:
            yield finding(
                "read_problem",
                f"{count_words(count, 'more problem')} of the kind {code}",
                evidence=code,
            )


_SKIP_WORDS = {
    "not_ip": "no IP packets (ARP and the like)",
    "other_protocol": "IP packets that are neither TCP nor UDP",
    "tunnel": "tunnelled packets, not read without --inner",
    "truncated": "packets whose headers were cut by the snap length",
    "bad_header": "packets whose headers contradict themselves",
    "fragment_without_first": "fragments whose first part is missing",
    "unsupported_link": "records of a link type that cannot be decoded",
    "empty": "empty records",
}


def _skips(facts: CaptureFacts, thresholds: Thresholds) -> Iterator[Finding]:
    total = facts.get("records") or 0
    for skip in facts.get("skips") or ():
        reason, records = skip.get("reason", "unknown"), skip.get("records") or 0
        if not records:
            continue
        share = min(1.0, records / total) if total else 1.0
        lost = reason in UNMEASURED or reason == "unsupported_link"
        yield finding(
            "skipped_records",
            f"{count_words(records, 'record')} ({percent_words(share)}) not measured: "
            f"{_SKIP_WORDS.get(reason, reason)}",
            value=float(records),
            threshold=thresholds.skipped_share * total if lost else None,
            evidence=reason,
            severity="warning" if lost and share >= thresholds.skipped_share else None,
        )


def _counted(
    code: str, key: str, noun: str, what: str
) -> Callable[[CaptureFacts, Thresholds], Iterator[Finding]]:
    def check(facts: CaptureFacts, _thresholds: Thresholds) -> Iterator[Finding]:
        count = facts.get(key) or 0
        if isinstance(count, int) and count:
            yield finding(code, f"{count_words(count, noun)} {what}", value=float(count))

    return check


CHECKS: tuple[Callable[[CaptureFacts, Thresholds], Iterator[Finding]], ...] = (
    _problems,
    _kernel_drops,
    _capture_loss,
    _duplicates,
    _clock_step,
    _out_of_order,
    _timestamps_missing,
    _coarse,
    _bunched,
    _snap_truncation,
    _skips,
    _connections("one_sided", "one_sided_connections", "captured in one direction only"),
    _connections("midstream", "midstream_connections", "already running when the capture began"),
    _connections("offload", "offloaded_connections", "with packets larger than the wire allows"),
    _connections("evicted_connections", "evicted_connections", "given up to save memory"),
    _counted(
        "wild_sequence_numbers",
        "wild_seq",
        "field",
        "with an implausible sequence number",
    ),
    _counted("ignored_holes", "ignored_holes", "hole", "beyond those that are tracked"),
)


def capture_findings(facts: CaptureFacts, *, thresholds: Thresholds = THRESHOLDS) -> list[Finding]:
    """Every finding about the capture as a whole, in a fixed order."""
    return [found for check in CHECKS for found in check(facts, thresholds)]
