"""Judges whole tables: the transfers table in, outcomes and findings out.

Reads row by row or over columns, in the order given. Keeps one :class:`Outcome` per row, without
words: those of a transfer are made again when it is shown. Transfers too short to judge share one,
so a capture with millions of them stays cheap.

Bias: findings of one kind about single transfers are listed up to a number and then folded into one
that counts the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from trustbed.diagnose.catalogue import finding
from trustbed.diagnose.causes import CAUSES, VERDICTS
from trustbed.diagnose.compensation import NOTHING
from trustbed.diagnose.diagnosis import (
    TOO_SHORT_OUTCOME,
    Decision,
    Diagnosis,
    Outcome,
    decide,
    worded,
)
from trustbed.diagnose.evidence import Evidence, Row, Workload
from trustbed.diagnose.evidence_columns import Columns, evidence_of
from trustbed.diagnose.facts import CaptureFacts
from trustbed.diagnose.findings import capture_findings
from trustbed.diagnose.host import HostEvidence, with_host
from trustbed.diagnose.quality import QUALITY_COLUMNS, CaptureQuality, Quality
from trustbed.diagnose.thresholds import THRESHOLDS, Thresholds
from trustbed.diagnose.time_budget import SHARE_COLUMNS, Shares
from trustbed.diagnose.transfer_findings import FINDING_COLUMNS, Noted, host_findings, noted
from trustbed.findings import Finding
from trustbed.findings.words import count_words

HostOf = Callable[[Row], HostEvidence | None]
"""What a run knows of the host that sent a transfer.

