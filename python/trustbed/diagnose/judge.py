"""Judges whole tables: rows of the transfers table in, diagnoses and findings out.

Reads one row at a time, in the order given, and makes one diagnosis per row. Transfers too short to
judge share one diagnosis object, so a capture with millions of them stays cheap.

Bias: findings of one kind about single transfers are listed up to a number and then folded into one
that counts the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from trustbed.diagnose.catalogue import finding
from trustbed.diagnose.causes import CAUSES, VERDICTS
from trustbed.diagnose.compensation import NOTHING
from trustbed.diagnose.diagnosis import TOO_SHORT, Diagnosis, diagnose
from trustbed.diagnose.evidence import Evidence, Row, Workload
from trustbed.diagnose.facts import CaptureFacts
from trustbed.diagnose.findings import capture_findings
from trustbed.diagnose.host import HostEvidence, with_host
from trustbed.diagnose.quality import CaptureQuality, Quality
from trustbed.diagnose.thresholds import THRESHOLDS, Thresholds
from trustbed.diagnose.time_budget import Shares
from trustbed.diagnose.transfer_findings import host_findings, transfer_findings
from trustbed.findings import Finding
from trustbed.findings.words import count_words

HostOf = Callable[[Row], HostEvidence | None]
"""What a run knows of the host that sent a transfer.