``None`` for transfers that are not the run's own.
"""

FINDINGS_SHOWN = 100
"""Findings of one code about single transfers that are listed before the rest is folded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known beside the table of transfers.

    ``workload`` is what the user declared of the sender, ``capacity`` what the user knows of the
    bottleneck, in bit/s at IP level.
    """

    quality: CaptureQuality = field(default_factory=CaptureQuality)
    workload: Workload = "unknown"
    capacity: float | None = None
    thresholds: Thresholds = THRESHOLDS


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
    known = Known(quality=capture, workload=workload, capacity=capacity, thresholds=thresholds)
    return worded(_decided(row, known, host), Shares.from_transfer(row))


def _decided(row: Row, known: Known, host: HostEvidence | None) -> Decision:
    flags: tuple[str, ...] = ()
    evidence = Evidence.from_transfer(
        row, workload=known.workload, capacity_bits_per_second=known.capacity
    )
    if host is not None:
        evidence, flags = with_host(evidence, host, thresholds=known.thresholds)
    return decide(
        evidence,
        quality=Quality.of(row, known.quality),
        flags=flags,
        thresholds=known.thresholds,
    )


@dataclass(frozen=True, slots=True)
class Judgement:
    """What became of each transfer, in the order of the rows, and every finding.

    Capture first, then hosts, then transfers in their order.
    """

    outcomes: list[Outcome]
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
    known = Known(quality=quality, workload=workload, capacity=capacity, thresholds=thresholds)
    collected = _Collected(thresholds)
    for row in rows:
        if row.get("too_short"):
            collected.outcomes.append(TOO_SHORT_OUTCOME)
            continue
        host = None if host_of is None else host_of(row)
        collected.take(row, _decided(row, known, host), host)
    return collected.judgement(capture)


class Part(Columns, Protocol):
    """Some rows of the transfers table, without those that are too short to judge."""

    @property
    def too_short(self) -> Sequence[bool]:
        """Of every row, with those that are left out: whether it is."""

    def rows(self, names: Sequence[str]) -> Iterator[Row]:
        """Every row that is not, with those of these columns that there are."""


ROW_COLUMNS = tuple(
    dict.fromkeys(
        (
            *QUALITY_COLUMNS,
            *FINDING_COLUMNS,
            "at",
            "multipath",
            "stall_gaps_ns",
            "unanswered_ns",
            "src",
        )
    )
)
"""The columns of a row that judging asks for, beside those of its evidence."""


def judge_columns(
    parts: Iterable[Part], capture: CaptureFacts, known: Known, *, too_short: int = 0
) -> Judgement:
    """What :func:`judge` finds without evidence of hosts, over columns: several times as fast.

    ``too_short`` is how many rows follow those of the parts that are all too short to judge.
    """
    collected = _Collected(known.thresholds)
    for part in parts:
        if not len(part):
            collected.outcomes += [TOO_SHORT_OUTCOME] * len(part.too_short)
            continue
        decided = _decided_columns(part, known)
        for is_short in part.too_short:
            if is_short:
                collected.outcomes.append(TOO_SHORT_OUTCOME)
            else:
                collected.take(*next(decided), None)
    collected.outcomes += [TOO_SHORT_OUTCOME] * too_short
    return collected.judgement(capture)


def diagnoses(part: Part, known: Known) -> Iterator[Diagnosis]:
    """The diagnosis of every row of a part, in words.

    For the rows of a part's :attr:`Part.too_short` see :data:`TOO_SHORT`.
    """
    shown = ROW_COLUMNS + SHARE_COLUMNS
    for row, decision in _decided_columns(part, known, shown):
        yield worded(decision, Shares.from_transfer(row))


def _decided_columns(
    part: Part, known: Known, names: Sequence[str] = ROW_COLUMNS
) -> Iterator[tuple[Row, Decision]]:
    evidence = evidence_of(part, workload=known.workload, capacity_bits_per_second=known.capacity)
    for row, found in zip(part.rows(names), evidence, strict=True):
        quality = Quality.of(row, known.quality)
        yield row, decide(found, quality=quality, thresholds=known.thresholds)


class _Collected:
    """Outcomes, and what the findings about all rows are made of."""

    def __init__(self, thresholds: Thresholds) -> None:
        self.outcomes: list[Outcome] = []
        self._thresholds = thresholds
        self._about_transfers = _Folded()
        self._stalls: dict[str, tuple[float, ...]] = {}
        self._without_capture_point = self._misplaced = self._subflows = 0

    def take(self, row: Row, decision: Decision, host: HostEvidence | None) -> None:
        self.outcomes.append(decision.outcome)
        self._about_transfers.extend(noted(row, decision, thresholds=self._thresholds))
        self._without_capture_point += row.get("at") == "unknown"
        self._misplaced += bool(row.get("capture_point_contradicted"))
        self._subflows += bool(row.get("multipath"))
        if row.get("stall_gaps_ns") and (
            not _nobody_answered(row) or (host is not None and host.kernel_reset)
        ):
            _note_stalls(row, self._stalls)

    def judgement(self, capture: CaptureFacts) -> Judgement:
        findings = capture_findings(capture, thresholds=self._thresholds)
        findings += _about_the_rows(
            self.outcomes, self._without_capture_point, self._misplaced, self._subflows
        )
        findings += host_findings(self._stalls, thresholds=self._thresholds)
        return Judgement(self.outcomes, [*findings, *self._about_transfers.findings()])


class _Folded:
    """Keeps the first findings of each code and counts the others."""

    def __init__(self) -> None:
        self._shown: list[Finding] = []
        self._counts: Counter[str] = Counter()

    def extend(self, findings: Iterable[Noted]) -> None:
        for code, word in findings:
            self._counts[code] += 1
            if self._counts[code] <= FINDINGS_SHOWN:
                self._shown.append(word())

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
    outcomes: Sequence[Outcome], without_capture_point: int, misplaced: int, subflows: int
) -> Iterator[Finding]:
    if outcomes and all(outcome.verdict == "not_judged" for outcome in outcomes):
        message = (
            f"{'no transfer' if len(outcomes) == 1 else f'none of {len(outcomes)} transfers'} "
            f"was long enough to be judged"
        )
        yield finding("nothing_judged", message, value=float(len(outcomes)))
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


def verdict_columns(outcomes: Sequence[Outcome]) -> dict[str, list[object]]:
    """The columns that the transfers table gains.

    Cause, confidence, verdict, rule, verdict_flags, and the estimates in B/s.
    """
    estimates = [outcome.compensation or NOTHING for outcome in outcomes]
    return {
        "cause": [outcome.cause for outcome in outcomes],
        "confidence": [outcome.confidence for outcome in outcomes],
        "verdict": [outcome.verdict for outcome in outcomes],
        "rule": [outcome.rule for outcome in outcomes],
        "verdict_flags": [list(outcome.flags) for outcome in outcomes],
        "without_stalls_bytes_per_second": [found.bytes_per_second for found in estimates],
        "without_stalls_low_bytes_per_second": [found.low_bytes_per_second for found in estimates],
        "without_stalls_high_bytes_per_second": [
            found.high_bytes_per_second for found in estimates
        ],
    }


def tally(outcomes: Iterable[Outcome]) -> dict[str, dict[str, int]]:
    """How many transfers of each verdict and each cause; without those that did not occur."""
    pairs = Counter((outcome.cause, outcome.verdict) for outcome in outcomes)
    causes: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    for (cause, verdict), count in pairs.items():
        causes[cause] += count
        verdicts[verdict] += count
    return {
        "verdicts": {name: verdicts[name] for name in VERDICTS if verdicts[name]},
        "causes": {name: causes[name] for name in CAUSES if causes[name]},
    }