``None`` for transfers that are not the run's own.
"""

FINDINGS_SHOWN = 100
"""Findings of one code about single transfers that are listed before the rest is folded."""


def judge_row(
    row: Row,
    capture: CaptureQuality,
    *,
    workload: Workload = "unknown",
    capacity: float | None = None,
    host: HostEvidence | None = None,
    thresholds: Thresholds = THRESHOLDS,
) -> Diagnosis:
    """The diagnosis of one row of the transfers table; ``host`` is what is known of its sender."""
    flags: tuple[str, ...] = ()
    evidence = Evidence.from_transfer(row, workload=workload, capacity_bits_per_second=capacity)
    if host is not None:
        evidence, flags = with_host(evidence, host, thresholds=thresholds)
    return diagnose(
        evidence,
        quality=Quality.of(row, capture),
        flags=flags,
        shares=Shares.from_transfer(row),
        thresholds=thresholds,
    )


@dataclass(frozen=True, slots=True)
class Judgement:
    """Diagnoses in the order of the rows, and every finding.

    Capture first, then hosts, then transfers in their order.
    """

    diagnoses: list[Diagnosis]
    findings: list[Finding]


def judge(
    rows: Iterable[Row],
    capture: CaptureFacts,
    *,
    workload: Workload = "unknown",
    capacity: float | None = None,
    host_of: HostOf | None = None,
    thresholds: Thresholds = THRESHOLDS,
) -> Judgement:
    """Judges every row and collects every finding, in one pass over the rows.

    Args:
        rows: Rows of the transfers table.
        capture: Facts about the capture.
        workload: What the user declared of the sender.
        capacity: What the user knows of the bottleneck, in bit/s at IP level.
        host_of: What a run knows of the host that sent a transfer.
        thresholds: Values to compare with.
    """
    quality = CaptureQuality.of(capture)
    diagnoses: list[Diagnosis] = []
    about_transfers = _Folded()
    stalls: dict[str, tuple[float, ...]] = {}
    without_capture_point = misplaced = subflows = 0
    for row in rows:
        if row.get("too_short"):
            diagnoses.append(TOO_SHORT)
            continue
        host = None if host_of is None else host_of(row)
        diagnosis = judge_row(
            row, quality, workload=workload, capacity=capacity, host=host, thresholds=thresholds
        )
        diagnoses.append(diagnosis)
        about_transfers.extend(transfer_findings(row, diagnosis, thresholds=thresholds))
        without_capture_point += row.get("at") == "unknown"
        misplaced += bool(row.get("capture_point_contradicted"))
        subflows += bool(row.get("multipath"))
        if not _nobody_answered(row) or (host is not None and host.kernel_reset):
            _note_stalls(row, stalls)
    findings = capture_findings(capture, thresholds=thresholds)
    findings += _about_the_rows(diagnoses, without_capture_point, misplaced, subflows)
    findings += host_findings(stalls, thresholds=thresholds)
    return Judgement(diagnoses, [*findings, *about_transfers.findings()])


class _Folded:
    """Keeps the first findings of each code and counts the others."""

    def __init__(self) -> None:
        self._shown: list[Finding] = []
        self._counts: Counter[str] = Counter()

    def extend(self, findings: Iterable[Finding]) -> None:
        for found in findings:
            self._counts[found.code] += 1
            if self._counts[found.code] <= FINDINGS_SHOWN:
                self._shown.append(found)

    def findings(self) -> Iterator[Finding]:
        yield from self._shown
        for code, count in self._counts.items():
            if count > FINDINGS_SHOWN:
                more = count - FINDINGS_SHOWN
                yield finding(
                    code,
                    f"the same of {count_words(more, 'more transfer')}",
                    value=float(more),
                    evidence="folded",
                )


def _nobody_answered(row: Row) -> bool:
    """Whether the host retransmitted for most of its stalls: then it did not stop."""
    gaps, unanswered = row.get("stall_gaps_ns") or (), row.get("unanswered_ns") or 0
    return bool(gaps) and unanswered >= sum(gaps) / 2


def _note_stalls(row: Row, stalls: dict[str, tuple[float, ...]]) -> None:
    gaps = row.get("stall_gaps_ns")
    if gaps:
        host = str(row.get("src") or "unknown host")
        lengths = tuple(gap / 1e9 for gap in gaps)
        # Each transfer carries the stalls within its own time: the longest account is the host's.
        if sum(lengths) > sum(stalls.get(host, ())):
            stalls[host] = lengths


def _about_the_rows(
    diagnoses: Sequence[Diagnosis], without_capture_point: int, misplaced: int, subflows: int
) -> Iterator[Finding]:
    if diagnoses and all(diagnosis.verdict == "not_judged" for diagnosis in diagnoses):
        message = (
            f"{'no transfer' if len(diagnoses) == 1 else f'none of {len(diagnoses)} transfers'} "
            f"was long enough to be judged"
        )
        yield finding("nothing_judged", message, value=float(len(diagnoses)))
    if without_capture_point:
        message = (
            f"the capture point of {count_words(without_capture_point, 'transfer')} is unknown"
        )
        yield finding("capture_point_unknown", message, value=float(without_capture_point))
    if misplaced:
        message = f"{count_words(misplaced, 'transfer')} captured at the other end than given"
        yield finding("capture_point_contradicted", message, value=float(misplaced))
    if subflows:
        message = f"{count_words(subflows, 'subflow')} of Multipath TCP among the transfers"
        yield finding("multipath", message, value=float(subflows))


def verdict_columns(diagnoses: Sequence[Diagnosis]) -> dict[str, list[object]]:
    """The columns that the transfers table gains.

    Cause, confidence, verdict, rule, verdict_flags, and the estimates in B/s.
    """
    estimates = [diagnosis.compensation or NOTHING for diagnosis in diagnoses]
    return {
        "cause": [diagnosis.cause for diagnosis in diagnoses],
        "confidence": [diagnosis.confidence for diagnosis in diagnoses],
        "verdict": [diagnosis.verdict for diagnosis in diagnoses],
        "rule": [diagnosis.rule for diagnosis in diagnoses],
        "verdict_flags": [list(diagnosis.flags) for diagnosis in diagnoses],
        "without_stalls_bytes_per_second": [found.bytes_per_second for found in estimates],
        "without_stalls_low_bytes_per_second": [found.low_bytes_per_second for found in estimates],
        "without_stalls_high_bytes_per_second": [
            found.high_bytes_per_second for found in estimates
        ],
    }


def tally(diagnoses: Iterable[Diagnosis]) -> dict[str, dict[str, int]]:
    """How many transfers of each verdict and each cause; without those that did not occur."""
    causes: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    for diagnosis in diagnoses:
        causes[diagnosis.cause] += 1
        verdicts[diagnosis.verdict] += 1
    return {
        "verdicts": {name: verdicts[name] for name in VERDICTS if verdicts[name]},
        "causes": {name: causes[name] for name in CAUSES if causes[name]},
    }
